# SPDX-License-Identifier: GPL-2.0-or-later
"""More happens than the event socket holds: 20,000 changes while swd is stopped, some to what is ours. When it
goes on it takes one look at everything, and all is as the file says; what is foreign stays."""
import json
import os
import signal
import time
from pathlib import Path

import pytest

from swdlab import Swd
from swsimlab import load, run, tc, unload

LAB = {"variants": ["6.1-swd"], "mem": "512M", "timeout": 300}

FILTERS, LINKS, STAY = 5000, 10000, 10      # 20,000 changes: each filter comes and goes, and ten stay
FILE = """version: 1
daemon: { audit: 1h }
ports:
  cpu0: { up: true }
  lan1: { up: true, mtu: 1500, addresses: [192.0.2.1/24] }
  lan2: { up: true }
vlans:
  lan2.30: { link: lan2, id: 30, addresses: [10.30.0.1/24] }
blocks:
  edge:
    id: 10
    bind: [lan1, lan2]
    tagging: none
    rules:
""" + "".join(f"      - {{ name: r{i}, match: {{ dst: 198.18.{i}.0/24 }}, action: drop }}\n" for i in range(20))
LOOK = 4        # dumps: links, addresses, qdiscs, and the one block


@pytest.fixture(name="swd")
def fixture_swd(tmp_path):
    load(ports=2)
    swd = Swd(tmp_path, FILE)
    swd.settle(20)
    yield swd
    code = swd.stop()
    unload()
    assert code == 0, swd.log.read_text()


def shown():
    said = json.loads(run("tc", "-j", "filter", "show", "block", "10").stdout)
    return [f for f in said if {"in_hw", "not_in_hw"} & set(f.get("options", {}))]


def ours():
    return sorted(json.dumps([f["pref"], f["options"]["handle"], f["options"]["keys"], f["options"].get("in_hw")])
                  for f in shown() if f["pref"] < 40000)


def devices():
    return {link["ifname"]: (link["mtu"], "UP" in link["flags"], [a["local"] for a in link["addr_info"]])
            for link in json.loads(run("ip", "-j", "addr").stdout) if not link["ifname"].endswith("w")}


def dropped():
    """How many messages the kernel did not get into a socket, of all there are."""
    return sum(int(line.split()[8]) for line in Path("/proc/net/netlink").read_text().splitlines()[1:])


def cpu(swd):
    words = Path(f"/proc/{swd.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def flood():
    lines = [f"block 10 protocol ip pref 40000 handle {1 + i} flower skip_sw dst_ip 10.{1 + i // 250}.{i % 250}.0/24"
             for i in range(FILTERS)]
    tc(*[f"filter add {line} action drop" for line in lines])
    tc(*[f"filter del {' '.join(line.split()[:8])} flower" for line in lines[STAY:]])
    run("ip", "-batch", "-", text="".join(f"link set lan2w mtu {1400 + i % 2}\n" for i in range(LINKS)))


def break_ours(rules):
    tc("filter del block 10 protocol ip pref " + str(json.loads(rules[0])[0]))
    run("ip", "link", "set", "lan1", "mtu", "1400")
    run("ip", "addr", "del", "192.0.2.1/24", "dev", "lan1")
    run("ip", "link", "del", "lan2.30")


def test_nl_01_one_resync(swd):
    rules, rest, start = ours(), devices(), swd.status()["counts"]
    assert len(rules) == 20 and rest["lan2.30"][2] == ["10.30.0.1"]
    break_ours(rules)
    swd.until(lambda: ours() == rules and devices() == rest and swd.status()["settled"], "repair", 20)
    time.sleep(1)
    before, spent = swd.status()["counts"], cpu(swd)
    repair = before["dumps"] - start["dumps"]

    swd.process.send_signal(signal.SIGSTOP)
    try:
        flood()
        break_ours(rules)
        assert dropped() > 0, "all found room: " + Path("/proc/net/netlink").read_text()
        assert ours() != rules and devices() != rest
    finally:
        swd.process.send_signal(signal.SIGCONT)
    took = swd.until(lambda: swd.status()["counts"]["overruns"] > 0 and swd.status()["settled"], "rest", 20)
    assert ours() == rules and devices() == rest
    assert len([f for f in shown() if f["pref"] == 40000]) == STAY
    time.sleep(1)
    counts = swd.status()["counts"]
    dumps = counts["dumps"] - before["dumps"]
    assert counts["overruns"] - before["overruns"] == 1, counts
    assert LOOK <= dumps <= LOOK + repair, f"{dumps} dumps, {repair} of them for the repair alone"
    assert swd.log.read_text().count("events were lost") == 1
    found, others = swd.rules("edge")
    assert all(rule["state"] == "in hardware" for rule in found)
    assert len([f for f in others if f["pref"] == 40000]) == STAY
    print(f"{dumps} dumps, {repair} without the overrun; {counts['events'] - before['events']} events read, {dropped()} dropped, {took:.2f} s to rest, "
          f"{cpu(swd) - spent:.2f} s of CPU")
