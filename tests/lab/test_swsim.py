# SPDX-License-Identifier: GPL-2.0-or-later
"""swsim's fields, actions, order and refusals on NIC ports: each frame that is to match does, its
neighbour does not, and what comes out of the wire is right byte for byte.

sim0 has the rules; what they redirect comes out of sim1's wire. test_swsim_equal.py compares with
software, test_swsim_knobs.py has the knobs, test_swsim_dsa.py the switch.
"""
import time

import pytest

from frames import (ETH_P_8021AD, ETH_P_ARP, ETH_P_IP, ICMP, ICMPV6, TCP, UDP, Wire, arp,
                    bad_checksums, eth, icmp, icmpv6, ipv4, packet, tcp, udp, udp_frame)
from swsimlab import DST, OTHER, SRC, all_refused, counters, filters, load, rules, run, tc, unload

LAB = {"variants": ["6.1", "6.12"], "mem": "512M", "timeout": 300}

V4 = ("10.1.0.1", "10.2.0.1")
V6 = ("2001:db8:1::1", "2001:db8:2::1")


@pytest.fixture(scope="module", autouse=True)
def switch():
    load(nics=3)
    tc("qdisc add dev sim0 clsact", "qdisc add dev sim1 clsact")
    yield
    unload()


@pytest.fixture(scope="module")
def wires(switch):
    """In: sim0's wire. Out: sim1's and sim2's. Cpu: what the kernel receives on sim0."""
    opened = {name: Wire(device) for name, device in
              (("in", "sim0w"), ("out", "sim1w"), ("out2", "sim2w"), ("cpu", "sim0"))}
    yield opened
    for wire in opened.values():
        wire.close()


@pytest.fixture(autouse=True)
def empty(wires):
    yield
    if any(rules(name) for name in ("sim0", "sim1", "sim2")):
        tc("qdisc del dev sim0 clsact", "qdisc del dev sim1 clsact", "qdisc del dev sim2 clsact",
           "qdisc add dev sim0 clsact", "qdisc add dev sim1 clsact", force=True)
    for wire in wires.values():
        wire.drain(0)
    assert not any(rules(name) for name in ("sim0", "sim1", "sim2"))


def v4(**args):
    return udp_frame(DST, SRC, *V4, **args)


def v6(**args):
    return udp_frame(DST, SRC, *V6, **args)


def l4(addresses, proto, payload, vlans=(), **args):
    ethertype, data = packet(*addresses, proto, payload, **args)
    return eth(DST, SRC, ethertype, data, vlans)


def tcp4(sport=1024, dport=80, flags=0x02):
    return l4(V4, TCP, tcp(*V4, sport, dport, flags))


def tcp6(sport=1024, dport=80, flags=0x02):
    return l4(V6, TCP, tcp(*V6, sport, dport, flags))


def arps(op=1, sha=SRC, sip="10.1.0.1", tha="00:00:00:00:00:00", tip="10.1.0.2", vlans=()):
    return eth("ff:ff:ff:ff:ff:ff", SRC, ETH_P_ARP, arp(op, sha, sip, tha, tip), vlans)


Q = "protocol 802.1Q flower skip_sw"
FIELDS = {
    "all": ("protocol all flower skip_sw", [v4(), v6(), arps(), v4(vlans=[5])], []),
    "ipv4": ("protocol ip flower skip_sw", [v4()], [v6(), v4(vlans=[5]), arps()]),
    "ipv6": ("protocol ipv6 flower skip_sw", [v6()], [v4(), v6(vlans=[5])]),
    "ethertype": ("protocol 0x88b5 flower skip_sw", [eth(DST, SRC, 0x88b5, b"x")],
                  [eth(DST, SRC, 0x88b6, b"x"), v4()]),
    "dst_mac": (f"protocol all flower skip_sw dst_mac {DST}", [v4(), v6(vlans=[7])],
                [udp_frame(OTHER, SRC, *V4)]),
    "src_mac": (f"protocol all flower skip_sw src_mac {SRC}", [v4()], [udp_frame(DST, OTHER, *V4)]),
    "mac mask": ("protocol all flower skip_sw dst_mac 02:00:00:00:00:00/ff:ff:ff:ff:00:00",
                 [v4(), udp_frame(OTHER, SRC, *V4)], [udp_frame("02:00:00:01:00:01", SRC, *V4)]),
    "group bit": ("protocol all flower skip_sw dst_mac 01:00:00:00:00:00/01:00:00:00:00:00",
                  [arps(), udp_frame("01:00:5e:00:00:01", SRC, *V4)], [v4()]),
    "vlan_id": (f"{Q} vlan_id 10", [v4(vlans=[10]), v6(vlans=[(10, 5)]), v4(vlans=[10, 20])],
                [v4(vlans=[11]), v4(), v4(vlans=[20, 10])]),
    "vlan_id 0": (f"{Q} vlan_id 0", [v4(vlans=[(0, 3)])], [v4(vlans=[1]), v4()]),
    "vlan_prio": (f"{Q} vlan_prio 3", [v4(vlans=[(10, 3)])], [v4(vlans=[(10, 2)]), v4()]),
    "vlan_ethtype": (f"{Q} vlan_ethtype ip", [v4(vlans=[10])], [v6(vlans=[10]), v4(vlans=[10,
                                                                                          20])]),
    "802.1ad": ("protocol 802.1ad flower skip_sw vlan_id 10", [v4(vlans=[(10, 0, ETH_P_8021AD)])],
                [v4(vlans=[10]), v4()]),
    "vlan and dst_ip": (f"{Q} vlan_id 10 vlan_ethtype ip dst_ip 10.2.0.0/16", [v4(vlans=[10])],
                        [v4(), v4(vlans=[11]), l4(("10.1.0.1", "10.3.0.1"), UDP, b"x" * 8, [10])]),
    "cvlan": ("protocol 802.1ad flower skip_sw vlan_id 5 vlan_ethtype 802.1q cvlan_id 6 "
              "cvlan_prio 2 cvlan_ethtype ipv6", [v6(vlans=[(5, 0, ETH_P_8021AD), (6, 2)])],
              [v4(vlans=[(5, 0, ETH_P_8021AD), (6, 2)]), v6(vlans=[(5, 0, ETH_P_8021AD), (7, 2)]),
               v6(vlans=[(5, 0, ETH_P_8021AD), (6, 1)]), v6(vlans=[(5, 0, ETH_P_8021AD)])]),
    "src_ip": ("protocol ip flower skip_sw src_ip 10.1.0.1", [v4()],
               [udp_frame(DST, SRC, "10.1.0.2", V4[1])]),
    "dst_ip prefix": ("protocol ip flower skip_sw dst_ip 10.2.0.0/15",
                      [v4(), udp_frame(DST, SRC, V4[0], "10.3.255.255")],
                      [udp_frame(DST, SRC, V4[0], "10.4.0.0")]),
    "src_ip v6": ("protocol ipv6 flower skip_sw src_ip 2001:db8:1::/48", [v6()],
                  [udp_frame(DST, SRC, "2001:db8:2::1", V6[1])]),
    "dst_ip v6": ("protocol ipv6 flower skip_sw dst_ip 2001:db8:2::1", [v6()],
                  [udp_frame(DST, SRC, V6[0], "2001:db8:2::2")]),
    "ip_proto": ("protocol ip flower skip_sw ip_proto udp", [v4()], [tcp4(), l4(V4, 47, b"x" * 8)]),
    "ip_proto 0x59": ("protocol ipv6 flower skip_sw ip_proto 0x59", [l4(V6, 89, b"x" * 8)], [v6()]),
    "ip_tos": ("protocol ip flower skip_sw ip_tos 0x10", [v4(tos=0x10)], [v4(), v4(tos=0x11)]),
    "ip_tos mask": ("protocol ip flower skip_sw ip_tos 0xb8/0xfc", [v4(tos=0xb8), v4(tos=0xbb)],
                    [v4(tos=0xb4)]),
    "traffic class": ("protocol ipv6 flower skip_sw ip_tos 0x12", [v6(tos=0x12)], [v6()]),
    "ip_ttl": ("protocol ip flower skip_sw ip_ttl 1", [v4(ttl=1)], [v4(), v4(ttl=2)]),
    "hop limit": ("protocol ipv6 flower skip_sw ip_ttl 1", [v6(ttl=1)], [v6()]),
    "ip_ttl mask": ("protocol ip flower skip_sw ip_ttl 0/0xfe", [v4(ttl=0), v4(ttl=1)],
                    [v4(ttl=2)]),
    "dst_port": ("protocol ip flower skip_sw ip_proto udp dst_port 53", [v4(dport=53)],
                 [v4(dport=54), v4(sport=53), tcp4(dport=53)]),
    "src_port": ("protocol ipv6 flower skip_sw ip_proto tcp src_port 179", [tcp6(sport=179)],
                 [tcp6(), v6(sport=179)]),
    "port mask": ("protocol ip flower skip_sw ip_proto udp dst_port 1024/0xfff0",
                  [v4(dport=1024), v4(dport=1039)], [v4(dport=1040), v4(dport=1023)]),
    "sctp port": ("protocol ip flower skip_sw ip_proto sctp dst_port 2905",
                  [l4(V4, 132, b"\x0b\x59\x0b\x59" + b"\0" * 8)],
                  [l4(V4, 132, b"\x0b\x59\x0b\x5a" + b"\0" * 8)]),
    "dst_port range": ("protocol ip flower skip_sw ip_proto udp dst_port 100-200",
                       [v4(dport=100), v4(dport=150), v4(dport=200)],
                       [v4(dport=99), v4(dport=201), tcp4(dport=150)]),
    "two ranges": ("protocol ipv6 flower skip_sw ip_proto tcp src_port 1000-2000 dst_port 100-200",
                   [tcp6(1000, 200), tcp6(2000, 100)], [tcp6(999, 150), tcp6(1500, 99)]),
    "tcp_flags": ("protocol ip flower skip_sw ip_proto tcp tcp_flags 0x02/0x12", [tcp4(flags=0x02)],
                  [tcp4(flags=0x12), tcp4(flags=0x10), v4()]),
    "tcp_flags high": ("protocol ip flower skip_sw ip_proto tcp tcp_flags 0x100/0x100",
                       [tcp4(flags=0x102)], [tcp4(flags=0x02)]),
    "icmp": ("protocol ip flower skip_sw ip_proto icmp type 3 code 4",
             [l4(V4, ICMP, icmp(3, 4))], [l4(V4, ICMP, icmp(3, 3)), l4(V4, ICMP, icmp(8, 4)),
                                          v4()]),
    "icmpv6": ("protocol ipv6 flower skip_sw ip_proto icmpv6 type 135",
               [l4(V6, ICMPV6, icmpv6(*V6, 135))], [l4(V6, ICMPV6, icmpv6(*V6, 136)), v6()]),
    "arp op": ("protocol arp flower skip_sw arp_op reply", [arps(2)], [arps(1), v4()]),
    "arp_sip": ("protocol arp flower skip_sw arp_sip 10.1.0.0/24", [arps()],
                [arps(sip="10.1.1.1")]),
    "arp_tip": ("protocol arp flower skip_sw arp_tip 10.1.0.2", [arps()], [arps(tip="10.1.0.3")]),
    "arp_sha": (f"protocol arp flower skip_sw arp_sha {SRC}", [arps()], [arps(sha=OTHER)]),
    "arp_tha": (f"protocol arp flower skip_sw arp_tha {OTHER}", [arps(tha=OTHER)], [arps()]),
    "frag": ("protocol ip flower skip_sw ip_flags frag",
             [l4(V4, UDP, b"x" * 16, frag=0x2000), l4(V4, UDP, b"x" * 16, frag=0x0002)], [v4()]),
    "nofrag": ("protocol ip flower skip_sw ip_flags nofrag", [v4()],
               [l4(V4, UDP, b"x" * 16, frag=0x2000)]),
    "firstfrag": ("protocol ip flower skip_sw ip_flags frag/firstfrag",
                  [l4(V4, UDP, b"x" * 16, frag=0x2000)], [l4(V4, UDP, b"x" * 16, frag=0x0002)]),
    "ip options": ("protocol ip flower skip_sw ip_proto udp dst_port 9",
                   [l4(V4, UDP, udp(*V4, 1, 9), options=b"\x94\4\0\0")], []),
    "matchall": ("protocol all matchall skip_sw", [v4(), v6(), arps(), v4(vlans=[3, 4])], []),
    "matchall v6": ("protocol ipv6 matchall skip_sw", [v6()], [v4(), v6(vlans=[3])]),
}


@pytest.mark.parametrize("case", FIELDS)
def test_field(case, wires):
    match, hits, misses = FIELDS[case]
    tc(f"filter add dev sim0 ingress pref 10 {match} action mirred egress redirect dev sim1")
    wires["in"].send(*hits, *misses)
    assert wires["out"].drain() == hits
    assert wires["cpu"].drain() == misses
    rule, = rules("sim0")
    assert rule[2:] == (len(hits), sum(map(len, hits)))


REFUSED = {
    "indev": ("protocol ip flower skip_sw indev sim0 action drop", "indev"),
    "ct_state": ("protocol ip flower skip_sw ct_state +trk action drop", "ct_state"),
    "mpls": ("protocol mpls_uc flower skip_sw mpls_label 5 action drop", "mpls"),
    "enc": ("protocol ip flower skip_sw enc_key_id 5 action drop", "enc_key_id"),
    "enc_dst_ip": ("protocol ip flower skip_sw enc_dst_ip 10.0.0.1 action drop", "enc_"),
    "range and port": ("protocol ip flower skip_sw ip_proto udp src_port 5 dst_port 10-20 "
                       "action drop",
                       "exact port together"),
    "to dummy": ("protocol ip flower skip_sw action mirred egress redirect dev dummy0",
                 "ports of swsim only"),
    "to a wire": ("protocol ip flower skip_sw action mirred egress mirror dev sim1w",
                  "ports of swsim only"),
    "ingress": ("protocol ip flower skip_sw action mirred ingress redirect dev sim1",
                "egress only"),
    "no csum": ("protocol ip flower skip_sw action pedit ex munge ip ttl dec pipe "
                "action mirred egress redirect dev sim1", "csum"),
    "pedit all": ("protocol all flower skip_sw action pedit ex munge ip ttl dec pipe "
                  "action csum ip4h",
                  "match on IPv4"),
    "pedit src": ("protocol ip flower skip_sw action pedit ex munge ip src set 1.2.3.4 pipe "
                  "action csum ip4h", "ttl and tos only"),
    "pedit tcp": ("protocol ip flower skip_sw ip_proto tcp action pedit ex munge tcp dport set 5",
                  "pedit is for"),
    "pedit ethertype": ("protocol all flower skip_sw action pedit ex munge eth type set 0x0800",
                        "MAC addresses only"),
    "csum tcp": ("protocol ip flower skip_sw action csum tcp", "ip4h only"),
    "sample": ("protocol ip flower skip_sw action sample rate 10 group 5", "sample"),
    "skbedit": ("protocol ip flower skip_sw action skbedit mark 5", "skbedit"),
    "push_eth": ("protocol ip flower skip_sw action vlan push_eth dst_mac 02:00:00:00:00:01 "
                 "src_mac 02:00:00:00:00:02", "push_eth"),
    "police pipe": ("protocol ip flower skip_sw action police rate 1mbit burst 10k conform-exceed "
                    "pipe/pipe", "police drops"),
    "police peak": ("protocol ip flower skip_sw action police rate 1mbit peakrate 2mbit mtu 2000 "
                    "burst 10k conform-exceed drop/pipe", "peakrate"),
}


@pytest.fixture(scope="module")
def refusals(switch):
    """What the kernel says to each of REFUSED, all in one tc; none of them may be taken."""
    run("ip", "link", "add", "dummy0", "type", "dummy", check=False)
    said = all_refused(*[f"filter add dev sim0 ingress pref 10 {line}"
                         for line, _ in REFUSED.values()])
    assert not rules("sim0") and not filters("sim0")
    return dict(zip(REFUSED, said))


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case, refusals):
    assert "swsim: " in refusals[case] and REFUSED[case][1] in refusals[case]


MACS = f"action pedit ex munge eth src set {DST} munge eth dst set {OTHER}"
TO = "action mirred egress redirect dev sim1"
HOP4 = f"{MACS} munge ip ttl dec pipe action csum ip4h pipe {TO}"
HOP6 = f"{MACS} munge ip6 hoplimit dec pipe {TO}"


def routed(frame_of, vlans=(), ttl=63):
    ethertype, data = frame_of(ttl)
    return eth(OTHER, DST, ethertype, data, vlans)


def data4(ttl):
    return packet(*V4, UDP, udp(*V4, 1024, 9), ttl=ttl)


def data6(ttl):
    return packet(*V6, UDP, udp(*V6, 1024, 9), ttl=ttl)


ACTIONS = {
    "redirect": ("protocol all flower skip_sw", TO, v4(), v4()),
    "redirect tagged": ("protocol all flower skip_sw", TO, v6(vlans=[(10, 3)]), v6(vlans=[(10,
                                                                                           3)])),
    "modify": (f"{Q} vlan_id 10", f"action vlan modify id 20 pipe {TO}", v4(vlans=[(10, 5, 0x8100,
                                                                                    1)]),
               v4(vlans=[(20, 5, 0x8100, 1)])),
    "modify prio": (f"{Q} vlan_id 10", f"action vlan modify id 20 priority 3 pipe {TO}",
                    v4(vlans=[(10, 5)]), v4(vlans=[(20, 3)])),
    "modify tpid": (f"{Q} vlan_id 10", f"action vlan modify id 20 protocol 802.1ad pipe {TO}",
                    v4(vlans=[10, 7]), v4(vlans=[(20, 0, ETH_P_8021AD), 7])),
    "modify untagged": ("protocol ip flower skip_sw", f"action vlan modify id 20 pipe {TO}", v4(),
                        v4()),
    "push": ("protocol ip flower skip_sw", f"action vlan push id 30 priority 2 pipe {TO}", v4(),
             v4(vlans=[(30, 2)])),
    "push second": (Q, f"action vlan push id 30 protocol 802.1ad pipe {TO}", v6(vlans=[(10, 1)]),
                    v6(vlans=[(30, 0, ETH_P_8021AD), (10, 1)])),
    "pop": (f"{Q} vlan_id 10", f"action vlan pop pipe {TO}", v4(vlans=[10]), v4()),
    "pop one of two": (f"{Q} vlan_id 10", f"action vlan pop pipe {TO}", v4(vlans=[10, (11, 4)]),
                       v4(vlans=[(11, 4)])),
    "pop two, push": (f"{Q} vlan_id 10", f"action vlan pop pipe action vlan pop pipe "
                      f"action vlan push id 9 pipe {TO}", v6(vlans=[10, 11]), v6(vlans=[9])),
    "router v4": ("protocol ip flower skip_sw", HOP4, v4(), routed(data4)),
    "router v6": ("protocol ipv6 flower skip_sw", HOP6, v6(), routed(data6)),
    "router v4 tagged": (f"{Q} vlan_id 10 vlan_ethtype ip", f"action vlan modify id 20 pipe {HOP4}",
                         v4(vlans=[(10, 6)]), routed(data4, [(20, 6)])),
    "router v6 tagged": (f"{Q} vlan_id 10 vlan_ethtype ipv6",
                         f"action vlan modify id 20 pipe {HOP6}",
                         v6(vlans=[(10, 6)]), routed(data6, [(20, 6)])),
    "router pop": (f"{Q} vlan_id 10 vlan_ethtype ip", f"action vlan pop pipe {HOP4}",
                   v4(vlans=[10]),
                   routed(data4)),
    "router push": ("protocol ipv6 flower skip_sw", f"action vlan push id 4094 pipe {HOP6}", v6(),
                    routed(data6, [4094])),
    "router q-in-q": ("protocol 802.1ad flower skip_sw vlan_ethtype 802.1q cvlan_ethtype ip", HOP4,
                      v4(vlans=[(5, 0, ETH_P_8021AD), 6]),
                      routed(data4, [(5, 0, ETH_P_8021AD), 6])),
    "ttl 1": ("protocol ip flower skip_sw", HOP4, v4(ttl=1), routed(data4, ttl=0)),
    "ttl 0": ("protocol ip flower skip_sw", HOP4, v4(ttl=0), routed(data4, ttl=255)),
    "hop limit 0": ("protocol ipv6 flower skip_sw", HOP6, v6(ttl=0), routed(data6, ttl=255)),
    "tos": ("protocol ip flower skip_sw", f"action pedit ex munge ip tos set 0x28 pipe "
            f"action csum ip4h pipe {TO}", v4(tos=3), v4(tos=0x28)),
    "ttl set": ("protocol ip flower skip_sw", f"action pedit ex munge ip ttl set 7 pipe "
                f"action csum ip4h pipe {TO}", v4(), v4(ttl=7)),
}


@pytest.mark.parametrize("case", ACTIONS)
def test_action(case, wires):
    match, actions, sent, wanted = ACTIONS[case]
    tc(f"filter add dev sim0 ingress pref 10 {match} {actions}")
    wires["in"].send(sent)
    got = wires["out"].drain()
    assert [f.hex() for f in got] == [wanted.hex()]
    assert not bad_checksums(got[0]) and not wires["cpu"].drain(0)


def test_action_on_l4_with_options(wires):
    """The header's length is respected: options are in the checksum, data is not."""
    tc(f"filter add dev sim0 ingress pref 10 protocol ip flower skip_sw {HOP4}")
    for ttl in range(2, 256, 23):
        data = ipv4(*V4, TCP, tcp(*V4, 5, 6, data=b"odd"), ttl=ttl, options=b"\x94\4\0\0\1\1\1\1")
        wires["in"].send(eth(DST, SRC, ETH_P_IP, data))
        wanted = ipv4(*V4, TCP, tcp(*V4, 5, 6, data=b"odd"), ttl=ttl - 1,
                      options=b"\x94\4\0\0\1\1\1\1")
        assert wires["out"].receive() == eth(OTHER, DST, ETH_P_IP, wanted)


def test_drop_trap_pass(wires):
    tc("filter add dev sim0 ingress pref 1 protocol ip flower skip_sw dst_ip 10.2.0.1 action drop",
       "filter add dev sim0 ingress pref 2 protocol ipv6 flower skip_sw action trap",
       "filter add dev sim0 ingress pref 3 protocol arp flower skip_sw action ok",
       f"filter add dev sim0 ingress pref 4 protocol all matchall skip_sw {TO}")
    before = counters("sim0")["sim0"]
    odd = v4(vlans=[9])
    wires["in"].send(v4(), v6(), arps(), odd)
    assert wires["cpu"].drain() == [v6(), arps()]
    assert wires["out"].drain() == [odd]
    after = counters("sim0")["sim0"]
    moved = {name: after[name][0] - before[name][0] for name in after}
    assert moved == {"rx": 4, "tx": 0, "to_cpu": 2, "from_cpu": 0, "forwarded": 1, "mirrored": 0,
                     "dropped": 1, "lost": 0}


def test_hairpin(wires):
    """The router on a stick: in and out by one port."""
    tc("filter add dev sim0 ingress pref 1 protocol 802.1q flower skip_sw vlan_id 10 "
       f"vlan_ethtype ip action vlan modify id 20 pipe {MACS} munge ip ttl dec pipe "
       "action csum ip4h pipe action mirred egress redirect dev sim0")
    wires["in"].send(v4(vlans=[10]))
    assert wires["in"].drain() == [routed(data4, [20])]


def test_mirror(wires):
    """A copy leaves as the frame was then; what comes behind changes the frame alone."""
    tc("filter add dev sim0 ingress pref 1 protocol ip flower skip_sw "
       "action mirred egress mirror dev sim2 pipe action vlan push id 7 pipe "
       "action mirred egress mirror dev sim1 pipe action vlan pop pipe action ok")
    wires["in"].send(v4())
    assert wires["out2"].drain() == [v4()]
    assert wires["out"].drain() == [v4(vlans=[7])]
    assert wires["cpu"].drain() == [v4()]
    assert counters("sim0")["sim0"]["mirrored"][0] >= 2


def test_order(wires):
    """Ascending prefs decide, not the order of adding."""
    tc(f"filter add dev sim0 ingress pref 30 protocol all matchall skip_sw {TO}",
       "filter add dev sim0 ingress pref 20 protocol ip flower skip_sw dst_ip 10.2.0.0/16 "
       "action drop",
       "filter add dev sim0 ingress pref 10 protocol ip flower skip_sw dst_ip 10.2.0.0/24 "
       "action trap",
       "filter add dev sim0 ingress pref 65535 protocol all flower skip_sw action drop")
    far = udp_frame(DST, SRC, V4[0], "10.2.1.1")
    wires["in"].send(v4(), far, v6())
    assert wires["cpu"].drain() == [v4()] and wires["out"].drain() == [v6()]
    assert [r[2] for r in sorted(rules("sim0"), key=lambda r: int(r[0].split()[3]))] == [1, 1, 1, 0]


def test_masks_of_one_pref(wires):
    """As in cls_flower, the mask that came first is tried first."""
    tc("filter add dev sim0 ingress pref 1 protocol ip flower skip_sw dst_ip 10.0.0.0/8 "
       "action drop",
       f"filter add dev sim0 ingress pref 1 protocol ip flower skip_sw dst_ip 10.2.0.1 {TO}")
    wires["in"].send(v4())
    assert not wires["out"].drain() and [r[2] for r in rules("sim0")] == [1, 0]


def test_chains(wires):
    tc("filter add dev sim0 ingress pref 1 protocol ip flower skip_sw dst_ip 10.2.0.0/16 "
       "action vlan push id 3 pipe action goto chain 5",
       "filter add dev sim0 ingress chain 5 pref 9 protocol 802.1q flower skip_sw vlan_id 3 "
       f"vlan_ethtype ip src_ip 10.1.0.1 {TO}",
       "filter add dev sim0 ingress pref 2 protocol ipv6 flower skip_sw action goto chain 77",
       "filter add dev sim0 ingress pref 3 protocol arp flower skip_sw action goto chain 8",
       "filter add dev sim0 ingress chain 8 pref 1 protocol arp flower skip_sw action goto chain 8")
    miss = udp_frame(DST, SRC, "10.9.0.1", V4[1])
    wires["in"].send(v4(), miss, v6(), arps())
    assert wires["out"].drain() == [v4(vlans=[3])]
    # a miss goes to the kernel as it is by then; a loop ends in a drop
    assert wires["cpu"].drain() == [udp_frame(DST, SRC, "10.9.0.1", V4[1], vlans=[3]), v6()]


def test_police(wires):
    """10 frames of 1000 bytes in a burst of 5000: five pass; one more after 2 s at 500 bytes/s."""
    tc("filter add dev sim0 ingress pref 1 protocol ip flower skip_sw action police rate 4kbit "
       f"burst 5000 conform-exceed drop/pipe {TO}",
       "filter add dev sim0 ingress pref 2 protocol ipv6 flower skip_sw action police pkts_rate 1 "
       "pkts_burst 3 conform-exceed drop/ok")
    frame = v4(data=b"x" * (1000 - 42))
    wires["in"].send(*[frame] * 10)
    assert wires["out"].drain() == [frame] * 5
    wires["in"].send(*[v6()] * 10)
    assert wires["cpu"].drain() == [v6()] * 3
    time.sleep(2.2)
    wires["in"].send(frame, frame)
    assert wires["out"].drain() == [frame]
    stats = filters("sim0")[0]["options"]["actions"][0]["stats"]
    assert (stats["packets"], stats["hw_packets"], stats["drops"]) == (12, 12, 6)


def test_egress(wires):
    """Rules on egress see what the kernel sends, and what other ports redirect here."""
    tc("filter add dev sim1 egress pref 1 protocol ip flower skip_sw dst_ip 10.2.0.0/16 "
       "action vlan push id 5",
       "filter add dev sim1 egress pref 2 protocol ipv6 flower skip_sw action drop",
       "filter add dev sim1 egress pref 3 protocol arp flower skip_sw "
       "action mirred egress redirect dev sim2",
       f"filter add dev sim0 ingress pref 1 protocol all matchall skip_sw {TO}")
    wires["in"].send(v4(), v6(), arps())
    with Wire("sim1") as kernel:
        kernel.send(v4(), v6(), arps())
    assert wires["out"].drain() == [v4(vlans=[5])] * 2
    assert wires["out2"].drain() == [arps()] * 2
    assert [r[2] for r in rules("sim1")] == [2, 2, 2]


def test_egress_loop(wires):
    """Two ports that send everything to each other: the frame is lost, and that is all."""
    tc("qdisc add dev sim2 clsact",
       "filter add dev sim1 egress pref 1 protocol all matchall skip_sw "
       "action mirred egress redirect dev sim2",
       "filter add dev sim2 egress pref 1 protocol all matchall skip_sw "
       "action mirred egress redirect dev sim1",
       f"filter add dev sim0 ingress pref 1 protocol all matchall skip_sw {TO}")
    wires["in"].send(v4())
    assert not wires["out"].drain() and not wires["out2"].drain(0)


def test_replace(wires):
    """Replaced in place: the frame finds the one or the other, and the count begins anew."""
    tc("filter add dev sim0 ingress pref 1 handle 1 protocol ip flower skip_sw dst_ip 10.2.0.1 "
       "action drop")
    wires["in"].send(v4())
    tc("filter replace dev sim0 ingress pref 1 handle 1 protocol ip flower skip_sw dst_ip 10.2.0.1 "
       f"{TO}")
    wires["in"].send(v4())
    assert wires["out"].drain() == [v4()]
    assert [r[1:3] for r in rules("sim0")] == [("redirect sim1", 1)]
