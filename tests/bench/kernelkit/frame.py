# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests/bench/kernel wants of a part, and helps it with.

A part is a file `part_NAME.py` beside this one, for a patch (or a few) of kmod/patches, with

    def run(options) -> list            rows; a failure is an exception whose text says what failed
    def judge(report, rows)             optional: checks that are not a row's own `least`

`options.quick` asks only whether it works; `options.runs` is how many runs of each kind to make (FEWEST
or more). A row is made by row() below and is a dict with

    part, kernel, case, n               what was measured: n is the count that matters (filters, frames)
    unit                                of the samples: those in BETTER_LOW are, all others better high
    before, after                       medians
    spread_before, spread_after         half the quartile distance, percent of the median
    published_ratio                     how many times faster the published one was, or None
    ratio                               how many times faster ours is, by the medians
    best_ratio                          the same by the fastest run of each, which noise touches least
    samples_before, samples_after       raw, as they came
    paired                              before[i] and after[i] ran side by side
    least                               the ratio that is wanted, or None

What runs in a guest is started with benchkit.guest.rows(); there alternate() makes the runs take turns.
Published figures belong into benchkit/published.py. A part reads FILE.py of its own in kernelkit/ for the
guest, named guest_NAME.py.
"""
import json
import os
import random
import statistics
from pathlib import Path

from benchkit.report import spread

FEWEST = 5      # runs of each kind, even when it is quick
BETTER_LOW = ("ns", "us", "ms", "s", "instr", "lines")


def alternate(before, after, runs, seed=1):
    """Calls both `runs` times, side by side in an order of chance, and returns what each returned: a
    machine's speed drifts by more than what is looked for. One more of each goes first and is not
    counted."""
    chance = random.Random(seed)
    samples = {before: [], after: []}
    for turn in range(runs + 1):
        for call in chance.sample((before, after), 2):
            found = call()
            if turn:
                samples[call].append(found)
    return samples[before], samples[after]


def until_counted(number, call, **case):
    """For kernelkit.steps: prints the JSON line CASE, the NUMBERth of the guest, and calls until it is counted."""
    print(json.dumps(case), flush=True)
    while not (Path(os.environ["LAB_OUT"]) / str(number)).exists():
        call()


def faster(unit, before, after):
    """(above, below): what is divided to tell how many times faster `after` is."""
    return (before, after) if unit in BETTER_LOW else (after, before)


def row(part, kernel, case, n, unit, before, after, published=None, paired=True, least=None):
    """A row from the samples of both kinds."""
    if min(len(before), len(after)) < FEWEST:
        raise ValueError(f"{part} {kernel} {case} {n}: {len(before)} and {len(after)} samples are too few")
    if paired and len(before) != len(after):
        raise ValueError(f"{part} {kernel} {case} {n}: {len(before)} and {len(after)} samples are no pairs")
    medians = statistics.median(before), statistics.median(after)
    above, below = faster(unit, *medians)
    best = min if unit in BETTER_LOW else max
    best_above, best_below = faster(unit, best(before), best(after))
    return {"part": part, "kernel": kernel, "case": case, "n": n, "unit": unit,
            "before": medians[0], "after": medians[1], "ratio": above / below,
            "best_ratio": best_above / best_below,
            "spread_before": spread(before), "spread_after": spread(after),
            "published_ratio": published, "paired": paired, "least": least,
            "samples_before": before, "samples_after": after}
