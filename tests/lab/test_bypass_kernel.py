# SPDX-License-Identifier: GPL-2.0-or-later
"""The bypass of kmod/patches: which blocks packets pass by, and what the kernel tells of it.

Each test changes filters with tc and compares three things: what tc lists, what the tc_bypass
family says, and, where it matters, which way packets took. swsim is the hardware.
"""

import os
import time

import pytest

import genl
from bypasslab import (add_flower, batch, flower, ifindex, kernel_counts, paths, run, send, tc,
                       tc_counts, tc_taken)
from tcbypass import CMD_CHANGED, CMD_GONE, EGRESS, INGRESS, TcBypass

LAB = {"variants": ["6.1-swd", "6.12-swd"], "all_variants": ["6.1-debug", "6.12-debug"], "mem": "512M",
       "timeout": 300}

BPF = "1,6 0 0 4294967295,"     # matches every packet
SOFTWARE = {
    "flower in the same pref": flower(999, pref=1, handle="0x999", flags=""),
    "flower that is in hardware as well": flower(998, pref=2, handle="0x999", flags=""),
    "flower that is kept out of hardware": flower(997, pref=2, handle="0x999", flags="skip_hw"),
    "flower in a chain that nothing leads to": "chain 7 " + flower(996, pref=2, handle="0x999",
                                                                   flags=""),
    "matchall": "protocol all pref 3 handle 1 matchall action ok",
    "u32": "protocol ip pref 3 u32 match u32 0 0 action ok",
    "bpf": f"protocol all pref 3 handle 1 bpf bytecode '{BPF}' action ok",
    "basic": "protocol all pref 3 handle 1 basic action ok",
    "cgroup": "protocol all pref 3 handle 1 cgroup action ok",
    "fw": "protocol all pref 3 handle 1 fw action ok",
    "flow": "protocol all pref 3 handle 1 flow hash keys dst baseclass 1:1 divisor 8",
}


@pytest.fixture(scope="session", autouse=True)
def machine():
    run("sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1")
    run("modprobe", "swsim", "nics=2", "ports=4")
    batch("ip", *(f"link set {dev} up" for dev in ("sim0w", "sim1w", "sim0", "sim1", "cpu0")))


@pytest.fixture(name="family")
def fixture_family():
    with TcBypass() as family:
        yield family


@pytest.fixture(name="block")
def fixture_block(family):
    """Block 10 at the ingress of both NICs, with five skip_sw rules."""
    tc("qdisc add dev sim0 ingress_block 10 clsact", "qdisc add dev sim1 ingress_block 10 clsact",
       *(f"filter add block 10 {flower(i)}" for i in range(5)))
    yield lambda fam=family: fam.block(10)
    tc_taken("qdisc del dev sim0 clsact", "qdisc del dev sim1 clsact")


@pytest.fixture(name="dummy")
def fixture_dummy():
    run("ip", "link", "add", "dum0", "up", "type", "dummy")
    yield "dum0"
    run("ip", "link", "del", "dum0")


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def agree(state, where="block 10"):
    """The family says what tc lists, and of the bypass what follows from it."""
    assert kernel_counts(state) == tc_counts(where)
    assert state["bypassed"] == (state["sw"] == 0)


def took(family, ask, way):
    """Packets that arrive at sim0 took that way, all of them."""
    passed, counted = paths(family, ask, "sim0", "sim0w")
    assert (passed, counted) == ((20, 0) if way == "bypass" else (0, 20))


def test_family_introduces_itself(family):
    assert family.version == 1
    assert list(family.groups) == ["changes"]
    assert family.blocks() == []


def test_wrong_questions_get_an_answer_in_words(family):
    with pytest.raises(genl.NetlinkError, match="no such block") as refused:
        family.block(4711)
    assert refused.value.errno == 2
    with pytest.raises(genl.NetlinkError, match="index of a block") as refused:
        family.get(1)
    assert refused.value.errno == 22
    with pytest.raises(genl.NetlinkError):
        family.block(0)


def test_an_unshared_clsact_has_two_blocks(family, dummy):
    tc(f"qdisc add dev {dummy} clsact")
    blocks = family.blocks()
    assert [b["parent"] for b in blocks] == [INGRESS, EGRESS]
    assert [b["direction"] for b in blocks] == [1, 2]
    assert blocks[0]["id"] < blocks[1]["id"]
    for b in blocks:
        assert "block" not in b
        assert b["ifindex"] == ifindex(dummy)
        assert b["members"] == 1
        assert b["member"] == [{"member": [], "ifindex": b["ifindex"], "parent": b["parent"],
                                "direction": b["direction"]}]
        assert kernel_counts(b) == (0, 0, 0)
        assert b["bypassed"] == 1
        assert family.at(b["ifindex"], b["parent"]) == b
    tc(f"qdisc del dev {dummy} clsact")
    assert family.blocks() == []


def test_the_ingress_qdisc_has_one(family, dummy):
    tc(f"qdisc add dev {dummy} ingress",
       f"filter add dev {dummy} ingress protocol all pref 1 matchall action ok")
    (b,) = family.blocks()
    assert (b["parent"], b["direction"], b["sw"], b["bypassed"]) == (INGRESS, 1, 1, 0)
    tc(f"filter del dev {dummy} ingress")
    assert family.at(ifindex(dummy), INGRESS)["bypassed"] == 1


def test_a_shared_block_has_members(family, block):
    b = block()
    assert b["block"] == 10
    assert b["members"] == 2
    assert {(m["ifindex"], m["parent"]) for m in b["member"]} == {
        (ifindex("sim0"), INGRESS), (ifindex("sim1"), INGRESS)}
    assert family.at(ifindex("sim1"), INGRESS)["id"] == b["id"]
    agree(b)
    # Both clsacts have an egress of their own beside it.
    assert len(family.blocks()) == 3


def test_skip_sw_rules_are_passed_by(family, block):
    assert kernel_counts(block()) == (5, 0, 0)
    took(family, lambda f: f.block(10), "bypass")


def test_egress_is_passed_by(family):
    tc("qdisc add dev sim0 clsact")
    try:
        add_flower("dev sim0 egress", 3)

        def ask(fam):
            return fam.at(ifindex("sim0"), EGRESS)

        assert paths(family, ask, "sim0", "sim0") == (20, 0)
        tc("filter add dev sim0 egress " + flower(50, pref=9, flags=""))
        assert paths(family, ask, "sim0", "sim0") == (0, 20)
        agree(ask(family), "dev sim0 egress")
        assert family.at(ifindex("sim0"), INGRESS)["bypassed"] == 1
        tc("filter del dev sim0 egress pref 9")
        assert paths(family, ask, "sim0", "sim0") == (20, 0)
    finally:
        tc("qdisc del dev sim0 clsact")


@pytest.mark.parametrize("kind", SOFTWARE)
def test_one_software_filter_ends_it_and_its_end_brings_it_back(family, block, kind):
    line = SOFTWARE[kind]
    pref = line.split("pref ")[1].split()[0]
    chain = "chain 7 " if "chain 7" in line else ""
    handle = "handle 0x999 flower" if "0x999" in line else ""
    # In the pref of skip_sw filters only the handle can go; elsewhere everything that is removed.
    ways = [f"filter del block 10 {chain}protocol ip pref 1 {handle}"] if pref == "1" else [
        f"filter del block 10 {chain}pref {pref}"]
    if chain:
        ways += ["filter del block 10 chain 7", "chain del block 10 chain 7"]
    for way in ways:
        before = block()["generation"]
        listed = tc_counts("block 10", f"filter add block 10 {line}")
        b = block()
        assert (b["sw"], b["bypassed"], b["generation"]) == (1, 0, before + 1)
        assert kernel_counts(b) == listed
        took(family, lambda f: f.block(10), "software")
        listed = tc_counts("block 10", way)
        b = block()
        assert (kernel_counts(b), b["bypassed"]) == (listed, 1) == ((5, 0, 0), 1)
        assert b["generation"] == before + 2
        took(family, lambda f: f.block(10), "bypass")


def test_replace_moves_a_filter_between_both(family, block):
    for flags, sw in (("", 1), ("skip_sw", 0), ("skip_hw", 1), ("skip_hw", 1), ("skip_sw", 0)):
        listed = tc_counts("block 10", "filter replace block 10 " +
                           flower(0, handle=1, flags=flags))
        assert kernel_counts(block()) == listed == (5, sw, 0)
        took(family, lambda f: f.block(10), "software" if sw else "bypass")


@pytest.mark.parametrize("line", ["filter del block 10", "filter del block 10 pref 1",
                                  "filter del block 10 pref 1 protocol ip flower",
                                  "filter del block 10 chain 0"])
def test_flushes(block, line):
    tc(f"filter add block 10 {flower(70, flags='')}", f"filter add block 10 {flower(71, flags='')}")
    assert kernel_counts(block()) == (7, 2, 0)
    tc(line)
    assert kernel_counts(block()) == (0, 0, 0)
    assert block()["bypassed"] == 1
    agree(block())


def test_what_fails_is_not_counted(family, block):
    before = block()
    refused = [
        # The key is there already, under another handle.
        "filter add block 10 " + flower(0, handle=77),
        "filter add block 10 " + flower(0, handle=77, flags=""),
        # A replace cannot change the mask.
        "filter replace block 10 protocol ip pref 1 handle 1 flower dst_ip 10.0.0.0/8 action drop",
        # Another kind, and another protocol, in a pref that is taken.
        "filter add block 10 protocol ip pref 1 matchall action ok",
        "filter add block 10 protocol ipv6 pref 1 flower action ok",
        # A hash table that is not there; flags that exclude each other.
        "filter add block 10 protocol ip pref 4 u32 ht 900: match u32 0 0 action ok",
        "filter add block 10 protocol ip pref 4 flower skip_sw skip_hw action ok",
    ]
    assert not tc_taken(*refused)
    assert block() == before
    took(family, lambda f: f.block(10), "bypass")
    # swsim drops all packets now, so none can be sent any more. matchall knows no replace.
    tc("filter add block 10 protocol all pref 5 matchall skip_sw action drop")
    assert not tc_taken("filter replace block 10 protocol all pref 5 matchall action drop")
    assert kernel_counts(block()) == (6, 0, 0)
    agree(block())


def test_a_bind_that_fails_leaves_nothing(family, block, dummy):
    before = block(), len(family.blocks())
    family.join("changes")
    # The block has rules in hardware, and a dummy has none.
    assert not tc_taken(f"qdisc add dev {dummy} ingress_block 10 clsact")
    assert (block(), len(family.blocks())) == before


def test_members_come_and_go(family, block):
    family.join("changes")
    tc("qdisc del dev sim1 clsact")
    assert block()["members"] == 1
    agree(block())
    tc("qdisc add dev sim1 ingress_block 10 clsact")
    assert block()["members"] == 2
    assert kernel_counts(block()) == (5, 0, 0)
    agree(block())
    told = [(cmd, b.get("block"), b.get("members")) for cmd, b in family.changes()]
    assert (CMD_CHANGED, 10, 1) in told
    assert (CMD_CHANGED, 10, 2) in told
    assert (CMD_GONE, None, None) in told       # the egress of sim1's first clsact
    took(family, lambda f: f.block(10), "bypass")


def test_the_last_member_takes_the_block_along(family, block):
    ident = block()["id"]
    tc("filter add block 10 " + flower(70, flags=""))
    family.join("changes")
    tc("qdisc del dev sim0 clsact", "qdisc del dev sim1 clsact")
    gone = [b for cmd, b in family.changes() if cmd == CMD_GONE and b["id"] == ident]
    assert len(gone) == 1
    assert gone[0]["block"] == 10
    assert family.blocks() == []
    tc("qdisc add dev sim0 ingress_block 10 clsact")
    b = block()
    assert b["id"] > ident
    assert (b["generation"], b["packets"], b["bypassed"]) == (0, 0, 1)


def test_dead_filters_are_told_and_do_not_need_software(family, dummy):
    tc(f"qdisc add dev {dummy} clsact")

    def ask(fam=family):
        return fam.at(ifindex(dummy), INGRESS)

    # u32 alone takes skip_sw where there is no hardware.
    line = "protocol ip pref 1 u32 match ip dst 10.0.0.{} skip_sw action drop"
    tc(*(f"filter add dev {dummy} ingress {line.format(i)}" for i in range(3)))
    b = ask()
    assert (kernel_counts(b), b["bypassed"]) == ((3, 0, 3), 1)
    agree(b, f"dev {dummy} ingress")
    tc(f"filter add dev {dummy} ingress protocol ip pref 1 u32 match ip dst 10.0.0.9 action drop")
    assert kernel_counts(ask()) == (4, 1, 3)
    tc(f"filter del dev {dummy} ingress pref 1")
    assert kernel_counts(ask()) == (0, 0, 0)


def test_u32_keys_count_and_tables_do_not(family, block):
    tc("filter add block 10 protocol ip pref 4 handle 2: u32 divisor 16")
    assert kernel_counts(block()) == (5, 0, 0)
    took(family, lambda f: f.block(10), "bypass")
    tc("filter add block 10 protocol ip pref 4 handle 2:1:1 u32 ht 2:1 match ip dst 10.0.0.1 "
       "action drop",
       "filter add block 10 protocol ip pref 4 u32 ht 800: match ip dst 10.0.0.0/24 "
       "hashkey mask 0xff at 16 link 2:")
    assert kernel_counts(block()) == (7, 2, 0)
    agree(block())
    tc("filter replace block 10 protocol ip pref 4 handle 2:1:1 u32 ht 2:1 match ip dst 10.0.0.1 "
       "action pass")
    assert kernel_counts(block()) == (7, 2, 0)
    tc("filter del block 10 protocol ip pref 4 handle 2:1:1 u32")
    assert kernel_counts(block()) == (6, 1, 0)
    tc("filter del block 10 protocol ip pref 4")
    assert kernel_counts(block()) == (5, 0, 0)
    agree(block())


def test_u32_of_both_directions_is_kept_apart(family, dummy):
    tc(f"qdisc add dev {dummy} clsact",
       f"filter add dev {dummy} ingress protocol ip pref 1 u32 match u32 0 0 action ok",
       f"filter add dev {dummy} egress protocol ip pref 1 u32 match u32 0 0 skip_sw action ok")
    index = ifindex(dummy)
    agree(family.at(index, INGRESS), f"dev {dummy} ingress")
    agree(family.at(index, EGRESS), f"dev {dummy} egress")
    assert kernel_counts(family.at(index, INGRESS)) == (1, 1, 0)
    assert kernel_counts(family.at(index, EGRESS)) == (1, 0, 1)
    # Not even with the handle of the other direction's filter.
    tc(f"filter del dev {dummy} egress protocol ip pref 1 handle 800::800 u32")
    assert kernel_counts(family.at(index, INGRESS)) == (1, 1, 0)
    assert kernel_counts(family.at(index, EGRESS)) == (0, 0, 0)


@pytest.fixture(name="netdevsim")
def fixture_netdevsim():
    """A netdevsim port with offload: it takes bpf programs, and one at a time."""
    write("/sys/bus/netdevsim/new_device", "7 1")
    try:
        (dev,) = os.listdir("/sys/bus/netdevsim/devices/netdevsim7/net")
        for knob in ("bpf_tc_accept", "bpf_tc_non_bound_accept"):
            write(f"/sys/kernel/debug/netdevsim/netdevsim7/ports/0/{knob}", "Y")
        run("ethtool", "-K", dev, "hw-tc-offload", "on")
        yield dev
    finally:
        write("/sys/bus/netdevsim/del_device", "7")


def test_bpf_in_hardware(family, netdevsim):
    line = f"dev {netdevsim} ingress protocol all pref 1 handle 1 bpf"
    tc(f"qdisc add dev {netdevsim} clsact", f"filter add {line} bytecode '{BPF}' da skip_sw")

    def ask():
        return family.at(ifindex(netdevsim), INGRESS)

    assert (kernel_counts(ask()), ask()["bypassed"]) == ((1, 0, 0), 1)
    agree(ask(), f"dev {netdevsim} ingress")
    tc(f"filter replace {line} bytecode '{BPF}' da skip_sw")
    assert (kernel_counts(ask()), ask()["bypassed"]) == ((1, 0, 0), 1)
    agree(ask(), f"dev {netdevsim} ingress")
    tc(f"filter del dev {netdevsim} ingress protocol all pref 1 handle 1 bpf")
    assert (kernel_counts(ask()), ask()["bypassed"]) == ((0, 0, 0), 1)


def test_a_flip_is_one_message(family, block):
    add_flower("block 10", 1000, start=1000)
    add_flower("block 10", 1000, flags="skip_hw", pref=2, start=5000)
    before = block()
    assert kernel_counts(before) == (2005, 1000, 0)
    family.join("changes")
    tc("filter del block 10")
    told = family.changes()
    assert len(told) == 1
    cmd, b = told[0]
    assert (cmd, b["block"], b["bypassed"], b["sw"]) == (CMD_CHANGED, 10, 1, 0)
    assert b["generation"] == before["generation"] + 1


def test_the_message_comes_before_the_answer(family, block):
    family.join("changes")
    tc("filter add block 10 " + flower(70, flags=""))
    cmd, b = family.changes(0)[0]
    assert (cmd, b["block"], b["bypassed"], b["sw"]) == (CMD_CHANGED, 10, 0, 1)
    assert len(b["member"]) == 2
    assert block()["bypassed"] == 0


def test_each_namespace_has_its_own(family, block):
    run("ip", "netns", "add", "other")
    try:
        run("ip", "-n", "other", "link", "add", "dum1", "up", "type", "dummy")
        run("tc", "-n", "other", "qdisc", "add", "dev", "dum1", "ingress_block", "10", "clsact")
        run("tc", "-n", "other", "filter", "add", "block", "10", *flower(1, flags="").split())
        assert block()["sw"] == 0
        assert block()["bypassed"] == 1
        assert len(family.blocks()) == 3
        seen = run("ip", "netns", "exec", "other", "/usr/bin/python3", "-B", "-c",
                   f"import sys; sys.path.insert(0, {os.path.dirname(__file__)!r}); import tcbypass\n"
                   "b = tcbypass.TcBypass().block(10); print(b['sw'], b['members'], b['bypassed'])")
        assert seen.split() == ["1", "1", "0"]
        family.join("changes")
    finally:
        run("ip", "netns", "del", "other")
    assert family.changes() == []


def test_anyone_may_ask(family, block):
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.setgid(65534)
        os.setuid(65534)
        with TcBypass() as stranger:
            os.write(write, str(len(stranger.blocks())).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert int(os.read(read, 16)) == len(family.blocks()) == 3
    assert block()["bypassed"] == 1


def test_many_blocks_are_dumped_in_parts(family):
    count = 150
    names = [f"many{i}" for i in range(count)]
    batch("ip", *(f"link add {name} type dummy" for name in names))
    try:
        tc(*(f"qdisc add dev {name} ingress_block {100 + i} clsact"
             for i, name in enumerate(names)))
        blocks = family.blocks()
        ids = [b["id"] for b in blocks]
        assert not family.interrupted
        assert ids == sorted(set(ids))
        assert len(blocks) == 2 * count
        assert sorted(b["block"] for b in blocks if "block" in b) == [
            100 + i for i in range(count)]
    finally:
        batch("ip", *(f"link del {name}" for name in names))
    assert family.blocks() == []


def test_packets_are_counted_per_block(family, block):
    send("sim0w", 7)
    send("sim1w", 5)
    time.sleep(0.1)
    assert block()["packets"] == 12
    tc("qdisc del dev sim1 clsact")
    assert block()["packets"] == 12
    assert family.at(ifindex("sim0"), EGRESS)["packets"] == 0
