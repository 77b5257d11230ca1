# SPDX-License-Identifier: GPL-2.0-or-later
"""Somebody with netlink sockets: one to change things with, and one to hear what happens. In a guest only.

Messages are bytes, so that many are ready before the clock runs. What is heard are tuples:

    ("new" | "gone", mine, block, pref, handle)     filters; mine: this stranger did it; handle 0: the pref
    ("bound" | "unbound", mine, ifindex)            clsact
    ("up" | "down", name), ("mtu", name, mtu)       links, with each word about them
    ("link gone", name)
    ("address" | "address gone", address)
"""
import os
import socket
import struct
import threading
import time

NEWLINK, DELLINK, NEWADDR, DELADDR = 16, 17, 20, 21
NEWQDISC, DELQDISC, NEWTFILTER, DELTFILTER = 36, 37, 44, 45
REQUEST, ACK, REPLACE, EXCL, CREATE = 0x1, 0x4, 0x100, 0x200, 0x400
GROUPS = 1 << 0 | 1 << 3 | 1 << 4       # links, tc, IPv4 addresses
ETH_P_IP, ETH_P_8021Q = 0x0800, 0x8100
OK, DROP = 0, 2
SO_RCVBUFFORCE = 33


# ---- messages ----

def attr(kind, data):
    return struct.pack("=HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


def message(kind, flags, body):
    return struct.pack("=IHHII", 16 + len(body), kind, REQUEST | ACK | flags, 0, 0) + body


def flower(dst, verdict):
    """Options: that destination, skip_sw, one action, no cookie."""
    parms = attr(2, struct.pack("=IIiii", 0, 0, verdict, 0, 0))
    action = attr(3, attr(1, attr(1, b"gact\0") + attr(2, parms)))
    return attr(2, attr(8, struct.pack("!H", ETH_P_IP)) + attr(12, socket.inet_aton(dst)) +
                attr(13, b"\xff" * 4) + attr(22, struct.pack("=I", 2)) + action)


def filter_message(kind, flags, place, options=b""):
    block, pref, handle = place
    body = struct.pack("=BxxxiIII", 0, -1, handle, block, pref << 16 | socket.htons(ETH_P_IP))
    return message(kind, flags, body + attr(1, b"flower\0") + options)


def filter_new(place, options):
    return filter_message(NEWTFILTER, CREATE | EXCL, place, options)


def filter_replaced(place, options):
    return filter_message(NEWTFILTER, CREATE | REPLACE, place, options)


def filter_gone(place):
    return filter_message(DELTFILTER, 0, place)


def clsact(kind, ifindex, block=0):
    body = struct.pack("=BxxxiIII", 0, ifindex, 0xffff0000, 0xfffffff1, 0) + attr(1, b"clsact\0")
    if block:
        body += attr(13, struct.pack("=I", block))
    return message(kind, CREATE | EXCL if kind == NEWQDISC else 0, body)


def link(ifindex, up=None, mtu=None):
    body = struct.pack("=BxHiII", 0, 0, ifindex, 1 if up else 0, 0 if up is None else 1)
    return message(NEWLINK, 0, body + (attr(4, struct.pack("=I", mtu)) if mtu else b""))


def link_gone(ifindex):
    return message(DELLINK, 0, struct.pack("=BxHiII", 0, 0, ifindex, 0, 0))


def vlan_new(name, number, below):
    """It comes up; its ifindex is as asked, so that an address can be put on it in the same breath."""
    info = attr(1, b"vlan\0") + attr(2, attr(1, struct.pack("=H", number)))
    return message(NEWLINK, CREATE | EXCL,
                   struct.pack("=BxHiII", 0, 0, 30000 + number, 1, 1) + attr(3, name.encode() + b"\0") +
                   attr(5, struct.pack("=I", below)) + attr(18, info))


def address(kind, ifindex, text):
    data = socket.inet_aton(text)
    return message(kind, CREATE | EXCL if kind == NEWADDR else 0,
                   struct.pack("=BBBBi", socket.AF_INET, 24, 0, 0, ifindex) + attr(2, data) + attr(1, data))


# ---- what is heard ----

def attributes(data, at, end):
    found = {}
    while at + 4 <= end:
        length, kind = struct.unpack_from("=HH", data, at)
        found[kind & 0x3fff] = data[at + 4:at + length]
        at += max(length, 4) + -length % 4
    return found


def told_link(kind, data, at, end):
    _, _, _, flags, _ = struct.unpack_from("=BxHiII", data, at)
    found = attributes(data, at + 16, end)
    name = found[3].rstrip(b"\0").decode()
    if kind == DELLINK:
        return [("link gone", name)]
    return [("up" if flags & 1 else "down", name), ("mtu", name, struct.unpack("=I", found[4])[0])]


def told(kind, data, at, end, mine):
    """The tuples of one message."""
    if kind in (NEWTFILTER, DELTFILTER):
        _, handle, block, info = struct.unpack_from("=iIII", data, at + 4)
        return [("new" if kind == NEWTFILTER else "gone", mine, block, info >> 16, handle)]
    if kind in (NEWQDISC, DELQDISC):
        ifindex, _, parent = struct.unpack_from("=iII", data, at + 4)
        return [("bound" if kind == NEWQDISC else "unbound", mine, ifindex)] if parent == 0xfffffff1 else []
    if kind in (NEWLINK, DELLINK):
        return told_link(kind, data, at, end)
    if kind in (NEWADDR, DELADDR):
        text = socket.inet_ntoa(attributes(data, at + 8, end)[2])
        return [("address" if kind == NEWADDR else "address gone", text)]
    return []


def rtnl_socket(groups):
    sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 32 << 20)
    sock.bind((0, groups))
    return sock


class Ears(threading.Thread):
    """Notes when each message came. It runs before all others that want the CPU, so that its clock is
    read when the message is there, and not when they have done with it."""

    def __init__(self, mine):
        super().__init__(daemon=True)
        self.mine, self.sock = mine, rtnl_socket(GROUPS)
        self.broken, self.left, self.began, self.ended = None, set(), 0, 0
        self.over, self.deaf = threading.Event(), False

    def run(self):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        while not self.deaf:
            data = self.sock.recv(1 << 20)
            now = time.monotonic_ns()
            at = 0
            while at < len(data):
                length, kind, _, _, port = struct.unpack_from("=IHHII", data, at)
                self.hear(told(kind, data, at + 16, at + length, port == self.mine), now)
                at += length + -length % 4
        self.sock.close()

    def hear(self, words, now):
        if not self.began:
            if self.broken in words:
                self.began = now
            return
        self.left.difference_update(words)
        if not self.left and not self.over.is_set():
            self.ended = now
            self.over.set()

    def await_(self, broken, whole):
        """Once the word `broken` has come, each of `whole` is waited for, be it the same one again."""
        self.over.clear()
        self.broken, self.began = None, 0
        self.left = set(whole)
        self.broken = broken

    def ms(self, timeout):
        """From the word of the breakage to the last one of its repair."""
        if not self.over.wait(timeout):
            raise AssertionError(f"after {self.broken}: waited in vain for {sorted(self.left, key=str)[:4]}")
        self.broken = None
        return (self.ended - self.began) / 1e6


class Stranger:
    def __init__(self):
        self.out = rtnl_socket(0)
        self.number = 0
        self.ears = Ears(self.out.getsockname()[0])
        self.ears.start()

    def send(self, *messages):
        """All in one send; returns when each was answered."""
        first, data = self.number + 1, b""
        for m in messages:
            self.number += 1
            data += m[:8] + struct.pack("=I", self.number) + m[12:]
        self.out.send(data)
        while first <= self.number:
            answer = self.out.recv(65536)
            error, = struct.unpack_from("=i", answer, 16)
            if error:
                raise AssertionError(f"{os.strerror(-error)}: message {first} of {self.number}")
            first += 1

    def breaks(self, damage, broken, mend, whole, timeout=60):
        """Breaks something, mends it if there is a message for that, and waits until all is said: ms."""
        self.ears.await_(broken, whole)
        self.send(*damage)
        if mend:
            self.send(*mend)
        return self.ears.ms(timeout)
