# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds modules for a kernel, swsim above all, and lays out the /lib/modules of its guests.

An entry holds the directory that init binds to /lib/modules/<release>: the modules, and the indexes
that modprobe reads.
"""
import shutil
from pathlib import Path

from . import cache, paths, progress
from .kernel import Kernel, compiler


def _compile(source: Path, kernel: Kernel, work: Path, log: Path) -> list:
    """Builds in a copy, because kbuild writes beside the sources. Returns the modules."""
    build = work / "build"
    # kmod/uapi is found as ../uapi from swsim, as in the repo.
    shutil.copytree(source, build / source.name,
                    ignore=shutil.ignore_patterns("*.o", "*.ko", "*.mod*", ".*.cmd", "*.symvers"))
    if paths.UAPI.is_dir() and not (build / "uapi").exists():
        shutil.copytree(paths.UAPI, build / "uapi")
    make = ["make", "-C", kernel.tree, *kernel.make_flags, f"M={build / source.name}", "modules"]
    progress.run(f"{kernel.variant.name}: {source.name}", make, log)
    return sorted((build / source.name).glob("*.ko"))


def build(kernel: Kernel, swsim: bool, further=()) -> Path:
    """The modules of KERNEL's guests: swsim, if asked for, and those of the FURTHER directories.
    Where kmod/swsim is not there a line says so."""
    sources = [Path(p) for p in further]
    if swsim and (paths.SWSIM / "Makefile").exists():
        sources.insert(0, paths.SWSIM)
    elif swsim:
        progress.say("kmod/swsim is not there yet: guests have no swsim")

    def make(work):
        log = paths.cache() / "log" / f"modules-{kernel.variant.name}.log"
        log.parent.mkdir(exist_ok=True)
        log.unlink(missing_ok=True)
        top = work / "lib/modules" / kernel.release
        (top / "extra").mkdir(parents=True)
        for name in ("modules.order", "modules.builtin", "modules.builtin.modinfo"):
            if (kernel.tree / name).exists():
                shutil.copy(kernel.tree / name, top)
        with cache.in_use(kernel.entry):
            for source in sources:
                for module in _compile(source, kernel, work, log):
                    shutil.copy(module, top / "extra")
        progress.run("depmod", ["depmod", "-b", work, kernel.release], log, quiet=True)
        shutil.rmtree(work / "build", ignore_errors=True)

    headers = [p for p in (paths.UAPI,) if p.is_dir()]
    key = cache.key_of(kernel.key, compiler(), cache.tree_key(*sources, *headers))
    return cache.get("modules", kernel.variant.name, key, make)
