# SPDX-License-Identifier: GPL-2.0-or-later
"""Turns that two guests take on one CPU, so that what disturbs the host meets both: guest.side_by_side()
starts them, and in each a Turns measures.

A turn may begin when the file with its number is in $LAB_OUT, which both can write. Files are made there and
never changed: a guest remembers what it has read of one.
"""
import os
import sys
import time
from pathlib import Path

PATIENCE = 120      # seconds: the other guest may still be booting
LOOK = 0.002        # seconds between looks; a run should take ten times as long, or more


class Turns:
    def __init__(self, place):
        """PLACE is 0 or 1; returns when the other guest is there, too."""
        self.folder, self.place, self.taken = Path(os.environ["LAB_OUT"]), place, 0
        (self.folder / f"ready{place}").touch()
        self._wait(f"ready{1 - place}")

    def _wait(self, name):
        end = time.monotonic() + PATIENCE
        while not (self.folder / name).exists():
            if time.monotonic() > end:
                sys.exit(f"the other guest did not come to {name} in {PATIENCE} s")
            time.sleep(LOOK)

    def take(self, call):
        """What CALL returns when it is our turn. Who is first changes with each pair of turns: a machine that
        becomes slower or faster favours neither."""
        turn = 2 * self.taken + (self.taken + self.place) % 2
        self.taken += 1
        if turn:
            self._wait(str(turn))
        found = call()
        (self.folder / str(turn + 1)).touch()
        return found
