# SPDX-License-Identifier: GPL-2.0-or-later
"""The bypass under everything at once, on kernels that watch locks and memory.

Several processes add, replace, delete and flush filters of all kinds on one shared block, while its
members and, now and then, the block itself come and go, packets arrive and others ask. Kernel
reports fail the run by themselves (tests/lab/lab). Here the end is judged: what the kernel counts
is what tc lists, the bypass is as the filters say, and nothing is left when all is removed.
"""

import multiprocessing
import os
import random
import subprocess
import time

import pytest

from bypasslab import (ETH_P_TEST, flower, kernel_counts, paths, run, send, tc, tc_counts, tc_taken)
from genl import NetlinkError
from tcbypass import TcBypass

LAB = {"variants": ["6.1-debug", "6.1-smp", "6.12-debug", "6.12-smp"], "all_only": True, "mem": "1024M",
       "timeout": 900}

SECONDS = float(os.environ.get("BYPASS_STRESS_SECONDS", "60"))
FLAGS = ("skip_sw", "skip_sw", "skip_sw", "skip_hw", "")
BPF = "1,6 0 0 4294967295,"


def change(rng):
    """One line of tc: a change of block 10 that may well fail."""
    pref, handle, flags = rng.randint(1, 3), rng.randint(1, 20), rng.choice(FLAGS)
    chain = f"chain {rng.randint(0, 1)}"
    rule = flower(rng.randint(0, 60), pref, handle, flags)
    return "filter " + rng.choice((
        f"add block 10 {chain} {rule}",
        f"add block 10 {chain} {rule}",
        f"replace block 10 {chain} {rule}",
        f"replace block 10 {chain} {rule}",
        f"del block 10 {chain} protocol ip pref {pref} handle {handle} flower",
        f"del block 10 {chain} protocol ip pref {pref} handle {handle} flower",
        f"del block 10 {chain} pref {pref}",
        f"add block 10 protocol all pref {3 + pref} matchall {flags} action ok",
        f"del block 10 pref {3 + pref}",
        f"add block 10 protocol ip pref 7 u32 match ip dst 10.0.0.{handle} {flags} action ok",
        "del block 10 pref 7",
        f"add block 10 protocol all pref 8 handle {handle} bpf bytecode '{BPF}' {flags} action ok",
        f"del block 10 pref 8 protocol all handle {handle} bpf",
        f"add block 10 protocol all pref 9 handle {handle} basic action ok",
        f"del block 10 pref 9 protocol all handle {handle} basic",
    ))


def changer(seed, end, done):
    rng = random.Random(seed)
    while time.time() < end:
        lines = [change(rng) for _ in range(40)]
        if rng.random() < 0.3:
            lines.append("filter del block 10")
        subprocess.run(["tc", "-force", "-batch", "-"], input="\n".join(lines) + "\n", text=True,
                       capture_output=True, check=False)
        with done.get_lock():
            done.value += len(lines)


def binder(seed, end, done):
    rng = random.Random(seed)
    while time.time() < end:
        # Mostly one member stays; sometimes both go, and the block with them.
        devs = ["sim0", "sim1"] if rng.random() < 0.2 else [rng.choice(("sim0", "sim1"))]
        for dev in devs:
            run("tc", "qdisc", "del", "dev", dev, "clsact", check=False)
        for dev in devs:
            run("tc", "qdisc", "add", "dev", dev, "ingress_block", "10", "clsact", check=False)
            with done.get_lock():
                done.value += 1


def sender(_seed, end, done):
    while time.time() < end:
        for wire in ("sim0w", "sim1w"):
            send(wire, 50)
            with done.get_lock():
                done.value += 50


def asker(_seed, end, done):
    """Raises if an answer contradicts itself."""
    with TcBypass() as family:
        family.join("changes")
        while time.time() < end:
            for b in family.blocks():
                assert b["filters"] < 1 << 20 and b["sw"] < 1 << 20, b
                assert b["dead"] < 1 << 20, b
            family.changes(0)
            try:
                family.block(10)
            except NetlinkError as error:
                assert error.errno == 2
            with done.get_lock():
                done.value += 1


WORKERS = (changer, changer, changer, binder, sender, asker)


def bind_both():
    """Binds block 10 where it is not bound. Returns what was said by ports that refused."""
    said = []
    for dev in ("sim0", "sim1"):
        done = subprocess.run(["tc", "qdisc", "add", "dev", dev, "ingress_block", "10", "clsact"],
                              capture_output=True, text=True, check=False)
        if done.returncode and "Exclusivity flag on" not in done.stderr:
            said.append(f"{dev}: {done.stderr.strip()}")
    return said


@pytest.fixture(scope="module", autouse=True)
def machine():
    run("sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1")
    run("modprobe", "swsim", "nics=2", "ports=4")
    for dev in ("sim0w", "sim1w", "sim0", "sim1"):
        run("ip", "link", "set", dev, "up")


def test_everything_at_once():
    seed = int(os.environ.get("BYPASS_STRESS_SEED", time.time()))
    print(f"seed {seed}, {SECONDS:.0f} s, frames of ethertype {ETH_P_TEST:#x}")
    tc("qdisc add dev sim0 ingress_block 10 clsact", "qdisc add dev sim1 ingress_block 10 clsact")
    end = time.time() + SECONDS
    work = [(fn, multiprocessing.Value("L", 0)) for fn in WORKERS]
    processes = [multiprocessing.Process(target=fn, args=(seed + i, end, done))
                 for i, (fn, done) in enumerate(work)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(SECONDS + 300)
    assert [p.exitcode for p in processes] == [0] * len(processes)
    amounts = [(fn.__name__, done.value) for fn, done in work]
    print(amounts)
    assert all(amount for _, amount in amounts)

    # basic is counted by pref, however many filters the pref has.
    run("tc", "filter", "del", "block", "10", "pref", "9", check=False)
    refused = bind_both()
    if refused:
        # The port is asked for what the block already holds, and hardware may say no to a filter that
        # came while another port was there alone. An empty block is refused nothing.
        print("what the storm left takes no further member:", refused)
        tc("filter del block 10 chain 0", "filter del block 10 chain 1")
        assert bind_both() == []
    # The binder may have emptied the block at last; what is compared must be more than nothing.
    rng = random.Random(seed)
    tc_taken(*(line for line in (change(rng) for _ in range(150)) if "basic" not in line))
    with TcBypass() as family:
        state = family.block(10)
        print(state)
        assert state["filters"] > 0
        assert state["members"] == 2
        assert kernel_counts(state) == tc_counts("block 10")
        assert state["bypassed"] == (state["sw"] == 0)

        add = flower(70, pref=100, handle=1, flags="")
        tc(f"filter add block 10 {add}")
        assert paths(family, lambda f: f.block(10), "sim0", "sim0w") == (0, 20)
        tc("filter del block 10 chain 0", "filter del block 10 chain 1")
        state = family.block(10)
        assert kernel_counts(state) == tc_counts("block 10") == (0, 0, 0)
        add = flower(70, pref=100, handle=1)
        tc(f"filter add block 10 {add}")
        assert paths(family, lambda f: f.block(10), "sim0", "sim0w") == (20, 0)
        tc("qdisc del dev sim0 clsact", "qdisc del dev sim1 clsact")
        assert family.blocks() == []
