# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of swsim share: loading it, tc in batches, debugfs, counters. In a guest only."""
import json
import re
import subprocess
import time
from pathlib import Path

DEBUGFS = Path("/sys/kernel/debug/swsim")
DST, SRC, OTHER = "02:00:00:00:00:01", "02:00:00:00:00:02", "02:00:00:00:00:99"


def run(*command, check=True, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if check and done.returncode:
        raise AssertionError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done


def no_ipv6():
    """Devices say nothing by themselves."""
    for scope in ("all", "default"):
        Path(f"/proc/sys/net/ipv6/conf/{scope}/disable_ipv6").write_text("1")


def bring_up(names):
    run("ip", "-batch", "-", text="\n".join(f"link set {name} up" for name in names))


def load_anew(*options):
    """Loads the module anew, for devices that are quiet; with a device tree, its switches come too."""
    no_ipv6()
    unload()
    no_helper()
    run("modprobe", "swsim", *options)


def load(nics=0, ports=0, queues=1, up=True):
    """Loads the module anew, and brings all its devices up, quiet."""
    load_anew(f"nics={nics}", f"ports={ports}", f"queues={queues}")
    names = [f"sim{i}" for i in range(nics)] + [f"lan{i + 1}" for i in range(ports)]
    if not up:
        return names
    bring_up(["cpu0"] * bool(ports) + [f"{name}w" for name in names] + names)
    wait(lambda: all(carrier(name) for name in names), "carrier of all ports")
    return names


def four_ports():
    """The whole of a fixture: a switch of four ports, for a file or a test."""
    load(ports=4)
    yield
    unload()


def no_helper():
    """The kernel asks modprobe for a PHY driver at each DSA port; nothing here has one to offer,
    and a process for each takes most of the time that loading does."""
    Path("/proc/sys/kernel/modprobe").write_text("\n")


def unload():
    if Path("/sys/module/swsim").exists():
        run("rmmod", "swsim")


def carrier(device):
    try:
        return Path(f"/sys/class/net/{device}/carrier").read_text().strip() == "1"
    except OSError:
        return False


def wait(condition, what, timeout=10.0):
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.02)


def tc(*lines, force=False):
    """All lines in one tc. With force, lines that fail are passed over. Returns what tc said."""
    command = ["tc"] + ["-force"] * force + ["-batch", "-"]
    return run(*command, check=not force, text="\n".join(lines) + "\n").stderr


def tc_shows(*lines):
    """What one tc prints for each line; [] where it refuses one, as for a block that is not there."""
    done = run("tc", "-j", "-force", "-batch", "-", text="\n".join(lines) + "\n", check=False)
    refused = {int(number) for number in re.findall(r"Command failed -:(\d+)", done.stderr)}
    said, found = done.stdout.lstrip(), []
    for number in range(1, len(lines) + 1):
        value = []
        if number not in refused:
            value, end = json.JSONDecoder().raw_decode(said)
            said = said[end:].lstrip()
        found.append(value)
    assert not said, said
    return found


def refused(line):
    """The words with which the kernel refuses a tc line; fails when it does not."""
    done = run("tc", *line.split(), check=False)
    assert done.returncode, f"was taken: tc {line}"
    return done.stderr


def all_refused(*lines):
    """As refused(), for many lines in one tc: a list of its words, one for each line."""
    done = run("tc", "-force", "-batch", "-", check=False, text="\n".join(lines) + "\n")
    said, words = {}, []
    for row in done.stderr.splitlines():
        failed = re.match(r"Command failed -:(\d+)$", row)
        if failed:
            said[int(failed.group(1))] = "\n".join(words)
            words = []
        else:
            words.append(row)
    for number, line in enumerate(lines, 1):
        assert number in said, f"was taken: tc {line}"
    return [said[number] for number in range(1, len(lines) + 1)]


def filters(device, direction="ingress"):
    """The filters of a device with statistics, without the headers of each pref."""
    text = run("tc", "-s", "-j", "filter", "show", "dev", device, direction).stdout
    return [f for f in json.loads(text or "[]") if "options" in f and
            ("handle" in f["options"] or "in_hw" in f["options"] or "not_in_hw" in f["options"])]


def block_filters(block):
    """The same of a block; none if nobody binds it."""
    done = run("tc", "-s", "-j", "filter", "show", "block", str(block), check=False)
    assert done.returncode == 0 or "Cannot find block" in done.stderr, done.stderr
    shown = json.loads(done.stdout.strip() or "[]") if done.returncode == 0 else []
    return [f for f in shown if {"in_hw", "not_in_hw"} & set(f.get("options", {}))]


def knob(instance, name, value=None):
    path = DEBUGFS / instance / name
    if value is not None:
        path.write_text(f"{value}\n")  # an empty text would not be written at all
    return path.read_text()


def rules(instance, having=""):
    """The rules of an instance as (text of place and match, text of actions, packets, bytes);
    with `having`, those whose line has this text."""
    found = []
    for line in knob(instance, "rules").splitlines():
        if having not in line:
            continue
        match, actions, counts, _ = line.split(" :", 3)
        packets, count = re.search(r"packets (\d+) bytes (\d+)", counts).groups()
        found.append((match, actions.strip(), int(packets), int(count)))
    return found


def tx_queues(instance):
    """A list with {name: number} for each transmit queue of a NIC: frames bells waiting ..."""
    rows = [line.split()[1:] for line in knob(instance, "tx_queues").splitlines()]
    return [dict(zip(row[::2], map(int, row[1::2]))) for row in rows]


def counters(instance):
    """{device or instance: {name: (packets, bytes)}}"""
    found = {}
    for line in knob(instance, "counters").splitlines():
        name, *words = line.split()
        found[name] = {key: tuple(map(int, value.split("/")))
                       for key, value in zip(words[::2], words[1::2])}
    return found
