#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The part of part_virtio.py that runs in a guest of QEMU's, which has the devices NICS. A run sends a ring full
of frames in one send(); the driver counts doorbells, and QEMU's trace has to agree. (On the cable it may have
less: QEMU may find two doorbells at once, for they come to it by an eventfd.)

Prints {"device", "n", "before", "after"} for each pair: frames to a doorbell, where runs with one frame to a
doorbell and with n took turns. All frames that went to the other end of the cable have to be there.
"""
import argparse
import sys
from functools import partial
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "lab")]

from guest_ring import in_turns, say                    # noqa: E402
from virtiolab import burst, nics                       # noqa: E402

FRAMES = 192        # there is room for as many in the ring of the driver


def frames_to_a_doorbell(nic, to, n):
    ((driver,), (qemu,)), failed = burst(nic, FRAMES, n, to=to)
    if failed:
        sys.exit(f"{nic.name}: the ring was full")
    if not (1 <= qemu <= driver if to else qemu == driver):
        sys.exit(f"{nic.name}: QEMU counts {qemu} doorbells, and the driver {driver}")
    return FRAMES / driver


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, required=True)
    parser.add_argument("--n", type=int, nargs="+", required=True)
    args = parser.parse_args()
    near, far, sink = nics(3)
    for device, nic, to in (("sink", sink, None), ("cable", near, far)):
        for n in args.n:
            before = len(far.passed())
            found = in_turns({"before": partial(frames_to_a_doorbell, nic, to, 1),
                              "after": partial(frames_to_a_doorbell, nic, to, n)}, args.runs, n)
            wanted = 2 * (args.runs + 1) * list(range(1, FRAMES + 1)) if to else []
            if far.passed()[before:] != wanted:
                sys.exit(f"{n} to a doorbell: not all frames are at the other end")
            say(device=device, n=n, **found)


if __name__ == "__main__":
    main()
