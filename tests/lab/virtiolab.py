# SPDX-License-Identifier: GPL-2.0-or-later
"""virtio-net devices of a guest (`lab run --nic`), and what two say of their doorbells who know nothing of
us: the driver, by ethtool, and QEMU, whose trace is in $LAB_OUT. In a guest only."""
import os
import re
import struct
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from ringlab import ETH_P_TEST
from swsimlab import bring_up, no_ipv6, run, wait
from txring import AVAILABLE, Ring

_OUT = Path(os.environ["LAB_OUT"])
_RECORD = struct.Struct("=IIII")    # of a pcap file, before each frame: seconds, us, length here and once
_PCAP_HEAD, _NUMBER = 24, 14        # bytes of the file before the first of them, and of a frame before its number


class _Trace:
    """QEMU's lines, counted: {(device, virtqueue): doorbells}."""
    _LINE = re.compile(rb"virtio_queue_notify vdev (\w+) n (\d+) ")

    def __init__(self):
        self.file = open(_OUT / "doorbells", "rb", buffering=0)
        self.counts, self.rest = Counter(), b""

    def read(self):
        """To read the file rings as well, at the device that brings it: it has no end but the one it had."""
        data, left = b"", os.stat(self.file.fileno()).st_size - self.file.tell()
        while len(data) < left:
            data += self.file.read(left - len(data))
        *lines, self.rest = (self.rest + data).split(b"\n")
        found = (self._LINE.match(line) for line in lines)
        self.counts.update((match[1], int(match[2])) for match in found if match)
        return Counter(self.counts)


def nics(count):
    """The devices eth0 and on, up and quiet. None of them sends before all can hear."""
    no_ipv6()
    names = [f"eth{i}" for i in range(count)]
    bring_up(names)
    trace = _Trace()
    return [Nic(name, trace) for name in names]


class Nic:
    """A device that is up and quiet."""

    def __init__(self, name, trace):
        self.name, self.trace = name, trace
        self.mac = bytes.fromhex(Path(f"/sys/class/net/{name}/address").read_text().replace(":", ""))
        self.queues = len(list(Path(f"/sys/class/net/{name}/queues").glob("tx-*")))
        self.vdev = self._find()

    def _find(self):
        """QEMU's name for it: where there is a doorbell when a frame is sent. The first queue to send is
        virtqueue 1, the next 3."""
        before, ours = self.trace.read(), os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(ours)})
        with Ring(self.name) as ring:
            ring.put(self.frame(0))
            assert ring.send() == 60
            self.wait_sent(1)
        os.sched_setaffinity(0, ours)
        (vdev, _), = [key for key in self.trace.read() - before if key[1] == 1]
        return vdev

    def frame(self, number, to=None):
        """A frame of 60 bytes with a number, for a Nic or for nobody."""
        mac = to.mac if to else bytes(6)
        return (mac + self.mac + struct.pack("!HI", ETH_P_TEST, number)).ljust(60, b".")

    def qemu(self):
        """Doorbells of each transmit queue, by QEMU's trace."""
        counts = self.trace.read()
        return [counts[self.vdev, 2 * queue + 1] for queue in range(self.queues)]

    def driver(self):
        """The same by the driver. What Linux 6.1 and 6.12 call them differs."""
        said = run("ethtool", "-S", self.name).stdout
        found = re.findall(r"^ +tx(?:_queue_)?(\d+)_kicks: (\d+)$", said, re.M)
        counts = {int(queue): int(kicks) for queue, kicks in found}
        return [counts[queue] for queue in range(self.queues)]

    def sent(self):
        """Frames that the device has given back to the driver, as taken. That they are AVAILABLE in the ring
        says less: a device without scatter-gather, as on a hub, gets a copy."""
        return int(Path(f"/sys/class/net/{self.name}/statistics/tx_packets").read_text())

    def wait_sent(self, total):
        wait(lambda: self.sent() == total, f"{total} frames to leave {self.name}", 30)

    def passed(self):
        """The numbers of the frames that have passed between it and its cable, by QEMU's pcap file."""
        data, at, found = (_OUT / f"{self.name}.pcap").read_bytes(), _PCAP_HEAD, []
        while at + _RECORD.size < len(data):
            length = _RECORD.unpack_from(data, at)[2]
            at += _RECORD.size
            if struct.unpack_from("!H", data, at + 12)[0] == ETH_P_TEST:
                found.append(struct.unpack_from("!I", data, at + _NUMBER)[0])
            at += length
        return found


class Bells(NamedTuple):
    """How often a burst has rung, a number for each transmit queue."""
    driver: list
    qemu: list


def rings(nic, count, action):
    """The Bells of what `action` does, which sends that many frames. All of them leave."""
    sent, before = nic.sent(), (nic.driver(), nic.qemu())
    action()
    nic.wait_sent(sent + count)
    return Bells(*([b - a for a, b in zip(*pair)] for pair in zip(before, (nic.driver(), nic.qemu()))))


def send_all(ring, count, seconds=60):
    """Sends until all frames have left; returns what each send() said. One that finds the driver's ring full
    fails."""
    said, end = [], time.monotonic() + seconds
    while not said or ring.statuses(count) != [AVAILABLE] * count:
        assert time.monotonic() < end, f"frames are left: {ring.statuses(count)}, {said[-5:]}"
        said.append(ring.send())
    return said


def burst(nic, count, n, to=None, bypass=True):
    """(Bells, how many sends failed) of frames numbered from 1, n to a doorbell. The ring is as long as the
    burst, so count is a multiple of 32; one send() takes all, where the driver's ring has room."""
    with Ring(nic.name, frames=count, size=128, doorbell=n, bypass=bypass) as ring:
        ring.put(*[nic.frame(number, to) for number in range(1, count + 1)])
        said = []
        bells = rings(nic, count, lambda: said.extend(send_all(ring, count)))
    return bells, len([word for word in said if word < 0])
