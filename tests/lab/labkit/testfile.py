# SPDX-License-Identifier: GPL-2.0-or-later
"""What a lab test file asks for. Each tests/lab/test_*.py says it in a literal at its top:

    LAB = {"variants": ["6.1-swd"], "mem": "512M", "timeout": 300}

It is read without running the file. Keys, all optional:
    variants      the kernels to run under, one boot each; none for a host test
    all_variants  further ones, under --all only
    mem, timeout  for each boot
    dsa           "PORTS[,SWITCHES[,CPUS]]": the device tree of a DSA switch
    all_only      the whole file only under --all
    host          pytest runs on the host, and the file uses tests/lab/lab by itself
    builds        kernels that a host test will boot, built before it starts
    faults        it runs the build with -Dfaults=true
    modules       further kernel modules of its guests: directories in tests/lab/modules
    nics          virtio-net devices of its guests, as `lab run --nic` takes them; under QEMU only
"""
import ast
from dataclasses import dataclass, field
from pathlib import Path

from . import variants, virtionet
from .paths import LabError

_KEYS = {"variants": list, "all_variants": list, "builds": list, "mem": str,
         "timeout": (int, float), "dsa": str, "all_only": bool, "host": bool,
         "faults": bool, "modules": list, "nics": list}


@dataclass
class TestFile:
    path: Path
    variants: list = field(default_factory=list)
    all_variants: list = field(default_factory=list)
    builds: list = field(default_factory=list)
    mem: str = None
    timeout: float = 300
    dsa: str = None
    all_only: bool = False
    host: bool = False
    faults: bool = False
    modules: list = field(default_factory=list)
    nics: list = field(default_factory=list)

    def boots(self, everything: bool) -> list:
        """The variants to run under; [None] for the host. An emulated machine takes minutes."""
        if self.all_only and not everything:
            return []
        if self.host:
            return [None]
        chosen = self.variants + (self.all_variants if everything else [])
        return [v for v in chosen if everything or variants.find(v).machine == "um"]

    def can_run_on(self, name: str) -> bool:
        """In a guest of another variant of a kernel that the file is for. Only User-mode Linux takes a
        device tree, and only QEMU virtio-net devices."""
        found = variants.find(name)
        return (any(variants.find(v).kernel == found.kernel for v in self.variants + self.all_variants)
                and not (self.dsa and found.machine != "um") and not (self.nics and found.machine == "um"))


def read(path: Path) -> TestFile:
    said = None
    for node in ast.parse(path.read_text()).body:
        if (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
                and node.targets[0].id == "LAB"):
            try:
                said = ast.literal_eval(node.value)
            except ValueError as error:
                raise LabError(f"{path.name}: LAB is no literal: {error}") from error
    if said is None:
        raise LabError(f"{path.name}: has no LAB = {{...}}")
    for key, value in said.items():
        if key not in _KEYS or not isinstance(value, _KEYS[key]):
            raise LabError(f"{path.name}: LAB has no {key!r} of that type")
    test = TestFile(path, **said)
    for name in test.variants + test.all_variants + test.builds:
        variants.find(name)
    for text in test.nics:
        virtionet.parse(text)
    if test.host == bool(test.variants + test.all_variants):
        raise LabError(f"{path.name}: LAB wants either variants or host")
    return test
