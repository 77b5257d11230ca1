# SPDX-License-Identifier: GPL-2.0-or-later
"""swsim's transmit queues: the doorbell and its cost, several queues, refusals and stops.

Frames with the promise of more are made on any kernel: a long TCP segment that swsim has no offload
for is cut by the kernel and handed over as one list, all but its last frame with that promise.
"""
import contextlib
import socket
import struct
import time

import pytest

from frames import TCP, Wire, eth, ipv4, tcp, udp_frame
from swsimlab import DST, SRC, counters, knob, load, run, tx_queues, unload, wait
from thiskernel import SLOW

LAB = {"variants": ["6.1", "6.12"],
       "all_variants": ["6.1-debug", "6.12-debug", "6.1-smp", "6.12-smp"], "timeout": 600}

SOL_PACKET, PACKET_VNET_HDR, PACKET_QDISC_BYPASS = 263, 15, 20
DEFAULTS = {"tx_doorbell_ns": "0", "tx_busy": "0 0", "tx_stop": "0 0"}
FRAME = udp_frame(DST, SRC, "10.1.0.1", "10.2.0.1")
PIECE = 100  # bytes of TCP data in each frame of a list


@pytest.fixture(scope="module", autouse=True)
def switch():
    load(nics=1, ports=1)
    yield
    unload()


@pytest.fixture(autouse=True)
def neutral(switch):
    yield
    for name, value in DEFAULTS.items():
        knob("sim0", name, value)


def send_list(count, device="sim0"):
    """Sends a segment that becomes `count` frames. What of them left is for the other end to say:
    not every kernel has an error for a list that was cut short."""
    headers = 14 + 20 + 20
    frame = eth(DST, SRC, 0x0800, ipv4("10.1.0.1", "10.2.0.1", TCP,
                                       tcp("10.1.0.1", "10.2.0.1", 1024, 9, flags=0x10,
                                           data=bytes(PIECE * count))))
    vnet = struct.pack("=BBHHHH", 1, 1, headers, PIECE, 34, 16)  # NEEDS_CSUM, TCPV4
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as sock:
        sock.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
        sock.bind((device, 0))
        with contextlib.suppress(OSError):
            sock.send(vnet + frame)


def sender(bypass=False):
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    sock.setsockopt(SOL_PACKET, PACKET_QDISC_BYPASS, bypass)
    sock.bind(("sim0", 0))
    return sock


def moved(before, queue=0):
    """What the counters of a queue have gained, of those that have."""
    now = tx_queues("sim0")[queue]
    return {name: now[name] - before[name] for name in now if now[name] != before[name]}


def test_defaults_and_nonsense():
    for name, value in DEFAULTS.items():
        assert knob("sim0", name).strip() == value
        for bad in ("many", "-1", "1 2 3", ""):
            with pytest.raises(OSError):
                knob("sim0", name, bad)
        assert knob("sim0", name).strip() == value
    with pytest.raises(OSError):
        knob("sim0", "tx_doorbell_ns", "1000001")
    with pytest.raises(FileNotFoundError):
        knob("dsa0", "tx_queues")


def test_each_frame_rings_for_itself():
    before, = tx_queues("sim0")
    with Wire("sim0w") as wire, sender() as sock:
        for _ in range(5):
            sock.send(FRAME)
        assert wire.drain() == [FRAME] * 5
    assert moved(before) == {"frames": 5, "bells": 5}


def test_a_list_rings_once():
    before, = tx_queues("sim0")
    with Wire("sim0w") as wire:
        send_list(10)
        got = wire.drain()
    assert [len(frame) for frame in got] == [54 + PIECE] * 10
    assert moved(before) == {"frames": 10, "bells": 1}


def seconds_for(sock, doorbell):
    """The time of 300 sends with a doorbell of so many ns."""
    knob("sim0", "tx_doorbell_ns", doorbell)
    start = time.monotonic()
    for _ in range(300):
        sock.send(FRAME)
    return time.monotonic() - start


def test_the_doorbell_costs_its_time():
    """The least of rounds that take turns: other work on the machine can only make one longer."""
    cost = min(200000 * SLOW, 1000000)
    before = tx_queues("sim0")[0]
    with sender(bypass=True) as sock:
        free, dear = (min(times) for times in zip(*([seconds_for(sock, 0), seconds_for(sock, cost)]
                                                    for _ in range(5))))
    assert moved(before) == {"frames": 3000, "bells": 3000}
    assert dear - free > 300 * cost / 1e9 * 0.9, (free, dear)


def test_a_list_costs_one_doorbell():
    knob("sim0", "tx_doorbell_ns", 1000000)
    before, start = tx_queues("sim0")[0], time.monotonic()
    with Wire("sim0w") as wire:
        send_list(40)
        spent = time.monotonic() - start
        assert len(wire.drain()) == 40
    assert moved(before) == {"frames": 40, "bells": 1}
    assert 0.001 <= spent < 0.040, "forty bells would have taken forty milliseconds"


def test_busy_refuses_what_it_says():
    """The third and fourth frame are refused; a packet socket past the qdisc is told so."""
    knob("sim0", "tx_busy", "2 2")
    before, told = tx_queues("sim0")[0], []
    with Wire("sim0w") as wire, sender(bypass=True) as sock:
        for number in range(6):
            try:
                sock.send(FRAME + bytes([number]))
                told.append("sent")
            except OSError as error:
                told.append(error.strerror)
        got = [frame[-1] for frame in wire.drain()]
    assert told == ["sent"] * 2 + ["No buffer space available"] * 2 + ["sent"] * 2
    assert got == [0, 1, 4, 5]
    assert moved(before) == {"frames": 4, "bells": 4, "refused": 2}
    assert knob("sim0", "tx_busy").strip() == "0 0"


def test_busy_within_a_list_leaves_none_waiting():
    knob("sim0", "tx_busy", "4 1")
    before, = tx_queues("sim0")
    with Wire("sim0w") as wire:
        send_list(10)
        assert len(wire.drain()) == 4
    assert moved(before) == {"frames": 4, "bells": 1, "refused": 1}


def test_a_stop_rings_and_ends():
    """A queue that stops within a list has rung for what it holds, and takes frames again later."""
    knob("sim0", "tx_stop", "4 50000")
    before, = tx_queues("sim0")
    with Wire("sim0w") as wire, sender(bypass=True) as sock:
        send_list(10)
        assert len(wire.drain(quiet=0.01)) == 4
        assert moved(before) == {"frames": 4, "bells": 1, "stops": 1}
        with pytest.raises(OSError):
            sock.send(FRAME)
        wait(lambda: sock_takes(sock), "the end of the stop")
        assert wire.drain() == [FRAME]


def sock_takes(sock):
    try:
        sock.send(FRAME)
        return True
    except OSError as error:
        assert error.errno == 105
        return False


def test_a_stop_under_a_qdisc_loses_nothing():
    """With a qdisc what is stopped waits there, and goes when the queue wakes."""
    run("tc", "qdisc", "add", "dev", "sim0", "root", "pfifo_fast")
    knob("sim0", "tx_stop", "3 2000")
    before, = tx_queues("sim0")
    try:
        with Wire("sim0w") as wire, sender() as sock:
            for number in range(20):
                sock.send(FRAME + bytes([number]))
            got = [frame[-1] for frame in wire.drain(quiet=0.2)]
        assert got == list(range(20))
        assert 1 <= moved(before)["stops"] <= 6
    finally:
        run("tc", "qdisc", "del", "dev", "sim0", "root")


def test_a_queue_that_was_empty_holds_more():
    """Three frames, a while, three more: the queue has room for five, and does not stop."""
    knob("sim0", "tx_stop", "5 50000")
    before, = tx_queues("sim0")
    with Wire("sim0w") as wire, sender(bypass=True) as sock:
        for _ in range(2):
            for _ in range(3):
                sock.send(FRAME)
            time.sleep(0.1)
        assert len(wire.drain()) == 6 and "stops" not in moved(before)


def test_the_cable_out():
    """Without carrier nothing goes: the kernel does not even ask the driver, past the qdisc."""
    knob("sim0", "ports/sim0/carrier", "0")
    try:
        before, = tx_queues("sim0")
        with sender(bypass=True) as sock, pytest.raises(OSError) as refusal:
            sock.send(FRAME)
        assert refusal.value.errno in (100, 105) and not moved(before)
    finally:
        knob("sim0", "ports/sim0/carrier", "1")


def test_down_in_a_stop():
    """A device that goes down while its queue is stopped is fit again when it comes up."""
    knob("sim0", "tx_stop", "1 1000000")
    with sender(bypass=True) as sock:
        sock.send(FRAME)
        with pytest.raises(OSError):
            sock.send(FRAME)
    knob("sim0", "tx_stop", "0 0")
    run("ip", "link", "set", "sim0", "down")
    run("ip", "link", "set", "sim0", "up")
    with sender(bypass=True) as sock, Wire("sim0w") as wire:
        sock.send(FRAME)
        assert wire.drain() == [FRAME]


def test_dsa_ports_have_none():
    before = counters("dsa0")["lan1"]["from_cpu"]
    with Wire("lan1w") as wire:
        send_list(10, "lan1")
        assert len(wire.drain()) == 10
    assert counters("dsa0")["lan1"]["from_cpu"][0] == before[0] + 10


def test_several_queues():
    """Flows are spread over the queues by the kernel, and each queue rings for its own."""
    load(nics=1, queues=4)
    with Wire("sim0w") as wire, sender() as sock:
        for port in range(200):
            sock.send(udp_frame(DST, SRC, "10.1.0.1", "10.2.0.1", sport=1024 + port))
        assert len(wire.drain()) == 200
    queues = tx_queues("sim0")
    assert len(queues) == 4 and sum(queue["frames"] for queue in queues) == 200
    assert all(queue["frames"] == queue["bells"] > 0 for queue in queues), queues


@pytest.mark.parametrize("queues", [0, 65])
def test_number_of_queues(queues):
    unload()
    assert run("modprobe", "swsim", "nics=1", f"queues={queues}", check=False).returncode
    load(nics=1)
