# SPDX-License-Identifier: GPL-2.0-or-later
"""The two small programs of the lab, `init` in the guest and `cage` on the host, compiled once."""
from pathlib import Path

from . import cache, paths, progress
from .kernel import compiler

FLAGS = ["-std=gnu17", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror", "-static"]
SOURCES = {"init": ["init.c", "job.c", "root.c", "run.c"], "cage": ["cage.c"]}


def build() -> Path:
    """The directory that holds both."""
    def make(work):
        for name, sources in SOURCES.items():
            files = [paths.GUEST / source for source in sources]
            progress.run(name, ["gcc", *FLAGS, "-o", work / name, *files], work / "build.log",
                         quiet=True)

    key = cache.key_of(cache.tree_key(paths.GUEST), compiler(), FLAGS, SOURCES)
    return cache.get("programs", "guest", key, make)
