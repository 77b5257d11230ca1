# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests with a Debian tree as their root: what runs there, under systemd too, and that it stays clean."""
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
LAB = {"host": True, "builds": ["6.12"], "timeout": 1800, "all_only": True}
LAB_KERNEL = "6.12"


def lab(*args):
    return subprocess.run([str(HERE / "lab"), *map(str, args)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=900, check=False)


@pytest.fixture(scope="module")
def bookworm():
    return tree("bookworm")


def tree(suite):
    done = lab("root", suite)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


def guest(root, *command, options=()):
    return lab("run", LAB_KERNEL, "--no-swsim", "--root", root, *options, "--", *command)


def test_another_root_is_seen_and_stays_as_it_is(bookworm, tmp_path):
    done = guest(bookworm, "sh", "-c", f"cat /etc/debian_version; rm /etc/debian_version;"
                 f" ls {HERE}/README.md; echo x > $LAB_OUT/y", options=("--out", tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("12.")
    assert (bookworm / "etc/debian_version").exists()
    assert (tmp_path / "y").read_text() == "x\n"


def test_systemd_reaches_multi_user_with_nothing_failed(bookworm, tmp_path):
    """The command's own output and exit code come back, and it finds a running system."""
    done = guest(bookworm, "sh", "-c", "ps -o comm= -p 1 2>/dev/null || cat /proc/1/comm;"
                 " systemctl is-system-running --wait; systemctl --failed --plain --no-legend;"
                 " systemctl is-active multi-user.target dbus.service; exit 5",
                 options=("--systemd",))
    assert done.returncode == 5, done.stderr
    assert done.stdout.split() == ["systemd", "running", "active", "active"]


def test_debian_13_brings_its_varlink_tools():
    done = guest(tree("trixie"), "sh", "-c", "cat /etc/debian_version; varlinkctl --version;"
                 " python3 -c 'import varlink'")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("13.")
    assert "systemd 257" in done.stdout
