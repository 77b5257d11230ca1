# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds what a kernel complains of in its log. A complaint that a run may have is named in
kernel/tolerated.ini, with its reason; everything else makes the run fail."""
import configparser
import re
from dataclasses import dataclass

from . import paths

STARTS = re.compile("|".join((
    r"WARNING:", r"\bBUG\b", r"\bOops\b", r"Kernel panic", r"KASAN:", r"KCSAN:", r"UBSAN:",
    r"ODEBUG:", r"refcount_t:", r"list_(add|del) corruption", r"general protection fault",
    r"Kernel mode (fault|signal)",
    r"Segfault with no mm", r"[Uu]nable to handle kernel", r"possible (circular|recursive) locking",
    r"possible irq lock inversion", r"inconsistent lock state", r"suspicious RCU usage",
    r"bad unlock balance", r"held lock freed", r"lock held (when returning|at task exit)",
    r"-safe -> \S+-unsafe lock order", r"Invalid wait context", r"sleeping function called",
    r"scheduling while atomic", r"INFO: task .* blocked for more than", r"INFO: rcu.* stall",
    r"soft lockup", r"unregister_netdevice: waiting for",
    r"kmemleak: .*disabled", r"stack-protector:", r"Slab corruption", r"Poison overwritten",
    r"DEBUG_LOCKS_WARN_ON")))
END = re.compile(r"---\[ end |^\s*={20,}\s*$")
STAMP = re.compile(r"^\[ *\d+\.\d+\] ?(\[ *[TC]\d+\])? ?")
LONGEST = 120       # lines of one report


@dataclass
class Report:
    lines: list

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def _split(log: str) -> list:
    """The log's reports, each from its first line to its end mark, the next report, or LONGEST lines.
    A report must not reach over the next one: a tolerated one would hide it."""
    lines = log.splitlines()
    found, i = [], 0
    while i < len(lines):
        if not STARTS.search(STAMP.sub("", lines[i])):
            i += 1
            continue
        end = i + 1
        while end < len(lines) and end - i < LONGEST:
            bare = STAMP.sub("", lines[end])
            if STARTS.search(bare):
                break
            end += 1
            if END.search(bare) and end - i > 4:
                break
        found.append(Report(lines[i:end]))
        i = end
    return found


def _tolerated(variant: str) -> list:
    rules = configparser.ConfigParser(interpolation=None)
    rules.read(paths.FRAGMENTS / "tolerated.ini")
    return [(name, [re.compile(p) for p in rule["lines"].strip().splitlines()])
            for name, rule in rules.items()
            if name != "DEFAULT" and variant in rule["variants"].split()]


def _leaks(told: list) -> list:
    """What kmemleak's file has, a report for each object."""
    found = []
    for line in told:
        if line.startswith("unreferenced object") or not found:
            found.append(Report([]))
        found[-1].lines.append(line)
    return found


def find(log: str, variant: str, leaks=()) -> tuple:
    """The reports of the LOG and of kmemleak, whose lines LEAKS are, that make a run of VARIANT fail, and the
    names of the tolerated ones met. With a part of the patches a variant reports what it does with all of
    them."""
    rules = _tolerated(variant.partition("+")[0])
    bad, met = [], []
    for report in _split(log) + _leaks(leaks):
        name = next((name for name, patterns in rules
                     if all(p.search(report.text) for p in patterns)), None)
        if name:
            met.append(name)
        else:
            bad.append(report)
    return bad, met
