# SPDX-License-Identifier: GPL-2.0-or-later
"""A packet socket's TX_RING (TPACKET_V2) with as little as can be between the test and the kernel, and
the device of modules/txscript, which does what its frames say and keeps a log of them."""
import ctypes
import mmap
import os
import re
import signal
import socket
import struct
import subprocess
from pathlib import Path
from typing import NamedTuple

from genl import attr
from swsimlab import no_ipv6

UAPI = (Path(__file__).resolve().parents[2] / "kmod/uapi/linux/packet_doorbell.h").read_text()
PACKET_TX_DOORBELL_FRAMES, MOST = (
    int(re.search(rf"define {name} (\d+)", UAPI).group(1))
    for name in ("PACKET_TX_DOORBELL_FRAMES", "PACKET_TX_DOORBELL_FRAMES_MAX"))

SOL_PACKET, PACKET_VERSION, PACKET_TX_RING = 263, 10, 13
PACKET_LOSS, PACKET_VNET_HDR, PACKET_QDISC_BYPASS = 14, 15, 20
AVAILABLE, SEND_REQUEST, SENDING, WRONG_FORMAT = 0, 1, 2, 4
_SO_SNDTIMEO = 21
_HEADER, _DATA = struct.Struct("=III"), 32     # of struct tpacket2_hdr; where the frame begins

# What a frame asks of txscript, and what that says of it: enum txscript_what and txscript_said
TAKE, BUSY, ORPHAN, FAIL, STOP, CARRIER, HOLD = range(7)
TAKEN, REFUSED, FAILED, LOST = range(4)
ETH_P_TEST = 0x88b5
_LOG = Path("/sys/kernel/debug/txscript/log")
_libc = ctypes.CDLL(None, use_errno=True)
_libc.send.restype = ctypes.c_ssize_t


class Ring:
    """A socket with its ring. Frames are filled in order, as every user of a TX_RING has to."""

    def __init__(self, device=None, frames=64, size=2048, doorbell=None, bypass=True, loss=False,
                 vnet=False):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.set(PACKET_VERSION, 1)
        self.set(PACKET_QDISC_BYPASS, bypass)
        self.set(PACKET_LOSS, loss)
        self.set(PACKET_VNET_HDR, vnet)
        if doorbell is not None:
            self.set(PACKET_TX_DOORBELL_FRAMES, doorbell)
        block = max(size, mmap.PAGESIZE)
        count = -(-frames // (block // size))
        self.socket.setsockopt(SOL_PACKET, PACKET_TX_RING,
                               struct.pack("=IIII", block, count, size, count * (block // size)))
        self.frames, self.size = count * (block // size), size
        self.map = mmap.mmap(self.socket.fileno(), block * count)
        self.next = 0
        if device:
            self.bind(device)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.map.close()
        self.socket.close()

    def set(self, option, value):
        self.socket.setsockopt(SOL_PACKET, option, int(value))

    def get(self, option):
        return self.socket.getsockopt(SOL_PACKET, option)

    def bind(self, device):
        self.socket.bind((device, 0))

    def status(self, slot):
        return struct.unpack_from("=I", self.map, slot % self.frames * self.size)[0]

    def statuses(self, count=None, first=0):
        return [self.status(first + i) for i in range(self.frames if count is None else count)]

    def write(self, slot, frame, length=None, status=SEND_REQUEST):
        """length: what the header says, if that is not the frame's own."""
        at = slot % self.frames * self.size
        self.map[at + _DATA:at + _DATA + len(frame)] = frame
        _HEADER.pack_into(self.map, at, status, len(frame) if length is None else length, 0)

    def ask(self, slot):
        """Asks for the frame that is in the ring, once more."""
        struct.pack_into("=I", self.map, slot * self.size, SEND_REQUEST)

    def put(self, *frames):
        """Fills the next frames of the ring; returns the first one's place."""
        first = self.next
        for frame in frames:
            assert self.status(self.next) == AVAILABLE, f"frame {self.next}: {self.statuses()}"
            self.write(self.next, frame)
            self.next = (self.next + 1) % self.frames
        return first

    def send(self, flags=0):
        """What send() returns, or -errno. Not by Python's own, which goes on behind a signal."""
        said = _libc.send(self.socket.fileno(), None, 0, flags)
        return said if said >= 0 else -ctypes.get_errno()

    def send_interrupted(self, seconds=0.02):
        """The same, with a signal when it lasts that long."""
        before = signal.signal(signal.SIGALRM, lambda *_: None)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            return self.send()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def send_limit(self, seconds):
        """How long a send may wait; 0 is forever."""
        self.socket.setsockopt(socket.SOL_SOCKET, _SO_SNDTIMEO,
                               struct.pack("ll", int(seconds), int(seconds % 1 * 1e6)))

    def small_buffer(self):
        """Room for very few frames that are on their way."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)


def frame(number, what=TAKE, queue=0, times=1, size=60):
    return (bytes(12) + struct.pack("!HBBHI", ETH_P_TEST, queue, what, times, number)).ljust(size, b".")


class Entry(NamedTuple):
    id: int
    queue: int
    what: int
    said: int
    more: int
    bells: int


def log():
    """What txscript was given since the last clear()."""
    return [Entry(*found) for found in struct.iter_unpack("=IBBBBI", _LOG.read_bytes())]


def clear():
    _LOG.write_text("\n")


def taken():
    return [entry.id for entry in log() if entry.said == TAKEN]


def runs():
    """The frames of each hold of the transmit lock, by the promises: a list of lists of entries."""
    found, open_run = [], False
    for entry in log():
        if not open_run:
            found.append([])
        found[-1].append(entry)
        open_run = entry.more and entry.said == TAKEN and entry.what != STOP
    return found


class Links:
    """Devices of txscript over a socket of rtnetlink: a process for each change takes too long."""
    NEWLINK, DELLINK = 16, 17

    def __init__(self):
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)

    def _ask(self, kind, flags, body):
        self.socket.send(struct.pack("=IHHII", 16 + len(body), kind, 5 | flags, 1, 0) + body)
        error = -struct.unpack_from("=i", self.socket.recv(65536), 16)[0]
        assert error == 0, os.strerror(error)

    def add(self, name, queues=4):
        self._ask(self.NEWLINK, 0x600, struct.pack("=BxHiII", 0, 0, 0, 1, 1)
                  + attr(3, name.encode() + b"\0") + attr(31, struct.pack("=I", queues))
                  + attr(18, attr(1, b"txscript\0")))

    def up(self, name, up=True):
        self._ask(self.NEWLINK, 0,
                  struct.pack("=BxHiII", 0, 0, socket.if_nametoindex(name), int(up), 1))

    def delete(self, name):
        self._ask(self.DELLINK, 0, struct.pack("=BxHiII", 0, 0, socket.if_nametoindex(name), 0, 0))


def release(device):
    """Its queues run, the carrier is back, and what it held is done with."""
    (_LOG.parent / device / "release").write_text("\n")


def device_frames(device, value=None):
    path = Path(f"/sys/class/net/{device}/tx_doorbell_frames")
    if value is not None:
        path.write_text(f"{value}\n")
    return int(path.read_text())


def load_txscript():
    no_ipv6()
    subprocess.run(["modprobe", "txscript"], check=True)


def unload_txscript():
    subprocess.run(["rmmod", "txscript"], check=True)


def egress_hook(device):
    """A chain of nf_tables at the egress of a device, that lets everything pass, until it is closed."""
    def message(kind, attributes):
        body = struct.pack("!BBH", 5, 0, 0) + attributes        # NFPROTO_NETDEV
        return struct.pack("=IHHII", 16 + len(body), 0xa00 | kind, 0x405, 1, 0) + body

    def edge(kind):                                             # begin and end of a batch
        return struct.pack("=IHHII", 20, kind, 1, 0, 0) + struct.pack("!BBH", 0, 0, 10)

    hook = (attr(1, struct.pack("!I", 1)) + attr(2, struct.pack("!I", 0))
            + attr(3, device.encode() + b"\0"))
    sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12)
    sock.send(edge(16) + message(0, attr(1, b"t\0") + attr(2, struct.pack("!I", 2)))  # owned by us
              + message(3, attr(1, b"t\0") + attr(3, b"c\0") + attr(4 | 0x8000, hook)
                        + attr(7, b"filter\0")) + edge(17))
    for _ in range(2):
        error = -struct.unpack_from("=i", sock.recv(65536), 16)[0]
        assert error == 0, errno.errorcode[error]
    return sock
