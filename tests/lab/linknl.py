# SPDX-License-Identifier: GPL-2.0-or-later
"""Changes of devices in one send, for what nobody is to come in between of."""
import errno
import os
import socket
import struct
import time

from genl import attr

RTM_NEWLINK, IFLA_IFNAME = 16, 3


def ifindex(name):
    return socket.if_nametoindex(name)


def link_requests(*requests):
    """(flags, ifindex, change of IFF_UP, attributes) each, all in one send: hardly anybody gets in between. Returns how
    long that took."""
    text = b""
    for flags, index, change, attributes in requests:
        body = struct.pack("=BxHiII", 0, 0, index, 0, change) + attributes
        text += struct.pack("=IHHII", 16 + len(body), RTM_NEWLINK, 0x5 | flags, 1, 0) + body
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as s:
        start = time.monotonic()
        s.send(text)
        took = time.monotonic() - start
        for _ in requests:
            error = -struct.unpack_from("=i", s.recv(65536), 16)[0]
            if error:
                raise OSError(error, os.strerror(error))
    return took


def named(name):
    return attr(IFLA_IFNAME, name.encode() + b"\0")


def renamed(**names):
    """Old name to new name, in this order. This kernel renames only what is down, and swd would bring it up again:
    so all of it at once, and once more if swd was quicker."""
    numbers = {}
    for old, new in names.items():
        numbers[new] = numbers.pop(old, None) or ifindex(old)
    down = [(0, number, 1, b"") for number in numbers.values()]
    ways, where = [], {}
    for old, new in names.items():
        where[new] = where.pop(old, None) or ifindex(old)
        ways.append((0, where[new], 0, named(new)))
    for left in reversed(range(50)):
        try:
            link_requests(*down, *ways)
            return
        except OSError as error:
            if error.errno != errno.EBUSY or not left:
                raise
