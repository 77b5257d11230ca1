#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Holds the form of files: licence lines, length of lines and files, an opening that says why a file
exists, the format that .clang-format gives, and no `default:` in a switch over our own enums.

Looks at what git tracks (or, outside a checkout, at everything). What is wrong is printed as file:line.
"""
import pathlib
import re
import shutil
import subprocess
import sys

MAX_LINES = 600
MAX_COLUMNS = 100
C_FOLDERS = ("config/", "daemon/", "cli/", "kmod/", "tests/")


def tracked():
    try:
        out = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout
        names = out.splitlines()
    except (OSError, subprocess.CalledProcessError):
        names = [p.as_posix() for p in pathlib.Path(".").rglob("*") if p.is_file()]
    return [n for n in names if pathlib.Path(n).is_file() and not n.startswith("build/")]


def width(line):
    return len(line.expandtabs(8))


def check_source(path, text, complaints):
    lines = text.splitlines()
    if "SPDX-License-Identifier" not in "\n".join(lines[:3]):
        complaints.append(f"{path}:1: no SPDX-License-Identifier")
    if len(lines) > MAX_LINES:
        complaints.append(f"{path}:{len(lines)}: over {MAX_LINES} lines: does it have one job?")
    for number, line in enumerate(lines, 1):
        if width(line) > MAX_COLUMNS and path.endswith((".c", ".h")):
            complaints.append(f"{path}:{number}: over {MAX_COLUMNS} columns")
        if line != line.rstrip():
            complaints.append(f"{path}:{number}: blanks at the end")


def check_headers_open(path, text, complaints):
    if path.startswith(("config/", "daemon/", "cli/")) and path.endswith(".h"):
        body = text.split("*/", 1)[1] if "*/" in text else ""
        if not body.lstrip().startswith("/*"):
            complaints.append(f"{path}:2: does not open with why it exists")


def check_format(paths, complaints):
    tool = shutil.which("clang-format")
    if not tool:
        complaints.append("clang-format is missing: run tests/setup")
        return
    out = subprocess.run([tool, "--dry-run", "-Werror", *paths], capture_output=True, text=True)
    seen = set()
    for line in out.stderr.splitlines():
        found = re.match(r"(?:\./)?([^:]+):(\d+):\d+: error: code should be clang-formatted", line)
        if found and found.group(1) not in seen:
            seen.add(found.group(1))
            complaints.append(f"{found.group(1)}:{found.group(2)}: not as .clang-format says")


def main():
    complaints, formatted = [], []
    sources = [n for n in tracked() if n.endswith((".c", ".h", ".py", ".sh"))]
    for path in sources:
        text = pathlib.Path(path).read_text(errors="replace")
        check_source(path, text, complaints)
        check_headers_open(path, text, complaints)
        if path.startswith(("config/", "daemon/", "cli/")) and path.endswith((".c", ".h")):
            formatted.append(path)
    for number, line in enumerate(pathlib.Path("README.md").read_text().splitlines(), 1):
        if width(line) > MAX_COLUMNS:
            complaints.append(f"README.md:{number}: over {MAX_COLUMNS} columns")
    if not sources:
        complaints.append("no source found: run from the top of the tree")
    if formatted:
        check_format(formatted, complaints)
    print("\n".join(complaints) or f"{len(sources)} files are in form")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
