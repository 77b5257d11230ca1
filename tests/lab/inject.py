# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames handed to the stack at a port's receive path, behind the hardware: so what is measured is the
kernel, and not the virtual switch on the same CPU. Needs the module inject in the guest, which does what
pktgen's netif_receive does and can say, too, in which chain hardware left a frame, or by which port it came.
"""
from pathlib import Path

DEBUGFS = Path("/sys/kernel/debug/inject")


class Injector:
    """Copies of one frame, received on one device."""

    def __init__(self, dev, frame):
        self.dev = dev
        (DEBUGFS / "frame").write_bytes(frame)

    def run(self, count, *left):
        """Has `count` frames received, as if hardware left them in chain N ("chain", N), or a card in front of a
        switch says that they came by its port N ("port", N). Returns ns a frame."""
        (DEBUGFS / "run").write_text(" ".join(str(word) for word in (self.dev, count, *left)))
        return int((DEBUGFS / "run").read_text()) / count
