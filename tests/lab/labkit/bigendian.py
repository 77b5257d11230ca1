# SPDX-License-Identifier: GPL-2.0-or-later
"""A big-endian machine to build for and run programs of: Debian's s390x under qemu-user. Packages of both machines
are unpacked into the cache; nothing is installed, and apt's own lists are left alone."""
import os
import subprocess
from pathlib import Path

from . import cache, paths, progress
from .paths import LabError

TRIPLET = "s390x-linux-gnu"
TOOLS = ["gcc-12-s390x-linux-gnu", "cpp-12-s390x-linux-gnu", "binutils-s390x-linux-gnu", "qemu-user"]
# What the daemon is built with; and tc, with what it needs.
WANTED = ["libc6-dev", "libgcc-12-dev", "libubsan1", "libcmocka-dev", "libev-dev", "libnl-3-dev", "libnl-genl-3-dev",
          "libsqlite3-dev", "libcjson-dev", "libsystemd-dev", "libyaml-dev", "iproute2"]
# Debian's essential programs come along in its dependencies, and are of no use here.
USELESS = {"cdebconf", "debconf", "dpkg", "install-info", "tar", "perl-base"}

APT = """
APT::Architectures {{ "{native}"; "s390x"; }};
APT::Sandbox::User "root";
Dir::State "{work}/apt";
Dir::State::status "/var/lib/dpkg/status";
Dir::Cache "{work}/apt";
Acquire::Languages "none";
"""
COMPILER = """#!/bin/sh
export LD_LIBRARY_PATH={top}/tools/usr/lib/{host}
exec {top}/tools/usr/bin/{triplet}-gcc-12 --sysroot={top}/sysroot -B{top}/tools/usr/bin/{triplet}- \\
	-B{top}/sysroot/usr/lib/gcc/{triplet}/12 -isystem {top}/sysroot/usr/include/{triplet} "$@"
"""
ARCHIVER = """#!/bin/sh
export LD_LIBRARY_PATH={top}/tools/usr/lib/{host}
exec {top}/tools/usr/bin/{triplet}-ar "$@"
"""
RUNNER = """#!/bin/sh
exec {top}/tools/usr/bin/qemu-s390x -L {top}/sysroot "$@"
"""
CROSS = """[binaries]
c = '{top}/cc'
ar = '{top}/ar'
pkgconfig = 'pkg-config'
exe_wrapper = '{top}/run'
[properties]
sys_root = '{top}/sysroot'
pkg_config_libdir = '{top}/sysroot/usr/lib/{triplet}/pkgconfig'
[host_machine]
system = 'linux'
cpu_family = 's390x'
cpu = 's390x'
endian = 'big'
"""


def _said(*command, **more) -> str:
    found = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    if found.returncode:
        raise LabError(f"{' '.join(map(str, command))}: {found.stderr.strip()}")
    return found.stdout


def _fetch(work: Path, log: Path):
    """The packages, in work/deb."""
    for name in ("apt/lists/partial", "apt/archives/partial", "deb"):
        (work / name).mkdir(parents=True)
    config = work / "apt.conf"
    config.write_text(APT.format(work=work, native=_said("dpkg", "--print-architecture").strip()))
    env = {**os.environ, "APT_CONFIG": str(config)}
    progress.run("apt-get update for s390x", ["apt-get", "update"], log, env=env)
    no = [f"--no-{what}" for what in ("recommends", "suggests", "conflicts", "breaks", "replaces", "enhances")]
    rows = _said("apt-cache", "depends", "--recurse", *no, *[f"{name}:s390x" for name in WANTED], env=env)
    needed = {row for row in rows.splitlines() if row.endswith(":s390x") and not row.startswith((" ", "<"))}
    needed = sorted(name for name in needed if name.split(":")[0] not in USELESS)
    progress.run(f"apt-get download of {len(needed) + len(TOOLS)} packages", ["apt-get", "download", *TOOLS, *needed],
                 log, env=env, cwd=work / "deb")


def machine() -> Path:
    """A folder with cc, ar, run and cross.ini for meson; made now if it is not in the cache."""
    forms = {"cc": COMPILER, "ar": ARCHIVER, "run": RUNNER, "cross.ini": CROSS}
    key = cache.key_of(APT, TOOLS, WANTED, USELESS, *forms.values())
    host = _said("gcc", "-print-multiarch").strip()

    def make(work):
        log = paths.cache() / "log/bigendian.log"
        log.parent.mkdir(exist_ok=True)
        log.unlink(missing_ok=True)
        _fetch(work, log)
        for package in sorted((work / "deb").iterdir()):
            tree = "sysroot" if package.name.endswith("_s390x.deb") else "tools"
            _said("dpkg-deb", "-x", package, work / tree)
            package.unlink()
        for name, form in forms.items():
            path = work / name
            path.write_text(form.format(top=cache.place("machine", "s390x", key), triplet=TRIPLET, host=host))
            path.chmod(0o755)

    return cache.get("machine", "s390x", key, make)
