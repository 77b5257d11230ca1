# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel's own judges say of the series: checkpatch of each patch, and the compiler (W=1) and sparse of each
file that a patch touches, where nothing may be said that is not said of the untouched file, too."""
import os
import re
import shutil
import subprocess

import pytest

from labkit import kernel, series, variants

LAB = {"host": True, "all_only": True, "timeout": 1800, "builds": ["6.1", "6.1-swd", "6.12", "6.12-swd"]}

KERNELS = ("6.1", "6.12")
# Who signs a patch off is said when it is sent; MAINTAINERS is not ours.
APART = ["FILE_PATH_CHANGES"]
# direct-1 reads a list with macros that are declarations once and cases of a switch then: no loop fits round these.
LISTS = ["MULTISTATEMENT_MACRO_USE_DO_WHILE", "TRAILING_SEMICOLON"]
# A place in a file is another one in the patched file.
PLACE = re.compile(r"(?<=:)\d+(:\d+)?(?=:)")


def said_by_checkpatch(tree, path):
    """Whether it is clean, and all that was said."""
    apart = ",".join(APART + (LISTS if path.stem.startswith("direct-1-") else []))
    done = subprocess.run(["perl", "scripts/checkpatch.pl", "--strict", "--no-signoff", "--ignore", apart, path],
                          cwd=tree, capture_output=True, text=True, check=False)
    return bool(re.search(r"^total: 0 errors, 0 warnings, 0 checks, [1-9]\d* lines checked$", done.stdout, re.M)), \
        done.stdout + done.stderr


@pytest.mark.parametrize("version, path", [
    pytest.param(version, path, id=f"{version} {path.stem}") for version in KERNELS for path in series.patches(version)])
def test_checkpatch_is_content(version, path):
    clean, said = said_by_checkpatch(kernel.build(variants.find(version)).tree, path)
    assert clean, said


def test_checkpatch_would_say_it(tmp_path):
    text = series.patches("6.1", ["doorbell-1"])[0].read_text()
    path = tmp_path / "x.patch"
    path.write_text(re.sub(r"^\+\t(\w.*;)$", r"+        \1 ", text, count=1, flags=re.M))
    assert path.read_text() != text
    clean, said = said_by_checkpatch(kernel.build(variants.find("6.1")).tree, path)
    assert not clean and "trailing whitespace" in said


def warnings(built, work, files):
    """What the compiler and sparse say of FILES in a copy of the tree."""
    tree = work / built.variant.name
    shutil.copytree(built.tree, tree, symlinks=True)
    make = ["make", f"-j{os.cpu_count()}", "--keep-going", "C=2", "CHECK=sparse", "W=1",
            *kernel.FLAGS[built.variant.machine]]
    done = subprocess.run([*make, *(path.removesuffix(".c") + ".o" for path in files)], cwd=tree, capture_output=True,
                          text=True, check=False)
    shutil.rmtree(tree)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
    checked = set(re.findall(r"^  CHECK   (\S+)$", done.stdout, re.M))
    assert checked >= set(files), set(files) - checked
    return {PLACE.sub("", line) for line in done.stderr.splitlines() if re.search(r": (warning|error): ", line)}


@pytest.mark.parametrize("version", KERNELS)
def test_no_warning_is_new(version, tmp_path):
    stock, ours = (kernel.build(variants.find(name)) for name in (version, f"{version}-swd"))
    touched = sorted({name for path in series.patches(version)
                      for name in re.findall(r"^\+\+\+ b/(\S+\.c)$", path.read_text(), re.M)})
    files = [name for name in touched if (ours.tree / name).with_suffix(".o").exists()]
    assert len(files) > 9
    before = warnings(stock, tmp_path, [name for name in files if (stock.tree / name).exists()])
    assert sorted(warnings(ours, tmp_path, files) - before) == []
