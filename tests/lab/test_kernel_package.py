# SPDX-License-Identifier: GPL-2.0-or-later
"""kmod/build, for machines of two kinds: the series applies to Debian's sources, Debian's own configuration takes it,
and what the patches touch compiles there without a warning. Packages are not made here: that takes an hour."""
import os
import re
import subprocess

import pytest

from labkit import cache, crossed
from labkit.paths import REPO

LAB = {"host": True, "timeout": 3000, "all_only": True}

KERNELS = ("6.1", "6.12")
CONFIGS = [f"linux-config-{kernel}" for kernel in KERNELS]
TRIPLET = "aarch64-linux-gnu"
ARM_TOOLS = [f"gcc-12-{TRIPLET}", f"cpp-12-{TRIPLET}", f"binutils-{TRIPLET}"]
# The compiler's name has a version; all else is called as it is.
TOOL = """#!/bin/sh
export LD_LIBRARY_PATH={top}/tools/usr/lib/{host}
exec {top}/tools/usr/bin/{name}{more} "$@"
"""


def add_tools(work, top):
    host = crossed.said("gcc", "-print-multiarch").strip()
    (work / "bin").mkdir()
    for path in (work / "tools/usr/bin").iterdir():
        compiler = path.name == f"{TRIPLET}-gcc-12"
        name = path.name.removesuffix("-12")
        tool = work / "bin" / name
        tool.write_text(TOOL.format(top=top, host=host, name=path.name,
                                    more=f" -B{top}/tools/usr/bin/{TRIPLET}-" if compiler else ""))
        tool.chmod(0o755)


@pytest.fixture(scope="module", params=("amd64", "arm64"), name="machine")
def fixture_machine(request):
    """(its name, the folder with its packages)."""
    arch = request.param
    tools = ARM_TOOLS if arch == "arm64" else []
    key = cache.key_of(CONFIGS, tools, TOOL)

    def make(work):
        crossed.unpack(arch, tools, CONFIGS, set(), work)
        if tools:
            add_tools(work, cache.place("machine", f"{arch}-kernel", key))

    return arch, cache.get("machine", f"{arch}-kernel", key, make)


@pytest.mark.parametrize("kernel", KERNELS)
def test_what_the_patches_touch_compiles(machine, kernel, tmp_path):
    arch, top = machine
    config = top / f"sysroot/usr/src/linux-config-{kernel}/config.{arch}_none_{arch}.xz"
    env = {**os.environ, "PATH": f"{top}/bin:{os.environ['PATH']}"}
    done = subprocess.run([REPO / "kmod/build", "-t", "-a", arch, "-c", config, "-o", tmp_path, kernel], env=env,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
    said = re.fullmatch(rf"kmod/build: {kernel} for {arch}: (\d+) files compiled; not of this configuration: (.+)",
                        done.stdout.splitlines()[-1])
    touched = {line[6:] for path in (REPO / f"kmod/patches/{kernel}").glob("*.patch")
               for line in path.read_text().splitlines() if line.startswith("+++ b/") and line.endswith(".c")}
    left = set() if said[2] == "none" else set(said[2].split())
    assert int(said[1]) + len(left) == len(touched) and left <= touched
    # Debian's amd64 has no DSA. Nothing else of ours is left out anywhere.
    assert {name for name in left if not name.startswith("net/dsa/")} == set(), left
    assert bool(left) == (arch == "amd64"), left


def test_it_says_what_is_missing(tmp_path):
    def refused(*words, code=1):
        done = subprocess.run([REPO / "kmod/build", "-o", tmp_path / "out", *words], capture_output=True, text=True,
                              check=False)
        assert done.returncode == code and not done.stdout
        return done.stderr

    assert "no patches for 5.10; for these there are: 6.1 6.12" in refused("5.10")
    assert "no /nowhere" in refused("-c", "/nowhere", "6.1")
    assert "only amd64 and arm64" in refused("-a", "riscv64", "6.1")
    assert refused(code=2).startswith("usage: kmod/build")
    config = tmp_path / "config"
    config.touch()
    assert "no group nonsense in" in refused("-t", "-g", "nonsense", "-c", config, "6.1")
    other = tmp_path / "out/linux-6.1-amd64"
    other.mkdir(parents=True)
    assert "has other patches" in refused("-t", "-a", "amd64", "-c", config, "6.1")
