# SPDX-License-Identifier: GPL-2.0-or-later
"""How a kernel is started: the command lines of User-mode Linux and of QEMU, and what their guests
call the lab's channels (out, err, ctl), each of which is a file descriptor here."""
from pathlib import Path

from . import virtionet
from .kernel import Kernel
from .paths import LabError

DEVICES = {
    # Serial lines, not consoles: systemd's getty takes those.
    "um": {"out": "/dev/ttyS1", "err": "/dev/ttyS2", "ctl": "/dev/ttyS3"},
    "x86": {"out": "/dev/vport0p1", "err": "/dev/vport0p2", "ctl": "/dev/vport0p3"},
}
SHARE_FS = {"um": "hostfs", "x86": "9p"}
# Without a panic a guest whose kernel faulted could sit on a lock until the time-out. What is built
# in would make devices that nobody asked for.
COMMON = ["oops=panic", "panic=-1", "loglevel=7", "systemd.getty_auto=no",
          "dummy.numdummies=0", "ifb.numifbs=0", "bonding.max_bonds=0"]


def _um(kernel: Kernel, memory: str, fds: dict, private: Path, init: list, dtb, _share,
        nics) -> list:
    if nics:
        raise LabError(f"{kernel.variant.name} takes no --nic: it is no guest of QEMU")
    line = [str(kernel.image), f"mem={memory}", "root=/dev/root", "rootfstype=hostfs",
            "rootflags=/", "ro", f"uml_dir={private}/mem/", "umid=guest", "con=null",
            "con0=null,fd:1", "stderr=1", "ssl=null", *COMMON, *init]
    for name, device in DEVICES["um"].items():
        if name in fds:
            source = f"fd:{fds[name]}" if name == "tty" else "null"
            line.append(f"ssl{device[-1]}={source},fd:{fds[name]}")
    if "tty" in fds:
        line.append(f"ssl1=fd:{fds['tty']},fd:{fds['tty']}")
    if dtb:
        line.append(f"dtb={dtb}")
    return line


def _x86(kernel: Kernel, memory: str, fds: dict, _private: Path, init: list, dtb, share: list,
         nics: list) -> list:
    if dtb:
        raise LabError(f"{kernel.variant.name} takes no device tree")
    line = ["unshare", "--net", "--"] if virtionet.own_network(nics) else []
    line += ["qemu-system-x86_64", "-M", "q35", "-cpu", "max", "-smp", "2",
             "-accel", "tcg,thread=multi", "-m", memory, "-display", "none", "-no-reboot",
             "-nodefaults", "-serial", "stdio",
             "-kernel", str(kernel.image),
             # First of its kind: the guest calls its ports after its number.
             "-device", "virtio-serial-pci",
             "-fsdev", "local,id=root,path=/,security_model=none,readonly=on,multidevs=remap",
             "-device", "virtio-9p-pci,fsdev=root,mount_tag=host"]
    for i, path in enumerate(share):
        line += ["-fsdev", f"local,id=share{i},path={path},security_model=none,multidevs=remap",
                 "-device", f"virtio-9p-pci,fsdev=share{i},mount_tag=share{i}"]
    for number, name in enumerate(("out", "err", "ctl"), 1):
        if name in fds:
            line += ["-add-fd", f"fd={fds[name]},set={number}",
                     "-chardev", f"file,id={name},path=/dev/fdset/{number},append=on",
                     "-device", f"virtserialport,chardev={name},nr={number}"]
    if "tty" in fds:
        line += ["-chardev", f"serial,id=tty,path=/proc/self/fd/{fds['tty']}",
                 "-device", "virtconsole,chardev=tty,nr=4"]
    line += virtionet.words(nics, share[0] if share else None)
    if "monitor" in fds:
        line += ["-chardev", f"socket,id=monitor,fd={fds['monitor']}",
                 "-mon", "chardev=monitor,mode=control"]
    kernel_line = ["console=ttyS0", "root=host", "rootfstype=9p",
                   "rootflags=trans=virtio,version=9p2000.L,msize=262144", "ro", *COMMON, *init]
    return line + ["-append", " ".join(kernel_line)]


def command(kernel: Kernel, memory: str, fds: dict, private: Path, init: list, dtb=None,
            share=(), nics=()) -> list:
    """The command that is the guest. FDS: descriptors of "out", "err", "ctl" or, for a shell, "tty", and
    perhaps QEMU's "monitor". PRIVATE is a directory of this run. INIT are the kernel parameters that name
    init and its job. NICS are the guest's Nics."""
    start = {"um": _um, "x86": _x86}[kernel.variant.machine]
    return start(kernel, memory, fds, private, init, dtb, list(share), list(nics))
