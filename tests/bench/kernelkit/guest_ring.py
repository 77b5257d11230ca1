#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The part of part_ring.py that runs in the guest. Each run sends a ring full of frames through swsim, whose
doorbell costs what it is told, in one send(); what is measured is that call, in ns a frame.

`shared` prints {"doorbell", "n", "before", "after"} for each pair: runs with one frame to a doorbell and with
n took turns. `plain` prints {"qdisc", "bypass"}: runs of a socket that asks for nothing, as any kernel has it.
"""
import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "lab")]

from frames import udp_frame                                                    # noqa: E402
from kernelkit.frame import alternate                                           # noqa: E402
from swsimlab import DST, SRC, knob, load, tx_queues                            # noqa: E402
from txring import AVAILABLE, PACKET_TX_DOORBELL_FRAMES, Ring       # noqa: E402

FRAMES = 4096       # in the ring: a system call takes as long as a hundred frames here
FRAME = udp_frame(DST, SRC, "10.1.0.1", "10.2.0.1", data=bytes(18))


class Sender:
    def __init__(self, bypass):
        self.ring = Ring("sim0", frames=FRAMES, size=256, bypass=bypass)
        for place in range(FRAMES):
            self.ring.write(place, FRAME, status=AVAILABLE)

    def run(self, n=None):
        """ns a frame."""
        if n:
            self.ring.set(PACKET_TX_DOORBELL_FRAMES, n)
        for place in range(FRAMES):
            self.ring.ask(place)
        start = time.perf_counter_ns()
        sent = self.ring.send()
        took = time.perf_counter_ns() - start
        if sent != FRAMES * len(FRAME):
            sys.exit(f"{sent} instead of {FRAMES * len(FRAME)} bytes left")
        return took / FRAMES

    def frames_to_a_doorbell(self, n):
        before, = tx_queues("sim0")
        self.run(n)
        after, = tx_queues("sim0")
        return (after["frames"] - before["frames"]) / (after["bells"] - before["bells"])


def say(**what):
    print(json.dumps(what), flush=True)


def shared(args):
    sender = Sender(bypass=args.bypass)
    for doorbell in args.doorbell:
        knob("sim0", "tx_doorbell_ns", doorbell)
        for n in args.n:
            together = sender.frames_to_a_doorbell(n)
            if together != (n if args.bypass else 1):
                sys.exit(f"{together} frames to a doorbell instead of {n}")
            before, after = alternate(lambda: sender.run(1), lambda n=n: sender.run(n), args.runs, n)
            say(doorbell=doorbell, n=n, before=before, after=after)


def plain(args):
    qdisc, bypass = alternate(Sender(bypass=False).run, Sender(bypass=True).run, args.runs)
    say(qdisc=qdisc, bypass=bypass)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("shared", "plain"))
    parser.add_argument("--runs", type=int, required=True)
    parser.add_argument("--bypass", type=int, default=1)
    parser.add_argument("--doorbell", type=int, nargs="+", default=[0])
    parser.add_argument("--n", type=int, nargs="+", default=[1])
    args = parser.parse_args()
    load(nics=1)
    subprocess.run(["tc", "qdisc", "add", "dev", "sim0", "root", "pfifo_fast"], check=True)
    {"shared": shared, "plain": plain}[args.what](args)


if __name__ == "__main__":
    main()
