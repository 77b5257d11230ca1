# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernels the lab knows: a row each."""
from dataclasses import dataclass

from .paths import LabError


@dataclass(frozen=True)
class Variant:
    name: str
    kernel: str                 # the Debian package is linux-source-<kernel>
    machine: str                # "um" (an ordinary program) or "x86" (under QEMU)
    fragments: tuple            # files in tests/lab/kernel, merged in this order
    patched: bool = False       # with kmod/patches/<kernel>
    base: str = None            # the variant whose built tree is taken as a start
    leaks: bool = False         # has kmemleak: scanned at the end of each run
    memory: str = "512M"


_UM = ("common.config", "um.config")

VARIANTS = {v.name: v for v in (
    Variant("6.1", "6.1", "um", _UM + ("6.1.config",)),
    Variant("6.12", "6.12", "um", _UM + ("6.12.config",)),
    Variant("6.1-swd", "6.1", "um", _UM + ("6.1.config", "swd.config"), patched=True, base="6.1"),
    Variant("6.1-debug", "6.1", "um", _UM + ("6.1.config", "debug.config", "um-debug.config"),
            patched=True, leaks=True, memory="1024M"),
    Variant("6.1-smp", "6.1", "x86",
            ("common.config", "6.1.config", "debug.config", "x86-smp.config"),
            patched=True, memory="1024M"),
)}


def find(name: str) -> Variant:
    if name not in VARIANTS:
        raise LabError(f"no variant {name!r}; there are: {', '.join(VARIANTS)}")
    return VARIANTS[name]
