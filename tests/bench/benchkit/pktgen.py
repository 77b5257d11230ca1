# SPDX-License-Identifier: GPL-2.0-or-later
"""Drives the kernel's packet generator in a guest: bounded bursts at a port's receive path, or sent.

With xmit_mode netif_receive the frames start behind the hardware, where the driver would hand them to
the stack: so what is measured is the kernel, and not the virtual switch on the same CPU. With queue_xmit
they are sent as those of the stack are, through clsact's egress.
"""
import errno
import re
import time
from pathlib import Path

PROC = Path("/proc/net/pktgen")


class Injector:
    """Frames of one device. `options` are pktgen's own words, such as "vlan_id 10"."""

    def __init__(self, dev, options, mode="netif_receive"):
        self.dev = dev
        self.options = [f"xmit_mode {mode}", *options]

    def _write(self, name, text):
        with open(PROC / name, "w") as f:
            f.write(text + "\n")       # pgctrl cuts the last character

    def _add_device(self):
        """Waits for the thread, which on a busy host may not have let go of the devices yet."""
        for patience in range(100, -1, -1):
            try:
                return self._write("kpktgend_0", f"add_device {self.dev}")
            except OSError as error:
                if error.errno != errno.EBUSY or not patience:
                    raise
                time.sleep(0.02)

    def run(self, count):
        """Sends `count` frames; returns (kpps, ns a frame)."""
        self._write("kpktgend_0", "rem_device_all")
        self._add_device()
        for option in [f"count {count}", "delay 0", *self.options]:
            self._write(self.dev, option)
        self._write("pgctrl", "start")
        text = (PROC / self.dev).read_text()
        result = re.search(r"Result: OK: (\d+)\(.*?\) usec, (\d+) \(", text)
        if not result:
            raise RuntimeError(f"pktgen on {self.dev}: {text.strip().splitlines()[-1]}")
        usec, sent = int(result[1]), int(result[2])
        if sent != count or not usec:
            raise RuntimeError(f"pktgen on {self.dev}: {sent} of {count} frames in {usec} us")
        return sent * 1000 / usec, usec * 1000 / sent
