# SPDX-License-Identifier: GPL-2.0-or-later
"""The cache: <cache>/<kind>/<name>-<key>/, complete or not there.

An entry is made in a directory beside its place and renamed when it is done, so an interrupted
build leaves nothing that looks valid. Whoever makes an entry holds its lock; whoever uses one holds
its directory's lock shared, so that `prune` takes nothing away from a running guest.
"""
import contextlib
import fcntl
import hashlib
import os
import re
import shutil
from pathlib import Path

from . import paths

# How many entries of one name stay when a new one is made. A kernel's tree has nearly a gigabyte.
KEEP = {"kernel": 3, "root": 2}
KEEP_SMALL = 12


def key_of(*parts) -> str:
    """A short name for everything that decides what a build would give."""
    digest = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode()
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest()[:16]


def tree_key(*tops: Path) -> str:
    """The names and contents of the files below TOPS, without what kbuild makes there."""
    parts = []
    made = (".o", ".ko", ".cmd", ".mod", ".mod.c", ".symvers", ".order")
    for top in tops:
        for path in sorted(p for p in top.rglob("*") if p.is_file()):
            if not path.name.endswith(made) and "__pycache__" not in path.parts:
                parts += [str(path.relative_to(top)), path.read_bytes()]
    return key_of(*parts)


@contextlib.contextmanager
def locked(name: str, waiting=None):
    """Only one holder of NAME at a time, over all processes of this cache. WAITING() is called once
    when another one has it."""
    directory = paths.cache() / "lock"
    directory.mkdir(exist_ok=True)
    with open(directory / name, "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if waiting:
                waiting()
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def place(kind: str, name: str, key: str) -> Path:
    return paths.cache() / kind / f"{name}-{key}"


def get(kind: str, name: str, key: str, make, waiting=None) -> Path:
    """The entry, made by MAKE(directory) where it is missing."""
    entry = place(kind, name, key)
    if entry.is_dir():
        return entry
    with locked(f"{kind}-{name}", waiting):
        if entry.is_dir():
            return entry
        entry.parent.mkdir(exist_ok=True)
        # What a killed build left behind: we hold its lock. A compiler of that build may still be
        # at work, so ours has another name.
        for left in entry.parent.iterdir():
            if re.fullmatch(rf"tmp\.{re.escape(name)}-[0-9a-z]+\.\d+", left.name):
                shutil.rmtree(left, ignore_errors=True)
        work = entry.parent / f"tmp.{name}-{key}.{os.getpid()}"
        try:
            work.mkdir()
            make(work)
            work.rename(entry)
        except BaseException:
            shutil.rmtree(work, ignore_errors=True)
            raise
    _forget(kind, name, KEEP.get(kind, KEEP_SMALL))
    return entry


@contextlib.contextmanager
def in_use(*entries: Path):
    """ENTRIES stay while this holds. Using one also makes it the youngest of its name."""
    with contextlib.ExitStack() as stack:
        for entry in entries:
            fd = os.open(entry, os.O_RDONLY | os.O_DIRECTORY)
            stack.callback(os.close, fd)
            fcntl.flock(fd, fcntl.LOCK_SH)
            with contextlib.suppress(OSError):
                os.utime(entry)
        yield


def _remove(entry: Path) -> bool:
    fd = os.open(entry, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        gone = entry.with_name("tmp.gone-" + entry.name)
        entry.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(fd)


def _entries(kind: str) -> dict:
    """name -> its entries, the youngest first."""
    found = {}
    top = paths.cache() / kind
    for entry in top.iterdir() if top.is_dir() else ():
        if entry.is_dir() and not entry.name.startswith("tmp."):
            found.setdefault(entry.name.rpartition("-")[0], []).append(entry)
    for entries in found.values():
        entries.sort(key=lambda e: e.stat().st_mtime, reverse=True)
    return found


def _forget(kind: str, name: str, keep: int) -> list:
    return [e for e in _entries(kind).get(name, [])[keep:] if _remove(e)]


def prune(keep: int) -> list:
    """Leaves the KEEP youngest entries of each name; returns what went."""
    gone = []
    for top in sorted(paths.cache().iterdir()):
        if top.name in ("lock", "log"):
            continue
        for name in _entries(top.name):
            gone += _forget(top.name, name, keep)
    return gone
