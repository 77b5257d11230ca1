# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes swd fail where a test wants it (see config/base/fault.h), and hears what the kernel tells of it. For
guests; needs the build with -Dfaults=true."""
import mmap
import os
import socket
import struct
from contextlib import contextmanager

from genl import attrs
from swdlab import BUILD, Swd

NONE, FAIL, LOST_ANSWER, LOST_REQUEST, KILL = range(5)
POINTS = REQUEST, STORE, MEMORY = range(3)
FOREVER = 0xffffffff
FORM = struct.Struct("=IIIIII3I")       # struct fault

RTM_DELTFILTER, RTM_DELQDISC = 45, 37
GROUPS = 1 << 0 | 1 << 3 | 1 << 4       # links, traffic control, IPv4 addresses
TCA_CHAIN = 11


class FaultySwd(Swd):
    """swd, built so that it can be made to fail."""
    program = BUILD.parent / "faults/daemon/swd"

    def __init__(self, folder, text=None):
        path = folder / "faults"
        path.write_bytes(bytes(FORM.size))
        os.environ["SWD_FAULTS"] = str(path)    # what it starts inherits that
        with open(path, "r+b") as file:
            self.page = mmap.mmap(file.fileno(), FORM.size)
        super().__init__(folder, text)

    def counts(self):
        return FORM.unpack(self.page)[6:]

    def arm(self, point, how=NONE, first=0, last=None, error=0):
        """Counts from here on; the first-th (to the last-th) goes wrong."""
        self.page[:] = FORM.pack(0, how, point, first, first if last is None else last, error, 0, 0, 0)
        self.page[:4] = struct.pack("=I", 1)

    def disarm(self):
        self.page[:4] = bytes(4)
        return self.counts()

    @contextmanager
    def faults(self, *args, **words):
        self.arm(*args, **words)
        try:
            yield
        finally:
            self.disarm()


class Ear:
    """Hears all that the kernel tells of links, addresses and traffic control."""

    def __init__(self):
        self.sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
        self.sock.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)   # SO_RCVBUFFORCE
        self.sock.bind((0, GROUPS))
        self.sock.setblocking(False)

    def heard(self):
        """What came since the last call: (type, body of the message). ENOBUFS is a failure of the test."""
        found = []
        while True:
            try:
                data = self.sock.recv(1 << 20)
            except BlockingIOError:
                return found
            while data:
                size, kind = struct.unpack_from("=IH", data)
                found.append((kind, data[16:size]))
                data = data[size + 3 & ~3:]


def deleted_filters(messages):
    """(block, chain, pref, handle) of each filter that is said to be deleted; handle 0: all of a pref."""
    found = []
    for kind, body in messages:
        if kind != RTM_DELTFILTER:
            continue
        _, _, handle, block, info = struct.unpack_from("=BxxxiIII", body)
        chain = dict(attrs(body[20:])).get(TCA_CHAIN, bytes(4))
        found.append((block, struct.unpack("=I", chain)[0], info >> 16, handle))
    return found


def unbound_ports(messages):
    """ifindex of each device that lost a qdisc."""
    return [struct.unpack_from("=BxxxiI", body)[1] for kind, body in messages if kind == RTM_DELQDISC]
