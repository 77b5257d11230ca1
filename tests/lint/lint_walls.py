#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Holds the walls of the house: which room may include which, and where foreign headers may live.

Reads the #include lines of every C file in config/, daemon/ and cli/. A room may include itself, rooms
below it, and nothing else; a foreign library is known to one room. What is wrong is printed as file:line.
"""
import pathlib
import re
import sys

# Each room, and the rooms it may include besides itself.
ROOMS = {
    "config/base": [],
    "config/model": ["config/base"],
    "config/yaml": ["config/base", "config/model"],
    "daemon/loop": ["config/base"],
    "daemon/kernel": ["config/base", "config/model"],
    "daemon/policy": ["config/base", "config/model", "daemon/kernel"],
    "daemon/tx": ["config/base", "daemon/kernel"],
    "daemon/engine": ["config/base", "config/model", "config/yaml", "daemon/loop", "daemon/kernel",
                      "daemon/policy", "daemon/tx"],
    "daemon/service": ["config/base", "config/model", "config/yaml", "daemon/loop", "daemon/kernel",
                       "daemon/policy", "daemon/engine"],
    "daemon": ["config/base", "config/model", "config/yaml", "daemon/loop", "daemon/kernel",
               "daemon/policy", "daemon/engine", "daemon/service"],
    "cli": ["config/base", "config/model", "config/yaml"],
}

# Foreign headers, and the files that may include them.
FOREIGN = {
    r"ev\.h": r"daemon/loop\.c",
    r"yaml\.h": r"config/yaml/tree\.c",
    r"sqlite3\.h": r"daemon/engine/store[a-z_]*\.c",
    r"netlink/.*": r"daemon/kernel/.*",
    r"c?json/cJSON\.h|cjson/.*": r"daemon/service/.*|cli/.*",
    r"systemd/.*": r"daemon/service/notify\.c",
    r"pthread\.h": r"daemon/engine/.*|daemon/kernel/probe.*",
}

INCLUDE = re.compile(r'\s*#\s*include\s*[<"]([^>"]+)[>"]')


def room_of(path):
    """The room a file belongs to: the folder, but for daemon/loop.[ch], a room of its own."""
    if re.fullmatch(r"daemon/loop\.[ch]", path):
        return "daemon/loop"
    folder = str(pathlib.PurePosixPath(path).parent)
    while folder not in ROOMS and "/" in folder:
        folder = str(pathlib.PurePosixPath(folder).parent)
    return folder if folder in ROOMS else None


def check(path, complaints):
    room = room_of(path)
    for number, line in enumerate(pathlib.Path(path).read_text().splitlines(), 1):
        found = INCLUDE.match(line)
        if not found:
            continue
        header = found.group(1)
        other = room_of(header) if header.split("/")[0] in ("config", "daemon", "cli") else None
        if other and other != room and other not in ROOMS[room]:
            complaints.append(f"{path}:{number}: {room} must not include {header}")
        for pattern, allowed in FOREIGN.items():
            if re.fullmatch(pattern, header) and not re.fullmatch(allowed, path):
                complaints.append(f"{path}:{number}: <{header}> lives in {allowed} only")


def main():
    complaints, count = [], 0
    for top in ("config", "daemon", "cli"):
        for path in sorted(pathlib.Path(top).rglob("*.[ch]")):
            check(path.as_posix(), complaints)
            count += 1
    if not count:
        complaints.append("no C file found: run from the top of the tree")
    print("\n".join(complaints) or f"{count} files, all walls stand")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
