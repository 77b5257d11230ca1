# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts what a function of a guest's kernel does: instructions, and the cache lines that it touches.

Counted step by step, and so exact, and the same on a busy machine: User-mode Linux is an ordinary program. (Where the CPU's own counters are to be had, perf counts such a program as well; they are not in most
virtual machines.) The guest's program prints a JSON line when the function is being called again and again,
and goes on when a file of the line's number is in $LAB_OUT.
"""
import json
import os
import platform
import subprocess
import tempfile
from pathlib import Path

from benchkit.guest import LAB, ON_ONE_CPU, GuestFailed
from kernelkit.stepper import Traced


def possible():
    return platform.machine() == "x86_64"


def _descendants(pid):
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(stat.parent.name)] = int(words[1]), int(words[19])
    found, new = {}, {pid}
    while new:
        new = {p for p, (parent, _) in parents.items() if parent in new} - set(found)
        found.update({p: parents[p][1] for p in new})
    return sorted(found, key=found.get)     # the oldest first


def _kernel(pid):
    """(process, program) of the guest's kernel below `pid`; its user processes are younger."""
    for process in _descendants(pid):
        try:
            program = os.readlink(f"/proc/{process}/exe")
        except OSError:
            continue
        if Path(program).name == "linux":
            return process, program
    raise GuestFailed("no kernel among the lab's processes")


def _calls(lab, function, calls):
    with Traced(*_kernel(lab)) as kernel:
        return [kernel.call(function) for _ in range(calls)]


def count(kernel, command, function, calls, lab=(), timeout=600):
    """[(line, {"instr": [...], "lines": [...]})] for each line that `command` prints under `kernel`."""
    found = []
    with tempfile.TemporaryDirectory(prefix="swd-steps-") as out:
        words = [LAB, "run", kernel, "--timeout", timeout, "--out", out, *ON_ONE_CPU, *lab, "--", *command]
        with subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, text=True) as guest:
            try:
                for number, text in enumerate(guest.stdout):
                    samples = _calls(guest.pid, function, calls)
                    found.append((json.loads(text), {unit: [s[unit] for s in samples] for unit in samples[0]}))
                    (Path(out) / str(number)).touch()
            finally:
                if guest.poll() is None and len(found) == 0:
                    guest.terminate()
        if guest.returncode:
            raise GuestFailed(f"{kernel}: the guest failed ({guest.returncode})")
    return found
