# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames of a TX_RING that share a doorbell: what it saves by what the doorbell costs, and that it costs
nothing where it is not asked for.

Within a boot, one frame to a doorbell and N take turns. What the patch costs those who ask for nothing is
seen between two kernels: two guests take turns on one CPU. Code lies elsewhere in each kernel, and that alone
makes some percent: so the instructions of a frame are counted as well, and these decide.
"""
from pathlib import Path

from benchkit import published
from benchkit.guest import rows, say, side_by_side
from kernelkit import steps
from kernelkit.frame import FEWEST, row

GUEST = Path(__file__).with_name("guest_ring.py")
PATCHED = {"6.1": "6.1-swd", "6.12": "6.12-swd"}
NUMBERS = (2, 4, 8, 16, 32, 64)
DOORBELLS = (0, 53, 200, 1000)      # ns; 53 is the published one
BOOTS = 5
NO_LOSS = 0.99      # wanted of those who ask for nothing, and through the qdisc
WAYS = {"qdisc": "through the qdisc", "bypass": "past it, one to a doorbell"}
LEAST_DOORBELL = 200    # ns; what is saved of a cheaper one is within the noise
NOISE = 0.1         # by which the share may be less
SAMPLES = ("before", "after", "free_before", "free_after")


def shared(kernel, options, *words):
    return rows(kernel, [GUEST, "shared", "--runs", options.runs, *words], timeout=1500)


def share(said):
    """How much of what a doorbell costs is saved. What it costs is seen with one frame to a doorbell, beside
    one for nothing. To send together saves more than the doorbell, so that is taken off: it is what is saved
    of one for nothing. All this is a difference of differences: of each the least is taken, for whatever
    comes in between makes a run longer."""
    one, together, free_one, free_together = (min(said[name]) for name in SAMPLES)
    return ((one - together) - (free_one - free_together)) / (one - free_one) if one > free_one else 0


def numbers(options):
    return (8,) if options.quick else NUMBERS


def every_pair(options):
    doorbells = (0, 1000) if options.quick else DOORBELLS
    return "--doorbell", *doorbells, "--n", *numbers(options)


def past_the_qdisc(kernel, options):
    say(f"ring: {kernel}, past the qdisc")
    for said in shared(kernel, options, *every_pair(options)):
        doorbell, n = said["doorbell"], said["n"]
        before, after = published.RING if (doorbell, n) == published.RING_CASE else (None, None)
        found = row("ring", kernel, f"frames to a doorbell of {doorbell} ns", n, "ns", said["before"],
                    said["after"], before and after / before)
        yield found | {"doorbell": doorbell, "share": share(said)}


def through_the_qdisc(kernel, options):
    """Whatever is asked for, each frame rings for itself there: guest_ring.py counts it."""
    say(f"ring: {kernel}, through the qdisc")
    for said in shared(kernel, options, "--bypass", 0, *every_pair(options)):
        doorbell, n = said["doorbell"], said["n"]
        before, after = published.RING_QDISC if (doorbell, n) == published.RING_CASE else (None, None)
        yield row("ring", kernel, f"through the qdisc, {doorbell} ns", n, "ns", said["before"], said["after"],
                  before and after / before) | {"pooled": True}


def asked_for_nothing(stock, options):
    kernels = stock, PATCHED[stock]
    count = 1 if options.quick else BOOTS
    found = {}
    for boot in range(count):
        say(f"ring: {' beside '.join(kernels)}, boot {boot + 1} of {count}")
        told = side_by_side(kernels, [GUEST, "plain", "--runs", max(FEWEST, options.runs)])
        for kernel, (said,) in zip(kernels, told, strict=True):
            for what, samples in said.items():
                found.setdefault((what, kernel), []).extend(samples)
    for way, case in WAYS.items():
        yield row("ring", " beside ".join(kernels), case, 1, "ns", *(found[way, k] for k in kernels))
    if steps.possible():
        yield from stepped(kernels)
    else:
        say("ring: instructions are counted on x86-64 alone")


def instructions(kernel):
    """way -> those of a frame, of a few calls; what a call costs without its frames is taken off."""
    say(f"ring: {kernel}: counting instructions")
    told = {(said["way"], said["frames"]): counts["instr"]
            for said, counts in steps.count(kernel, [GUEST, "steps"], "packet_sendmsg", FEWEST)}
    few, many = sorted({frames for _, frames in told})
    return {way: [(m - f) / (many - few) for f, m in zip(told[way, few], told[way, many], strict=True)]
            for way in WAYS}


def stepped(kernels):
    before, after = (instructions(kernel) for kernel in kernels)
    for way, case in WAYS.items():
        yield row("ring", " and ".join(kernels), case, 1, "instr", before[way], after[way], paired=False,
                  least=NO_LOSS)


def run(options):
    ret = []
    for stock, kernel in PATCHED.items():
        ret += past_the_qdisc(kernel, options)
        ret += through_the_qdisc(kernel, options)
        ret += asked_for_nothing(stock, options)
    return ret


def judge(report, all_rows):
    """The doorbell is paid once for N frames; and through the qdisc nobody is slower for a number, whichever."""
    for kernel in PATCHED.values():
        alike = [r for r in all_rows if r["kernel"] == kernel and r.get("pooled")]
        report.check_pairs(f"ring {kernel}: through the qdisc, all numbers and doorbells",
                           *([s for r in alike for s in r[f"samples_{when}"]] for when in ("before", "after")),
                           NO_LOSS)
    for r in all_rows:
        if r.get("doorbell", 0) >= LEAST_DOORBELL:
            wanted = 1 - 1 / r["n"]
            report.check(f"ring {r['kernel']}: share saved of a doorbell of {r['doorbell']} ns, {r['n']}",
                         f">= {wanted:.3f} - {NOISE}", f"{r['share']:.3f}", r["share"] >= wanted - NOISE)
