# SPDX-License-Identifier: GPL-2.0-or-later
"""The bypass on a kernel that has one of its own: is it there again when what needed software has gone?

6.12 marks a pref for good by its first software filter; with kmod/patches/6.12 the bypass follows the filters
that are there. 50 skip_sw rules, none of which matches; a software filter joins the first one's pref, and
goes. What the bypass gains at all, and on 6.1, is in tests/bench/bypass.
"""
from pathlib import Path

from benchkit import guest, published
from kernelkit.frame import row

HERE = Path(__file__).resolve().parent
KERNELS = {"6.12": False, "6.12-swd": True}     # whether the bypass is to come back
COUNT = 50
LAYOUTS = {"prefs": "a pref a rule", "masks": "all in one pref"}


def run(options):
    found = []
    was, becomes = published.BYPASS["none-match", COUNT]
    for kernel, returns in KERNELS.items():
        guest.say(f"bypass: {kernel}")
        told = guest.rows(kernel, [HERE / "guest_bypass.py", "--runs", options.runs, "--count", COUNT],
                          lab=("--mem", "1G", "--module", guest.MODULES / "inject"))
        kpps = {(r["layout"], r["history"]): r.get("samples", r) for r in told}
        for layout, words in LAYOUTS.items():
            never, there, gone, pairs = (kpps[layout, h] for h in ("never", "is there", "has gone", "pairs"))
            for case, before, after, known, least in (
                    ("no qdisc, bypassed", kpps["no-qdisc", "never"], never, None, None),
                    ("software filter there, gone", there, gone, becomes / was, None),
                    ("none ever was, one has gone", pairs["never"], pairs["has gone"], None,
                     0.99 if returns else None)):
                found.append(row("bypass", kernel, f"{case}; {words}", COUNT, "kpps", before, after,
                                 published=known, least=least))
    return found
