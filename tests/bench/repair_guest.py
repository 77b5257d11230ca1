#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The part of `repair` that runs in the guest: prints one JSON line for each kind of breakage.

swd holds one block of many rules, and sixteen small ones on ports of their own. A stranger with a netlink
socket breaks something, and listens on another until the kernel has told of everything that swd puts
back. The clock runs from before the breaking message to the last of these words, so the kernel's own work
on the breakage is in it, too.
"""
import argparse
import json
import random
import socket
import struct
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "lab")]

from swdlab import Swd                          # noqa: E402
from swsimlab import DEBUGFS, load, run         # noqa: E402

BIG, SMALL, SMALL_BLOCKS, SMALL_RULES = 10, 100, 16, 4
NEWTFILTER, DELTFILTER, DELQDISC = 44, 45, 37
REQUEST, ACK, REPLACE, CREATE = 0x1, 0x4, 0x100, 0x400
GROUP_TC = 1 << 3
ETH_P_IP = 0x0800
WAIT_S = 60


def block(name, number, port, foreign):
    return [f"  {name}:", f"    id: {number}", f"    bind: [sim{port}]", "    tagging: none",
            f"    foreign: {foreign}", "    rules:"]


def rule(name, dst):
    return f"      - {{ name: {name}, match: {{ dst: {dst} }}, action: drop }}"


def text(count):
    lines = ["version: 1", "ports:"]
    lines += [f"  sim{i}: {{ up: true }}" for i in range(SMALL_BLOCKS + 1)]
    lines += ["blocks:"] + block("big", BIG, 0, "evict")
    lines += [rule(f"r{i}", f"10.{i >> 16}.{i >> 8 & 255}.{i & 255}") for i in range(count)]
    for b in range(SMALL_BLOCKS):
        lines += block(f"small{b}", SMALL + b, b + 1, "report")
        lines += [rule(f"s{i}", f"11.{b}.0.{i}") for i in range(SMALL_RULES)]
    return "\n".join(lines) + "\n"


def attr(kind, data):
    return struct.pack("=HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


class Stranger:
    """Sends what breaks something, and hears what swd does about it."""

    def __init__(self):
        self.out = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self.out.bind((0, 0))
        self.ears = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self.ears.setsockopt(socket.SOL_SOCKET, 33, 32 << 20)   # SO_RCVBUFFORCE
        self.ears.bind((0, GROUP_TC))
        self.ears.settimeout(WAIT_S)
        self.number = 0

    def send(self, kind, flags, ifindex, handle, parent, info, attrs):
        self.number += 1
        body = struct.pack("=BxxxiIII", 0, ifindex, handle, parent, info) + attrs
        head = struct.pack("=IHHII", 16 + len(body), kind, REQUEST | ACK | flags, self.number, 0)
        self.out.send(head + body)
        answer = self.out.recv(65536)
        error, = struct.unpack_from("=i", answer, 16)
        if error:
            sys.exit(f"the breakage was refused: {error}")

    def filter(self, kind, flags, block, pref, handle, options=b""):
        self.send(kind, flags, -1, handle, block, pref << 16 | socket.htons(ETH_P_IP),
                  attr(1, b"flower\0") + options)

    def flush_ears(self):
        self.ears.setblocking(False)
        try:
            while True:
                self.ears.recv(1 << 20)
        except BlockingIOError:
            pass
        self.ears.settimeout(WAIT_S)

    def hear(self, places):
        """Waits until each (block, pref, handle) was told as new by somebody else."""
        mine = self.out.getsockname()[0]
        left = set(places)
        while left:
            data, at = self.ears.recv(1 << 20), 0
            while at < len(data):
                length, kind, _, _, port = struct.unpack_from("=IHHII", data, at)
                if kind == NEWTFILTER and port != mine:
                    _, handle, block, info = struct.unpack_from("=iIII", data, at + 20)
                    left.discard((block, info >> 16, handle))
                at += length + -length % 4


def pass_instead(dst):
    """flower options: that address, skip_sw, action ok, no cookie."""
    parms = attr(2, struct.pack("=IIiii", 0, 0, 0, 0, 0))
    action = attr(3, attr(1, attr(1, b"gact\0") + attr(2, parms)))
    return attr(2, attr(8, struct.pack("!H", ETH_P_IP)) + attr(12, socket.inet_aton(dst)) +
                attr(13, b"\xff" * 4) + attr(22, struct.pack("=I", 2)) + action)


def places_of(block):
    """(pref, handle, destination) of a block's filters, as the kernel tells them."""
    shown = json.loads(run("tc", "-j", "filter", "show", "block", str(block)).stdout)
    return [(f["pref"], f["options"]["handle"], f["options"]["keys"]["dst_ip"]) for f in shown
            if "keys" in f.get("options", {})]


class Breaker:
    def __init__(self, chance):
        self.chance, self.stranger = chance, Stranger()
        self.big = places_of(BIG)
        self.small = {SMALL + b: places_of(SMALL + b) for b in range(SMALL_BLOCKS)}
        self.turn = 0

    def one_of_big(self):
        return self.chance.choice(self.big)

    def next_small(self):
        self.turn += 1
        return SMALL + self.turn % SMALL_BLOCKS

    def deleted(self):
        pref, handle, _ = self.one_of_big()
        return [(BIG, pref, handle)], \
            lambda: self.stranger.filter(DELTFILTER, 0, BIG, pref, handle)

    def replaced(self):
        pref, handle, dst = self.one_of_big()
        return [(BIG, pref, handle)], lambda: self.stranger.filter(
            NEWTFILTER, CREATE | REPLACE, BIG, pref, handle, pass_instead(dst))

    def flushed(self):
        block = self.next_small()
        pref = self.small[block][0][0]
        return [(block, p, h) for p, h, _ in self.small[block] if p == pref], \
            lambda: self.stranger.filter(DELTFILTER, 0, block, pref, 0)

    def unbound(self):
        block = self.next_small()
        ifindex = socket.if_nametoindex(f"sim{block - SMALL + 1}")
        return [(block, p, h) for p, h, _ in self.small[block]], \
            lambda: self.stranger.send(DELQDISC, 0, ifindex, 0xffff0000, 0xfffffff1, 0,
                                       attr(1, b"clsact\0"))

    def ms(self, kind):
        places, damage = getattr(self, kind)()
        time.sleep(self.chance.uniform(0.03, 0.15))
        self.stranger.flush_ears()
        start = time.monotonic()
        damage()
        self.stranger.hear(places)
        return 1000 * (time.monotonic() - start)


def main():
    chance = random.Random(args.seed)
    load(nics=SMALL_BLOCKS + 1)
    for i in range(SMALL_BLOCKS + 1):
        (DEBUGFS / f"sim{i}/table_size").write_text(str(1 << 20))
    with tempfile.TemporaryDirectory() as folder:
        swd = Swd(folder, text(args.rules))
        swd.settle(600)
        breaker = Breaker(chance)
        kinds = ["deleted", "replaced", "flushed", "unbound"] * (args.breakages // 4)
        chance.shuffle(kinds)
        samples = {}
        for kind in kinds:
            samples.setdefault(kind, []).append(round(breaker.ms(kind), 3))
        swd.settle(60)
        after = places_of(BIG)
        if sorted(after) != sorted(breaker.big):
            sys.exit(f"{len(after)} rules after all, {len(breaker.big)} before")
        for kind, list_ms in samples.items():
            print(json.dumps({"rules": args.rules, "kind": kind, "samples": list_ms}), flush=True)
        swd.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rules", type=int, required=True)
    parser.add_argument("--breakages", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    main()
