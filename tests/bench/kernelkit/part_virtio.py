# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames of a TX_RING that share a doorbell, on virtio-net under QEMU: how often it is rung.

Doorbells are counted there and not timed: an emulated machine has no speed that says anything. QEMU asks the
driver to leave the bell alone while it is at work (`cable`), so there it is chance how often it rings; a
device that never asks (`sink`) is rung as often as is owed.
"""
import tempfile
from pathlib import Path

from benchkit.guest import rows, say
from kernelkit.frame import FEWEST, row

GUEST = Path(__file__).with_name("guest_virtio.py")
NICS = ("cable", "cable", "sink,sink=on,event_idx=off,ioeventfd=off")
KERNELS = ("6.1-smp", "6.12-smp")
DEVICES = {"sink": "a bell that nothing mutes", "cable": "QEMU's defaults"}
NUMBERS = (2, 4, 8, 16, 32, 64)


def counted(kernel, numbers):
    say(f"virtio: {kernel}")
    lab = [word for nic in NICS for word in ("--nic", nic)]
    with tempfile.TemporaryDirectory(prefix="swd-doorbells-") as out:
        for said in rows(kernel, [GUEST, "--runs", FEWEST, "--n", *numbers],
                         lab=[*lab, "--out", out, "--mem", "1024M"], timeout=1500):
            found = row("virtio", kernel, f"frames to a doorbell, {DEVICES[said['device']]}", said["n"],
                        "frames", said["before"], said["after"])
            yield found | {"device": said["device"]}


def run(options):
    numbers = (8,) if options.quick else NUMBERS
    return [found for kernel in KERNELS for found in counted(kernel, numbers)]


def judge(report, all_rows):
    """It is rung once for N frames; less often where it is muted."""
    for r in all_rows:
        if r["device"] == "sink":
            report.check(f"virtio {r['kernel']}: frames to a doorbell, {r['n']}", "1, and N",
                         f"{set(r['samples_before'])}, {set(r['samples_after'])}",
                         set(r["samples_before"]) == {1} and set(r["samples_after"]) == {r["n"]})
        else:
            report.check(f"virtio {r['kernel']}: the same, where QEMU mutes the bell, {r['n']}", ">= N",
                         f"{min(r['samples_after']):.1f}", min(r["samples_after"]) >= r["n"])
