# SPDX-License-Identifier: GPL-2.0-or-later
"""No frame is stranded, and none counted that did not leave, whatever happens: random schedules of frames,
changes of queue, carrier loss, signals, device removal, oversize frames and a driver that answers busy, for
1, 8 and 64 frames to a doorbell. SWD_TEST_SEED begins elsewhere, SWD_SCHEDULES takes more or fewer.

The oracle knows which frames the user asked for, in which order. After each step it holds what the driver
took (modules/txscript keeps a log) against the statuses in the ring and what send() said. A schedule whose
outcome does not depend on time is run with each number, and has to end each send in the same way.
"""
import errno
import os
import random
import socket
import threading
from dataclasses import dataclass

import pytest

from txring import (AVAILABLE, BUSY, CARRIER, FAIL, FAILED, HOLD, LOST, MOST, ORPHAN, REFUSED,
                    SEND_REQUEST, SENDING, STOP, TAKE, TAKEN, WRONG_FORMAT, Links, Ring, clear,
                    device_frames, frame, load_txscript, log, release, runs, unload_txscript)

LAB = {"variants": ["6.1-swd", "6.12-swd"],
       "all_variants": ["6.1-debug", "6.12-debug", "6.1-smp", "6.12-smp"], "modules": ["txscript"], "timeout": 1800}

NUMBERS = (1, 8, MOST)
SCHEDULES = int(os.environ.get("SWD_SCHEDULES", "1000"))
FIRST = int(os.environ.get("SWD_TEST_SEED", "1"))
DEVICE = "ts0"


@dataclass
class Asked:
    """A frame that the user put into the ring."""
    place: int
    id: int
    size: int
    what: int
    bad: bool       # too large, or too short for a header


class Schedule:
    """One schedule with one number of frames to a doorbell."""

    def __init__(self, seed, n, links):
        self.rng = random.Random(seed)
        self.n, self.links = n, links
        self.number = 0
        self.asked = []         # all frames, in order
        self.done = 0           # so many of them have left
        self.told = []          # what each send said, and what was in the ring then
        self.timeless = True    # so far nothing depended on when it happened
        rng = self.rng
        self.queues = rng.choice((1, 2, 4))
        self.loss = rng.random() < 0.1
        frames = rng.choice((8, 16, 64))
        by_device = rng.random() < 0.5
        self.small = rng.random() < 0.15
        self.by_device, self.down = by_device, False
        self.device()
        self.ring = Ring(DEVICE, frames=frames, doorbell=0 if by_device else n, loss=self.loss)
        if self.small:
            self.ring.small_buffer()

    # Steps

    def fill(self):
        rng = self.rng
        for _ in range(rng.randint(1, self.ring.frames)):
            if self.ring.status(self.ring.next) != AVAILABLE or len(self.open()) >= self.ring.frames:
                return
            self.number += 1
            what = rng.choices((TAKE, BUSY, ORPHAN, FAIL, STOP, CARRIER, HOLD),
                               (80, 3, 2, 2, 2, 1, 4))[0]
            size = rng.choice((60, 61, 300, 1514))
            text = frame(self.number, what, queue=rng.randrange(self.queues), times=rng.randint(1, 3),
                         size=size)
            place = self.ring.put(text)
            bad = rng.random() < 0.02
            if bad:
                self.ring.write(place, text, length=rng.choice((1516, 5000, 3)))
            self.asked.append(Asked(place, self.number, size, what, bad))

    def send(self):
        """A send that may wait is ended by a timer, of a kind or the other."""
        kind = self.rng.choices(("at once", "signal", "time-out", "thread"), (70, 10, 10, 10))[0]
        action = self.rng.choice((self.let_go, self.go_down, self.remove))
        before = len(self.taken())
        self.ring.send_limit({"time-out": 0.02, "thread": 0.2}.get(kind, 0))
        if kind == "at once":
            said = self.ring.send(socket.MSG_DONTWAIT)
        elif kind == "signal":
            said = self.ring.send_interrupted()
        elif kind == "time-out":
            said = self.ring.send()
        else:
            self.timeless = False
            thread = threading.Timer(0.01, action)
            thread.start()
            said = self.ring.send()
            thread.join()
        self.judge(kind, said, before)

    def let_go(self):
        if self.there():
            release(DEVICE)

    def go_down(self):
        if not self.down and self.there():
            self.links.up(DEVICE, False)
            self.down = True

    def there(self):
        return os.path.exists(f"/sys/class/net/{DEVICE}")

    def remove(self):
        if self.there():
            self.links.delete(DEVICE)
            self.down = True

    def device(self):
        """It is there, up, and as the schedule wants it."""
        if not self.there():
            self.links.add(DEVICE)
        self.links.up(DEVICE)
        self.down = False
        device_frames(DEVICE, self.n if self.by_device else 1)
        release(DEVICE)

    def mend(self):
        """What a careful user does: looks for the device, and at the frame that was wrong."""
        if self.down or not self.there():
            self.device()
            self.ring.bind(DEVICE)
        release(DEVICE)
        for one in self.open():
            if self.ring.status(one.place) == WRONG_FORMAT:
                one.bad, one.what = False, TAKE
                self.ring.write(one.place, frame(one.id, size=one.size))

    # The oracle

    def open(self):
        """What has been asked for and has not left."""
        return self.asked[self.done:]

    def is_lost(self, one):
        return one.bad and self.loss

    def taken(self):
        return [entry.id for entry in log() if entry.said == TAKEN]

    def judge(self, kind, said, before):
        ring, taken = self.ring, self.taken()
        wanted = [one.id for one in self.asked if not self.is_lost(one)]
        assert taken == wanted[:len(taken)], "in order, and each once"
        assert LOST not in [entry.said for entry in log()], "a bell is missing"
        fresh = taken[before:]
        while self.open():
            one = self.open()[0]
            status = ring.status(one.place)
            if self.is_lost(one):
                if status != AVAILABLE:
                    break
            elif one.id in fresh:
                assert status == AVAILABLE or (status, one.what) == (SENDING, HOLD), one
            else:
                break
            self.done += 1
        for i, one in enumerate(self.open()):
            wrong = i == 0 and one.bad and not self.loss
            assert ring.status(one.place) in (SEND_REQUEST, WRONG_FORMAT if wrong else SEND_REQUEST), one
        if said >= 0:
            assert said == sum(one.size for one in self.asked if one.id in fresh), "counted what left"
            wrong = self.open() and ring.status(self.open()[0].place) == WRONG_FORMAT
            assert kind == "at once" or self.small or wrong or not self.open()
        if any(one.what == CARRIER for one in self.asked):
            self.timeless = False       # what shares a batch with the frame that loses it goes, too
        self.told.append((said, ring.statuses(), len(taken)))

    def run(self):
        clear()
        try:
            for _ in range(self.rng.randint(2, 5)):
                self.rng.choice((self.fill, self.fill, self.fill, self.go_down, self.remove,
                                 self.mend))()
                self.send()
            for _ in range(400):
                if not self.open():
                    break
                self.mend()
                before = len(self.taken())
                self.judge("at once", self.ring.send(socket.MSG_DONTWAIT), before)
            assert not self.open(), f"stranded: {self.open()}"
            self.mend()
            assert self.ring.statuses() == [AVAILABLE] * self.ring.frames
            assert self.ring.send() == 0, "nothing is pending"
            assert max(map(len, runs()), default=0) <= self.n
            assert LOST not in [entry.said for entry in log()], "a bell is missing"
        finally:
            self.ring.__exit__()
        entries = log()
        return {"frames": self.number, "refused": sum(e.said == REFUSED for e in entries),
                "failed": sum(e.said == FAILED for e in entries),
                "shared": sum(len(run) for run in runs() if len(run) > 1)}


@pytest.fixture(scope="module")
def links():
    load_txscript()
    links = Links()
    yield links
    links.delete(DEVICE)
    unload_txscript()


def test_schedules(links):
    totals = {n: {} for n in NUMBERS}
    compared = 0
    for seed in range(FIRST, FIRST + SCHEDULES):
        told = {}
        for n in NUMBERS:
            schedule = Schedule(seed, n, links)
            try:
                found = schedule.run()
            except BaseException:
                print(f"SWD_TEST_SEED={seed} SWD_SCHEDULES=1, {n} frames to a doorbell")
                raise
            for name, count in found.items():
                totals[n][name] = totals[n].get(name, 0) + count
            if schedule.timeless:
                told[n] = schedule.told
        if len(told) == len(NUMBERS):
            compared += 1
            for n in NUMBERS[1:]:
                assert told[n] == told[1], f"SWD_TEST_SEED={seed}, {n} frames to a doorbell"
    print(f"\nschedules {FIRST} to {FIRST + SCHEDULES - 1}, {compared} of them the same with each number")
    for n, found in totals.items():
        print(f"{n} to a doorbell: {found}")
        assert all(found[name] for name in ("frames", "refused", "failed")), "a schedule without events"
        assert bool(found["shared"]) == (n > 1)
    assert compared >= SCHEDULES // 10
