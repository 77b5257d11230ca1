# SPDX-License-Identifier: GPL-2.0-or-later
"""Direct calls of built-in classifiers and actions: what they gain where the kernel has retpolines, what they
cost where it has none, and how near they come to a kernel without.

Two guests, one of each kernel, take turns on one CPU, and within each turn direct calls off and on do. So all
that is compared ran side by side. Code and data lie elsewhere in each boot, hence several.
"""
from pathlib import Path

from benchkit import published
from benchkit.guest import say, side_by_side
from kernelkit.frame import FEWEST, row

GUEST = Path(__file__).with_name("guest_direct.py")
WITH, WITHOUT = KERNELS = "6.1-retpolines", "6.1-no-retpolines"
FILTERS = (1, 10, 100)
BOOTS = 5
NEAR = 0.95         # of the rate without retpolines, wanted at 100 filters


def samples(options):
    """(kernel, filters, "off" or "on") -> kpps; the i-th of each are of the same pair of turns."""
    count = 1 if options.quick else BOOTS
    runs = max(FEWEST, -(-2 * options.runs // BOOTS))       # pktgen rests an eighth of a second before each
    found = {}
    for boot in range(count):
        say(f"direct: {' beside '.join(KERNELS)}, boot {boot + 1} of {count}")
        told = side_by_side(KERNELS, [GUEST, "--runs", runs, *FILTERS], ["--no-swsim"])
        for kernel, lines in zip(KERNELS, told, strict=True):
            for said in lines:
                for switch in ("off", "on"):
                    found.setdefault((kernel, said["n"], switch), []).extend(said[switch])
    return found


def run(options):
    kpps = samples(options)
    ret = []
    for n in FILTERS:
        before, after = published.DIRECT.get(n, (None, None))
        ret.append(row("direct", WITH, "filters; direct calls off, on", n, "kpps", kpps[WITH, n, "off"],
                       kpps[WITH, n, "on"], before and after / before))
    for n in FILTERS:
        ret.append(row("direct", WITHOUT, "filters; direct calls off, on", n, "kpps", kpps[WITHOUT, n, "off"],
                       kpps[WITHOUT, n, "on"], published.DIRECT_NO_RETPOLINES.get(n)))
    for n in FILTERS:
        ret.append(row("direct", "both", "filters; no retpolines, direct", n, "kpps", kpps[WITHOUT, n, "off"],
                       kpps[WITH, n, "on"], least=NEAR if n == 100 else None))
    return ret
