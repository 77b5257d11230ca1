# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a measuring program in a guest of the lab; what it prints is a JSON object a line."""
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

LAB = Path(__file__).resolve().parents[2] / "lab/lab"
MODULES = LAB.parent / "modules"
ON_ONE_CPU = ("--cpu", max(os.sched_getaffinity(0)))    # what is measured does not move to and fro


class GuestFailed(Exception):
    pass


def rows(kernel, command, lab=(), timeout=600):
    """The objects that `command` printed under `kernel`. `lab` are further words for `lab run`, such as
    "--mem", "1G" or "--module", DIR. Its errors go to ours."""
    line = [LAB, "run", kernel, "--timeout", timeout, *ON_ONE_CPU, *lab, "--", *command]
    done = subprocess.run([str(word) for word in line], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise GuestFailed(f"{kernel}: the guest failed ({done.returncode}): {done.stdout[-2000:]}")
    return [json.loads(text) for text in done.stdout.splitlines()]


def side_by_side(kernels, command, lab=(), timeout=600):
    """The objects of each of two kernels, whose guests run at the same time and measure in turns: COMMAND is
    given `--place 0` or `--place 1` for benchkit.turns. A machine's speed drifts by more from one boot to the
    next than two kernels differ."""
    with tempfile.TemporaryDirectory(prefix="swd-turns-") as folder, ThreadPoolExecutor(2) as pool:
        both = [pool.submit(rows, kernel, [*command, "--place", place], [*lab, "--out", folder], timeout)
                for place, kernel in enumerate(kernels)]
        return [guest.result() for guest in both]


def say(text):
    """How far it is, for whoever waits."""
    print(text, file=sys.stderr, flush=True)
