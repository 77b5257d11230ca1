# SPDX-License-Identifier: GPL-2.0-or-later
"""Direct calls of built-in classifiers and actions: what they gain where the kernel has retpolines, what they
cost where it has none, and how near they come to a kernel without.

Within a boot, direct calls off and on take turns. To compare two kernels their boots do: a boot is one
sample there, the median of its runs.
"""
import random
import statistics
from pathlib import Path

from benchkit import published
from benchkit.guest import rows, say
from kernelkit.frame import FEWEST, row

GUEST = Path(__file__).with_name("guest_direct.py")
WITH, WITHOUT = "6.1-retpolines", "6.1-no-retpolines"
FILTERS = (1, 10, 100)
BOOTS = 11
NEAR = 0.95         # of the rate without retpolines, wanted at 100 filters


def boots(options):
    """(kernel, filters, "off" or "on") -> a list of samples for each boot."""
    count = FEWEST if options.quick else BOOTS
    runs = max(FEWEST, -(-options.runs // count))
    chance = random.Random(1)
    found = {}
    for boot in range(count):
        for kernel in chance.sample((WITH, WITHOUT), 2):
            say(f"direct: {kernel}, boot {boot + 1} of {count}")
            for said in rows(kernel, [GUEST, "--runs", runs, "--seed", boot, *FILTERS], ["--no-swsim"]):
                for switch in ("off", "on"):
                    found.setdefault((kernel, said["n"], switch), []).append(said[switch])
    return found


def run(options):
    found = boots(options)

    def pooled(kernel, n, switch):
        return [sample for boot in found[kernel, n, switch] for sample in boot]

    def by_boot(kernel, n, switch):
        return [statistics.median(boot) for boot in found[kernel, n, switch]]

    ret = []
    for n in FILTERS:
        before, after = published.DIRECT.get(n, (None, None))
        ret.append(row("direct", WITH, "filters; direct calls off, on", n, "kpps", pooled(WITH, n, "off"),
                       pooled(WITH, n, "on"), before and after / before))
    for n in FILTERS:
        ret.append(row("direct", WITHOUT, "filters; direct calls off, on", n, "kpps",
                       pooled(WITHOUT, n, "off"), pooled(WITHOUT, n, "on"),
                       published.DIRECT_NO_RETPOLINES.get(n)))
    for n in FILTERS:
        ret.append(row("direct", "both", "filters; no retpolines, direct", n, "kpps", by_boot(WITHOUT, n, "off"),
                       by_boot(WITH, n, "on"), least=NEAR if n == 100 else None))
    return ret
