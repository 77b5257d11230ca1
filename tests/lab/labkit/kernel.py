# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds the kernel of a variant from Debian's source package, once, into the cache.

An entry holds `tree`, sources and objects together as an in-tree build leaves them: relative paths
make it valid wherever it is copied or renamed to, so a patched variant starts from a copy of the
untouched one, or of one with fewer patches, and compiles only what the others touch. Modules build
against the same tree.
"""
import functools
import os
import re
import resource
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from . import cache, paths, progress, series
from .paths import LabError
from .variants import Variant, find

# UML's default, the large code model, makes each call an indirect one: half the speed, and no call
# can be told from another. Modules need it, since they are loaded out of a small model's reach.
FLAGS = {"um": ["ARCH=um", "KCFLAGS=-mcmodel=small"], "x86": ["ARCH=x86_64"]}
TARGETS = {"um": ["linux", "modules_prepare", "modules"],
           "x86": ["bzImage", "modules_prepare", "modules"]}
IMAGE = {"um": "linux", "x86": "arch/x86/boot/bzImage"}

# Where Variant.code holds: the way of a packet from pktgen through tc, and no more, so that such a kernel
# starts from the objects of its base.
CODE = ("net/core", "net/sched")

# Two thirds of the sources can never be compiled by our configurations; only their Kconfig files
# are needed.
LEFT_OUT = ["*/drivers/gpu/*.[chS]", "*/drivers/media/*.[ch]", "*/drivers/staging/*.[ch]",
            "*/drivers/infiniband/*.[ch]", "*/drivers/net/wireless/*.[ch]", "*/drivers/scsi/*.[ch]",
            "*/sound/*.[ch]", "*/Documentation/*.rst", "*/Documentation/*.yaml", "*/tools/testing",
            "*/tools/perf", "*/boot/dts"]


@dataclass(frozen=True)
class Kernel:
    variant: Variant
    key: str
    entry: Path

    @property
    def tree(self) -> Path:
        return self.entry / "tree"

    @property
    def image(self) -> Path:
        return self.tree / IMAGE[self.variant.machine]

    @property
    def release(self) -> str:
        return (self.tree / "include/config/kernel.release").read_text().strip()

    @property
    def make_flags(self) -> list:
        """For modules: without the code model of the kernel itself."""
        return FLAGS[self.variant.machine][:1]


@functools.cache
def compiler() -> str:
    """The versions of the programs that decide what comes out."""
    try:
        return "".join(subprocess.run([tool, "--version"], capture_output=True, text=True,
                                      check=True).stdout.splitlines()[0] for tool in ("gcc", "ld"))
    except (OSError, subprocess.CalledProcessError) as error:
        raise LabError(f"no compiler: {error}; run tests/setup") from error


def _package(version: str) -> str:
    """The installed version of Debian's source package."""
    name = f"linux-source-{version}"
    found = subprocess.run(["dpkg-query", "-W", "-f", "${Status} ${Version}", name],
                           capture_output=True, text=True, check=False).stdout.split()
    if found[:3] != ["install", "ok", "installed"]:
        raise LabError(f"the package {name} is not installed; run tests/setup")
    return found[3]


def fragments(variant: Variant) -> list:
    """The fragments of VARIANT in order; a patch series may bring the options that it adds."""
    found = [paths.FRAGMENTS / name for name in variant.fragments]
    if variant.patched and (paths.PATCHES / variant.kernel / "kconfig").exists():
        found.append(paths.PATCHES / variant.kernel / "kconfig")
    return found


def wanted(fragment: Path) -> dict:
    """option -> value; None for one that must be off."""
    found = {}
    for line in fragment.read_text().splitlines():
        on = re.fullmatch(r"(CONFIG_\w+)=(.+)", line)
        off = re.fullmatch(r"# (CONFIG_\w+) is not set", line)
        if on:
            found[on.group(1)] = None if on.group(2) == "n" else on.group(2)
        elif off:
            found[off.group(1)] = None
    return found


def options(variant: Variant) -> dict:
    """What all fragments of VARIANT want together; a later one overrules. An option that only a
    patch which VARIANT leaves out would add is not there."""
    found = {}
    for fragment in fragments(variant):
        found.update(wanted(fragment))
    if variant.parts:
        absent = series.new_options(series.patches(variant.kernel))
        for name in absent - series.new_options(patches(variant)):
            found.pop(name, None)
    return found


def patches(variant: Variant) -> list:
    return series.patches(variant.kernel, variant.parts) if variant.patched else []


def key(variant: Variant) -> str:
    parts = [_package(variant.kernel), compiler(), FLAGS[variant.machine],
             TARGETS[variant.machine], LEFT_OUT, sorted(options(variant).items())]
    for path in patches(variant):
        parts.append(series.changes(path))
    if variant.code:
        parts += [CODE, variant.code]
    if variant.base:
        parts.append(key(find(variant.base)))
    return cache.key_of(*parts)


def lost_options(want: dict, config: str) -> list:
    """What kconfig did not take: a missing dependency makes it drop an option without a word."""
    have = dict(re.findall(r"^(CONFIG_\w+)=(.+)$", config, re.M))
    return [f"{name}={value or 'n'} (is {have.get(name, 'n')})" for name, value in want.items()
            if have.get(name) != value]


def _configure(variant: Variant, tree: Path, log: Path):
    flags = FLAGS[variant.machine]
    want = options(variant)
    progress.run("tinyconfig", ["make", *flags, "tinyconfig"], log, cwd=tree, quiet=True)
    config = tree / ".config"
    text = config.read_text()
    for name in want:
        text = re.sub(rf"^(# )?{name}[= ].*\n", "", text, flags=re.M)
    text += "".join(f"{n}={v}\n" if v else f"# {n} is not set\n" for n, v in want.items())
    config.write_text(text)
    progress.run("olddefconfig", ["make", *flags, "olddefconfig"], log, cwd=tree, quiet=True)
    lost = lost_options(want, config.read_text())
    if lost:
        raise LabError(f"{variant.name}: kconfig did not take:\n  " + "\n  ".join(lost))


def _unpack(variant: Variant, tree: Path, log: Path):
    name = f"linux-source-{variant.kernel}"
    progress.say(f"{variant.name}: unpacking {name}")
    tree.mkdir()
    left_out = [f"--exclude={pattern}" for pattern in LEFT_OUT]
    progress.run("unpack", ["tar", "-C", tree, "--strip-components=1", "--wildcards", *left_out,
                            "-xf", f"/usr/src/{name}.tar.xz"], log, quiet=True)


def _patch(variant: Variant, tree: Path, log: Path):
    there = patches(find(variant.base)) if variant.base else []
    for path in [path for path in patches(variant) if path not in there]:
        progress.run(f"{variant.name}: patch {path.name}",
                     ["patch", "-p1", "--force", "--fuzz=0", "-i", path], log, cwd=tree, quiet=True)
    for directory in CODE if variant.code else ():
        with open(tree / directory / "Makefile", "a") as makefile:
            makefile.write(f"subdir-ccflags-y += {variant.code}\n")


def _make(variant: Variant, work: Path, log: Path):
    tree = work / "tree"
    if variant.base:
        start = build(find(variant.base))
        progress.say(f"{variant.name}: starting from the objects of {variant.base}")
        with cache.in_use(start.entry):
            progress.run("copy", ["cp", "-a", "--reflink=auto", start.tree, tree], log, quiet=True)
    else:
        _unpack(variant, tree, log)
    _patch(variant, tree, log)
    _configure(variant, tree, log)
    make = ["make", f"-j{os.cpu_count()}", *FLAGS[variant.machine], *TARGETS[variant.machine]]
    progress.run(f"{variant.name}: kernel", make, log, cwd=tree)
    if not (tree / IMAGE[variant.machine]).exists():
        raise LabError(f"{variant.name}: no {IMAGE[variant.machine]} came out; see {log}")


def build(variant: Variant) -> Kernel:
    """The kernel of VARIANT, built now if it is not in the cache."""
    name = key(variant)

    def make(work):
        logs = paths.cache() / "log"
        logs.mkdir(exist_ok=True)
        log = logs / f"{variant.name}-{name}.log"
        log.unlink(missing_ok=True)
        start = time.monotonic()
        if variant.base:
            build(find(variant.base))       # before our own turn at the compiler
        with cache.locked("compiler", lambda: progress.say("waiting for another kernel build")):
            _make(variant, work, log)
        shutil.copy(log, work / "build.log")
        cpu = resource.getrusage(resource.RUSAGE_CHILDREN)
        (work / "seconds").write_text(f"{time.monotonic() - start:.0f} passed, "
                                      f"{cpu.ru_utime + cpu.ru_stime:.0f} of CPU\n")

    entry = cache.get("kernel", variant.name, name, make,
                      lambda: progress.say(f"waiting for another build of {variant.name}"))
    return Kernel(variant, name, entry)
