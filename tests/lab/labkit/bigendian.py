# SPDX-License-Identifier: GPL-2.0-or-later
"""A big-endian machine to build for and run programs of: Debian's s390x under qemu-user."""
from pathlib import Path

from . import cache, crossed

TRIPLET = "s390x-linux-gnu"
TOOLS = ["gcc-12-s390x-linux-gnu", "cpp-12-s390x-linux-gnu", "binutils-s390x-linux-gnu", "qemu-user"]
# What the daemon is built with; and tc, with what it needs.
WANTED = ["libc6-dev", "libgcc-12-dev", "libubsan1", "libcmocka-dev", "libev-dev", "libnl-3-dev", "libnl-genl-3-dev",
          "libsqlite3-dev", "libcjson-dev", "libsystemd-dev", "libyaml-dev", "iproute2"]
# Debian's essential programs come along in its dependencies, and are of no use here.
USELESS = {"cdebconf", "debconf", "dpkg", "install-info", "tar", "perl-base"}

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


def machine() -> Path:
    """A folder with cc, ar, run and cross.ini for meson; made now if it is not in the cache."""
    forms = {"cc": COMPILER, "ar": ARCHIVER, "run": RUNNER, "cross.ini": CROSS}
    key = cache.key_of(TOOLS, WANTED, USELESS, *forms.values())
    host = crossed.said("gcc", "-print-multiarch").strip()

    def make(work):
        crossed.unpack("s390x", TOOLS, WANTED, USELESS, work)
        for name, form in forms.items():
            path = work / name
            path.write_text(form.format(top=cache.place("machine", "s390x", key), triplet=TRIPLET, host=host))
            path.chmod(0o755)

    return cache.get("machine", "s390x", key, make)
