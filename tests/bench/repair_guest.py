#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The part of `repair` that runs in the guest: prints one JSON line for each kind of breakage.

swd holds a block of many rules whose foreign filters it evicts, sixteen small ones on ports of their own, and
VLAN devices with addresses. A stranger breaks things, and hears on a socket of its own what the kernel tells:
of the breakage first, and then of everything that is put back. `kernel_ms` is the same on a port that is not
swd's, where the stranger knows what comes and mends at once: what the kernel takes for it.
"""
import argparse
import json
import random
import re
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "lab")]

from benchkit.stranger import (DELADDR, DELQDISC, DROP, NEWADDR, NEWQDISC, OK, Stranger,    # noqa: E402
                               address, clsact, filter_gone, filter_new, filter_replaced, flower, link,
                               link_gone, vlan_new)
from swdlab import Swd                          # noqa: E402
from swsimlab import DEBUGFS, load         # noqa: E402

BIG, SMALL, SMALL_BLOCKS, SMALL_RULES, LEGS = 10, 100, 16, 4, 8
LEG_PORT, SHADOW_PORT = f"sim{SMALL_BLOCKS + 1}", f"sim{SMALL_BLOCKS + 2}"
SHADOW, SHADOW_LEG, SHADOW_ADDRESS = 900, 900, "10.99.0.1"
STRANGE_PREF = 65000
FLOORS = 15
AUDIT = "10s"
FILTER = re.compile(r"filter .*pref (\d+) flower .*handle (0x[0-9a-f]+)")     # as tc heads one


# ---- what swd is to hold ----

def block(name, number, port, foreign):
    return [f"  {name}:", f"    id: {number}", f"    bind: [{port}]", "    tagging: none",
            f"    foreign: {foreign}", "    rules:"]


def rule(name, dst):
    return f"      - {{ name: {name}, match: {{ dst: {dst} }}, action: drop }}"


def leg_address(i):
    return f"10.98.{i}.1"


def text(count):
    lines = ["version: 1", f"daemon: {{ audit: {AUDIT} }}", "ports:"]
    lines += [f"  sim{i}: {{ up: true, mtu: 1500 }}" for i in range(SMALL_BLOCKS + 2)]
    lines += ["vlans:"] + [f"  leg{i}: {{ link: {LEG_PORT}, id: {100 + i}, up: true, addresses: "
                           f"[{leg_address(i)}/24] }}" for i in range(LEGS)]
    lines += ["blocks:"] + block("big", BIG, "sim0", "evict")
    lines += [rule(f"r{i}", f"10.{i >> 16}.{i >> 8 & 255}.{i & 255}") for i in range(count)]
    for b in range(SMALL_BLOCKS):
        lines += block(f"small{b}", SMALL + b, f"sim{b + 1}", "report")
        lines += [rule(f"s{i}", f"11.{b}.0.{i}") for i in range(SMALL_RULES)]
    return "\n".join(lines) + "\n"


def places_of(number):
    """(block, pref, handle) and destination of a block's filters, as the kernel tells them. Line by line:
    all of them as JSON are more than User-mode Linux can map of a process (vm.max_map_count of the host)."""
    places, place = [], None
    with subprocess.Popen(["tc", "filter", "show", "block", str(number)], stdout=subprocess.PIPE,
                          text=True) as tc:
        for line in tc.stdout:
            head = FILTER.match(line)
            if head:
                place = number, int(head[1]), int(head[2], 16)
            elif line.startswith("  dst_ip "):
                places.append((place, line.split()[1]))
    if tc.returncode:
        sys.exit(f"tc ended with {tc.returncode}")
    return places


def index(name):
    return socket.if_nametoindex(name)


# ---- breakages ----

class Breaker:
    """Each method is a kind: the messages that break, the word that tells of it, and those of the repair."""

    def __init__(self, chance, stranger):
        self.chance, self.stranger = chance, stranger
        self.big = places_of(BIG)
        self.small = {SMALL + b: places_of(SMALL + b) for b in range(SMALL_BLOCKS)}

    def port(self):
        return f"sim{self.chance.randrange(SMALL_BLOCKS + 1)}"

    def deleted(self):
        place, _ = self.chance.choice(self.big)
        return [filter_gone(place)], ("gone", True, *place), [("new", False, *place)]

    def replaced(self):
        place, dst = self.chance.choice(self.big)
        return [filter_replaced(place, flower(dst, OK))], ("new", True, *place), [("new", False, *place)]

    def joined(self):
        place = BIG, STRANGE_PREF + self.chance.randrange(500), 1
        return [filter_new(place, flower("203.0.113.1", OK))], ("new", True, *place), [("gone", False, *place)]

    def flushed(self):
        number = self.chance.choice(list(self.small))
        pref = self.small[number][0][0][1]
        back = [("new", False, *place) for place, _ in self.small[number] if place[1] == pref]
        return [filter_gone((number, pref, 0))], ("gone", True, number, pref, 0), back

    def unbound(self):
        number = self.chance.choice(list(self.small))
        port = index(f"sim{number - SMALL + 1}")
        back = [("new", False, *place) for place, _ in self.small[number]]
        return [clsact(DELQDISC, port)], ("unbound", True, port), back + [("bound", False, port)]

    def down(self):
        port = self.port()
        return [link(index(port), up=False)], ("down", port), [("up", port)]

    def mtu(self):
        port = self.port()
        return [link(index(port), mtu=1400)], ("mtu", port, 1400), [("mtu", port, 1500)]

    def leg(self):
        i = self.chance.randrange(LEGS)
        return [link_gone(index(f"leg{i}"))], ("link gone", f"leg{i}"), [
            ("up", f"leg{i}"), ("address", leg_address(i))]

    def address(self):
        i = self.chance.randrange(LEGS)
        return [address(DELADDR, index(f"leg{i}"), leg_address(i))], ("address gone", leg_address(i)), [
            ("address", leg_address(i))]

    def ms(self, kind):
        messages, broken, whole = getattr(self, kind)()
        time.sleep(self.chance.uniform(0.03, 0.25))
        return self.stranger.breaks(messages, broken, [], whole)


KINDS = ("deleted", "replaced", "joined", "flushed", "unbound", "down", "mtu", "leg", "address")


class Shadow:
    """The same kinds beside swd: what breaks, its word, what mends, and the words of that."""

    def __init__(self, stranger):
        self.port = index(SHADOW_PORT)
        self.places = [(SHADOW, 7, 1 + i) for i in range(SMALL_RULES)]
        self.filters = [filter_new(place, flower(f"12.0.0.{i}", DROP)) for i, place in enumerate(self.places)]
        self.leg_index = 30000 + SHADOW_LEG
        self.legs = [vlan_new("shadow", SHADOW_LEG, self.port), address(NEWADDR, self.leg_index, SHADOW_ADDRESS)]
        stranger.send(clsact(NEWQDISC, self.port, SHADOW), *self.filters, *self.legs)

    def deleted(self):
        place = self.places[0]
        return [filter_gone(place)], ("gone", True, *place), self.filters[:1], [("new", True, *place)]

    def replaced(self):
        place = self.places[0]
        return ([filter_replaced(place, flower("12.0.0.0", OK))], ("new", True, *place),
                [filter_replaced(place, flower("12.0.0.0", DROP))], [("new", True, *place)])

    def joined(self):
        place = SHADOW, STRANGE_PREF, 1
        return [filter_new(place, flower("203.0.113.1", OK))], ("new", True, *place), [filter_gone(place)], [
            ("gone", True, *place)]

    def flushed(self):
        return [filter_gone((SHADOW, 7, 0))], ("gone", True, SHADOW, 7, 0), self.filters, [
            ("new", True, *place) for place in self.places]

    def unbound(self):
        return ([clsact(DELQDISC, self.port)], ("unbound", True, self.port),
                [clsact(NEWQDISC, self.port, SHADOW), *self.filters],
                [("bound", True, self.port)] + [("new", True, *place) for place in self.places])

    def down(self):
        return [link(self.port, up=False)], ("down", SHADOW_PORT), [link(self.port, up=True)], [
            ("up", SHADOW_PORT)]

    def mtu(self):
        return [link(self.port, mtu=1400)], ("mtu", SHADOW_PORT, 1400), [link(self.port, mtu=1500)], [
            ("mtu", SHADOW_PORT, 1500)]

    def leg(self):
        return [link_gone(self.leg_index)], ("link gone", "shadow"), self.legs, [
            ("up", "shadow"), ("address", SHADOW_ADDRESS)]

    def address(self):
        return ([address(DELADDR, self.leg_index, SHADOW_ADDRESS)], ("address gone", SHADOW_ADDRESS),
                self.legs[1:], [("address", SHADOW_ADDRESS)])


def emptied(swd, stranger, count):
    """The whole big block at once: ms until all is back, by swd's own word."""
    repairs, start = swd.status()["repairs"], time.monotonic()
    stranger.send(clsact(DELQDISC, index("sim0")))
    while swd.status()["repairs"] < repairs + count:
        assert time.monotonic() < start + 300, "waited in vain for all rules"
        time.sleep(0.1)         # to answer takes a look at all rules
    took = 1000 * (time.monotonic() - start)
    swd.settle(60)
    assert len(places_of(BIG)) == count, "not all came back"
    return took


def main():
    chance = random.Random(args.seed)
    load(nics=SMALL_BLOCKS + 3)
    for i in range(SMALL_BLOCKS + 3):
        (DEBUGFS / f"sim{i}/table_size").write_text(str(1 << 20))
    with tempfile.TemporaryDirectory() as folder:
        swd = Swd(folder, text(args.rules))
        swd.settle(600)
        time.sleep(4)           # three seconds behind an apply memory goes back to the system
        stranger = Stranger()
        breaker, shadow = Breaker(chance, stranger), Shadow(stranger)
        kinds = [kind for kind in KINDS for _ in range(-(-args.breakages // len(KINDS)))]
        chance.shuffle(kinds)
        samples, before, start = {}, swd.status()["counts"]["dumps"], time.monotonic()
        for kind in kinds[:args.breakages]:
            samples.setdefault(kind, []).append(round(breaker.ms(kind), 3))
        took, dumps = time.monotonic() - start, swd.status()["counts"]["dumps"] - before
        swd.settle(60)
        if sorted(places_of(BIG)) != sorted(breaker.big):
            sys.exit("the big block is not what it was")
        for kind in KINDS:
            floor = [round(stranger.breaks(*getattr(shadow, kind)()), 3) for _ in range(FLOORS)]
            print(json.dumps({"kind": kind, "samples": samples.get(kind, []), "kernel_ms": floor}), flush=True)
        stranger.ears.deaf = True       # 100,000 words in a second are more than it could hear
        whole = [round(emptied(swd, stranger, args.rules), 1) for _ in range(args.whole)]
        print(json.dumps({"kind": "emptied", "samples": whole, "seconds": took, "dumps": dumps}), flush=True)
        swd.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rules", type=int, required=True)
    parser.add_argument("--breakages", type=int, default=200)
    parser.add_argument("--whole", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    main()
