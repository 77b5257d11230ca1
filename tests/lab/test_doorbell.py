# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames of a TX_RING that share a doorbell: how many do, what ends a batch, and what of it is in the
ring when a frame fails. Most tests run with one frame to a doorbell, too: what a user sees is the same."""
import errno
import itertools
import mmap
import socket
import struct
import subprocess
import threading
import time
from pathlib import Path

import pytest

import swsimlab
from frames import Wire, udp_frame
from txring import (AVAILABLE, BUSY, CARRIER, ETH_P_TEST, FAIL, FAILED, HOLD, LOST, MOST,
                    ORPHAN, PACKET_QDISC_BYPASS, PACKET_TX_DOORBELL_FRAMES, PACKET_TX_RING,
                    PACKET_VERSION, REFUSED, SENDING, SEND_REQUEST, SOL_PACKET, STOP,
                    WRONG_FORMAT, Links, Ring, clear, device_frames, egress_hook, frame,
                    load_txscript, log, release, runs, taken, unload_txscript)

LAB = {"variants": ["6.1-swd", "6.12-swd"],
       "all_variants": ["6.1-debug", "6.12-debug", "6.1-smp", "6.12-smp"], "modules": ["txscript"], "timeout": 600}

every_n = pytest.mark.parametrize("n", [1, 8, MOST])


@pytest.fixture(scope="module", autouse=True)
def links():
    load_txscript()
    yield Links()
    unload_txscript()


@pytest.fixture(autouse=True)
def device(links):
    links.add("ts0")
    links.up("ts0")
    clear()
    yield
    if Path("/sys/class/net/ts0").exists():
        links.up("ts0", False)      # counts what waits for a bell as lost
        links.delete("ts0")
    assert LOST not in [entry.said for entry in log()], "a frame was taken and never left"


def sizes():
    return [len(run) for run in runs()]


def chunks(count, n):
    return [n] * (count // n) + [count % n] * (count % n > 0)


def numbered(count, first=1, **order):
    return [frame(number, **order) for number in range(first, first + count)]


def test_each_rings_for_itself_unless_asked():
    with Ring("ts0") as ring:
        assert device_frames("ts0") == 1 and ring.get(PACKET_TX_DOORBELL_FRAMES) == 0
        ring.put(*numbered(20))
        assert ring.send() == 20 * 60
    assert sizes() == [1] * 20 and log()[-1].bells == 20


@pytest.mark.parametrize("n", [1, 2, 3, 8, 63, MOST])
def test_number_of_the_device(n):
    assert device_frames("ts0", n) == n
    with Ring("ts0", frames=256) as ring:
        ring.put(*numbered(200))
        assert ring.send() == 200 * 60
        assert ring.statuses() == [AVAILABLE] * 256
    assert taken() == list(range(1, 201)) and sizes() == chunks(200, n)
    assert log()[-1].bells == len(runs())


def test_number_of_the_socket_comes_first():
    device_frames("ts0", 8)
    with Ring("ts0") as ring:
        for option, n in ((4, 4), (1, 1), (MOST, MOST), (0, 8)):
            clear()
            ring.set(PACKET_TX_DOORBELL_FRAMES, option)
            assert ring.get(PACKET_TX_DOORBELL_FRAMES) == option
            ring.put(*numbered(20))
            assert ring.send() == 20 * 60
            assert sizes() == chunks(20, n)


def test_numbers_that_are_none():
    with Ring("ts0", doorbell=5) as ring:
        for value in (-1, MOST + 1, 1 << 16, 1 << 30):
            with pytest.raises(OSError) as refusal:
                ring.set(PACKET_TX_DOORBELL_FRAMES, value)
            assert refusal.value.errno == errno.ERANGE
        with pytest.raises(OSError):
            ring.socket.setsockopt(263, PACKET_TX_DOORBELL_FRAMES, b"\x02")
        assert ring.get(PACKET_TX_DOORBELL_FRAMES) == 5
    device_frames("ts0", 7)
    for value in (0, -1, MOST + 1, 1 << 16, "many"):
        with pytest.raises(OSError):
            device_frames("ts0", value)
    assert device_frames("ts0") == 7


def test_devices_have_their_own(links):
    device_frames("ts0", 9)
    links.add("ts1")
    try:
        assert device_frames("ts1") == 1 and device_frames("lo") == 1
    finally:
        links.delete("ts1")


@pytest.mark.parametrize("n", [2, 8, MOST])
def test_without_qdisc_bypass_nothing_is_collected(n):
    device_frames("ts0", n)
    with Ring("ts0", doorbell=n, bypass=False) as ring:
        ring.put(*numbered(20))
        assert ring.send() == 20 * 60
    assert taken() == list(range(1, 21)) and sizes() == [1] * 20


def test_a_socket_without_a_ring_sends_as_it_did():
    device_frames("ts0", 8)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as sock:
        sock.setsockopt(263, 20, 1)
        sock.bind(("ts0", 0))
        for number in range(5):
            assert sock.send(frame(number)) == 60
    assert taken() == list(range(5)) and sizes() == [1] * 5


@every_n
def test_order_around_the_ring(n):
    """A ring shorter than a batch, filled at each of its places."""
    number = itertools.count(1)
    with Ring("ts0", frames=16, doorbell=n) as ring:
        for count in (5, 16, 1, 15, 16, 9, 16, 3):
            ring.put(*[frame(next(number)) for _ in range(count)])
            assert ring.send() == count * 60
            assert ring.statuses() == [AVAILABLE] * 16
    assert taken() == list(range(1, 82))
    assert max(sizes()) == min(n, 16)


class OtherRing(Ring):
    """A ring of 16 frames, each behind a struct tpacket_hdr, tpacket2_hdr or tpacket3_hdr."""
    # Where a header has its status and its length, and where the frame begins
    HEADERS = {1: (0, 8, 32), 2: (0, 4, 32), 3: (20, 16, 48)}

    def __init__(self, version, doorbell, kind=socket.SOCK_RAW):
        self.status_at, self.length_at, self.data_at = self.HEADERS[version]
        self.frames, self.size, self.next = 16, 2048, 0
        self.socket = socket.socket(socket.AF_PACKET, kind, 0)
        self.set(PACKET_VERSION, version - 1)
        self.set(PACKET_QDISC_BYPASS, 1)
        self.set(PACKET_TX_DOORBELL_FRAMES, doorbell)
        self.socket.setsockopt(SOL_PACKET, PACKET_TX_RING,
                               struct.pack("=IIII12x", 4096, 8, self.size, self.frames))
        self.map = mmap.mmap(self.socket.fileno(), self.frames * self.size)
        self.bind("ts0")

    def status(self, slot):
        return struct.unpack_from("=I", self.map, slot % self.frames * self.size + self.status_at)[0]

    def write(self, slot, frame, length=None, status=SEND_REQUEST):
        at = slot % self.frames * self.size
        self.map[at + self.data_at:at + self.data_at + len(frame)] = frame
        struct.pack_into("=I", self.map, at + self.length_at, length or len(frame))
        struct.pack_into("=I", self.map, at + self.status_at, status)


@every_n
@pytest.mark.parametrize("version", [1, 3])
def test_rings_of_other_versions(n, version):
    """Their frames are found, and those of a batch that fails go back, as with TPACKET_V2."""
    with OtherRing(version, n) as ring:
        ring.put(*numbered(9))
        assert ring.send() == 9 * 60
        ring.put(*numbered(5, 10), frame(15, BUSY), *numbered(6, 16))       # around the ring's end
        assert ring.send() == -errno.ENOBUFS
        assert ring.statuses(12, 9) == [AVAILABLE] * 5 + [SEND_REQUEST] * 7
        assert ring.send() == 7 * 60
        ring.put(*numbered(3, 22, what=HOLD))
        assert ring.send(socket.MSG_DONTWAIT) == 180 and ring.statuses(3, 21) == [SENDING] * 3
        release("ts0")
        assert ring.statuses() == [AVAILABLE] * 16
    assert taken() == list(range(1, 25)) and max(sizes()) == min(n, 9)


@every_n
def test_a_datagram_socket_with_an_address(n):
    """The kernel makes the Ethernet header, and the device is the address's."""
    with OtherRing(2, n, socket.SOCK_DGRAM) as ring:
        ring.put(*[text[14:] for text in numbered(12)])
        assert ring.socket.sendto(b"", ("ts0", ETH_P_TEST, 0, 0, bytes(6))) == 12 * 46
    assert taken() == list(range(1, 13)) and sizes() == chunks(12, n)


@every_n
def test_a_ring_that_runs_dry_ends_the_batch(n):
    with Ring("ts0", doorbell=n) as ring:
        for first in range(1, 31, 3):
            ring.put(*numbered(3, first))
            assert ring.send() == 180
    assert sizes() == (chunks(3, n) * 10 if n == 1 else [3] * 10)


@every_n
def test_another_queue_ends_the_batch(n):
    queues = [0, 0, 1, 1, 1, 0, 3, 3, 3, 3, 2]
    with Ring("ts0", doorbell=n) as ring:
        ring.put(*[frame(number, queue=queue) for number, queue in enumerate(queues)])
        assert ring.send() == len(queues) * 60
    assert taken() == list(range(len(queues)))
    assert sizes() == ([1] * 11 if n == 1 else [2, 3, 1, 4, 1])
    assert all(len({entry.queue for entry in run}) == 1 for run in runs())


@every_n
def test_statuses_while_the_driver_has_them(n):
    with Ring("ts0", frames=32, doorbell=n) as ring:
        ring.put(*numbered(10, what=HOLD))
        assert ring.send(socket.MSG_DONTWAIT) == 600
        assert ring.statuses() == [SENDING] * 10 + [AVAILABLE] * 22
        release("ts0")
        assert ring.statuses() == [AVAILABLE] * 32


@every_n
@pytest.mark.parametrize("bad, why", [(1516, errno.EMSGSIZE), (9000, errno.EMSGSIZE),
                                      (3, errno.EINVAL)])
def test_a_malformed_frame(n, bad, why):
    """Those before it leave, it is told, and those behind it wait: as many as there are."""
    with Ring("ts0", frames=32, doorbell=n) as ring:
        ring.put(*numbered(5))
        place = ring.put(frame(99))
        ring.put(*numbered(4, 6))
        ring.write(place, frame(99), length=bad)
        assert ring.send() == -why
        assert taken() == [1, 2, 3, 4, 5] and sizes() == chunks(5, n)
        assert ring.statuses(10) == [AVAILABLE] * 5 + [WRONG_FORMAT] + [SEND_REQUEST] * 4
        ring.write(place, frame(77))
        assert ring.send() == 5 * 60
        assert taken() == [1, 2, 3, 4, 5, 77, 6, 7, 8, 9]


@every_n
def test_malformed_frames_that_are_to_be_lost(n):
    with Ring("ts0", frames=32, doorbell=n, loss=True) as ring:
        ring.put(*numbered(20))
        for place in (0, 5, 6, 13, 19):
            ring.write(place, frame(99), length=9000)
        assert ring.send() == 15 * 60
        assert ring.statuses() == [AVAILABLE] * 32
    assert taken() == [i + 1 for i in range(20) if i not in (0, 5, 6, 13, 19)]
    assert sizes() == ([1] * 15 if n == 1 else [4, 6, 5])


@every_n
@pytest.mark.parametrize("what, why, said", [(BUSY, errno.ENOBUFS, REFUSED),
                                             (ORPHAN, errno.ENOBUFS, REFUSED),
                                             (FAIL, errno.EIO, FAILED)])
@pytest.mark.parametrize("at", [1, 2, 5, 8, 9, 10])
def test_a_frame_that_is_not_taken(n, what, why, said, at):
    """It goes back to the ring, and all behind it. The next send begins with it."""
    with Ring("ts0", frames=16, doorbell=n) as ring:
        ring.put(*numbered(7, 1000))
        assert ring.send() == 7 * 60            # the end of the ring is within the batch
        clear()
        ring.put(*numbered(at - 1), frame(at, what, times=2), *numbered(10 - at, at + 1))
        for _ in range(2):
            assert ring.send() == -why
            assert ring.statuses(10, 7) == [AVAILABLE] * (at - 1) + [SEND_REQUEST] * (11 - at)
            assert taken() == list(range(1, at))
        assert [entry.id for entry in log() if entry.said == said] == [at, at]
        assert ring.send() == (11 - at) * 60
        assert ring.statuses() == [AVAILABLE] * 16
    assert taken() == list(range(1, 11))


@every_n
def test_refused_frames_are_not_pending(n):
    """A count of pending frames that is wrong shows as a send that waits for none, or forever."""
    with Ring("ts0", frames=16, doorbell=n) as ring:
        for what in (BUSY, ORPHAN, FAIL, BUSY):
            ring.put(*numbered(3), frame(4, what, times=1), *numbered(3, 5))
            assert ring.send() < 0
            assert ring.send() == 4 * 60
            assert ring.send() == 0             # would wait
            ring.put(frame(8, HOLD))
            assert ring.send_interrupted() == -errno.EINTR, "has something to wait for"
            release("ts0")


@every_n
def test_a_queue_that_stops(n):
    with Ring("ts0", frames=32, doorbell=n) as ring:
        ring.put(*numbered(4), frame(5, STOP), *numbered(5, 6))
        for _ in range(2):
            assert ring.send() == -errno.ENOBUFS
            assert ring.statuses(10) == [AVAILABLE] * 5 + [SEND_REQUEST] * 5
            assert taken() == [1, 2, 3, 4, 5]
        release("ts0")
        assert ring.send() == 5 * 60
    assert taken() == list(range(1, 11)) and not [e for e in log() if e.said != 0]


def dropped():
    return int(Path("/sys/class/net/ts0/statistics/tx_dropped").read_text())


@every_n
def test_no_carrier(n):
    """The driver is not asked, and the frame that is tried counts as dropped, once a send."""
    with Ring("ts0", frames=32, doorbell=n) as ring:
        ring.put(frame(1, CARRIER))
        assert ring.send() == 60
        ring.put(*numbered(9, 2))
        before = dropped()
        for _ in range(2):
            assert ring.send() == -errno.ENOBUFS
            assert ring.statuses(10) == [AVAILABLE] + [SEND_REQUEST] * 9
        assert taken() == [1] and dropped() == before + 2
        release("ts0")
        assert ring.send() == 9 * 60
    assert taken() == list(range(1, 11))


@every_n
def test_carrier_lost_within_a_batch(n):
    """What has gone to the driver together with the last frame before it went; nothing behind."""
    with Ring("ts0", frames=64, doorbell=n) as ring:
        ring.put(*numbered(9), frame(10, CARRIER), *numbered(20, 11))
        gone = {1: 10, 8: 16, MOST: 30}[n]
        assert ring.send() == (-errno.ENOBUFS if gone < 30 else 30 * 60)
        assert taken() == list(range(1, gone + 1))
        assert ring.statuses(30) == [AVAILABLE] * gone + [SEND_REQUEST] * (30 - gone)
        release("ts0")
        assert ring.send() == (30 - gone) * 60
    assert taken() == list(range(1, 31))


@every_n
def test_device_down(n, links):
    with Ring("ts0", frames=32, doorbell=n) as ring:
        ring.put(*numbered(5))
        links.up("ts0", False)
        assert ring.send() == -errno.ENETDOWN
        links.up("ts0")
        assert ring.statuses(5) == [SEND_REQUEST] * 5
        ring.bind("ts0")
        assert ring.send() == 300
    assert taken() == [1, 2, 3, 4, 5]


@every_n
def test_a_send_that_waits_has_sent_all_before(n):
    with Ring("ts0", frames=32, doorbell=n) as ring:
        ring.put(*numbered(10, what=HOLD))
        assert ring.send_interrupted() == -errno.EINTR
        assert taken() == list(range(1, 11)) and sizes() == chunks(10, n)
        assert ring.statuses(10) == [SENDING] * 10
        release("ts0")
        assert ring.statuses(10) == [AVAILABLE] * 10
        ring.put(*numbered(3, 11))
        assert ring.send() == 180
    assert taken() == list(range(1, 14))


@every_n
def test_a_send_that_times_out(n):
    with Ring("ts0", frames=32, doorbell=n) as ring:
        ring.send_limit(0.05)
        ring.put(*numbered(10, what=HOLD))
        assert ring.send() == -errno.ETIMEDOUT
        assert taken() == list(range(1, 11)) and ring.statuses(10) == [SENDING] * 10
        release("ts0")
        assert ring.send() == 0


def while_sending(ring, action):
    """What send() returns when `action` happens as it waits: it has taken what is in the ring."""
    def act():
        while SEND_REQUEST in ring.statuses():
            time.sleep(0.01)
        time.sleep(0.05)
        action()
    thread = threading.Thread(target=act)
    thread.start()
    said = ring.send()
    thread.join()
    return said


@every_n
def test_frames_that_come_while_a_send_waits(n):
    """Another thread fills the ring and lets the wait end: the same send takes what is there."""
    with Ring("ts0", frames=32, doorbell=n) as ring:
        ring.put(*numbered(4, what=HOLD))

        def more():
            ring.put(*numbered(10, 5))
            release("ts0")
        assert while_sending(ring, more) == 14 * 60
        assert ring.statuses() == [AVAILABLE] * 32
    assert taken() == list(range(1, 15)) and sizes() == chunks(4, n) + chunks(10, n)


@every_n
def test_device_down_while_a_send_waits(n, links):
    with Ring("ts0", frames=32, doorbell=n) as ring:
        ring.put(*numbered(4, what=HOLD))

        def down():
            ring.put(*numbered(10, 5))
            links.up("ts0", False)              # lets go of what is held
        assert while_sending(ring, down) == -errno.ENOBUFS
        assert ring.statuses(14) == [AVAILABLE] * 4 + [SEND_REQUEST] * 10
        links.up("ts0")
        ring.bind("ts0")
        assert ring.send() == 600
    assert taken() == list(range(1, 15))


@every_n
def test_device_gone_while_a_send_waits(n, links):
    with Ring("ts0", frames=32, doorbell=n) as ring:
        ring.put(*numbered(4, what=HOLD))

        def gone():
            ring.put(*numbered(10, 5))
            links.delete("ts0")
        assert while_sending(ring, gone) == -errno.ENOBUFS
        assert ring.statuses(14) == [AVAILABLE] * 4 + [SEND_REQUEST] * 10
        assert ring.send() == -errno.ENXIO
        links.add("ts0")
        links.up("ts0")
        ring.bind("ts0")
        assert ring.send() == 600
    assert taken() == list(range(1, 15))


@every_n
def test_a_device_without_queues(n):
    """The send waits for another device. Its own, which it holds, is unregistered when it goes on."""
    gone = Path("/sys/class/net/gone0")
    swsimlab.run("ip", "link", "add", gone.name, "up", "type", "dummy")
    with Ring("ts0", doorbell=n) as ring:
        ring.put(frame(1, HOLD))
        assert ring.send(socket.MSG_DONTWAIT) == 60
        ring.bind(gone.name)
        ring.put(frame(99))

        def go():
            with subprocess.Popen(["ip", "link", "delete", gone.name]):     # ends with the send
                while gone.exists():
                    time.sleep(0.01)
                ring.put(*numbered(5, 2))
                release("ts0")
        assert while_sending(ring, go) == -errno.ENOBUFS
        assert ring.statuses(7) == [AVAILABLE] * 2 + [SEND_REQUEST] * 5
        ring.bind("ts0")
        assert ring.send() == 300
    assert taken() == [1, 2, 3, 4, 5, 6]


@every_n
def test_a_socket_that_closes_while_the_driver_has_its_frames(n, links):
    """Nothing of the socket or its ring is touched when they are done, nor of those that were refused."""
    for let_go in (lambda: release("ts0"), lambda: links.up("ts0", False)):
        clear()
        with Ring("ts0", frames=32, doorbell=n) as ring:
            ring.put(*numbered(10, what=HOLD), frame(11, BUSY), *numbered(9, 12))
            assert ring.send(socket.MSG_DONTWAIT) == -errno.ENOBUFS
            assert ring.statuses(20) == [SENDING] * 10 + [SEND_REQUEST] * 10
        time.sleep(0.1)
        let_go()
        assert taken() == list(range(1, 11))


@every_n
def test_options_that_change_while_it_sends(n):
    """Whoever sees the old and who the new one: every frame leaves once, and in its order."""
    done = threading.Event()
    with Ring("ts0", frames=256, doorbell=n) as ring:
        def change():
            for turn in itertools.takewhile(lambda _: not done.is_set(), itertools.count()):
                ring.set(PACKET_QDISC_BYPASS, turn % 3 > 0)
                ring.set(PACKET_TX_DOORBELL_FRAMES, (n, 1, 0, MOST)[turn % 4])
                device_frames("ts0", turn % MOST + 1)
        thread = threading.Thread(target=change)
        thread.start()
        try:
            for turn in range(20):
                ring.put(*numbered(256, turn * 256 + 1))
                assert ring.send() == 256 * 60 and ring.statuses() == [AVAILABLE] * 256
        finally:
            done.set()
            thread.join()
    assert taken() == list(range(1, 20 * 256 + 1))


@every_n
@pytest.mark.parametrize("flags", [0, socket.MSG_DONTWAIT])
def test_a_small_send_buffer(n, flags):
    """Collected frames fill it: they are sent and not waited for."""
    with Ring("ts0", frames=64, doorbell=n) as ring:
        ring.small_buffer()
        ring.put(*numbered(60, size=1000))
        assert ring.send(flags) == 60000
        assert ring.statuses() == [AVAILABLE] * 64
    assert taken() == list(range(1, 61))
    assert n == 1 or 1 < max(sizes()) < 8, sizes()


@every_n
def test_a_send_buffer_full_of_held_frames(n):
    """A send that waits for room has sent what it had collected; one that may not wait says how much."""
    with Ring("ts0", frames=64, doorbell=n) as ring:
        ring.small_buffer()
        ring.put(*numbered(60, what=HOLD, size=1000))
        sent = ring.send(socket.MSG_DONTWAIT)
        count = sent // 1000
        assert 0 < count < 60 and taken() == list(range(1, count + 1))
        assert ring.statuses(60) == [SENDING] * count + [SEND_REQUEST] * (60 - count)
        assert ring.send(socket.MSG_DONTWAIT) == -errno.EAGAIN
        assert ring.send_interrupted() == -errno.EINTR
        assert ring.statuses(60) == [SENDING] * count + [SEND_REQUEST] * (60 - count)
        total = count
        while total < 60:
            release("ts0")
            total += ring.send(socket.MSG_DONTWAIT) // 1000
        release("ts0")
        assert ring.statuses() == [AVAILABLE] * 64
    assert taken() == list(range(1, 61))


@every_n
def test_a_frame_the_device_can_only_take_in_pieces(n):
    """Past the qdisc such a frame was always dropped; it takes none of those before it along."""
    plain, large = bytes(10), struct.pack("=BBHHHH", 1, 1, 54, 200, 34, 16)
    tcp = bytes(12) + b"\x08\x00\x45\x00\x02\x58\0\0\0\0\x40\x06" + bytes(8 + 12 + 2) + b"\x50" + bytes(560)
    with Ring("ts0", frames=32, doorbell=n, vnet=True) as ring:
        ring.put(*[plain + f for f in numbered(5)], large + tcp, *[plain + f for f in numbered(3, 6)])
        before = dropped()
        assert ring.send() == -errno.ENOBUFS
        assert taken() == [1, 2, 3, 4, 5] and sizes() == chunks(5, n)
        assert dropped() > before
        assert ring.statuses(9) == [AVAILABLE] * 5 + [SEND_REQUEST] * 4


@every_n
def test_at_the_other_end(n):
    """What swsim counts, and each byte that arrives at the end of its cable."""
    swsimlab.load(nics=1)
    try:
        device_frames("sim0", n)
        sent = [udp_frame(swsimlab.DST, swsimlab.SRC, "10.1.0.1", "10.2.0.1", sport=1024 + i,
                          data=bytes(range(i % 200))) for i in range(100)]
        with Wire("sim0w") as wire, Ring("sim0", frames=128) as ring:
            ring.put(*sent)
            assert ring.send() == sum(map(len, sent))
            assert wire.drain() == sent
        queue, = swsimlab.tx_queues("sim0")
        assert queue["frames"] == 100 and queue["bells"] == len(chunks(100, n))
        assert queue["waiting"] == 0
    finally:
        swsimlab.unload()


def test_an_egress_hook_sees_frames_one_by_one():
    with Ring("ts0", doorbell=8) as ring, egress_hook("ts0"):
        ring.put(*numbered(10))
        assert ring.send() == 600
        assert taken() == list(range(1, 11)) and sizes() == [1] * 10
