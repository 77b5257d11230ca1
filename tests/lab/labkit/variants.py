# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernels the lab knows: a row each. A name behind which groups of patches stand, like
6.1+bypass+doorbell or 6.1-smp+bypass-3, is its row with that part of the series alone."""
from dataclasses import dataclass, replace

from . import series
from .paths import LabError


@dataclass(frozen=True)
class Variant:
    name: str
    kernel: str                 # the Debian package is linux-source-<kernel>
    machine: str                # "um" (an ordinary program) or "x86" (under QEMU)
    fragments: tuple            # files in tests/lab/kernel, merged in this order
    patched: bool = False       # with kmod/patches/<kernel>
    parts: tuple = ()           # only these of its groups; none: all
    base: str = None            # the variant whose built tree is taken as a start
    code: str = ""              # further flags of the compiler where packets are handled
    leaks: bool = False         # has kmemleak: scanned at the end of each run
    memory: str = "512M"
    slow: int = 1               # times longer than others for the same work, about


_UM = ("common.config", "um.config")

def _of(kernel: str) -> tuple:
    """The rows that each kernel has: of its three kinds the untouched one and the patched one. Where both are
    wanted daily, the one starts from the objects of the other."""
    own = f"{kernel}.config"
    debug = {"fragments": _UM + (own, "debug.config", "um-debug.config"), "leaks": True,
             "memory": "1024M", "slow": 4}
    smp = {"fragments": ("common.config", own, "debug.config", "x86-smp.config", f"{kernel}-x86.config"),
           "memory": "1024M", "slow": 12}
    return (
        Variant(kernel, kernel, "um", _UM + (own,)),
        Variant(f"{kernel}-swd", kernel, "um", _UM + (own, "swd.config"), patched=True, base=kernel),
        Variant(f"{kernel}-debug-stock", kernel, "um", **debug),
        Variant(f"{kernel}-debug", kernel, "um", patched=True, **debug),
        Variant(f"{kernel}-smp-stock", kernel, "x86", **smp),
        Variant(f"{kernel}-smp", kernel, "x86", patched=True, **smp),
    )


VARIANTS = {v.name: v for v in (
    *_of("6.1"), *_of("6.12"),
    # Two that differ in retpolines alone: with them gcc makes no jump tables, and x86 without any has none
    # either.
    Variant("6.1-retpolines", "6.1", "um", _UM + ("6.1.config", "swd.config"), patched=True,
            parts=("direct",), base="6.1",
            code="-mindirect-branch=thunk-inline -mindirect-branch-register"),
    Variant("6.1-no-retpolines", "6.1", "um", _UM + ("6.1.config", "swd.config"), patched=True,
            parts=("direct",), base="6.1", code="-fno-jump-tables"),
)}


def spread(name: str) -> list:
    """NAME, or for 6.1-debug+each the names of all that can be built alone: 6.1-debug+bypass-1 ..."""
    row, each, rest = name.partition("+each")
    if not each or rest:
        return [name]
    return [f"{row}+{part}" for part in series.each(find(row).kernel)]


def _whole(row: str):
    """The variant of whose patches ROW+GROUP has some; None: there is none."""
    variant = VARIANTS.get(row)
    if not variant or variant.parts:
        return None
    return VARIANTS.get({variant.kernel: f"{row}-swd", f"{variant.kernel}-debug": row,
                         f"{variant.kernel}-smp": row}.get(row))


def find(name: str) -> Variant:
    row, *parts = name.split("+")
    if not parts and row in VARIANTS:
        return VARIANTS[row]
    whole = _whole(row)
    if not parts or not whole:
        raise LabError(f"no variant {name!r}; there are: {', '.join(VARIANTS)}, and 6.1+GROUP")
    series.patches(whole.kernel, parts)
    start = series.before(parts)
    return replace(whole, name=name, parts=tuple(parts), base=f"{row}+{start}" if start else whole.base or f"{row}-stock")
