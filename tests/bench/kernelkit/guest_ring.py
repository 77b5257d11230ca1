#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The part of part_ring.py that runs in the guest. Each run sends a ring full of frames through swsim, whose
doorbell costs what it is told, in one send(); what is measured is that call, in ns a frame.

`shared` prints {"doorbell", "n", "before", "after", "free_before", "free_after"} for each pair: runs with one
frame to a doorbell and with n took turns, and the same with a doorbell for nothing. `plain` runs in each of two guests
that take turns and prints {"qdisc", "bypass"}: of sockets that ask for nothing, as any kernel has them. `steps` is for
kernelkit.steps: {"way", "frames"} of such a socket, whose send() is called again and again.
"""
import argparse
import json
import random
import statistics
import subprocess
import sys
import time
from functools import partial
from itertools import product
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "lab")]

from benchkit.turns import Turns                                    # noqa: E402
from frames import udp_frame                                                    # noqa: E402
from kernelkit.frame import until_counted                           # noqa: E402
from swsimlab import DST, SRC, knob, load, tx_queues                            # noqa: E402
from txring import AVAILABLE, PACKET_TX_DOORBELL_FRAMES, Ring       # noqa: E402

FRAMES = 2048       # in the ring: a system call takes as long as a hundred frames here
AT_ONCE = 9
STEPPED = (1, 3)    # frames of a send() whose instructions are counted: what differs is two frames'
FRAME = udp_frame(DST, SRC, "10.1.0.1", "10.2.0.1", data=bytes(18))


class Sender:
    def __init__(self, bypass):
        self.ring = Ring("sim0", frames=FRAMES, size=256, bypass=bypass)
        self.head = 0
        for place in range(FRAMES):
            self.ring.write(place, FRAME, status=AVAILABLE)

    def run(self, n=None, frames=FRAMES):
        """ns a frame."""
        if n:
            self.ring.set(PACKET_TX_DOORBELL_FRAMES, n)
        for place in range(self.head, self.head + frames):
            self.ring.ask(place % FRAMES)
        self.head = (self.head + frames) % FRAMES
        start = time.perf_counter_ns()
        sent = self.ring.send()
        took = time.perf_counter_ns() - start
        if sent != frames * len(FRAME):
            sys.exit(f"{sent} instead of {frames * len(FRAME)} bytes left")
        return took / frames

    def frames_to_a_doorbell(self, n):
        before, = tx_queues("sim0")
        self.run(n)
        after, = tx_queues("sim0")
        return (after["frames"] - before["frames"]) / (after["bells"] - before["bells"])


def in_turns(calls, runs, seed):
    """Each of `calls` by name, once a round, in an order of chance; the first round is not counted."""
    chance = random.Random(seed)
    samples = {name: [] for name in calls}
    for turn in range(runs + 1):
        for name in chance.sample(list(calls), len(calls)):
            found = calls[name]()
            if turn:
                samples[name].append(found)
    return samples


def say(**what):
    print(json.dumps(what), flush=True)


def shared(args):
    sender = Sender(bypass=args.bypass)

    def run(doorbell, n):
        knob("sim0", "tx_doorbell_ns", doorbell)
        return sender.run(n)

    for doorbell in args.doorbell:
        for n in args.n:
            together = sender.frames_to_a_doorbell(n)
            if together != (n if args.bypass else 1):
                sys.exit(f"{together} frames to a doorbell instead of {n}")
            calls = {"before": partial(run, doorbell, 1), "after": partial(run, doorbell, n),
                     "free_before": partial(run, 0, 1), "free_after": partial(run, 0, n)}
            say(doorbell=doorbell, n=n, **in_turns(calls, args.runs, n))


def plain(args):
    """A run is short beside a turn: in each turn there are AT_ONCE of either, and their medians count."""
    calls = {"qdisc": Sender(bypass=False).run, "bypass": Sender(bypass=True).run}
    turns = Turns(args.place)
    found = [turns.take(lambda turn=turn: in_turns(calls, AT_ONCE, turn)) for turn in range(args.runs)]
    say(**{name: [statistics.median(turn[name]) for turn in found] for name in calls})


def steps(_):
    for number, (way, frames) in enumerate(product(("qdisc", "bypass"), STEPPED)):
        run = partial(Sender(bypass=way == "bypass").run, frames=frames)
        run()
        until_counted(number, run, way=way, frames=frames)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("shared", "plain", "steps"))
    parser.add_argument("--runs", type=int, default=0)
    parser.add_argument("--place", type=int, default=0, help="0 or 1, of the two guests")
    parser.add_argument("--bypass", type=int, default=1)
    parser.add_argument("--doorbell", type=int, nargs="+", default=[0])
    parser.add_argument("--n", type=int, nargs="+", default=[1])
    args = parser.parse_args()
    load(nics=1)
    subprocess.run(["tc", "qdisc", "add", "dev", "sim0", "root", "pfifo_fast"], check=True)
    {"shared": shared, "plain": plain, "steps": steps}[args.what](args)


if __name__ == "__main__":
    main()
