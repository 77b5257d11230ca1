# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds swsim for a kernel and lays out the /lib/modules that its guests see.

An entry is the directory that init binds to /lib/modules/<release>: swsim.ko, and the indexes that modprobe
reads.
"""
import shutil
from pathlib import Path

from . import cache, paths, progress
from .kernel import Kernel, compiler


def _compile(source: Path, kernel: Kernel, work: Path, log: Path) -> list:
    """Builds in a copy, because kbuild writes beside the sources. Returns the modules."""
    build = work / "build"
    # kmod/uapi is found as ../uapi from the module, as in the repo.
    shutil.copytree(source, build / source.name,
                    ignore=shutil.ignore_patterns("*.o", "*.ko", "*.mod*", ".*.cmd", "Module.symvers"))
    if (source.parent / "uapi").is_dir():
        shutil.copytree(source.parent / "uapi", build / "uapi")
    progress.run(f"{kernel.variant.name}: {source.name}",
                 ["make", "-C", kernel.tree, *kernel.make_flags, f"M={build / source.name}", "modules"], log)
    return sorted((build / source.name).glob("*.ko"))


def build(kernel: Kernel, swsim: bool) -> Path:
    """The modules of KERNEL's guests, none if not SWSIM. Without kmod/swsim a line says so."""
    have = swsim and (paths.SWSIM / "Makefile").exists()
    if swsim and not have:
        progress.say("kmod/swsim is not there yet: guests have no swsim")

    def make(work):
        log = paths.cache() / "log" / f"swsim-{kernel.variant.name}.log"
        log.parent.mkdir(exist_ok=True)
        log.unlink(missing_ok=True)
        top = work / "lib/modules" / kernel.release
        (top / "extra").mkdir(parents=True)
        for name in ("modules.order", "modules.builtin", "modules.builtin.modinfo"):
            if (kernel.tree / name).exists():
                shutil.copy(kernel.tree / name, top)
        with cache.in_use(kernel.entry):
            for module in _compile(paths.SWSIM, kernel, work, log) if have else ():
                shutil.copy(module, top / "extra")
        progress.run("depmod", ["depmod", "-b", work, kernel.release], log, quiet=True)
        shutil.rmtree(work / "build", ignore_errors=True)

    sources = [p for p in (paths.SWSIM, paths.SWSIM.parent / "uapi") if have and p.is_dir()]
    key = cache.key_of(kernel.key, compiler(), cache.tree_key(*sources))
    return cache.get("modules", kernel.variant.name, key, make)
