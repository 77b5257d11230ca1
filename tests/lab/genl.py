# SPDX-License-Identifier: GPL-2.0-or-later
"""Generic netlink from Python, over a plain socket.

The lab's tests speak to the kernel's tc_bypass family with this, as strangers: nothing here is
shared with the daemon, so that both cannot be wrong in the same way. tcbypass.py knows the
attributes of that family; here are only messages, dumps, groups and errors.
"""

import os
import select
import socket
import struct

NETLINK_GENERIC = 16
GENL_ID_CTRL = 16
CTRL_CMD_GETFAMILY = 3
CTRL_ATTR_FAMILY_ID = 1
CTRL_ATTR_FAMILY_NAME = 2
CTRL_ATTR_VERSION = 3
CTRL_ATTR_MCAST_GROUPS = 7
CTRL_ATTR_MCAST_GRP_NAME = 1
CTRL_ATTR_MCAST_GRP_ID = 2

NLM_F_REQUEST = 0x01
NLM_F_MULTI = 0x02
NLM_F_ACK = 0x04
NLM_F_DUMP_INTR = 0x10
NLM_F_CAPPED = 0x100
NLM_F_ACK_TLVS = 0x200
NLM_F_DUMP = 0x300
NLMSG_ERROR = 2
NLMSG_DONE = 3
NLMSGERR_ATTR_MSG = 1

SOL_NETLINK = 270
NETLINK_ADD_MEMBERSHIP = 1
NETLINK_EXT_ACK = 11
NETLINK_GET_STRICT_CHK = 12

NLA_TYPE_MASK = 0x3FFF


class NetlinkError(OSError):
    """What the kernel refused, with its own words if it gave any."""


def attr(kind, payload):
    """One attribute, padded. payload: bytes."""
    data = struct.pack("=HH", 4 + len(payload), kind) + payload
    return data + b"\0" * (-len(data) % 4)


def attrs(data):
    """The attributes in data, in order: a list of (type, payload)."""
    ret = []
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        if length < 4 or length > len(data):
            raise ValueError(f"attribute of length {length} in {len(data)} bytes")
        ret.append((kind & NLA_TYPE_MASK, data[4:length]))
        data = data[(length + 3) & ~3:]
    return ret


def first(pairs, kind):
    """The payload of the first attribute of that type, or None."""
    return next((payload for k, payload in pairs if k == kind), None)


class Genl:
    """A socket for one family. Close it, or use it in a with statement."""

    def __init__(self, family):
        self.sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC)
        self.sock.setsockopt(SOL_NETLINK, NETLINK_EXT_ACK, 1)
        self.sock.setsockopt(SOL_NETLINK, NETLINK_GET_STRICT_CHK, 1)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self.sock.bind((0, 0))
        self.seq = 0
        self.interrupted = False
        self.told = []      # what groups sent while an answer was awaited
        self.id = None
        reply = self._talk(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 1,
                           attr(CTRL_ATTR_FAMILY_NAME, family.encode() + b"\0"), 0)
        info = reply[0][1]
        self.id = struct.unpack("=H", first(info, CTRL_ATTR_FAMILY_ID))[0]
        self.version = struct.unpack("=I", first(info, CTRL_ATTR_VERSION))[0]
        self.groups = {}
        for _, group in attrs(first(info, CTRL_ATTR_MCAST_GROUPS) or b""):
            pairs = attrs(group)
            name = first(pairs, CTRL_ATTR_MCAST_GRP_NAME).rstrip(b"\0").decode()
            self.groups[name] = struct.unpack("=I", first(pairs, CTRL_ATTR_MCAST_GRP_ID))[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.sock.close()

    def join(self, group):
        """Receive what is sent to the group of that name."""
        self.sock.setsockopt(SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, self.groups[group])

    def get(self, cmd, payload=b""):
        """One request, one answer: its attributes. Raises NetlinkError."""
        return self._talk(self.id, cmd, self.version, payload, 0)[0][1]

    def dump(self, cmd, payload=b""):
        """All answers of a dump: a list of attribute lists. self.interrupted tells of a change."""
        return [pairs for _, pairs in
                self._talk(self.id, cmd, self.version, payload, NLM_F_DUMP)]

    def events(self, wait):
        """What arrives at the joined groups until nothing does for wait seconds.

        Returns a list of (cmd, attributes).
        """
        ret, self.told = self.told, []
        while select.select([self.sock], [], [], wait)[0]:
            for kind, _, _, body in self._receive():
                if kind == self.id:
                    ret.append((body[0], attrs(body[4:])))
        return ret

    def _receive(self):
        data = self.sock.recv(1 << 17)
        while len(data) >= 16:
            length, kind, flags, seq, _ = struct.unpack_from("=IHHII", data)
            yield kind, flags, seq, data[16:length]
            data = data[(length + 3) & ~3:]

    def _talk(self, kind, cmd, version, payload, flags):
        self.seq += 1
        self.interrupted = False
        wanted = NLM_F_REQUEST | (flags or NLM_F_ACK)
        self.sock.send(struct.pack("=IHHII", 20 + len(payload), kind, wanted, self.seq, 0) +
                       struct.pack("=BBH", cmd, version, 0) + payload)
        ret = []
        while True:
            for got, got_flags, seq, body in self._receive():
                if seq != self.seq:
                    if got == self.id and not seq:
                        self.told.append((body[0], attrs(body[4:])))
                    continue
                self.interrupted |= bool(got_flags & NLM_F_DUMP_INTR)
                if got in (NLMSG_ERROR, NLMSG_DONE):
                    code = struct.unpack_from("=i", body)[0]
                    if code:
                        raise self._error(-code, got_flags, body)
                    return ret
                ret.append((body[0], attrs(body[4:])))

    @staticmethod
    def _error(code, flags, body):
        words = None
        if flags & NLM_F_ACK_TLVS:
            inner = 16 if flags & NLM_F_CAPPED else struct.unpack_from("=I", body, 4)[0]
            words = first(attrs(body[4 + inner:]), NLMSGERR_ATTR_MSG)
        text = words.rstrip(b"\0").decode() if words else os.strerror(code)
        return NetlinkError(code, text)
