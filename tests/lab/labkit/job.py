# SPDX-License-Identifier: GPL-2.0-or-later
"""What a guest is to do, and the file that tells its init (guest/job.h)."""
import os
from dataclasses import dataclass, field
from pathlib import Path

from . import paths
from .paths import LabError

# Directories of the guest that are fresh, so that what the host has there must be named to be seen.
FRESH = ("/tmp", "/run")

# Variables that carry over from the host.
CARRIED = ("PATH", "HOME", "TERM", "LANG", "USER")

# Under systemd: what waits for hardware, tends a disk or a login, and only makes the boot long.
MASKED_UNITS = (
    "apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer",
    "e2scrub_reap.service", "fstrim.timer", "getty.target", "kmod-static-nodes.service",
    "modprobe@configfs.service", "modprobe@dm_mod.service", "modprobe@drm.service",
    "modprobe@efi_pstore.service", "modprobe@fuse.service", "modprobe@loop.service",
    "systemd-logind.service", "systemd-machine-id-commit.service",
    "systemd-networkd-wait-online.service", "systemd-random-seed.service",
    "systemd-timesyncd.service", "systemd-tmpfiles-clean.timer", "systemd-update-utmp.service",
    "systemd-update-utmp-runlevel.service", "systemd-user-sessions.service",
)
# The lab's kernels are built small and take no PID above 32768.
MASKED_SETTINGS = ("50-pid-max.conf",)


@dataclass
class Job:
    command: list
    mode: str = "run"               # "run", "shell" or "systemd"
    root: Path = Path("/")
    cwd: Path = field(default_factory=Path.cwd)
    share: list = field(default_factory=list)   # directories that the guest may write
    see: list = field(default_factory=list)     # directories that must be visible
    env: dict = field(default_factory=dict)
    modules: Path = None
    leaks: bool = False


def environment(extra: dict, out: Path, variant: str) -> dict:
    """The few variables that carry over, and our own."""
    env = {name: os.environ[name] for name in CARRIED if name in os.environ}
    env["LAB"] = variant
    if out:
        env["LAB_OUT"] = str(out)
    env.update(extra)
    return env


def _below(path: Path, tops) -> bool:
    return any(path == Path(top) or Path(top) in path.parents for top in tops)


def _visible(job: Job) -> list:
    """The directories that need a mount of their own; with the host's root only those that a fresh
    one hides."""
    wanted = sorted({p.resolve() for p in [paths.REPO, job.cwd, *job.see]})
    if job.root == Path("/"):
        wanted = [p for p in wanted if _below(p, FRESH)]
    chosen = []
    for path in wanted:
        if path in [Path("/"), *map(Path, FRESH)]:
            raise LabError(f"the guest cannot start in, or show, the host's {path}: it has its own")
        if not _below(path, chosen + job.share):
            chosen.append(path)
    return chosen


def write(job: Job, devices: dict, share_fs: str, path: Path):
    """Writes the job's file; DEVICES are the guest's names for out, err and ctl."""
    lines = [("mode", job.mode), ("share-fs", share_fs), ("root", job.root),
             ("cwd", job.cwd.resolve()), ("leaks", int(job.leaks))]
    if job.mode == "systemd":
        lines += [("mask", f"/run/systemd/system/{unit}") for unit in MASKED_UNITS]
        lines += [("mask", f"/run/sysctl.d/{name}") for name in MASKED_SETTINGS]
    lines += [(name, device) for name, device in devices.items() if device]
    if job.modules:
        lines.append(("modules", job.modules))
    if job.mode == "shell":
        size = os.get_terminal_size()
        lines += [("rows", size.lines), ("columns", size.columns)]
    lines += [("see", p) for p in _visible(job)] + [("share", p) for p in job.share]
    lines += [("env", f"{k}={v}") for k, v in job.env.items()] + [("arg", a) for a in job.command]
    for key, value in lines:
        text = str(value)
        if "\0" in text or (key in ("root", "see", "share") and any(c in text for c in ",:\\")):
            raise LabError(f"the guest cannot be given {key} {text!r}")
    path.write_bytes(b"".join(f"{k}={v}\0".encode(errors="surrogateescape") for k, v in lines))
