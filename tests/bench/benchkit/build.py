# SPDX-License-Identifier: GPL-2.0-or-later
"""swd as it is installed: -O2, no sanitizers. SWD_BUILD names another build directory."""
import os
import subprocess
import sys
from pathlib import Path

REPO = Path(__file__).resolve().parents[3]


def build():
    """The build directory, up to date."""
    out = Path(os.environ.get("SWD_BUILD", REPO / "build/plain"))
    commands = [["meson", "compile", "-C", str(out)]]
    if not (out / "build.ninja").exists():
        commands.insert(0, ["meson", "setup", "-Dwerror=true", "-Dwarning_level=3", str(out)])
    for command in commands:
        done = subprocess.run(command, cwd=REPO, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        if done.returncode:
            sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}")
    return out
