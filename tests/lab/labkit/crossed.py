# SPDX-License-Identifier: GPL-2.0-or-later
"""Packages of another machine, and tools of this one, unpacked into a folder: nothing is installed, and apt's own
lists are left alone."""
import os
import subprocess
from pathlib import Path

from . import paths, progress
from .paths import LabError

APT = """
APT::Architectures {{ "{native}"; "{machine}"; }};
APT::Sandbox::User "root";
Dir::State "{work}/apt";
Dir::State::status "/var/lib/dpkg/status";
Dir::Cache "{work}/apt";
Acquire::Languages "none";
"""


def said(*command, **more) -> str:
    found = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    if found.returncode:
        raise LabError(f"{' '.join(map(str, command))}: {found.stderr.strip()}")
    return found.stdout


def _fetch(machine: str, tools: list, wanted: list, useless: set, work: Path, log: Path):
    """The packages, in work/deb."""
    for name in ("apt/lists/partial", "apt/archives/partial", "deb"):
        (work / name).mkdir(parents=True)
    config = work / "apt.conf"
    config.write_text(APT.format(work=work, machine=machine, native=said("dpkg", "--print-architecture").strip()))
    env = {**os.environ, "APT_CONFIG": str(config)}
    progress.run(f"apt-get update for {machine}", ["apt-get", "update"], log, env=env)
    no = [f"--no-{what}" for what in ("recommends", "suggests", "conflicts", "breaks", "replaces", "enhances")]
    wanted = [f"{name}:{machine}" for name in wanted]
    rows = said("apt-cache", "depends", "--recurse", *no, *wanted, env=env)
    needed = {row for row in rows.splitlines() if row.endswith(f":{machine}") and not row.startswith((" ", "<"))}
    needed |= set(wanted)       # of this very machine apt says the names alone
    needed = sorted(name for name in needed if name.split(":")[0] not in useless)
    progress.run(f"apt-get download of {len(needed) + len(tools)} packages", ["apt-get", "download", *tools, *needed],
                 log, env=env, cwd=work / "deb")


def unpack(machine: str, tools: list, wanted: list, useless: set, work: Path):
    """WORK/tools has the packages TOOLS of this machine; WORK/sysroot those of MACHINE, with all they depend on but
    the useless ones."""
    log = paths.cache() / f"log/{machine}.log"
    log.parent.mkdir(exist_ok=True)
    log.unlink(missing_ok=True)
    _fetch(machine, tools, wanted, useless, work, log)
    for package in sorted((work / "deb").iterdir()):
        tree = "sysroot" if package.name.endswith(f"_{machine}.deb") else "tools"
        said("dpkg-deb", "-x", package, work / tree)
        package.unlink()
