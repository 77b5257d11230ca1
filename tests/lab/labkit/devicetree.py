# SPDX-License-Identifier: GPL-2.0-or-later
"""The device tree of a lab's DSA switches: kmod/swsim/mkdts writes its text, dtc compiles it."""
import subprocess
from pathlib import Path

from . import paths
from .paths import LabError


def generate(size: str, scratch: Path) -> Path:
    """The compiled tree for SIZE, "PORTS[,SWITCHES[,CPUS]]", in SCRATCH."""
    numbers = size.split(",")
    if len(numbers) > 3 or not all(number.isdigit() for number in numbers):
        raise LabError(f"--dsa wants PORTS, PORTS,SWITCHES or PORTS,SWITCHES,CPUS, not {size!r}")
    ports, switches, cpus = numbers + ["1"] * (3 - len(numbers))
    maker = paths.SWSIM / "mkdts"
    try:
        text = subprocess.run([maker, "--ports", ports, "--switches", switches, "--cpus", cpus],
                              capture_output=True, check=True).stdout
        made = subprocess.run(["dtc", "-q", "-I", "dts", "-O", "dtb"], input=text,
                              capture_output=True, check=True).stdout
    except OSError as error:
        raise LabError(f"{maker}: {error}") from error
    except subprocess.CalledProcessError as error:
        words = error.stderr.decode(errors="replace").strip()
        raise LabError(f"{error.cmd[0]}: {words}") from error
    path = scratch / "lab.dtb"
    path.write_bytes(made)
    return path
