# SPDX-License-Identifier: GPL-2.0-or-later
"""The code of a kernel with kmod/patches/6.1/direct-*: each classifier and each action that is built in is
called by name where packets are classified, so none was forgotten; and by pointer, too, for modules."""
import re
import subprocess

import pytest

from labkit import kernel, variants

LAB = {"host": True, "builds": ["6.1-swd"]}

# The caller of each kind of file, by name in its object.
CALLERS = {"cls": ("net/sched/cls_api.o", "__tcf_classify|tcf_classify", "classify"),
           "act": ("net/sched/act_api.o", "tcf_action_exec", "act")}


@pytest.fixture(scope="module", name="tree")
def fixture_tree():
    return kernel.build(variants.find("6.1-swd")).tree


def said(*command):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, check=True).stdout


def called_by(tree, kind):
    """The names that are called there, and whether something is called by pointer."""
    path, caller, _ = CALLERS[kind]
    code = re.split(r"(?m)^[0-9a-f]+ <(.+)>:$", said("objdump", "-dr", "--no-show-raw-insn", tree / path))
    bodies = [body for name, body in zip(code[1::2], code[2::2])
              if re.fullmatch(rf"({caller})(\.\w+)*", name)]
    assert bodies
    names = set(re.findall(r"R_X86_64_(?:PLT32|PC32)\s+(\w+)-0x4", "".join(bodies)))
    # Not one of a table of jumps, which is indexed: *0x0(,%rax,8).
    return names, bool(re.search(r"(call|jmp)\s+\*(0x[0-9a-f]+\()?%r", "".join(bodies)))


@pytest.mark.parametrize("kind", CALLERS)
def test_what_is_built_in_is_called_by_name(tree, kind):
    names, by_pointer = called_by(tree, kind)
    suffix = CALLERS[kind][2]
    files = [path for path in sorted((tree / "net/sched").glob(f"{kind}_*.o"))
             if path.stem not in ("cls_api", "act_api")]
    assert len(files) >= 9
    for path in files:
        own = re.findall(rf"^[0-9a-f]+ [tT] (\w+_{suffix})$", said("nm", path), re.M)
        assert [name for name in own if name in names], f"{path.stem} has {own}, called are {sorted(names)}"
    assert by_pointer
