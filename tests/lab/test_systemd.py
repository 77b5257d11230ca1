# SPDX-License-Identifier: GPL-2.0-or-later
"""swd as users run it: installed by `meson install` into a Debian 12 with systemd, started, reloaded
with good and broken files, killed, frozen, stopped, and started again; asked by users with and
without the group; and `sw-cli ports` beside what Linux's own tools say of every port of a tree of two
DSA switches. The guest boots once and walks all of it (systemd_guest.sh); it is judged here."""
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
KERNEL = "6.1-swd"
LAB = {"host": True, "builds": ["6.1-swd"], "timeout": 1800}
BUILD = Path(os.environ.get("SWD_BUILD", HERE.parents[1] / "build/plain"))
PORTS = [f"lan{i + 1}" for i in range(12)]      # six on each switch
NEEDED = {"cap_net_admin", "cap_net_raw", "cap_sys_admin"}

HEAD = """version: 1
daemon: { port-wait: 2s, writers: [netops] }
ports:
  cpu0: { up: true }
  lan1: { up: true, tx: { flush: 8 } }
  lan7: { up: true }
blocks:
  edge:
    id: 10
    bind: [lan1, lan7]
    tagging: none
    rules:
      - { name: bogons, match: { src: 192.0.2.0/24 }, action: drop }
      - { name: bgp, match: { proto: tcp, dport: 179 }, action: trap }
      - { name: across, match: { dst: 198.18.0.0/15 }, action: { redirect: lan7 } }
"""
FILES = {
    "one": HEAD,
    "two": HEAD + "      - { name: more, match: { dst: 198.51.100.0/24 }, action: drop }\n",
    "broken": HEAD.replace("192.0.2.0/24", "192.0.2.0/33").replace("dport", "dprot")
              + "      - { name: bgp, match: {}, action: dorp }\n",
}


class Seen:
    """What the guest kept under a name."""

    def __init__(self, folder):
        self.folder = folder

    def code(self, name):
        return int((self.folder / f"{name}.code").read_text())

    def out(self, name):
        return (self.folder / f"{name}.out").read_text()

    def err(self, name):
        return (self.folder / f"{name}.err").read_text()

    def good(self, name):
        assert self.code(name) == 0, f"{name}: {self.code(name)} {self.err(name)}{self.out(name)}"
        return self.out(name)

    def json(self, name):
        return json.loads(self.good(name))

    def unit(self, name):
        """systemctl show at that moment."""
        return dict(line.split("=", 1) for line in self.good(f"{name}.unit").splitlines())

    def filters(self, name):
        """The block as the kernel had it, by pref; counters and ages apart."""
        return [f for f in self.json(f"{name}.tc") if "options" in f]


@pytest.fixture(name="seen", scope="module")
def fixture_seen(tmp_path_factory):
    work = tmp_path_factory.mktemp("systemd")
    installed, files, out = work / "installed", work / "files", work / "out"
    for folder in (files, out):
        folder.mkdir()
    work.chmod(0o755)
    for name, text in FILES.items():
        (files / f"{name}.yaml").write_text(text)
    done = run("meson", "install", "--no-rebuild", "-C", BUILD, "--destdir", installed)
    assert done.returncode == 0, done.stdout + done.stderr
    root = run(HERE / "lab", "root", "bookworm")
    assert root.returncode == 0, root.stderr
    done = run(HERE / "lab", "run", KERNEL, "--root", root.stdout.strip(), "--systemd", "--dsa", "12,2",
               "--see", installed, "--see", files, "--out", out, "--timeout", "900", "--",
               HERE / "systemd_guest.sh", installed, files)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "in vain" not in done.stderr, done.stderr
    return Seen(out)


def run(*args):
    return subprocess.run([*map(str, args)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=1500, check=False)


def same_rules(seen, one, other):
    """The kernel's filters, pref by pref and handle by handle."""
    assert seen.filters(one) and seen.filters(one) == seen.filters(other)


def test_installed(seen):
    said = seen.good("install")
    assert re.search(r"^swd:x:\d+:", said, re.M) and "drwxr-xr-x" in said
    assert "/bin/sw-cli" in said
    assert "swd.service" not in seen.good("verify") + seen.err("verify")


def test_start(seen):
    seen.good("start")
    unit, status = seen.unit("started"), seen.json("started.status")
    assert (unit["Type"], unit["ActiveState"], unit["SubState"]) == ("notify", "active", "running")
    assert unit["WatchdogUSec"] == "30s" and unit["NotifyAccess"] == "main"
    assert unit["StatusText"] == "generation 1: 3 ports, 1 blocks, 3 rules; 0 alerts"
    assert status["settled"] and status["rules"] == 3
    assert status["in_hw"] == status["filters"] == len(seen.filters("started"))
    assert "swd.sock" in seen.good("started.files")


def test_the_probe_works_in_the_sandbox(seen):
    """It needs a network namespace, a veth pair, tc and packets of its own."""
    said = seen.json("started.bypass")
    assert said["ability"] == "read-back", said["ability_how"]
    assert [(b["state"], b["strategy"]) for b in said["blocks"]] == [("on", "kernel")]


def test_what_devices_have_as_files_can_be_set_in_the_sandbox(seen):
    assert [line.split(":")[1] for line in seen.good("doorbells").splitlines()] == ["8", "1"]


def test_of_sysfs_only_devices_can_be_written(seen):
    """The last mount at a place is the one that is seen there."""
    modes = {line.split()[4]: line.split()[5].split(",")[0] for line in seen.good("started.mounts").splitlines()}
    assert [modes[path] for path in ("/sys", "/sys/devices", "/sys/devices/system")] == ["ro", "rw", "ro"]


def test_least_privilege(seen, capsys):
    unit, process = seen.unit("started"), dict(
        line.split(":\t", 1) for line in seen.good("started.process").splitlines() if ":\t" in line)
    net, sys_admin = 1 << 12 | 1 << 13, 1 << 21        # net_admin and net_raw
    threads = re.findall(r"task/(\d+)/status:(Cap\w+):\t(\w+)", seen.good("started.threads"))
    assert len({thread for thread, _, _ in threads}) == 2
    for thread, which, held in threads:
        # The bounding set only bounds what a program would get, and NoNewPrivileges gives it none.
        assert int(held, 16) == {"CapEff": net, "CapPrm": net, "CapInh": 0, "CapAmb": 0,
                                 "CapBnd": net | sys_admin}[which], (thread, which)
    assert (process["NoNewPrivs"], process["Seccomp"]) == ("1", "2")
    assert set(unit["CapabilityBoundingSet"].split()) == NEEDED
    for key, value in {"ProtectSystem": "strict", "ProtectHome": "yes", "PrivateDevices": "yes",
                       "ProtectKernelModules": "yes", "MemoryDenyWriteExecute": "yes",
                       "RestrictNamespaces": "net", "RestrictSUIDSGID": "yes"}.items():
        assert unit[key] == value, key
    score = re.search(r"exposure level for swd.service: ([\d.]+)", seen.good("security"))
    with capsys.disabled():
        print(f"\nsystemd-analyze security: {score[1]}; {unit['CapabilityBoundingSet']}")
    assert float(score[1]) < 3


@pytest.mark.parametrize("capability, fails, how", [
    ("NET_ADMIN", True, "network namespace could not be set up"),
    ("NET_RAW", False, "packets did not arrive"),
    ("SYS_ADMIN", False, "no right to make a network namespace"),
])
def test_each_capability_is_needed(seen, capability, fails, how):
    """Without one of them the probe cannot tell, and says why; without CAP_NET_ADMIN nothing can be
    changed either."""
    left = set(seen.unit(f"without.{capability}")["CapabilityBoundingSet"].split())
    assert left == NEEDED - {f"cap_{capability.lower()}"}
    status = seen.json(f"without.{capability}.status")
    assert status["ability"] == "unknown" and how in status["ability_how"]
    assert (seen.code(f"without.{capability}.reload") != 0) == fails
    assert seen.json("before.status")["ability"] == "read-back"


def test_reload_with_a_good_file(seen):
    seen.good("reload.good")
    assert seen.unit("reloaded")["MainPID"] == seen.unit("started")["MainPID"]
    assert len(seen.filters("reloaded")) == len(seen.filters("started")) + 1
    assert "198.51.100.0/24" in seen.good("reloaded.tc") and "198.51.100" not in seen.out("started.tc")
    assert "198.51.100.0/24" in seen.out("reload.heard")    # so that its silence elsewhere means something
    assert seen.unit("reloaded")["StatusText"] == "generation 2: 3 ports, 1 blocks, 4 rules; 0 alerts"


@pytest.mark.parametrize("after", ["refused", "hangup"])
def test_a_broken_file_changes_nothing(seen, after):
    """By `systemctl reload`, and by SIGHUP, which has nobody to tell but the status and the journal."""
    unit = seen.unit(after)
    assert (unit["ActiveState"], unit["NRestarts"]) == ("active", "0")
    assert unit["MainPID"] == seen.unit("started")["MainPID"]
    assert unit["StatusText"].startswith("generation 2: 3 ports, 1 blocks, 4 rules; ")
    assert "last apply: " in unit["StatusText"] and "swd.yaml:13:" in unit["StatusText"]
    assert seen.json(f"{after}.status")["generation"] == 2
    same_rules(seen, "reloaded", after)


def test_a_broken_file_fails_the_reload(seen):
    assert seen.code("reload.broken") != 0
    assert "swd.service failed" in seen.err("reload.broken")
    assert seen.unit("refused")["ReloadResult"] == "exit-code"
    journal, screen = seen.good("refused.journal"), seen.good("refused.text")
    for place in ("13:39", "14:43", "16:17", "16:41"):
        assert len(re.findall(rf"^swd\.yaml:{place}: error: ", journal, re.M)) == 1, place
    assert "sw-cli: " not in journal
    assert "refused" in screen and "swd.yaml:13:39" in screen


def test_a_mended_file_ends_the_trouble(seen):
    seen.good("reload.again")
    assert seen.unit("again")["StatusText"].endswith("4 rules; 0 alerts")
    same_rules(seen, "reloaded", "again")


def test_users(seen):
    """Nobody's, a member of swd, a member of a group in daemon.writers."""
    for name in ("nobodys.status", "nobodys.apply", "reader.apply"):
        assert seen.code(name) == 1 and not seen.out(name)
        assert "is not for you: members of group swd may ask" in seen.err(name), name
    assert "generation 2" in seen.good("reader.status")
    assert seen.code("reader.plan") == 10
    assert re.fullmatch(r"block 10\n  - block 10 .* flower .*\n1 step\n", seen.out("reader.plan"))
    seen.good("writer.status")
    seen.good("writer.apply")
    assert len(seen.filters("users")) == len(seen.filters("started"))
    seen.good("reload.users")


def test_kill(seen):
    """Restart= brings it back, and it finds its filters as they were: tc hears of no change."""
    unit = seen.unit("killed")
    assert (unit["ActiveState"], unit["NRestarts"]) == ("active", "1")
    assert unit["MainPID"] != seen.unit("started")["MainPID"]
    assert not seen.out("kill.heard")
    assert [(f["pref"], f["options"]) for f in seen.filters("killed")] == \
        [(f["pref"], f["options"]) for f in seen.filters("before")]


def test_a_slow_reload_is_waited_for(seen, capsys):
    """systemd ends a reload after TimeoutStartSec (8 s here), unless swd says that it is at work."""
    seen.good("slow.before")
    seen.good("slow.reload")
    seconds = int(seen.out("slow.seconds"))
    with capsys.disabled():
        print(f"\na reload of {seconds} s with a limit of 8 s")
    assert seconds > 12     # so that there was something to extend
    unit = seen.unit("slow")
    assert (unit["ActiveState"], unit["ReloadResult"], unit["TimeoutStartUSec"]) == \
        ("active", "success", "8s")
    assert "198.51.100.0/24" in seen.good("slow.tc")


def test_watchdog(seen):
    """Fed in time it does nothing; a frozen swd is ended and replaced."""
    before, after, restarts = seen.good("watchdog.fed").split()
    assert before == after and restarts == "0"
    unit = seen.unit("watchdog")
    assert unit["ActiveState"] == "active" and unit["MainPID"] != before and unit["NRestarts"] == "1"
    assert "Watchdog timeout" in seen.good("watchdog.journal")


def test_stop_leaves_all_in_the_kernel(seen):
    seen.good("stop")
    unit = seen.unit("stopped")
    assert (unit["ActiveState"], unit["Result"]) == ("inactive", "success")
    assert "swd.sock" not in seen.out("stopped.files") and seen.code("stopped.status") == 3
    assert "no swd at /run/swd/swd.sock" in seen.err("stopped.status")
    same_rules(seen, "before", "stopped")


def test_start_again_changes_nothing(seen):
    seen.good("start.again")
    assert not seen.out("stop.heard")
    same_rules(seen, "before", "restarted")
    before, after = seen.json("before.status"), seen.json("restarted.status")
    assert after["generation"] == before["generation"] and after["repairs"] == 0
    assert after["counts"]["sends"] == 0
    assert not seen.good("failed")


def test_ports_as_strangers_see_them(seen, capsys):
    """Switch, port number, conduit, tagger and offload of every port of the tree: iproute2, devlink,
    ethtool and /sys say the same."""
    rows = {row["name"]: row for row in seen.json("ports.json")["ports"]}
    links = {link["ifname"]: link for link in seen.json("ip")}
    ports = {port["netdev"]: (handle, port) for handle, port in seen.json("devlink")["port"].items()
             if "netdev" in port}
    sys = dict(line.split(":", 1) for line in seen.good("sys").splitlines())
    members = {name: [int("".join(cells[i:i + 4]), 16) for i in (0, 4)]
               for name, *cells in map(str.split, seen.out("members").splitlines())}
    assert sorted(PORTS) == sorted(members) == sorted(
        name for name, link in links.items() if link.get("linkinfo", {}).get("info_kind") == "dsa")
    for name in PORTS:
        row, link, (handle, port) = rows[name], links[name], ports[name]
        index = PORTS.index(name) // 6
        assert row["switch"] == link["phys_switch_id"] == sys[f"{name}/phys_switch_id"]
        assert row["switch_index"] == members[name][1] == index
        assert handle == f"platform/switch{index}/{row['port_number']}"
        assert row["port_number"] == port["port"] and port["flavour"] == "physical"
        assert row["port_name"] == link["phys_port_name"] == sys[f"{name}/phys_port_name"]
        assert row["conduit"] == link["link"] == link["linkinfo"]["info_data"]["conduit"] == "cpu0"
        assert row["tagger"] == sys[f"{row['conduit']}/dsa/tagging"] == "dsa"
        assert row["tc_offload"] == (name != "lan12")
        word = "on" if row["tc_offload"] else "off"
        assert re.search(rf"^hw-tc-offload: {word}", seen.good(f"ethtool.{name}"), re.M)
        assert re.search(rf"^{name} .* {row['switch']}/{index} +{port['port']} +{row['port_name']} "
                         rf"+cpu0 +dsa +{word} ", seen.good("ports.text"), re.M)
    with capsys.disabled():
        print("\n" + seen.out("ports.text"))
