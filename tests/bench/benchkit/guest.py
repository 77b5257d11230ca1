# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a measuring program in a guest of the lab; what it prints is a JSON object a line."""
import json
import os
import subprocess
import sys
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


def say(text):
    """How far it is, for whoever waits."""
    print(text, file=sys.stderr, flush=True)
