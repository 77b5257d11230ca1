# SPDX-License-Identifier: GPL-2.0-or-later
"""DSA: what it costs to find the port of a received frame, by the walk over all ports and by the index.

Trees of 2 and 8 ports are one switch, 52 ports are two, since a tag names 32. Counted are the instructions of
the tagger and the cache lines it touches, against the untouched kernel, and against ours with the index
switched off: its walk has one step more. Timed, with the index off and on in turns: `receive`, a whole frame
on a warm machine; `tagger`, the tagger's part of it; `cold`, the same when the caches hold something else, so
that it waits for each line.
"""
from pathlib import Path

from benchkit import guest, published
from kernelkit import steps
from kernelkit.frame import FEWEST, row

HERE = Path(__file__).resolve().parent
TREES = {2: "2", 8: "8", 52: "52,2"}
KERNELS = {"6.1-swd": "6.1", "6.12-swd": "6.12"}    # and the one without the patches
TAGGER = "dsa_rcv"
# Wanted: two ports not slower, and the last of 52 faster than a walk. The clock is not as exact as a count.
LEAST = {("tagger", 2): 0.95, ("cold", 2): 0.95, ("tagger", 52): 2, ("cold", 52): 1.5}


def lab(ports):
    return ("--mem", "512M", "--dsa", TREES[ports], "--module", guest.MODULES / "inject",
            "--module", guest.MODULES / "tagger")


def counted(kernel, ports):
    """{(unit, port, whether by index): samples}"""
    guest.say(f"dsa: {kernel}, {ports} ports: counting")
    told = steps.count(kernel, [HERE / "guest_dsa.py", "--steps", "--ports", ports], TAGGER, FEWEST,
                       lab=lab(ports))
    return {(unit, case["port"], case["index"]): samples for case, counts in told
            for unit, samples in counts.items()}


def count_rows(kernel, untouched, ports):
    ours, theirs = counted(kernel, ports), counted(untouched, ports)
    for unit in ("instr", "lines"):
        for port in ("first", "last"):
            after = ours[unit, port, True]
            yield row("dsa", kernel, f"tagger, {port} port; {untouched}", ports, unit,
                      theirs[unit, port, False], after, paired=False, least=1)
            yield row("dsa", kernel, f"tagger, {port} port; index off", ports, unit,
                      ours[unit, port, False], after, paired=False)


def time_rows(kernel, ports, runs):
    guest.say(f"dsa: {kernel}, {ports} ports: timing")
    for r in guest.rows(kernel, [HERE / "guest_dsa.py", "--runs", runs, "--ports", ports], lab=lab(ports)):
        known = published.DSA if (r["measure"], ports) == ("receive", 2) else None
        least = LEAST.get((r["measure"], ports)) if r["port"] == "last" or ports == 2 else None
        yield row("dsa", kernel, f"{r['measure']}, {r['port']} port", ports, "ns", r["before"], r["after"],
                  published=known and known[1] / known[0], paired=least is None, least=least)


def run(options):
    found = []
    for kernel, untouched in KERNELS.items():
        for ports in TREES:
            if steps.possible():
                found += count_rows(kernel, untouched, ports)
            else:
                guest.say("dsa: instructions and cache lines are counted on x86-64 alone")
            found += time_rows(kernel, ports, options.runs)
    return found


def judge(report, rows):
    """The last of 52 ports costs the instructions that the first one does."""
    for kernel in KERNELS:
        cost = {r["case"].split()[1]: r["samples_after"] for r in rows
                if (r["kernel"], r["n"], r["unit"]) == (kernel, 52, "instr") and "index off" in r["case"]}
        if cost:
            report.check_medians(f"dsa {kernel}: instructions, first of 52 against the last", cost["first"],
                                 cost["last"], 1)
