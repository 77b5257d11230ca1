# SPDX-License-Identifier: GPL-2.0-or-later
"""How often frames of a TX_RING ring the doorbell of virtio-net under QEMU, counted by two that know nothing
of us: the driver (ethtool) and QEMU (its trace of what the guest has written to the doorbell).

A virtio device may ask to be left alone while it is at work, by a flag or by the index of the event that it
waits for, and QEMU does. So on a device as it comes (`cable`) only a part of what the driver would ring is
rung, by chance, whatever N is: what is sure is that it is never more, and that each frame arrives. QEMU drops
the frames of a device whose link is down where it is told of them, and asks for nothing (`sink`): there each
doorbell that the driver owes is rung, and the count is exact, with the event's index and without."""
import os
import socket
import threading
from itertools import cycle

import pytest

from ringlab import Ear
from swsimlab import run
from txring import MOST, SEND_REQUEST, Ring, device_frames
from virtiolab import burst, nics, rings, send_all

LAB = {"all_variants": ["6.1-smp", "6.12-smp"], "mem": "768M", "timeout": 900,
       "nics": ["cable", "cable", "sink,sink=on,event_idx=off,ioeventfd=off",
                "queues,queues=2,sink=on,ioeventfd=off"]}

FRAMES = 4096

every_n = pytest.mark.parametrize("n", [1, 2, 4, 8, 16, 32, MOST])
some_n = pytest.mark.parametrize("n", [1, 8, MOST])


@pytest.fixture(scope="module")
def devices():
    return nics(4)


@pytest.fixture
def cable(devices):
    """Two devices that hear each other."""
    return devices[:2]


@pytest.fixture
def sink(devices):
    return devices[2]


@pytest.fixture
def two_queues(devices):
    """A sink with two transmit queues: a frame goes to that of the CPU on which it is sent."""
    assert devices[3].queues == 2
    return devices[3]


@every_n
def test_one_doorbell_for_n_frames(sink, n):
    bells, _ = burst(sink, FRAMES, n)
    assert bells.qemu == bells.driver == [FRAMES // n]


def test_a_burst_that_n_does_not_divide(sink):
    bells, _ = burst(sink, 1056, MOST)
    assert bells.qemu == bells.driver == [17]


def test_the_number_of_the_device(sink):
    assert device_frames(sink.name) == 1
    assert burst(sink, FRAMES, 0)[0].qemu == [FRAMES]
    try:
        device_frames(sink.name, 16)
        assert burst(sink, FRAMES, 0)[0].qemu == [FRAMES // 16]
    finally:
        device_frames(sink.name, 1)


@some_n
def test_through_the_qdisc_each_rings_for_itself(sink, n):
    bells, _ = burst(sink, FRAMES, n, bypass=False)
    assert bells.qemu == bells.driver == [FRAMES]


@pytest.fixture(params=[32, 64])
def small_sink(sink, request):
    """A sink whose own ring is shorter than a batch; for its frames there is room in `.room` entries."""
    run("ethtool", "-G", sink.name, "tx", str(request.param))
    sink.room = room(sink)
    assert 1 < sink.room < request.param
    yield sink
    run("ethtool", "-G", sink.name, "tx", "256")


def room(sink):
    """How many frames of one batch the driver takes before it stops its queue."""
    with Ring(sink.name, doorbell=MOST) as ring:
        ring.put(*[sink.frame(i) for i in range(MOST)])
        assert ring.send() < 0, "the queue has not been stopped"
        taken = MOST - ring.statuses().count(SEND_REQUEST)
        send_all(ring, MOST)
    return taken


def test_a_driver_that_stops_its_queue_rings_by_itself(small_sink):
    """The last of those that it took was sent with the promise of more. Each of them leaves."""
    count = 256
    with Ring(small_sink.name, frames=count, doorbell=MOST) as ring:
        ring.put(*[small_sink.frame(i) for i in range(count)])
        said = []
        bells = rings(small_sink, count, lambda: said.extend(send_all(ring, count)))
    assert min(said) < 0, "no send met a queue that was stopped"
    assert bells.qemu == bells.driver == [-(-count // small_sink.room)]


@some_n
def test_a_sender_on_each_cpu_has_a_queue(two_queues, n):
    """Each with its own batches, at the same time."""
    def send(cpu):
        os.sched_setaffinity(0, {cpu})      # this thread
        with Ring(two_queues.name, frames=FRAMES, size=128, doorbell=n) as ring:
            ring.put(*[two_queues.frame(i) for i in range(FRAMES)])
            ready.wait()
            said[cpu] = ring.send()

    def both():
        threads = [threading.Thread(target=send, args=(cpu,)) for cpu in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    ready, said = threading.Barrier(2), {}
    bells = rings(two_queues, 2 * FRAMES, both)
    assert said == {0: FRAMES * 60, 1: FRAMES * 60}
    assert bells.qemu == bells.driver == [FRAMES // n] * 2


@some_n
def test_a_sender_that_changes_queues(two_queues, n):
    """It is moved between the CPUs within a send(): what is collected for one queue does not wait for the
    other, so a batch more for each move at most."""
    sender, done, moves = threading.get_native_id(), threading.Event(), []

    def move():
        for cpu in cycle((1, 0)):
            os.sched_setaffinity(sender, {cpu})
            moves.append(cpu)
            if done.wait(0.01):
                return

    mine = os.sched_getaffinity(0)
    thread = threading.Thread(target=move)
    thread.start()
    try:
        bells, _ = burst(two_queues, FRAMES, n)
    finally:
        done.set()
        thread.join()
        os.sched_setaffinity(0, mine)
    assert bells.qemu == bells.driver and min(bells.qemu) > 0
    assert FRAMES // n <= sum(bells.qemu) <= FRAMES // n + len(moves)


@every_n
def test_all_arrive_at_a_device_that_mutes_its_bell(cable, n):
    """In order, by QEMU's record at the other end. (The guest there may hear two neighbours the other way
    round: QEMU's hub passes a frame on before the one that had to wait for a buffer.) QEMU may count less
    doorbells than the driver, since it is told of these by an eventfd, and two may be one. A send that fails,
    because the driver's ring is full, ends a batch before its time."""
    near, far = cable
    before = len(far.passed())
    with Ear(far.name) as ear:
        bells, again = burst(near, FRAMES, n, to=far)
        heard = ear.numbers(quiet=2)
    everything = list(range(1, FRAMES + 1))
    assert far.passed()[before:] == everything
    assert sorted(heard) == everything
    assert 1 <= bells.qemu[0] <= bells.driver[0] <= FRAMES // n + again


@some_n
def test_none_is_stranded_in_a_ring_that_was_full(cable, n):
    """The other end takes nothing, so the device stops in the midst of a burst, with its bell muted, and the
    driver's ring fills. When it goes on, all goes on."""
    near, far = cable
    before, sent, count = len(far.passed()), near.sent(), 1024
    run("ip", "link", "set", far.name, "down")
    with Ring(near.name, frames=count, size=128, doorbell=n) as ring:
        ring.put(*[near.frame(number, far) for number in range(1, count + 1)])
        try:
            ring.send(socket.MSG_DONTWAIT)
            waiting = ring.statuses().count(SEND_REQUEST)
        finally:
            run("ip", "link", "set", far.name, "up")
        assert 0 < waiting < count, f"{waiting} frames did not fit"
        send_all(ring, count)
        near.wait_sent(sent + count)
    assert far.passed()[before:] == list(range(1, count + 1))
