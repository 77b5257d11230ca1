# SPDX-License-Identifier: GPL-2.0-or-later
"""The patches of a kernel, kmod/patches/<kernel>/series, and the parts of it that stand alone.

A patch is called GROUP-N-what.patch, and each group is an idea of its own: its patches apply, build
and boot on the untouched kernel without the other groups, and the first of them without the later
ones. So a part of the series is named by its groups, each with all its patches ("bypass") or with
the first few ("bypass-3").
"""
import re
from pathlib import Path

from . import paths
from .paths import LabError

_NAME = re.compile(r"(?P<group>[a-z][a-z0-9-]*?)-(?P<number>\d+)-[\w-]+\.patch")
_PART = re.compile(r"(?P<group>[a-z][a-z0-9-]*?)(-(?P<last>\d+))?")


def _read(kernel: str) -> list:
    """(group, number, path) of each patch, in the order of the series."""
    series = paths.PATCHES / kernel / "series"
    if not series.exists():
        raise LabError(f"{series.relative_to(paths.REPO)} is not there")
    found, last = [], {}
    for line in series.read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        path = series.parent / line.split()[0]
        said = _NAME.fullmatch(path.name)
        if not path.exists() or not said:
            raise LabError(f"{series.relative_to(paths.REPO)} names {path.name}, which "
                           + ("is no GROUP-N-what.patch" if path.exists() else "is not there"))
        group, number = said["group"], int(said["number"])
        if number != last.get(group, 0) + 1:
            raise LabError(f"{path.relative_to(paths.REPO)}: not the next of its group")
        last[group] = number
        found.append((group, number, path))
    return found


def patches(kernel: str, parts=()) -> list:
    """The files of the series in order: all, or those of PARTS."""
    found = _read(kernel)
    if not parts:
        return [path for _, _, path in found]
    want = {}
    for part in parts:
        said = _PART.fullmatch(part)
        size = sum(bool(said) and group == said["group"] for group, _, _ in found)
        if not size or not 1 <= int(said["last"] or 1) <= size:
            groups = ", ".join(dict.fromkeys(group for group, _, _ in found))
            raise LabError(f"no part {part!r} in the series of {kernel}; its groups: {groups}")
        want[said["group"]] = int(said["last"] or size)
    return [path for group, number, path in found if number <= want.get(group, 0)]


def part(patch: Path) -> str:
    """GROUP-N of a patch of the series."""
    said = _NAME.fullmatch(patch.name)
    return f"{said['group']}-{said['number']}"


def each(kernel: str) -> list:
    """All parts with which a group can be built alone: its first patch, its first two ..."""
    return [part(path) for _, _, path in _read(kernel)]


def before(parts: tuple):
    """The part that one numbered part begins with: bypass-2 for bypass-3; None: it begins with nothing."""
    said = _PART.fullmatch(parts[0])
    number = int(said["last"] or 1)
    return f"{said['group']}-{number - 1}" if len(parts) == 1 and number > 1 else None


def changes(patch: Path) -> bytes:
    """What PATCH does to the tree, without the words before it: they may be corrected freely."""
    text = patch.read_bytes()
    return text[text.find(b"\ndiff --git ") + 1:]


def new_options(some: list) -> set:
    """The options that the patches SOME add to a Kconfig."""
    return {"CONFIG_" + name.decode() for path in some
            for name in re.findall(rb"^\+(?:menu)?config (\w+)$", changes(path), re.M)}
