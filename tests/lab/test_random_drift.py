# SPDX-License-Identifier: GPL-2.0-or-later
"""Others change the kernel at random while swd runs: filters, chains, qdiscs, links, addresses, VLANs, names,
namespaces, and hardware that refuses. After each burst all that is ours is as the file says, in its order and in
hardware, what is foreign is still there, no alert is left of it, and swd is at rest.

SWD_DRIFT_SEED=N chooses the bursts, SWD_DRIFT_SECONDS how long it goes on; a failure names the burst and its
changes, and SWD_DRIFT_BURST=N begins with that one."""
import json
import os
import random
import time
from pathlib import Path

import pytest

from swdlab import Swd
from swsimlab import knob, load, run, unload

LAB = {"variants": ["6.1-swd"],
       "all_variants": ["6.1", "6.12", "6.1-debug", "6.12-debug"], "mem": "512M", "timeout": 400}

SEED = int(os.environ.get("SWD_DRIFT_SEED", "1"))
SECONDS = float(os.environ.get("SWD_DRIFT_SECONDS", "30"))
FIRST = int(os.environ.get("SWD_DRIFT_BURST", "0"))

FILE = """version: 1
daemon: { port-wait: 1s }
ports:
  cpu0: { up: true }
  lan1: { up: true, mtu: 1500, addresses: [192.0.2.1/24] }
  lan2: { up: true, mtu: 1500 }
  lan3: { up: true, mtu: 1500 }
  lan4: { up: true }
  sim0: { up: true, mtu: 1500 }
vlans:
  lan4.30: { link: lan4, id: 30, addresses: [10.30.0.1/24] }
blocks:
  edge:
    id: 10
    bind: [lan1, lan2]
    tagging: none
    rules:
      - { name: net, match: { dst: 192.0.2.0/24 }, action: drop }
      - { name: bgp, match: { proto: tcp, dport: 179 }, action: trap }
      - { name: range, match: { proto: udp, dport: 100-120 }, action: drop }
      - { name: mac, match: { dst-mac: "02:00:00:00:00:07", ethertype: ip }, action: { redirect: lan2 } }
      - name: leg
        match: { vlan: 30, dst: 10.1.1.1 }
        action: [ { vlan-modify: 31 }, dec-ttl, { redirect: lan1 } ]
      - { name: slow, match: { src: 10.5.0.0/16 }, action: [ { police: { rate: 10mbit, burst: 64k } }, pass ] }
      - { name: more, match: { dst: 10.77.0.0/16 }, action: { goto: 3 } }
      - { name: more-drop, match: { dst: 10.77.1.0/24 }, action: drop, chain: 3 }
      - { name: more-trap, match: { dst: 10.77.2.0/24 }, action: trap, chain: 3 }
  third:
    id: 11
    bind: [lan3, sim0]
    rules:
      - { name: any-tag, match: { src: 10.9.0.0/16 }, action: drop }
"""
BOUND = {"lan1": 10, "lan2": 10, "lan3": 11, "sim0": 11}
FLAGS = ("skip_sw", "skip_hw", "")
# What imitates hardware that refuses, and what ends that.
KNOBS = {"fail_next": ("3 28", "0"), "fail_after": ("2 2 16", "0"), "table_size": ("5", "131072"),
         "deny_replace": ("1", "0"), "deny_actions": ("trap", ""), "install_delay_ms": ("50", "0")}


def shown(block):
    """A block's filters as iproute2 tells them, without the headers of each pref."""
    done = run("tc", "-j", "filter", "show", "block", str(block), check=False)
    said = json.loads(done.stdout.strip() or "[]") if done.returncode == 0 else []
    return [f for f in said if {"handle", "in_hw", "not_in_hw"} & set(f.get("options", {}))]


def place(f):
    return f.get("chain", 0), f["pref"], f["protocol"], f["options"].get("handle", 1), f["kind"]


def at(block, f):
    chain, pref, protocol, handle, kind = place(f)
    return f"block {block} chain {chain} protocol {protocol} pref {pref} handle {handle} {kind}"


def cookie(f):
    return "".join(a.get("cookie", "") for a in f["options"].get("actions", []))


def is_shortcut(f):
    return f["kind"] == "matchall" and f["options"].get("skip_hw", False)


def meaning(f):
    """What a filter does, wherever it stands."""
    options = {k: v for k, v in f["options"].items() if k not in ("handle", "in_hw_count", "actions")}
    actions = [{k: v for k, v in a.items() if k not in ("index", "ref", "bind", "cookie")}
               for a in f["options"].get("actions", [])]
    return json.dumps([f["kind"], f.get("chain", 0), f["protocol"], options, actions], sort_keys=True)


def devices():
    """What the file says of devices, as iproute2 tells it."""
    links = {}
    for link in json.loads(run("ip", "-j", "addr").stdout):
        if link["ifname"] in BOUND or link["ifname"] == "lan4.30":
            links[link["ifname"]] = ("UP" in link["flags"], link["mtu"], link.get("link"), sorted(
                a["local"] for a in link["addr_info"] if a["family"] == "inet"))
    qdiscs = json.loads(run("tc", "-j", "qdisc", "show").stdout)
    return links, {q["dev"]: q.get("ingress_block") for q in qdiscs if q["kind"] == "clsact"}


class Drift:
    """One random burst of changes, and what it asks of the end."""

    def __init__(self, swd, number):
        self.swd, self.done, self.knobs = swd, [], set()
        self.random = random.Random(f"{SEED} {number}")

    def do(self, line):
        self.done.append(line)
        run(*line.split(), check=False)

    def pick(self, block):
        found = [f for f in shown(block) if f["kind"] == "flower"]
        return self.random.choice(found) if found else None

    def filter_goes(self, block):
        f = self.pick(block)
        if f:
            self.do(f"tc filter del {at(block, f)}")

    def pref_goes(self, block):
        f = self.pick(block)
        if f:
            self.do(f"tc filter del {at(block, f).split(' handle')[0]}")

    def filter_is_replaced(self, block):
        f = self.pick(block)
        if f and f["protocol"] == "ip":
            self.do(f"tc filter replace {at(block, f)} {self.random.choice(FLAGS)} dst_ip 10.200.0.1 "
                    f"action {self.random.choice(('drop', 'ok', 'trap'))}")

    def foreign_joins(self, block):
        f = self.pick(block)
        if f:
            self.do(f"tc filter add {at(block, f).split(' handle')[0]} flower {self.random.choice(FLAGS)} "
                    f"dst_mac 02:00:00:00:77:{self.random.randrange(256):02x} action ok")

    def foreign_comes(self, block):
        pref = self.random.choice((1, 2, 65, 30000, 65535))
        what = self.random.choice(("matchall", f"flower dst_ip 10.202.{self.random.randrange(256)}.0/24"))
        kind, *match = what.split()
        self.do(f"tc filter add block {block} chain {self.random.choice((0, 0, 3, 9))} protocol ip pref {pref} "
                f"{kind} {self.random.choice(FLAGS)} {' '.join(match)} action ok")

    def all_goes(self, block):
        self.do(f"tc filter del block {block}" + self.random.choice(("", " chain 3")))

    def qdisc_goes(self, block):
        self.do(f"tc qdisc del dev {self.port(block)} clsact")

    def port(self, block):
        return self.random.choice([name for name in BOUND if BOUND[name] == block])

    def link_changes(self, block):
        self.do(f"ip link set {self.port(block)} {self.random.choice(('down', 'up', 'mtu 1400'))}")

    def leg_changes(self, _):
        self.do(self.random.choice(("ip link del lan4.30", "ip link set lan4.30 down", "ip addr flush dev lan4.30",
                                    "ip link set lan4 down", "ip addr del 192.0.2.1/24 dev lan1")))

    def port_is_renamed(self, _):
        self.done.append("lan3 is renamed, and back")
        for now, then in (("lan3", "gone0"), ("gone0", "lan3")):
            run("ip", "-batch", "-", text=f"link set {now} down\nlink set {now} name {then}\n", check=False)

    def port_travels(self, _):
        self.done.append("sim0 to another namespace, and back")
        run("ip", "netns", "add", "away", check=False)
        run("ip", "link", "set", "sim0", "netns", "away", check=False)
        run("ip", "-n", "away", "link", "set", "sim0", "netns", "1", check=False)
        run("ip", "netns", "del", "away")

    def hardware_refuses(self, _):
        name, instance = self.random.choice(list(KNOBS)), self.random.choice(("dsa0", "sim0"))
        self.done.append(f"{instance}: {name} {KNOBS[name][0]}")
        knob(instance, name, KNOBS[name][0])
        self.knobs.add((instance, name))

    def swd_is_killed(self, _):
        if self.random.random() < 0.3:
            self.done.append("kill -9")
            self.swd.process.kill()
            self.swd.process.wait()
            self.swd.start()

    def time_passes(self, _):
        time.sleep(self.random.random() / 5)

    def run(self):
        changes = 3 * [self.filter_goes, self.filter_is_replaced, self.foreign_joins, self.foreign_comes,
                       self.link_changes, self.time_passes]
        changes += [self.pref_goes, self.all_goes, self.qdisc_goes, self.leg_changes, self.port_is_renamed,
                    self.port_travels, self.hardware_refuses, self.swd_is_killed]
        for _ in range(self.random.randrange(1, 12)):
            self.random.choice(changes)(self.random.choice((10, 11)))
        for instance, name in self.knobs:
            knob(instance, name, KNOBS[name][1])


def theirs():
    return {(block, place(f), meaning(f)) for block in (10, 11) for f in shown(block) if not cookie(f)}


def wrong(swd, filters, rest):
    """What is not as it was before all of it, or None."""
    status = swd.status()
    alerts = [a["text"] for a in status["alerts"] if a["id"] in ("refused", "conflict", "port-waiting")]
    if not status["settled"] or status["missing"] or alerts:
        return f"settled {status['settled']}, {status['missing']} missing, {alerts}"
    if devices() != rest:
        return f"{devices()} for {rest}"
    for block in (10, 11):
        now = [f for f in shown(block) if cookie(f) and not is_shortcut(f)]
        # tc lists chains in the order in which they were made, and prefs in their own.
        now = [meaning(f) for f in sorted(now, key=lambda f: (f.get("chain", 0), f["pref"]))]
        if now != filters[block]:
            return f"block {block}: {now} for {filters[block]}"
    return None


@pytest.fixture(name="swd")
def fixture_swd(tmp_path):
    load(nics=1, ports=4)
    swd = Swd(tmp_path, FILE)
    swd.settle(20)
    yield swd
    code = swd.stop()
    unload()
    assert code == 0, swd.log.read_text()


def cpu(swd):
    words = Path(f"/proc/{swd.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def test_random_drift(swd):
    filters = {block: [meaning(f) for f in sorted(shown(block), key=lambda f: (f.get("chain", 0), f["pref"]))
                       if not is_shortcut(f)] for block in (10, 11)}
    assert [len(filters[10]), len(filters[11])] == [11, 7], filters
    rest, number, end = devices(), FIRST, time.monotonic() + SECONDS
    while number == FIRST or time.monotonic() < end:
        drift = Drift(swd, number)
        drift.run()
        what = f"SWD_DRIFT_SEED={SEED} SWD_DRIFT_BURST={number}: " + "; ".join(drift.done)
        before = theirs()
        limit = time.monotonic() + 30
        while wrong(swd, filters, rest):
            assert time.monotonic() < limit, \
                f"{what}\n{wrong(swd, filters, rest)}\n{swd.log.read_text()[-4000:]}"
            time.sleep(0.1)
        # The kernel moves a filter's in_hw with its ports; foreign ones are known by their places.
        assert {t[:2] for t in theirs()} == {t[:2] for t in before}, what
        counts, spent, log = swd.status()["counts"]["messages"], cpu(swd), swd.log.stat().st_size
        time.sleep(0.5)
        assert swd.status()["counts"]["messages"] == counts, f"{what}\nswd does not come to rest"
        assert cpu(swd) - spent < 0.25 and swd.log.stat().st_size - log < 500, what
        for block, (chain, pref, protocol, handle, kind), _ in theirs():
            run("tc", *f"filter del block {block} chain {chain} protocol {protocol} pref {pref} "
                f"handle {handle} {kind}".split(), check=False)
        number += 1
    print(f"{number - FIRST} bursts; {swd.status()['repairs']} repairs since the last start")
