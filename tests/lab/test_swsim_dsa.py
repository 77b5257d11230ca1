# SPDX-License-Identifier: GPL-2.0-or-later
"""swsim as a DSA switch from a device tree: two switches of 52 user ports behind one conduit, with
tagger dsa; and beside it the switch of the module parameters, with tagger rtl8_4.
"""
import json
import subprocess
from pathlib import Path

import pytest

from frames import ETH_P_8021AD, ETH_P_ARP, Wire, arp, eth, udp_frame
from swsimlab import (DST, SRC, bring_up, carrier, counters, knob, load_anew, refused, rules, run, tc,
                      unload, wait)

LAB = {"variants": ["6.1", "6.12"], "dsa": "52,2", "mem": "512M", "timeout": 300}

FRAME = udp_frame(DST, SRC, "10.1.0.1", "10.2.0.1")
TAGGED = udp_frame(DST, SRC, "10.1.0.1", "10.2.0.1", vlans=[(10, 3, 0x8100, 1)])
DOUBLE = udp_frame(DST, SRC, "10.1.0.1", "10.2.0.1", vlans=[(10, 3, ETH_P_8021AD), 4095])
ARP = eth("ff:ff:ff:ff:ff:ff", SRC, ETH_P_ARP, arp(1, SRC, "10.1.0.1", DST, "10.1.0.2"))
ALL = [FRAME, TAGGED, DOUBLE, ARP]
LAN = [f"lan{i + 1}" for i in range(52)]


@pytest.fixture(scope="module", autouse=True)
def switch():
    load_anew("nics=1")
    bring_up(["cpu0", "sim0", "sim0w"] + [f"{name}w" for name in LAN] + LAN)
    wait(lambda: all(carrier(name) for name in LAN + ["sim0"]), "carrier of 53 ports", 30)
    yield
    unload()


@pytest.fixture(autouse=True)
def empty(switch):
    yield
    tc(*[f"qdisc del dev {name} clsact" for name in ("lan1", "lan2", "lan30", "lan52", "sim0")],
       force=True)
    assert not rules("dsa0") and not rules("dsa1")


def test_names():
    """Names, numbers and devlink ports as DSA gives them; two instances of swsim."""
    shown = json.loads(run("devlink", "-j", "port", "show").stdout)["port"]
    by_name = {row["netdev"]: (key, row) for key, row in shown.items() if "netdev" in row}
    for number, name in enumerate(LAN):
        key, row = by_name[name]
        index = number % 26
        assert row["flavour"] == "physical" and row["port"] == index
        assert Path(f"/sys/class/net/{name}/phys_port_name").read_text().strip() == f"p{index}"
    assert len({key.rsplit("/", 1)[0] for key, _ in by_name.values()}) == 2
    assert Path("/sys/class/net/cpu0/dsa/tagging").read_text().strip() == "dsa"
    assert sorted(p.name for p in Path("/sys/kernel/debug/swsim").iterdir()) == ["dsa0", "dsa1",
                                                                                 "sim0"]


@pytest.mark.parametrize("name", ["lan1", "lan26", "lan27", "lan52"])
def test_both_ways(name):
    """Through tagger and conduit, either way, whatever VLAN tags a frame has."""
    with Wire(f"{name}w") as wire, Wire(name) as port:
        wire.send(*ALL)
        assert port.drain() == ALL
        port.send(*ALL)
        assert wire.drain() == ALL


def test_every_port():
    """A frame in at each wire reaches the netdev of that name and no other."""
    ports = {name: Wire(name) for name in LAN}
    try:
        for number, name in enumerate(LAN):
            with Wire(f"{name}w") as wire:
                wire.send(udp_frame(DST, SRC, "10.1.0.1", f"10.7.0.{number}"))
        for number, name in enumerate(LAN):
            assert ports[name].drain() == [udp_frame(DST, SRC, "10.1.0.1", f"10.7.0.{number}")]
    finally:
        for port in ports.values():
            port.close()


def test_redirect_between_instances():
    """Within a switch, to the other switch of the tree, and to a NIC and back."""
    tc("qdisc add dev lan1 clsact", "qdisc add dev sim0 clsact",
       "filter add dev lan1 ingress pref 1 protocol ip flower skip_sw "
       "action mirred egress redirect dev lan2",
       "filter add dev lan1 ingress pref 2 protocol arp flower skip_sw "
       "action mirred egress redirect dev lan52",
       "filter add dev lan1 ingress pref 3 protocol 802.1q flower skip_sw vlan_id 10 "
       "action vlan pop pipe action mirred egress redirect dev sim0",
       "filter add dev sim0 ingress pref 1 protocol all flower skip_sw "
       "action mirred egress redirect dev lan30")
    with Wire("lan1w") as one, Wire("lan2w") as two, Wire("lan52w") as far, Wire("sim0w") as nic, \
            Wire("lan30w") as back, Wire("lan1") as cpu:
        one.send(*ALL)
        assert two.drain() == [FRAME] and far.drain() == [ARP] and nic.drain() == [FRAME]
        assert cpu.drain() == [DOUBLE]
        nic.send(TAGGED)
        assert back.drain() == [TAGGED]


def test_shared_block_over_two_switches():
    tc("qdisc add dev lan1 ingress_block 5 clsact", "qdisc add dev lan2 ingress_block 5 clsact",
       "qdisc add dev lan52 ingress_block 5 clsact",
       "filter add block 5 pref 1 protocol ip flower skip_sw dst_ip 10.2.0.0/16 action drop")
    shown = json.loads(run("tc", "-j", "filter", "show", "block", "5").stdout)
    assert [f["options"]["in_hw_count"] for f in shown if "in_hw_count" in f.get("options",
                                                                                 {})] == [3]
    assert len(rules("dsa0")) == 1 and len(rules("dsa1")) == 1  # one place in each table
    for name in ("lan1", "lan2", "lan52"):
        with Wire(f"{name}w") as wire, Wire(name) as port:
            wire.send(FRAME, TAGGED)
            assert port.drain() == [TAGGED]
    found = json.loads(run("tc", "-s", "-j", "filter", "show", "block", "5").stdout)
    stats, = [f["options"]["actions"][0]["stats"] for f in found if f.get("options",
                                                                          {}).get("actions")]
    assert (stats["hw_packets"], stats["hw_bytes"]) == (3, 3 * len(FRAME))
    said = json.loads(run("devlink", "-j", "resource", "show", "platform/switch0").stdout) \
        if "platform/switch0" in run("devlink", "dev").stdout else None
    if said:
        assert said["resources"]["platform/switch0"][0]["occ"] == 1


def test_matchall():
    """What the DSA core hands down: one mirror for each direction, one policer; nothing else."""
    tc("qdisc add dev lan1 clsact",
       "filter add dev lan1 ingress pref 5 protocol all matchall skip_sw "
       "action mirred egress mirror dev lan3",
       "filter add dev lan1 egress pref 5 protocol all matchall skip_sw "
       "action mirred egress mirror dev lan4",
       "filter add dev lan1 ingress pref 1 protocol ip flower skip_sw action drop")
    with Wire("lan1w") as wire, Wire("lan1") as port, Wire("lan3w") as copy_in, \
            Wire("lan4w") as copy_out:
        wire.send(*ALL)
        assert copy_in.drain() == ALL and port.drain() == ALL[1:]
        port.send(*ALL)
        assert copy_out.drain() == ALL and wire.drain() == ALL
    refused("filter add dev lan1 ingress pref 6 protocol all matchall skip_sw action drop")
    refused("filter add dev lan1 ingress pref 6 protocol all matchall skip_sw "
            "action mirred egress mirror dev lan2")
    tc("filter del dev lan1 ingress",
       "filter add dev lan1 ingress pref 1 protocol all matchall skip_sw "
       "action police rate 8kbit burst 300 conform-exceed drop/pipe mtu 2000")
    with Wire("lan1w") as wire, Wire("lan1") as port:
        wire.send(*[FRAME] * 20)
        assert port.drain() == [FRAME] * (300 // len(FRAME))


def test_egress_and_trap():
    tc("qdisc add dev lan52 clsact",
       "filter add dev lan52 egress pref 1 protocol ip flower skip_sw action vlan push id 33",
       "filter add dev lan52 egress pref 2 protocol arp flower skip_sw action drop",
       "filter add dev lan52 ingress pref 1 protocol ip flower skip_sw action trap")
    with Wire("lan52w") as wire, Wire("lan52") as port:
        port.send(*ALL)
        assert wire.drain() == [udp_frame(DST, SRC, "10.1.0.1", "10.2.0.1", vlans=[33]), TAGGED,
                                DOUBLE]
        wire.send(FRAME)
        assert port.drain() == [FRAME]


def test_hw_tc_offload_off_and_on():
    """DSA keeps the removal of a filter to itself while the feature is off; nothing stale stays."""
    tc("qdisc add dev lan1 clsact", "filter add dev lan1 ingress pref 1 protocol ip flower skip_sw "
       "action drop")
    run("ethtool", "-K", "lan1", "hw-tc-offload", "off")
    refused("filter add dev lan1 ingress pref 2 protocol ip flower skip_sw action drop")
    run("ethtool", "-K", "lan1", "hw-tc-offload", "on")
    tc("filter add dev lan1 ingress pref 2 protocol ip flower skip_sw action drop",
       "filter del dev lan1 ingress")
    assert not rules("dsa0")


def test_hardware_counters():
    """The port counts what the CPU never saw."""
    tc("qdisc add dev lan1 clsact", "filter add dev lan1 ingress pref 1 protocol ip flower skip_sw "
       "action mirred egress redirect dev lan2")

    def link(name):
        stats = json.loads(run("ip", "-s", "-j", "link", "show", name).stdout)[0]["stats64"]
        return stats["rx"]["packets"], stats["tx"]["packets"]

    before = link("lan1"), link("lan2"), counters("dsa0")["lan1"]["to_cpu"][0]
    with Wire("lan1w") as wire, Wire("lan2w") as out:
        wire.send(*[FRAME] * 7)
        assert len(out.drain()) == 7
    assert link("lan1")[0] - before[0][0] == 7 and link("lan2")[1] - before[1][1] == 7
    assert counters("dsa0")["lan1"]["to_cpu"][0] == before[2]


def test_carrier():
    """A fixed link follows the wire."""
    run("ip", "link", "set", "lan52w", "down")
    wait(lambda: not carrier("lan52"), "lan52 down")
    run("ip", "link", "set", "lan52w", "up")
    wait(lambda: carrier("lan52"), "lan52 up")
    knob("dsa1", "ports/lan52/carrier", 0)
    wait(lambda: not carrier("lan52"), "lan52 down by the knob")
    knob("dsa1", "ports/lan52/carrier", 1)
    wait(lambda: carrier("lan52"), "lan52 up by the knob")


def test_beside_the_parameters():
    """Both forms at once: the switch of the parameters is dsa0 behind cpu0, the tree follows."""
    unload()
    # lan1 is taken by the tree, so that the parameters' switch is refused as a whole
    assert run("modprobe", "swsim", "ports=2", check=False).returncode
    assert subprocess.run(["ip", "link", "show", "cpu0"], capture_output=True).returncode
    switch_again()


def switch_again():
    run("modprobe", "swsim", "nics=1")
    run("ip", "link", "set", "cpu0", "up")
    assert Path("/sys/class/net/lan52").exists()
