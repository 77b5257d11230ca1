# SPDX-License-Identifier: GPL-2.0-or-later
"""Many flower filters in few system calls: `tc -batch` makes half a dozen of them for each filter,
and under User-mode Linux they cost more than the kernel's work. The messages are those of tc, for
one kind of filter alone (protocol ip, dst_ip, action drop); their layout is that of the kernel's
uapi headers linux/rtnetlink.h, linux/pkt_cls.h and linux/tc_act/tc_gact.h.
"""
import os
import socket
import struct

_NEWTFILTER, _REQUEST, _ACK, _EXCL, _CREATE = 44, 0x1, 0x4, 0x200, 0x400
_INGRESS = 0xfffffff2   # clsact's ingress, as a parent
_BLOCK = -1             # instead of a device: the parent is a block
_ETH_P_IP = 0x0800
_TCA_KIND, _TCA_OPTIONS = 1, 2
_FLOWER_ACT, _FLOWER_ETH_TYPE, _FLOWER_DST, _FLOWER_DST_MASK, _FLOWER_FLAGS = 3, 8, 12, 13, 22
_ACT_KIND, _ACT_OPTIONS, _GACT_PARMS, _SHOT = 1, 2, 2, 2
SKIP_HW, SKIP_SW = 1, 2


def _attr(kind, data):
    return struct.pack("=HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


def _drop():
    parms = _attr(_GACT_PARMS, struct.pack("=IIiii", 0, 0, _SHOT, 0, 0))
    return _attr(_FLOWER_ACT, _attr(1, _attr(_ACT_KIND, b"gact\0") + _attr(_ACT_OPTIONS, parms)))


def _message(place, number, ack, pref, handle, dst, flags):
    options = _attr(_FLOWER_ETH_TYPE, struct.pack("!H", _ETH_P_IP)) + \
        _attr(_FLOWER_DST, dst) + _attr(_FLOWER_DST_MASK, b"\xff" * 4) + \
        _attr(_FLOWER_FLAGS, struct.pack("=I", flags)) + _drop()
    body = struct.pack("=BxxxiIII", 0, place[0], handle, place[1],
                       pref << 16 | socket.htons(_ETH_P_IP)) + \
        _attr(_TCA_KIND, b"flower\0") + _attr(_TCA_OPTIONS, options)
    return struct.pack("=IHHII", 16 + len(body), _NEWTFILTER,
                       _REQUEST | _EXCL | _CREATE | (_ACK if ack else 0), number, 0) + body


def _acks(netlink, wanted):
    """Takes answers until the filter of number `wanted`, the only one that asks for one, has its
    own. Errors come unasked, and are raised."""
    while True:
        data, at = netlink.recv(4096), 0
        while at < len(data):
            length, kind, _, number, _ = struct.unpack_from("=IHHII", data, at)
            assert kind == 2, f"netlink message {kind} instead of an answer"
            error, = struct.unpack_from("=i", data, at + 16)
            if error:
                raise OSError(-error, f"filter {number}: {os.strerror(-error)}")
            if number == wanted:
                return
            at += length + -length % 4


def add_drops(device, rows, flags=SKIP_SW, batch=100, block=None):
    """Adds `pref P handle H protocol ip flower dst_ip DST action drop` to a device's ingress, or to
    a block, for each (P, H, DST as 4 bytes) of rows. Raises OSError with the kernel's errno."""
    place = (_BLOCK, block) if block else (socket.if_nametoindex(device), _INGRESS)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as netlink:
        for at in range(0, len(rows), batch):
            part = rows[at:at + batch]
            netlink.send(b"".join(_message(place, at + i + 1, i + 1 == len(part), *row, flags)
                                  for i, row in enumerate(part)))
            _acks(netlink, at + len(part))
