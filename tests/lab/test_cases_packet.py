# SPDX-License-Identifier: GPL-2.0-or-later
"""Field cases of AF_PACKET's TX_RING, each named after its number. What has arrived is said by the other
end: its capture, or its counter; never by the ring that sent."""
import time

import pytest

from ringlab import Ear, Ring, counter, no_veth, veth
from swsimlab import knob, load, run, tx_queues, unload

LAB = {"variants": ["6.1", "6.12-swd"],
       "all_variants": ["6.1-swd", "6.12", "6.1-debug", "6.12-debug"], "timeout": 600}

DOWN, NO_CARRIER, GONE = "interface is down", "interface has no carrier", "interface is gone"
ENODEV = 19
EAGAIN, EMSGSIZE, EPROTONOSUPPORT, ENETDOWN, ENOBUFS, ETIMEDOUT = 11, 90, 93, 100, 105, 110


@pytest.fixture
def pair():
    veth()
    yield
    no_veth()


@pytest.fixture
def nic():
    load(nics=1)
    yield
    unload()


def shape(rate, limit):
    """A qdisc that lets out so much and holds so many bytes."""
    run("tc", "qdisc", "replace", "dev", "v0", "root", "tbf", "rate", rate, "burst", "2000",
        "limit", str(limit))


def steps_up(numbers):
    return all(a < b for a, b in zip(numbers, numbers[1:]))


# ---- PK-01: a ring filled out of order ----

def test_pk_01_none_is_stranded(pair):
    """2,000 frames through 100 slots that come back slowly: the ring is full again and again, and all
    arrive, in their order."""
    shape("10mbit", 1000000)
    with Ring("v0", slots=100) as ring, Ear("v1") as ear:
        said = ring.do("send 2000 60 20000")
        assert said["result"] == 0 and said["slots"] < 200 and said["full"] > 0, said
        said = ring.do("drain 5000")
        assert ear.numbers() == list(range(2000))
    assert said["result"] == 0 and said["handed"] == said["left"] == 2000 and not said["dropped"]


def test_pk_01_one_dropped_leaves_no_hole(nic):
    """The sixth frame is refused in each of its tries, and is taken out: those behind it still go."""
    knob("sim0", "tx_busy", "5 12")
    with Ring("sim0", bypass=True) as ring, Ear("sim0w") as ear:
        ring.do("put 20 60")
        said = ring.do("kick")
        assert said["result"] == -ENOBUFS and said["dropped"] == 1, said
        said = ring.do("drain 1000")
        assert ear.numbers() == [0, 1, 2, 3, 4] + list(range(6, 20))
    assert said["result"] == 0 and said["handed"] == said["left"] == 19 and said["busy"] == 12


def test_pk_01_close_is_bounded_and_tells(nic):
    """A queue that stays stopped: the drain is over in its time, and says how many have not gone."""
    knob("sim0", "tx_stop", f"16 {2**31 - 1}")
    with Ring("sim0", bypass=True) as ring, Ear("sim0w") as ear:
        ring.do("put 200 60")
        said = ring.do("drain 300")
        assert ear.numbers() == list(range(16))
    assert said["result"] == -ETIMEDOUT and 300 <= said["ms"] < 1500, said
    assert said["handed"] == said["left"] == 16
    assert said["unsent"] + said["dropped"] == 184 and said["unsent"] > 100, said
    assert tx_queues("sim0")[0]["frames"] == 16


def test_pk_01_what_still_flies_is_told(pair):
    """All are in the qdisc when the time is over: they are not said to have left."""
    shape("8kbit", 1000000)
    with Ring("v0") as ring, Ear("v1") as ear:
        ring.do("put 200 60")
        said = ring.do("drain 300")
        arrived = len(ear.numbers(quiet=0.01))
    assert said["result"] == -ETIMEDOUT and said["ms"] < 1500
    assert said["handed"] == 200 and said["flying"] > 100, said
    assert said["left"] <= arrived <= 200 - said["flying"] + 10


@pytest.mark.parametrize("mtu", [68, 1500, 4000, 9000])
def test_pk_01_every_slot_has_room_for_a_whole_frame(nic, mtu):
    """Rounds through the whole ring with the longest frames: none is cut, and none overlaps."""
    for name in ("sim0", "sim0w"):
        run("ip", "link", "set", name, "mtu", str(mtu))
    with Ring("sim0", slots=50, bypass=True) as ring, Ear("sim0w") as ear:
        before = counter("sim0w", "rx_bytes")
        assert ring.do(f"send 300 {mtu + 14} 5000")["result"] == 0
        assert ring.do(f"put 1 {mtu + 15}")["result"] == -EMSGSIZE
        assert ring.do("drain 1000")["result"] == 0
        assert ear.numbers() == list(range(300))
        assert counter("sim0w", "rx_bytes") - before == 300 * (mtu + 14)


@pytest.mark.parametrize("bypass", [False, True])
def test_pk_01_around_a_small_ring_many_times(bypass):
    """A device that takes whatever comes: its own counter says that all came, and none twice."""
    run("ip", "link", "add", "d0", "up", "type", "dummy")
    try:
        run("ip", "link", "set", "d0", "multicast", "off")
        before = counter("d0", "tx_packets")
        with Ring("d0", slots=8, bypass=bypass) as ring:
            assert ring.do("send 20000 60 20000")["result"] == 0
            said = ring.do("drain 1000")
        assert said["result"] == 0 and said["slots"] < 200 and said["handed"] == 20000
        assert 20000 <= counter("d0", "tx_packets") - before <= 20010
    finally:
        run("ip", "link", "del", "d0")


# ---- PK-04: no carrier, down, gone ----

def test_pk_04_no_carrier_is_not_sent(pair):
    """With the peer down nothing is said to be sent, nobody spins, and what was put goes later."""
    run("ip", "link", "set", "v1", "down")
    with Ring("v0") as ring, Ear("v1") as ear:
        said = ring.do("send 10 60 1000")
        assert said["result"] == -ETIMEDOUT and said["state"] == NO_CARRIER, said
        assert said["handed"] == said["left"] == 0 and said["waiting"] == 10
        assert said["cpu_ms"] < said["ms"] / 2 and said["kicks"] < 100, said
        run("ip", "link", "set", "v1", "up")
        assert ring.do("wait 5000")["result"] == 0
        said = ring.do("drain 1000")
        assert ear.numbers() == list(range(10)) and said["left"] == 10


def test_pk_04_down_with_a_half_full_ring(pair):
    with Ring("v0", slots=200) as ring, Ear("v1") as ear:
        ring.do("put 100 60")
        run("ip", "link", "set", "v0", "down")
        said = ring.do("look")
        assert said["state"] == DOWN and said["rests"] == 1
        assert ring.do("kick")["result"] == -ENETDOWN
        said = ring.do("wait 1000")
        assert said["result"] == -ETIMEDOUT and 1000 <= said["ms"] < 4000
        assert said["cpu_ms"] < said["ms"] / 2 and said["waiting"] == 100, said
        run("ip", "link", "set", "v0", "up")
        assert ring.do("wait 5000")["result"] == 0
        assert ring.do("drain 1000")["left"] == 100
        assert ear.numbers() == list(range(100))


def test_pk_04_the_kernel_says_down_first(pair):
    """The ring believes that the device is up, and learns otherwise from the kernel's own answer."""
    with Ring("v0", bypass=True) as ring:
        ring.do("put 10 60")
        ring.do("look")
        run("ip", "-batch", "-", text="link set v0 down\n")
        said = ring.do("kick")
        assert (said["result"], said["state"], said["waiting"]) == (-ENETDOWN, DOWN, 10), said


def test_pk_04_down_and_up_during_a_send(pair):
    """The send goes on when the device does. What had been in the qdisc is gone with it: the ring counts it
    as handed, and the device does not count it as left."""
    shape("500kbit", 1000000)
    with Ring("v0", slots=100) as ring, Ear("v1") as ear:
        ring.begin("send 3000 60 20000")
        for _ in range(3):
            time.sleep(0.05)
            run("ip", "link", "set", "v0", "down")
            time.sleep(0.1)
            run("ip", "link", "set", "v0", "up")
        said = ring.answer()
        assert said["result"] == 0 and said["put"] == 3000 and said["rests"] >= 1, said
        # The last of these may have been in the qdisc as well, if the device went down late.
        said = ring.do("send 10 60 5000")
        assert said["result"] == 0, said
        said = ring.do("drain 5000")
        arrived = ear.numbers()
    assert said["result"] == 0 and steps_up(arrived) and arrived[-10:] == list(range(3000, 3010))
    assert len(arrived) == said["left"] <= said["handed"], said


def test_pk_04_gone_and_back_under_its_name(pair):
    with Ring("v0") as ring:
        ring.do("put 50 60")
        no_veth()
        said = ring.do("kick")
        if said["result"] == 0: # it had been looked at a moment ago, and the kernel was not asked yet
            said = ring.do("look")
        assert said["state"] == GONE and said["unsent"] == 50, said
        assert ring.do("put 1 60")["result"] == -EAGAIN
        said = ring.do("wait 500")
        assert said["result"] == -ETIMEDOUT and said["cpu_ms"] < said["ms"] / 2
        veth()
        assert ring.do("wait 5000")["result"] == 0
        with Ear("v1") as ear:
            ring.do("put 10 60")
            said = ring.do("drain 1000")
            assert ear.numbers() == list(range(50, 60))
    assert said["result"] == 0 and said["left"] == 10 and said["state"] == "ready"


def test_pk_04_another_device_under_its_number(pair):
    """The number alone says nothing: a socket whose device went has none any more."""
    index = run("cat", "/sys/class/net/v0/ifindex").stdout.strip()
    with Ring("v0", bypass=True) as ring:
        ring.do("put 5 60")
        no_veth()
        veth(index=index)
        said = ring.do("kick")
        assert (said["result"], said["state"], said["unsent"]) == (-ENETDOWN, GONE, 5), said
        assert ring.do("wait 2000")["result"] == 0
        with Ear("v1") as ear:
            ring.do("put 10 60")
            assert ring.do("drain 1000")["result"] == 0
            assert ear.numbers() == list(range(5, 15))


def test_pk_04_carrier_lost_past_the_qdisc(nic):
    """The kernel refuses each frame then with ENOBUFS: it is the cable, and none is dropped for it."""
    with Ring("sim0", bypass=True) as ring, Ear("sim0w") as ear:
        ring.do("put 10 60")
        ring.do("look")
        knob("sim0", "ports/sim0/carrier", "0")
        said = ring.do("kick")
        assert (said["result"], said["state"], said["waiting"]) == (-ENETDOWN, NO_CARRIER, 10)
        knob("sim0", "ports/sim0/carrier", "1")
        assert ring.do("wait 5000")["result"] == 0
        assert ring.do("drain 1000")["left"] == 10 and ear.numbers() == list(range(10))


def test_pk_04_words(pair):
    """What cannot be opened says why, in words of the matter."""
    for device, error in (("nosuch", ENODEV), ("lo", EPROTONOSUPPORT)):
        with Ring(device) as ring:
            assert ring.opened["result"] == -error, ring.opened


def test_pk_04_the_mtu_shrinks(pair):
    """What is too long by now is WRONG_FORMAT for the kernel: it is taken out, and the rest goes."""
    with Ring("v0", bypass=True) as ring, Ear("v1") as ear:
        for length in (60, 1400, 60, 1400, 1400, 60):
            assert ring.do(f"put 1 {length}")["result"] == 0
        run("ip", "link", "set", "v0", "mtu", "1000")
        said = ring.do("drain 1000")
        assert said["wrong"] == 3 and said["handed"] == said["left"] == 3, said
        assert ring.do("put 1 1400")["result"] == -EMSGSIZE
        assert ear.numbers() == [0, 2, 5]


# ---- PK-05: ENOBUFS ----

def test_pk_05_a_full_qdisc_is_waited_for(pair):
    """1 Mbit/s and a flood: the sleeps are real, and the frame of which there is no room gets it."""
    shape("1mbit", 10000)
    with Ring("v0") as ring, Ear("v1") as ear:
        said = ring.do("send 200 1000 20000")
        assert said["result"] == 0 and said["busy"] > 20, said
        # It tries no more than once a millisecond. What a try costs is the machine's.
        assert said["busy"] < said["ms"], said
        said = ring.do("drain 5000")
        arrived = ear.numbers()
    assert steps_up(arrived) and len(arrived) == said["left"] == said["handed"]
    assert said["dropped"] < 20, said


def test_pk_05_then_dropped_and_counted(pair):
    """So slow that no frame gets room in its ten tries: it is dropped, and that is told."""
    shape("20kbit", 3000)
    with Ring("v0") as ring, Ear("v1") as ear:
        said = ring.do("send 60 1000 20000")
        assert said["result"] == 0 and said["dropped"] > 30, said
        assert said["busy"] >= said["dropped"] * 10 and said["cpu_ms"] < said["ms"] / 2, said
        said = ring.do("drain 10000")
        arrived = ear.numbers()
    assert said["handed"] + said["dropped"] == 60
    assert steps_up(arrived) and len(arrived) == said["left"] == said["handed"]


def test_pk_05_one_kick_is_bounded(nic):
    """A queue that takes nothing at all: each call is over within the tries of one frame."""
    knob("sim0", "tx_busy", f"0 {2**31 - 1}")
    with Ring("sim0", bypass=True, tries=4, pause_us=1000) as ring:
        ring.do("put 10 60")
        said = ring.do("kick")
    assert said["result"] == -ENOBUFS and said["dropped"] == 1 and said["waiting"] == 9
    assert 7 <= said["ms"] < 200, said


def test_pk_05_bypass_is_asked_for(pair):
    """Past the qdisc the shaper is not asked; through it, which is what is set at first, it is."""
    shape("100kbit", 1000000)
    with Ring("v0", bypass=True) as ring, Ear("v1") as ear:
        ring.do("put 100 1000")
        assert ring.do("drain 300")["left"] == 100 and len(ear.numbers()) == 100
    with Ring("v0") as ring, Ear("v1") as ear:
        ring.do("put 100 1000")
        assert ring.do("drain 300")["left"] < 50 and len(ear.numbers(0.01)) < 50
