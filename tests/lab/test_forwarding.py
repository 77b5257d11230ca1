# SPDX-License-Identifier: GPL-2.0-or-later
"""From a line of YAML to the wire: what swd makes of each action, for each tagging and family, on a
router on a stick and on a switch. Every frame that comes out anywhere is compared byte for byte with
one built anew by frames.py, and every rule must have counted exactly what it was sent.

One boot, one swd, one rule for each case. Everything listens: all wires, all ports as the CPU has
them, the legs of the stick, and the conduit. So a frame too many, at the wrong place or out of order
fails a test as well as a wrong one.
"""
import json
import re
import select
from collections import namedtuple

import pytest

from frames import (ETH_P_8021AD, ETH_P_8021Q, ICMP, ICMPV6, TCP, UDP, Wire, bad_checksums, checksum, eth, icmp,
                    icmpv6, ipv4, packet, tcp, udp, untag)
from swdlab import Swd
from swsimlab import carrier, load, run, unload, wait

LAB = {"variants": ["6.1-swd"], "all_variants": ["6.1", "6.12"], "mem": "512M", "timeout": 900}

SRC, DST = "02:00:00:00:01:01", "02:00:00:00:01:02"         # as the sender writes them
ROUTER, HOST = "02:00:00:00:02:01", "02:00:00:00:02:02"     # as rules rewrite them
LAN = ["lan1", "lan2", "lan3", "lan4"]
PORTS = ["sim0", "sim1"] + LAN

# entry: where frames come in; out, copy: where the actions below send them.
Form = namedtuple("Form", "block number bind entry out copy")
FORMS = {"stick": Form("stick", 10, ["sim0"], "sim0", "sim0", "sim1"),
         "switch": Form("switch", 20, LAN, "lan1", "lan2", "lan3")}

Q, AD = ETH_P_8021Q, ETH_P_8021AD


# ---- frames ----

class Frame(namedtuple("Frame", "dst src vlans src_ip dst_ip ttl kind ident")):
    """What a frame says. vlans are (id, prio, tpid, dei), the outer first. None needs padding: a tag more
    or less must not change how much there is."""

    def bytes(self):
        pair, v6 = (self.src_ip, self.dst_ip), ":" in self.dst_ip
        more = {"tos": 0xb9, "label": 0xabcde} if v6 and self.kind == "udp" else {}
        if self.kind == "tcp":
            proto, l4 = TCP, tcp(*pair, 1024, 80, 0x12, bytes(range(32)))
        elif self.kind == "icmp":
            proto, l4 = (ICMPV6, icmpv6(*pair, data=bytes(40))) if v6 else (ICMP, icmp(data=bytes(40)))
        elif self.kind == "big":
            proto, l4 = UDP, udp(*pair, 1024, 9, bytes(range(256)) * 5 + bytes(172))
        else:
            proto, l4 = UDP, udp(*pair, 1024, 9)
        if self.kind == "options":
            more["options"] = b"\x94\4\0\0"
        if self.kind == "fragment":
            more, proto, l4 = {"frag": 0x2003}, UDP, bytes(range(64))
        if not v6:
            more["ident"] = self.ident
        ethertype, data = packet(*pair, proto, l4, ttl=self.ttl, **more)
        return eth(self.dst, self.src, ethertype, data, self.vlans)


def frame(dst_ip, vlans=(), kind="udp", ttl=64, ident=1):
    src_ip = "2001:db8:1::9" if ":" in dst_ip else "10.1.0.9"
    full = tuple((tag + (0, Q, 0)[len(tag) - 1:]) for tag in vlans)
    return Frame(DST, SRC, full, src_ip, dst_ip, ttl, kind, ident)


def kinds(dst_ip, vlans):
    """One form of tagging with all that an address may be in."""
    some = [frame(dst_ip, vlans, kind) for kind in ("tcp", "icmp", "big")]
    some += [frame(dst_ip, vlans, ttl=ttl) for ttl in (255, 2)]
    if ":" not in dst_ip:
        some += [frame(dst_ip, vlans, kind) for kind in ("options", "fragment")]
        # A checksum of 0, before a TTL is decremented and after: where sums of ones' complement go wrong.
        for ttl in (64, 63):
            datagram = udp("10.1.0.9", dst_ip, 1024, 9)
            head = ipv4("10.1.0.9", dst_ip, UDP, datagram, ttl=ttl, ident=0)[:20]
            some.append(frame(dst_ip, vlans, ident=checksum(head[:10] + b"\0\0" + head[12:])))
    return some


# ---- what rules are for ----

Tagging = namedtuple("Tagging", "match hits misses")
TAGGINGS = {
    "untagged": Tagging("tagging: none", [()],
                        [((10,),), ((10, 0, AD),), ((10,), (30,)), ((0, 3),)]),
    "tagged": Tagging("vlan: 10", [((10,),), ((10, 3),), ((10, 6, Q, 1),)],
                      [(), ((11,),), ((10, 0, AD),), ((10,), (30,)), ((30,), (10,)), ((0, 3),)]),
    "two tags": Tagging("vlan: 10, cvlan: 30", [((10, 1), (30, 2)), ((10, 1, AD), (30, 2))],
                        [(), ((10,),), ((30,),), ((30,), (10,)), ((10,), (31,)), ((10,), (30, 0, AD))]),
    "any": Tagging("tagging: any",
                   [(), ((10,),), ((10, 0, AD),), ((0, 3),), ((4095, 7),), ((10,), (30,)), ((10,), (30, 0, AD)),
                    ((10, 0, AD), (30,)), ((10, 0, AD), (30, 0, AD)), ((0,), (0,))], []),
}


# ---- what they do ----

def routed(f, vlans=None):
    return f._replace(dst=HOST, src=ROUTER, ttl=f.ttl - 1, vlans=f.vlans if vlans is None else vlans)


def modified(f, vid, prio=None):
    _, old, tpid, dei = f.vlans[0]
    return ((vid, old if prio is None else prio, tpid, dei),) + f.vlans[1:]


SET = f'{{ set-src: "{ROUTER}" }}, {{ set-dst: "{HOST}" }}, dec-ttl'
# The YAML, and where a frame goes: {"cpu", "out" or "copy": the frame there}.
ACTIONS = {
    "drop": ("drop", lambda f: {}),
    "trap": ("trap", lambda f: {"cpu": f}),
    "redirect": ("{ redirect: OUT }", lambda f: {"out": f}),
    "mirror": ("[{ mirror: COPY }, pass]", lambda f: {"copy": f, "cpu": f}),
    "mirror, trap": ("[{ mirror: COPY }, trap]", lambda f: {"copy": f, "cpu": f}),
    "mirror, drop": ("[{ mirror: COPY }, drop]", lambda f: {"copy": f}),
    "mirror, redirect": ("[{ mirror: COPY }, { redirect: OUT }]", lambda f: {"copy": f, "out": f}),
    "route": (f"[{SET}, {{ redirect: OUT }}]", lambda f: {"out": routed(f)}),
    "mirror, route": (f"[{{ mirror: COPY }}, {SET}, {{ redirect: OUT }}]",
                      lambda f: {"copy": f, "out": routed(f)}),
    "push": (f"[{{ vlan-push: 20 }}, {SET}, {{ redirect: OUT }}]",
             lambda f: {"out": routed(f, ((20, 0, Q, 0),) + f.vlans)}),
    "modify": (f"[{{ vlan-modify: 20 }}, {SET}, {{ redirect: OUT }}]",
               lambda f: {"out": routed(f, modified(f, 20))}),
    "modify with prio": (f"[{{ vlan-modify: {{ id: 20, prio: 5 }} }}, {SET}, {{ redirect: OUT }}]",
                         lambda f: {"out": routed(f, modified(f, 20, 5))}),
    "pop": (f"[vlan-pop, {SET}, {{ redirect: OUT }}]", lambda f: {"out": routed(f, f.vlans[1:])}),
}
NEEDS_TAG = ("modify", "modify with prio", "pop")

# Each has two addresses of its own; its rule is for the first.
Case = namedtuple("Case", "name action tagging address other")
CASES = {}
for _action in ACTIONS:
    for _tagging in TAGGINGS:
        if _action in NEEDS_TAG and _tagging not in ("tagged", "two tags"):
            continue
        for _family, _net in (("IPv4", "10.50.%d."), ("IPv6", "2001:db8:50:%x::")):
            _name = f"{_action}, {_tagging}, {_family}"
            _net %= len(CASES)
            CASES[_name] = Case(_name, _action, _tagging, _net + "1", _net + "2")


def rule_name(name):
    return re.sub(r"\W+", "-", name).lower()


def text():
    lines = ["version: 1", "ports:", "  cpu0: { up: true }"]
    lines += [f"  {port}: {{ up: true{', tc-offload: true' * (port[:3] == 'sim')} }}" for port in PORTS]
    lines += ["vlans:"] + [f"  sim0.{vid}: {{ link: sim0, id: {vid}, addresses: [10.{vid}.0.1/24] }}"
                           for vid in (10, 20)]
    lines += ["blocks:"]
    for form in FORMS.values():
        lines += [f"  {form.block}:", f"    id: {form.number}", f"    bind: [{', '.join(form.bind)}]",
                  "    rules:"]
        lines += [f"      - {{ name: ttl-1-{family}, match: {{ ethertype: {family}, ttl: 1, tagging: any }}, "
                  "action: trap }" for family in ("ip", "ipv6")]
        for case in CASES.values():
            action = ACTIONS[case.action][0].replace("OUT", form.out).replace("COPY", form.copy)
            lines.append(f'      - {{ name: {rule_name(case.name)}, match: {{ dst: "{case.address}", '
                         f"{TAGGINGS[case.tagging].match} }}, action: {action} }}")
    return "\n".join(lines) + "\n"


# ---- the world ----

class World:
    """swd over two NIC ports and a switch, and ears everywhere."""

    def __init__(self, folder):
        load(nics=2, ports=4, up=False)
        run("ip", "-batch", "-", text="\n".join(f"link set {port}w mtu 1600 up" for port in PORTS))
        self.swd = Swd(folder, text())
        self.swd.settle(60)
        wait(lambda: all(carrier(port) for port in PORTS), "carrier of all ports", 30)
        self.wires = {name: Wire(name) for port in PORTS for name in (port, port + "w")}
        self.wires |= {name: Wire(name) for name in ("sim0.10", "sim0.20", "cpu0")}
        self.marks = 0
        self.pass_through("sim0", [])
        self.pass_through("lan1", [])
        self.before, self.owed = self.counters(), {}

    def close(self):
        for wire in self.wires.values():
            wire.close()
        code = self.swd.stop()
        unload()
        assert code == 0, self.swd.log.read_text()

    def take(self):
        got = {}
        for name, wire in self.wires.items():
            while (data := wire.take()) is not None:
                got.setdefault(name, []).append(data)
        return got

    def await_mark(self, entry, got):
        """A frame of no rule's goes the way of the others, behind them, and reaches the CPU."""
        self.marks += 1
        mark = eth(DST, SRC, 0x88b5, self.marks.to_bytes(4, "big"))
        self.wires[entry + "w"].send(mark)
        for _ in range(100):
            select.select([wire.socket for wire in self.wires.values()], [], [], 0.1)
            for name, frames in self.take().items():
                got.setdefault(name, []).extend(frames)
            if mark in got.get(entry, []):
                got[entry].remove(mark)
                return
        raise AssertionError(f"{mark.hex()} did not reach {entry}")

    def pass_through(self, entry, frames):
        """Sends frames into a port. {device: what came out there, in order}, the CPU's ports included."""
        got = {}
        for at in range(0, len(frames), 100):     # the CPU's backlog holds 1000
            self.wires[entry + "w"].send(*frames[at:at + 100])
            # What leaves by a wire is queued once more behind a mark: the second finds that done.
            for _ in range(2):
                self.await_mark(entry, got)
        if entry in LAN:
            marks = 2 * -(-len(frames) // 100)
            seen = len(got.pop("cpu0", [])) - marks
            assert seen == sum(len(got.get(port, [])) for port in LAN), "the conduit saw other frames"
        return {name: frames for name, frames in got.items() if frames}

    def counters(self):
        """{(block, rule): (packets, bytes, packets of hardware, bytes of hardware)} as sw-cli tells them."""
        _, out, _ = self.swd.cli("--json", "rules")
        return {(r["block"], r["name"]): (r["packets"], r["bytes"], r["hw_packets"], r["hw_bytes"])
                for r in json.loads(out)["rules"]}

    def owe(self, block, name, frames):
        """The rule is about to count these."""
        packets, size = self.owed.get((block, rule_name(name)), (0, 0))
        self.owed[block, rule_name(name)] = (packets + len(frames),
                                             size + sum(len(f.bytes()) for f in frames))

    def check_counters(self):
        """Since the last time every rule counted what is owed, all in hardware, and no rule more."""
        now, before, owed = self.counters(), self.before, self.owed
        self.before, self.owed = now, {}
        rose = {key: tuple(a - b for a, b in zip(now[key], before[key])) for key in now}
        rose = {key: value for key, value in rose.items() if any(value)}
        assert rose == {key: value * 2 for key, value in owed.items()}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    world = World(tmp_path_factory.mktemp("swd"))
    yield world
    world.close()


def expect(entry, going):
    """{device: frames} from (where, frame); what the CPU gets in a VLAN of a leg, the leg gets too."""
    wanted = {}
    for where, f in going:
        wanted.setdefault(where, []).append(f.bytes())
        if where == entry == "sim0" and f.vlans and f.vlans[0][0] in (10, 20) and f.vlans[0][2] == Q:
            leg = f"sim0.{f.vlans[0][0]}"
            wanted.setdefault(leg, []).append(f._replace(vlans=f.vlans[1:]).bytes())
    return wanted


def told(data):
    tags, ethertype, rest = untag(data)
    return f"{len(data)} bytes, tags {tags}, type {ethertype:#06x}, {data[:12].hex()} {rest[:40].hex()}"


def compare(got, wanted):
    complaints = []
    for name in sorted(set(got) | set(wanted)):
        left, right = got.get(name, []), wanted.get(name, [])
        if left != right:
            complaints.append(f"{name}: {len(left)} frames, wanted {len(right)}")
            complaints += [f"  got    {told(x)}" for x in left if x not in right]
            complaints += [f"  wanted {told(x)}" for x in right if x not in left]
        complaints += [f"{name}: wrong {bad_checksums(x)}: {told(x)}" for x in left if bad_checksums(x)]
    assert not complaints, "\n" + "\n".join(complaints)


# ---- tests ----

def test_all_is_in_hardware(world):
    """So what the tests below see is hardware's work."""
    _, out, _ = world.swd.cli("--json", "rules")
    said = json.loads(out)
    assert {r["state"] for r in said["rules"]} == {"in hardware"}
    assert len(said["rules"]) == len(FORMS) * (len(CASES) + 2)
    status = world.swd.status()
    assert status["missing"] == 0 and status["foreign_filters"] == 0 and not status["alerts"], status


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_action(form, name, world):
    """All that the rule is for, each between frames that it is not for and that the CPU must get."""
    case = CASES[name]
    tagging, destinies = TAGGINGS[case.tagging], ACTIONS[case.action][1]
    places = {"cpu": form.entry, "out": form.out + "w", "copy": form.copy + "w"}
    hits = [frame(case.address, vlans) for vlans in tagging.hits] + kinds(case.address, tagging.hits[0])
    misses = [frame(case.address, vlans) for vlans in tagging.misses]
    misses += [frame(case.other, vlans) for vlans in tagging.hits]
    sent, going = [], []
    for i in range(max(len(hits), len(misses))):
        if i < len(misses):
            sent.append(misses[i])
            going.append((form.entry, misses[i]))
        if i < len(hits):
            sent.append(hits[i])
            going += [(places[where], f) for where, f in destinies(hits[i]).items()]
    world.owe(form.block, name, hits)
    compare(world.pass_through(form.entry, [f.bytes() for f in sent]), expect(form.entry, going))


def test_counters_rose_by_what_was_sent(world):
    """A rule has its own frames above, so what each counted in all of it is what it was to count."""
    world.check_counters()


@pytest.mark.parametrize("family", ["IPv4", "IPv6"])
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_the_last_hop_is_trapped(form, family, world):
    """Of two rules for a frame the first in the file does it: TTL 1 is not routed."""
    case = CASES[f"route, any, {family}"]
    frames = [frame(case.address, vlans, ttl=ttl) for vlans in TAGGINGS["any"].hits for ttl in (1, 2)]
    last = [f for f in frames if f.ttl == 1]
    going = [(form.entry, f) if f.ttl == 1 else (form.out + "w", routed(f)) for f in frames]
    world.owe(form.block, {"IPv4": "ttl-1-ip", "IPv6": "ttl-1-ipv6"}[family], last)
    world.owe(form.block, case.name, last)      # as many, as long
    compare(world.pass_through(form.entry, [f.bytes() for f in frames]), expect(form.entry, going))
    world.check_counters()


@pytest.mark.parametrize("family", ["IPv4", "IPv6"])
@pytest.mark.parametrize("entry", LAN)
def test_every_port_of_a_shared_block(entry, family, world):
    """Also the one that frames are redirected to."""
    drop, redirect, trap = (CASES[f"{action}, any, {family}"] for action in ("drop", "redirect", "trap"))
    frames = [frame(case.address, vlans) for case in (drop, redirect, trap) for vlans in ((), ((10,),))]
    going = [("lan2w", f) for f in frames[2:4]] + [(entry, f) for f in frames[4:]]
    for at, case in ((0, drop), (2, redirect), (4, trap)):
        world.owe("switch", case.name, frames[at:at + 2])
    compare(world.pass_through(entry, [f.bytes() for f in frames]), expect(entry, going))
    world.check_counters()


def test_a_port_of_no_block_is_left_alone(world):
    frames = [frame(case.address, vlans) for case in CASES.values() for vlans in ((), ((10,),))]
    compare(world.pass_through("sim1", [f.bytes() for f in frames]),
            expect("sim1", [("sim1", f) for f in frames]))
    world.check_counters()


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_many(form, world):
    """A thousand frames: each once, in order, counted once."""
    case = CASES["mirror, route, tagged, IPv4"]
    frames = [frame(case.address, ((10,),), ident=i) for i in range(1000)]
    going = [(form.copy + "w", f) for f in frames] + [(form.out + "w", routed(f)) for f in frames]
    world.owe(form.block, case.name, frames)
    compare(world.pass_through(form.entry, [f.bytes() for f in frames]), expect(form.entry, going))
    world.check_counters()


@pytest.mark.parametrize("family", ["IPv4", "IPv6"])
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_three_tags_are_the_cpus(form, family, world):
    """No filter looks behind a third tag, so "any" ends at two; such a frame reaches the CPU whole."""
    case = CASES[f"drop, any, {family}"]
    frames = [frame(case.address, ((10, 0, tpid), (30,), (40,))) for tpid in (Q, AD)]
    compare(world.pass_through(form.entry, [f.bytes() for f in frames]),
            expect(form.entry, [(form.entry, f) for f in frames]))
    world.check_counters()
