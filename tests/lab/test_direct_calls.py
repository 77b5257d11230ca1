# SPDX-License-Identifier: GPL-2.0-or-later
"""Direct calls of built-in classifiers and actions (kmod/patches/6.1/direct-*): each of them decides the same
whether it is called by name or by pointer.

Packets leave by a0, whose clsact has the filters, and arrive at a1; what a filter redirects leaves by b0 and
arrives at b1. test_direct_code.py shows that all of these are really called by name.
"""
import contextlib
import os
import socket
import time
from pathlib import Path

import pytest

from bypasslab import batch, run, tc
from frames import Wire, bad_checksums, eth, ipv4, udp, udp_frame, ETH_P_IP, UDP

LAB = {"variants": ["6.1-swd"],
       "all_variants": ["6.1-debug", "6.1-smp"], "mem": "512M", "timeout": 300}

SWITCH = Path("/sys/module/net_sched/parameters/direct_calls")
CGROUP = Path("/tmp/net_cls")
HERE, THERE, ROUTER = "10.1.0.1", "10.2.0.9", "02:00:00:00:00:09"
TO_THERE = "match 'u32(u32 0x0a020009 0xffffffff at 16)'"
REDIRECT = "action mirred egress redirect dev b0"

# Packets 0 to 3: odd ones have port 10, mark 7 and a sender in a cgroup, even ones port 9 and neither; from 2
# on they go THERE, which the route calls realm 5, and before to its neighbour.
CLASSIFIERS = {
    "basic": (f"basic {TO_THERE}", {2, 3}),
    "bpf": ("bpf bytecode '4,40 0 0 36,21 0 1 9,6 0 0 4294967295,6 0 0 0'", {0, 2}),
    "cgroup": ("handle 1 cgroup", {1, 3}),
    "flow": (f"handle 1 flow hash keys dst divisor 8 baseclass 1:1 {TO_THERE}", {2, 3}),
    "flower": ("flower ip_proto udp dst_port 10", {1, 3}),
    "fw": ("handle 7 fw", {1, 3}),
    "matchall": ("matchall", {0, 1, 2, 3}),
    "route": ("route to 5", {2, 3}),
    "u32": ("u32 match ip dport 9 0xffff", {0, 2}),
}

FRAME = udp_frame(ROUTER, "02:00:00:00:00:01", HERE, THERE)
BROKEN = eth(ROUTER, "02:00:00:00:00:01", ETH_P_IP,
             ipv4(HERE, THERE, UDP, udp(HERE, THERE, 1024, 9)[:6] + b"\x12\x34" + bytes(range(32))))
SAME, CHANGED, GONE = "same", "changed", "gone"
ACTIONS = {
    "bpf": ("bpf bytecode '1,6 0 0 2'", GONE),
    "connmark": ("connmark pipe", SAME),
    "csum": ("csum ip4h udp pipe", CHANGED),
    "ct": ("ct zone 1 pipe", SAME),
    "ctinfo": ("ctinfo dscp 0xfc000000 0x02000000 pipe", SAME),
    "gact": ("gact drop", GONE),
    "gate": ("gate clockid CLOCK_TAI sched-entry close 10000000 -1 -1", GONE),
    "mirred": ("mirred egress mirror dev b0 pipe", SAME),
    "mpls": ("mpls push protocol mpls_uc label 123 ttl 9 pipe", CHANGED),
    "nat": (f"nat egress {HERE}/32 10.9.9.9 pipe", CHANGED),
    "pedit": ("pedit ex munge ip ttl set 9 pipe", CHANGED),
    "police": ("police rate 8kbit burst 20 conform-exceed drop/pipe", GONE),
    "sample": ("sample rate 1 group 5 pipe", SAME),
    "simple": ("simple sdata swd pipe", SAME),
    "skbedit": ("skbedit mark 7 pipe", SAME),
    "skbmod": ("skbmod set dmac 02:00:00:00:00:77 pipe", CHANGED),
    "tunnel_key": ("tunnel_key set src_ip 10.8.0.1 dst_ip 10.8.0.2 id 5 pipe", SAME),
    "vlan": ("vlan push id 5 pipe", CHANGED),
}


@pytest.fixture(scope="session", autouse=True)
def machine():
    run("sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1")
    batch("ip", "link add a0 type veth peer name a1", "link add b0 type veth peer name b1",
          *(f"link set {dev} up" for dev in ("a0", "a1", "b0", "b1")), f"address add {HERE}/24 dev a0",
          f"neighbour add 10.1.0.9 lladdr {ROUTER} dev a0",
          "route add 10.2.0.0/24 via 10.1.0.9 realm 5")
    tc("qdisc add dev a0 clsact")
    CGROUP.mkdir()
    run("mount", "-t", "cgroup", "-o", "net_cls", "net_cls", str(CGROUP))
    (CGROUP / "odd").mkdir()
    (CGROUP / "odd/net_cls.classid").write_text("0x10001")


@pytest.fixture(name="wires")
def fixture_wires():
    with Wire("a1") as a1, Wire("b1") as b1:
        yield a1, b1
    tc("filter delete dev a0 egress")


def calls(direct):
    SWITCH.write_text("1" if direct else "0")
    assert SWITCH.read_text().strip() == ("Y" if direct else "N")


def counted():
    """What each action on a0 has counted."""
    shown = run("tc", "-s", "filter", "show", "dev", "a0", "egress")
    return [int(line.split()[3]) for line in shown.splitlines() if "Sent " in line]


def send_four():
    for number in range(4):
        odd = number % 2
        (CGROUP / ("odd" if odd else "") / "cgroup.procs").write_text(str(os.getpid()))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, 7 if odd else 0)
            sock.sendto(bytes([number]) * 8, (THERE if number > 1 else "10.1.0.9", 10 if odd else 9))


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_a_classifier_finds_the_same_packets(wires, kind):
    words, expected = CLASSIFIERS[kind]
    tc(f"filter add dev a0 egress pref 1 protocol ip {words} {REDIRECT}")
    for direct in (False, True):
        calls(direct)
        send_four()
        passed, found = ({frame[42] for frame in wire.drain()} for wire in wires)
        assert (found, passed) == (expected, {0, 1, 2, 3} - expected), f"direct: {direct}"


@pytest.mark.parametrize("kind", ACTIONS)
def test_an_action_does_the_same(wires, kind):
    words, expected = ACTIONS[kind]
    tc(f"filter add dev a0 egress pref 1 protocol ip matchall action {words} {REDIRECT}")
    frame = BROKEN if kind == "csum" else FRAME
    if kind == "gate":
        time.sleep(0.2)     # it is open until its first cycle begins, 10 ms at most
    with Wire("a0") as a0:
        results, counts = [], []
        for direct in (False, True):
            calls(direct)
            before = counted()
            for _ in range(2):
                with contextlib.suppress(OSError):      # who sends is told of a drop
                    a0.send(frame)
            results.append([wire.drain() for wire in wires])
            counts.append([new - old for old, new in zip(before, counted(), strict=True)])
    assert results[0] == results[1]
    assert counts[0] == counts[1] == ([2, 2] if expected != GONE else [2, 0])
    passed, found = results[1]
    copies = 4 if kind == "mirred" else 2
    assert passed == [] and found == ([] if expected == GONE else [found[0]] * copies)
    assert expected == GONE or (found[0] == frame) == (expected == SAME)
    if kind == "csum":
        assert bad_checksums(frame) == ["udp"] and not bad_checksums(found[0])
