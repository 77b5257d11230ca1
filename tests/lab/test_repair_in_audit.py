# SPDX-License-Identifier: GPL-2.0-or-later
"""An audit holds no repair up: swd reads a block of 20,000 rules every second, and meanwhile a stranger deletes
filters of it, half of them while the kernel is telling the block. The clock is that of bench/repair."""
import json
import random
import statistics
import sys
import time
from pathlib import Path

from swdlab import Swd
from swsimlab import load, run, unload, wait

sys.path.append(str(Path(__file__).resolve().parents[1] / "bench"))
from benchkit.stranger import Stranger, filter_gone         # noqa: E402

LAB = {"variants": ["6.1-swd"], "all_variants": ["6.12"], "mem": "1G", "timeout": 300}

RULES, BREAKAGES = 20000, 40
EACH_MS, MEDIAN_MS = 1000, 20       # a busy machine holds up one or the other, but not half of them
FILE = """version: 1
daemon: { audit: 1s }
ports:
  sim0: { up: true }
blocks:
  big:
    id: 10
    bind: [sim0]
    tagging: none
    rules:
""" + "".join(f"      - {{ name: r{i}, match: {{ dst: 10.0.{i >> 8}.{i & 255} }}, action: drop }}\n"
              for i in range(RULES))


def places():
    shown = json.loads(run("tc", "-j", "filter", "show", "block", "10").stdout)
    return [(10, f["pref"], f["options"]["handle"]) for f in shown if "keys" in f.get("options", {})]


def is_dumping():
    """Whether the kernel is telling something to somebody in parts: here that is swd's audit alone."""
    lines = Path("/proc/net/netlink").read_text().splitlines()
    column = lines[0].split().index("Dump")
    return any(line.split()[column] != "0" for line in lines[1:])


def test_repair_does_not_wait_for_an_audit(tmp_path):
    chance = random.Random(1)
    load(nics=1)
    swd = Swd(tmp_path, FILE)
    swd.settle(60)
    there = places()
    assert len(there) == RULES
    stranger = Stranger()
    before, began, took, inside = swd.status(), time.monotonic(), [], []
    for i in range(BREAKAGES):
        if i % 2:
            wait(is_dumping, "an audit", 5)
            time.sleep(chance.uniform(0, 0.05))
        else:
            time.sleep(chance.uniform(0, 0.5))
        met = is_dumping()
        place = chance.choice(there)
        took.append(stranger.breaks([filter_gone(place)], ("gone", True, *place), [], [("new", False, *place)], 10))
        if met:
            inside.append(took[-1])
    seconds = time.monotonic() - began
    swd.until(lambda: swd.status()["repairs"] - before["repairs"] == BREAKAGES, "the last repair's news")
    audits = swd.status()["counts"]["dumps"] - before["counts"]["dumps"]
    print(f"{BREAKAGES} breakages in {seconds:.1f} s, {len(inside)} inside an audit, {audits} dumps; "
          f"median {statistics.median(took):.1f} ms, inside {statistics.median(inside):.1f}, most {max(took):.1f} ms")
    assert sorted(places()) == sorted(there)
    assert audits >= seconds / 4        # four dumps each, one of them of the block; it may come late
    assert len(inside) >= BREAKAGES // 4
    assert statistics.median(took) < MEDIAN_MS and max(took) < EACH_MS, sorted(took)[-5:]
    assert statistics.median(inside) < MEDIAN_MS, sorted(inside)
    assert swd.stop() == 0, swd.log.read_text()
    unload()
