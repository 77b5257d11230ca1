# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian trees that a guest can have as its root, made by debootstrap from the mirror that this
machine's apt is configured for."""
import os
import subprocess
from pathlib import Path

from . import cache, paths, progress
from .paths import LabError

# What the daemon built on the host is linked to; both suites have the same sonames.
LIBRARIES = ["libev4", "libnl-3-200", "libnl-genl-3-200", "libsqlite3-0", "libcjson1",
             "libsystemd0", "libyaml-0-2"]
TOOLS = ["systemd", "systemd-sysv", "dbus", "iproute2", "kmod", "tcpdump",
         "ethtool"]
# Debian 13 renamed one, and it alone has varlinkctl (in systemd) and a Varlink for Python.
SUITES = {
    "bookworm": TOOLS + LIBRARIES,
    "trixie": TOOLS + ["python3-varlink", "libev4t64"] + LIBRARIES[1:],
}


def _apt(*command) -> str:
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.returncode:
        raise LabError(f"{' '.join(command)}: {found.stderr.strip()}")
    return found.stdout


def mirror() -> str:
    """The archive that this machine installs Debian's own packages from."""
    rows = _apt("apt-get", "indextargets", "--format",
                "$(ORIGIN)|$(COMPONENT)|$(CODENAME)|$(REPO_URI)",
                "Created-By: Packages").splitlines()
    found = [row.split("|") for row in rows]
    for origin, component, codename, uri in found:
        # Security and update archives hold no whole suite.
        if origin == "Debian" and component == "main" and "-" not in codename:
            return uri
    raise LabError("apt knows no Debian archive; run apt-get update, or see sources.list(5)")


def _environment() -> dict:
    """debootstrap does not read apt's proxy."""
    env = dict(os.environ)
    line = _apt("apt-config", "shell", "PROXY", "Acquire::http::Proxy").strip()
    if line.startswith("PROXY='") and "http_proxy" not in env:
        env["http_proxy"] = line[len("PROXY='"):-1]
    return env


def build(suite: str, extra: list) -> Path:
    """The tree of SUITE with EXTRA packages, made now if it is not in the cache."""
    if suite not in SUITES:
        raise LabError(f"no suite {suite!r}; there are: {', '.join(SUITES)}")
    if os.geteuid():
        raise LabError("debootstrap needs root")
    packages = sorted(set(SUITES[suite] + extra))

    def make(work):
        logs = paths.cache() / "log"
        logs.mkdir(exist_ok=True)
        log = logs / f"root-{suite}.log"
        log.unlink(missing_ok=True)
        # The tree is made anew after a crash, so dpkg need not wait for the disk after each file.
        settings = work / "tree/etc/dpkg/dpkg.cfg.d"
        settings.mkdir(parents=True)
        (settings / "lab").write_text("force-unsafe-io\n")
        progress.say(f"debootstrap {suite}: {len(packages)} packages and what they need")
        progress.run(f"debootstrap {suite}",
                     ["debootstrap", "--variant=minbase", f"--include={','.join(packages)}", suite,
                      work / "tree", mirror()], log, env=_environment())

    return cache.get("root", suite, cache.key_of(suite, packages, mirror()), make) / "tree"
