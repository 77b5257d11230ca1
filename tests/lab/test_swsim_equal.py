# SPDX-License-Identifier: GPL-2.0-or-later
"""swsim decides as the kernel does: the same random rules, once skip_sw at one port and once
skip_hw at another, and the same random frames to both. What comes out must be equal byte for byte
and in order, and each rule must have counted the same number of packets.

Each rule marks what it redirects with a tag of its own, and each chain ends with a rule for all, so
that what comes out names the rule that was found.
"""
import random

import pytest

from frames import ETH_P_8021AD, ETH_P_8021Q, Wire, arp, eth, icmp, icmpv6, packet
from frames import tcp as tcp_segment
from frames import udp
from swsimlab import filters, load, tc, unload

LAB = {"variants": ["6.12"], "all_variants": ["6.1"], "mem": "512M", "timeout": 400}

MACS = ("02:00:00:00:00:01", "02:00:00:00:00:02", "01:00:5e:00:00:05", "ff:ff:ff:ff:ff:ff")
V4 = ("10.1.0.1", "10.1.0.2", "10.2.0.1", "192.0.2.129")
V6 = ("2001:db8:1::1", "2001:db8:1::2", "2001:db8:2::1", "fe80::1")
PORTS = (53, 80, 179, 1024, 1025, 40000)
TAGS = (0, 5, 6)
PROTOCOLS = ("all", "ip", "ipv6", "arp", "802.1q", "802.1ad", "0x88b5")


@pytest.fixture(scope="module", autouse=True)
def switch():
    load(nics=4, ports=4)
    yield
    unload()


def prefix(rng, pool, bits):
    return f"{rng.choice(pool)}/{rng.choice((0, 8, 16, bits // 2, bits - 3, bits)) or 1}"


def l4_match(rng, version):
    """Match fields from the IP header on."""
    words = []
    pool, bits = (V4, 32) if version == 4 else (V6, 128)
    for side in ("src_ip", "dst_ip"):
        if rng.random() < 0.4:
            words += [side, prefix(rng, pool, bits)]
    if rng.random() < 0.2:
        words += ["ip_tos", rng.choice(("0x10", "0xb8/0xfc", "0/0x03"))]
    if rng.random() < 0.2:
        words += ["ip_ttl", rng.choice(("1", "64", "0/0xc0"))]
    if version == 4 and rng.random() < 0.15:
        words += ["ip_flags", rng.choice(("frag", "nofrag", "frag/firstfrag", "frag/nofirstfrag"))]
    kind = rng.choice(("none", "tcp", "udp", "sctp", "icmp", "icmp", "0x2f", "0x4", "0x29"))
    if kind == "icmp":
        words += ["ip_proto", "icmp" if version == 4 else "icmpv6"]
        if rng.random() < 0.7:
            words += ["type", str(rng.choice((0, 3, 8, 128, 135)))]
        if rng.random() < 0.4:
            words += ["code", str(rng.choice((0, 4)))]
    elif kind != "none":
        words += ["ip_proto", kind]
    if kind in ("tcp", "udp", "sctp"):
        how = rng.random()
        for side in ("src_port", "dst_port"):
            if rng.random() < 0.5:
                port = rng.choice(PORTS)
                words += [side, f"{port}" if how < 0.5 else
                          f"{port}/0xfff0" if how < 0.65 and kind != "sctp" else
                          f"{port}-{port + rng.choice((1, 100, 2000))}"]
        if kind == "tcp" and rng.random() < 0.4:
            words += ["tcp_flags", rng.choice(("0x02/0x12", "0x10/0x10", "0x0/0x07",
                                               "0x100/0x100"))]
    return words


def arp_match(rng):
    words = []
    for field, values in (("arp_op", ("request", "reply")), ("arp_sip", ("10.1.0.0/24",
                                                                         "10.2.0.1")),
                          ("arp_tip", ("10.1.0.2",)), ("arp_sha", MACS), ("arp_tha", MACS)):
        if rng.random() < 0.35:
            words += [field, rng.choice(values)]
    return words


def match(rng):
    """As match_any, but narrow enough to leave frames to other rules."""
    while True:
        found = match_any(rng)
        if len(found[1]) >= (4 if found[0].startswith("802") else 2):
            return found


def match_any(rng):
    """(protocol, match fields, "ip" or "ipv6" when it matches nothing else)"""
    protocol = rng.choice(PROTOCOLS)
    words, inner = [], protocol
    if protocol in ("802.1q", "802.1ad"):
        if rng.random() < 0.7:
            words += ["vlan_id", str(rng.choice(TAGS))]
        if rng.random() < 0.3:
            words += ["vlan_prio", str(rng.choice((0, 3)))]
        inner = rng.choice(("ip", "ipv6", "arp", "802.1q", ""))
        if inner:
            words += ["vlan_ethtype", inner]
        if inner == "802.1q":
            if rng.random() < 0.7:
                words += ["cvlan_id", str(rng.choice(TAGS))]
            inner = rng.choice(("ip", "ipv6", ""))
            if inner:
                words += ["cvlan_ethtype", inner]
                words += l4_match(rng, 4 if inner == "ip" else 6)
            inner = ""  # software edits the wrong bytes behind two tags
    for side in ("src_mac", "dst_mac"):
        if rng.random() < 0.25:
            words += [side, rng.choice(MACS) + rng.choice(("", "/01:00:00:00:00:00",
                                                           "/ff:ff:00:ff:ff:ff"))]
    if inner in ("ip", "ipv6") and "cvlan_ethtype" not in words:
        words += l4_match(rng, 4 if inner == "ip" else 6)
    elif inner == "arp":
        words += arp_match(rng)
    return protocol, words, inner if inner in ("ip", "ipv6") else ""


def actions(rng, mark, inner, chain, narrow, out):
    """What a rule does: mostly a mark and a redirect."""
    edit = ""
    if inner and rng.random() < 0.4:
        edit = f"action pedit ex munge eth dst set {MACS[1]} munge " + \
            ("ip ttl dec pipe action csum ip4h pipe " if inner == "ip"
             else "ip6 hoplimit dec pipe ")
    what = rng.random()
    if what < 0.08 and narrow:
        return "action drop"
    if what < 0.13 and narrow:
        return "action ok"
    if what < 0.3 and chain < 2:
        return f"{edit}action goto chain {chain + 1}"
    if what < 0.4:
        edit += f"action vlan modify id {mark} pipe "
    elif what < 0.5:
        edit += f"action vlan pop pipe action vlan push id {mark} pipe "
    else:
        edit += f"action vlan push id {mark} protocol 802.1ad pipe "
    return f"{edit}action mirred egress redirect dev {out}"


def ruleset(rng, count):
    """[(chain, pref, protocol, match, function from the output port to the actions)]"""
    rows, prefs = [], rng.sample(range(1, 60000), count)
    for mark, pref in enumerate(prefs, 1):
        chain = rng.choice((0, 0, 0, 1, 2))
        protocol, words, inner = match(rng)
        seed = rng.random()
        rows.append((chain, pref, protocol, " ".join(words),
                     lambda out, seed=seed, mark=mark, inner=inner, chain=chain,
                     narrow=len(words) > 4:
                     actions(random.Random(seed), mark, inner, chain, narrow, out)))
        if rng.random() < 0.3:  # a second mask in the same pref
            for _ in range(20):
                other = match(rng)
                if other[0] == protocol and other[1] != words:
                    rows.append((chain, pref, protocol, " ".join(other[1]),
                                 lambda out, mark=mark: f"action vlan push id {mark + 1000} "
                                 f"protocol 802.1ad pipe action mirred egress redirect dev {out}"))
                    break
    for chain in range(3):
        rows.append((chain, 65000, "all", "", lambda out, chain=chain:
                     f"action vlan push id {4000 + chain} protocol 802.1ad pipe "
                     f"action mirred egress redirect dev {out}"))
    return rows


def payload(rng):
    """(ethertype, packet)"""
    kind = rng.random()
    if kind < 0.1:
        return 0x0806, arp(rng.choice((1, 2, 3)), rng.choice(MACS), rng.choice(V4),
                           rng.choice(MACS),
                           rng.choice(V4))
    if kind < 0.18:
        return rng.choice((0x88b5, 0x8847, 0x8864, 0x88e5, 0x0042, 0x0800, 0x86dd)), \
            bytes(rng.randrange(256) for _ in range(rng.randrange(60)))
    pool = V4 if rng.random() < 0.55 else V6
    src, dst = rng.choice(pool), rng.choice(pool)
    sport, dport = rng.choice(PORTS) + rng.randrange(3), rng.choice(PORTS) + rng.randrange(3)
    proto = rng.choice((1, 6, 6, 17, 17, 58, 132, 47, 4, 41, 44, 0, 89))
    data = {1: lambda: icmp(rng.choice((0, 3, 8)), rng.choice((0, 4))),
            6: lambda: tcp_segment(src, dst, sport, dport, rng.choice((0x02, 0x10, 0x12, 0x104))),
            17: lambda: udp(src, dst, sport, dport),
            58: lambda: icmpv6(src, dst, rng.choice((128, 135)), rng.choice((0, 4)))
            if pool is V6 else icmp(128, 0),
            132: lambda: sport.to_bytes(2, "big") + dport.to_bytes(2, "big") + bytes(8),
            4: lambda: packet(V4[0], V4[1], 17, udp(V4[0], V4[1], 53, 80))[1],
            41: lambda: packet(V6[0], V6[1], 17, udp(V6[0], V6[1], 53, 80))[1],
            44: lambda: bytes((17, 0)) + rng.choice((b"\0\0", b"\0\1", b"\1\0")) + bytes(4)
            + udp(src, dst, sport, dport),
            0: lambda: bytes((17, 0, 1, 4, 0, 0, 0, 0)) + udp(src, dst, sport, dport)}
    more = {"ttl": rng.choice((0, 1, 2, 64, 255)), "tos": rng.choice((0, 0x10, 0xb8, 0xbb))}
    if pool is V4:
        more["frag"] = rng.choice((0, 0, 0, 0x4000, 0x2000, 0x2005, 0x0005))
        more["options"] = rng.choice((b"", b"", b"\x94\4\0\0"))
    return packet(src, dst, proto, data.get(proto, lambda: bytes(rng.randrange(30)))(), **more)


def frame(rng):
    ethertype, data = payload(rng)
    vlans = [(rng.choice(TAGS), rng.choice((0, 3)), rng.choice((ETH_P_8021Q, ETH_P_8021Q,
                                                                ETH_P_8021AD)),
              rng.choice((0, 0, 1))) for _ in range(rng.choice((0, 0, 0, 1, 1, 1, 2, 2, 3)))]
    made = eth(rng.choice(MACS), rng.choice(MACS), ethertype, data, vlans)
    how = rng.random()
    if how < 0.1:  # one byte behind the addresses is anything
        at = rng.randrange(12, len(made))
        made = made[:at] + bytes((rng.randrange(256),)) + made[at + 1:]
    elif how < 0.2:  # cut off; but what has a tag keeps something behind it, or the kernel drops it
        made = made[:rng.randrange(min(14 + 4 * len(vlans) + 6, len(made) - 1), len(made))]
    return made


def counts(device):
    """{(chain, pref, handle): packets}"""
    found = {}
    for row in filters(device):
        stats = row["options"]["actions"][0]["stats"]
        found[row["chain"], row["pref"], row["options"]["handle"]] = stats["packets"]
    return found


@pytest.mark.parametrize("ports", [("sim0", "sim1", "sim2", "sim3"), ("lan1", "lan2", "lan3",
                                                                      "lan4")])
@pytest.mark.parametrize("seed", range(4))
def test_equal(ports, seed):
    hard, soft, hard_out, soft_out = ports
    rng = random.Random(seed * 7919 + len(ports[0]) + ord(ports[0][0]))
    rows = ruleset(rng, 70)
    lines = []
    for device, flag, out in ((hard, "skip_sw", hard_out), (soft, "skip_hw", soft_out)):
        lines.append(f"qdisc add dev {device} clsact")
        lines += [f"filter add dev {device} ingress chain {chain} pref {pref} protocol {protocol} "
                  f"flower {words} {flag} {act(out)}" for chain, pref, protocol, words, act in rows]
    tc(*lines)
    try:
        sent = [frame(rng) for _ in range(400)]
        with Wire(f"{hard}w") as hard_in, Wire(f"{soft}w") as soft_in, \
                Wire(f"{hard_out}w") as hard_wire, Wire(f"{soft_out}w") as soft_wire:
            got_hard, got_soft = [], []
            for at in range(0, len(sent), 50):
                hard_in.send(*sent[at:at + 50])
                soft_in.send(*sent[at:at + 50])
                got_hard += hard_wire.drain()
                got_soft += soft_wire.drain()
        for number, (one, other) in enumerate(zip(got_hard, got_soft)):
            assert one.hex() == other.hex(), f"frame {number} of what came out"
        assert len(got_hard) == len(got_soft)
        assert len(got_hard) > 150, "too few frames came out to prove anything"
        found, wanted = counts(hard), counts(soft)
        assert found == wanted
        assert sum(1 for packets in wanted.values() if packets) >= 10, "too few rules were hit"
    finally:
        tc(f"qdisc del dev {hard} clsact", f"qdisc del dev {soft} clsact", force=True)
