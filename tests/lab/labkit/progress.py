# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a long command quietly: its whole output goes to a log, a line tells how far it is, and only
when it fails the log's end is shown."""
import ctypes
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from .paths import LabError

_STEP = re.compile(rb"^\s+(CC|AS|LD|AR|HOSTCC|HOSTLD|GEN|UPD)(?: \[M\])?\s+(\S+)")


def say(text: str):
    print(f"lab: {text}", file=sys.stderr, flush=True)


class _Line:
    """One line that is written over on a terminal, and written anew each half minute elsewhere."""

    def __init__(self, title):
        self.title = title
        self.tty = sys.stderr.isatty()
        self.start = self.last = time.monotonic()
        self.objects = 0

    def seconds(self):
        return time.monotonic() - self.start

    def update(self, name):
        now = time.monotonic()
        if now - self.last < (0.2 if self.tty else 30):
            return
        self.last = now
        text = f"{self.title}: {self.objects} objects, {self.seconds():.0f} s"
        if self.tty:
            sys.stderr.write(f"\r\033[Klab: {text}  {name[-60:]}")
            sys.stderr.flush()
        else:
            say(text)

    def close(self, how):
        if self.tty:
            sys.stderr.write("\r\033[K")
        count = f", {self.objects} objects" if self.objects else ""
        say(f"{self.title}: {how}{count}, {self.seconds():.0f} s")


_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1


def _die_with_lab():
    """make ends its compilers by itself when it is asked to."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def run(title: str, command: list, log: Path, cwd=None, env=None, quiet=False):
    """Runs COMMAND, its output appended to LOG. Raises LabError with the log's end on failure."""
    line = _Line(title)
    with open(log, "ab", buffering=0) as out:
        out.write(("$ " + " ".join(map(str, command)) + "\n").encode())
        process = subprocess.Popen(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   preexec_fn=_die_with_lab)
        try:
            for text in process.stdout:
                out.write(text)
                step = _STEP.match(text)
                if step:
                    line.objects += step.group(1) in (b"CC", b"AS")
                    if not quiet:
                        line.update(step.group(2).decode(errors="replace"))
            code = process.wait()
        except BaseException:
            process.terminate()
            process.wait()
            raise
    if code:
        line.close(f"failed with exit code {code}")
        tail = log.read_text(errors="replace").splitlines()[-40:]
        raise LabError("\n".join(tail + [f"{title} failed; the whole log is {log}"]))
    if not quiet:
        line.close("done")
