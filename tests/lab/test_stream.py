# SPDX-License-Identifier: GPL-2.0-or-later
"""A stream of numbered frames at full rate over one rule, while swd reloads, is killed, comes back, reverts, and
replaces the rule on hardware of three kinds. tests/lab/stream.c sends and counts: each frame comes out once, and
none reaches the CPU, but in a gap that was allowed. swsim takes 200 ms for each install and lets the CPU go on
meanwhile, as slow hardware does: so frames are on their way inside of each change, and not only between changes."""
import json
import mmap
import os
import signal
import struct
import subprocess
import time
from pathlib import Path

import pytest

from swdlab import BUILD, Swd
from swsimlab import counters, knob, load, rules, run, unload

LAB = {"variants": ["6.1-swd"], "all_variants": ["6.1", "6.12"], "mem": "768M", "timeout": 1200}

DELAY_MS = 200
DST = "10.2.0.1"


class Stream:
    """Sends from a wire until end(); places are where frames may come out: outputs, then the CPU."""

    def __init__(self, source, *places):
        self.path = Path("/tmp/progress")
        self.path.write_bytes(bytes(8))
        # What the receivers' half of the CPU can't take at once is to wait, and not to be lost.
        Path("/proc/sys/net/core/netdev_max_backlog").write_text("30000")
        for wire in (place for place in places if place.endswith("w")):
            run("ethtool", "-G", wire, "rx", "30000", check=False)      # says no where it is so already
            assert "30000" in run("ethtool", "-g", wire).stdout.split("Current")[1]
        self.page = mmap.mmap(os.open(self.path, os.O_RDWR), 8)
        self.instance = "dsa0" if source.startswith("lan") else source.removesuffix("w")
        self.places = places
        self.before = self.to_cpu()
        self.process = subprocess.Popen(
            [BUILD / "tests/lab/stream", source, DST, self.path, str(DELAY_MS), *places],
            stdout=subprocess.PIPE, text=True)
        self.reach(1)

    def to_cpu(self):
        return counters(self.instance)[self.places[-1]]["to_cpu"][0]

    def sent(self):
        return struct.unpack("=Q", self.page[:8])[0]

    def reach(self, more=2000):
        """Waits until so many more frames were sent; returns the number."""
        start, end = self.sent(), time.monotonic() + 90      # a guest may get little of a busy machine
        while self.sent() < start + more:
            assert self.process.poll() is None and time.monotonic() < end, "the stream stands still"
            time.sleep(0.002)
        return self.sent()

    def end(self):
        self.reach()
        self.process.send_signal(signal.SIGTERM)
        said = json.loads(self.process.communicate(timeout=30)[0])
        assert self.process.returncode == 0
        assert said["strange"] == 0 and not any(p["overflow"] for p in said["places"].values()), said
        said["to_cpu"] = self.to_cpu() - self.before
        said["rate"] = said["sent"] / said["ns"] * 1e9
        return said


def came_once(said, *outputs):
    """Each frame came out at one of these, once, and the CPU saw none."""
    told = {key: value for key, value in said.items() if key != "changes"}
    assert said["lost"]["frames"] == 0, told
    assert sum(p["twice"] for p in said["places"].values()) == 0, told
    assert sum(said["places"][name]["count"] for name in outputs) == said["sent"], told
    assert said["to_cpu"] == 0, told


def during(said, first, last):
    """The changes of filters that happened while frames first to last were sent, and how many of these frames
    were sent from the beginning of the first of them, inside of the kernel, to the end of the last."""
    changes = [c for c in said["changes"] if first <= c["begun"] and c["sent"] <= last]
    return changes, changes[-1]["sent"] - changes[0]["begun"] if changes else 0


def text(action="sim1", more="", ports="sim0", other="drop"):
    """The rule of the stream stands between 20 others of its kind and one behind it for all."""
    head = "".join(f"      - {{ name: a{i}, match: {{ dst: 10.9.{i}.0/24 }}, action: drop }}\n" for i in range(20))
    return f"""version: 1
blocks:
  edge:
    id: 10
    bind: [{ports}]
    tagging: none
    rules:
{head}{more}      - {{ name: stream, match: {{ dst: {DST} }}, action: {{ redirect: {action} }} }}
      - {{ name: other, match: {{ dst: 10.3.0.0/16, proto: udp }}, action: {other} }}
"""


@pytest.fixture(name="box", params=["nic", "dsa"])
def fixture_box(request):
    """(source, outputs, CPU's side, instance) over fresh hardware."""
    nic = request.param == "nic"
    load(nics=3 if nic else 0, ports=0 if nic else 3)
    names = ["sim0", "sim1", "sim2"] if nic else ["lan1", "lan2", "lan3"]
    knob("sim0" if nic else "dsa0", "install_delay_ms", DELAY_MS)
    yield names
    unload()


@pytest.fixture(name="nic")
def fixture_nic():
    load(nics=3)
    knob("sim0", "install_delay_ms", DELAY_MS)
    yield ["sim0", "sim1", "sim2"]
    unload()


@pytest.fixture(name="begin")
def fixture_begin(tmp_path):
    """Starts swd with a text, and ends it whatever comes."""
    begun = []

    def begin(said):
        begun.append(Swd(tmp_path / "swd", said))
        begun[0].until(lambda: begun[0].status()["settled"], "rest", 30)
        return begun[0]

    yield begin
    for swd in begun:
        swd.stop()


def wires(names):
    return [f"{names[0]}w", f"{names[1]}w", f"{names[2]}w", names[0]]


def report(name, said, what):
    print(f"\n{os.environ.get('LAB')} {name}: {said['sent']} frames, {said['rate'] / 1000:.0f} thousand a second, {what}")


def flowing(name, attempt):
    """Where the machine below stands still for longer than an install takes, no frame is sent during one, and
    nothing is proven of that step: then again, until each was met once. attempt() gives what a stream said and its
    steps with their frames; what must hold of each stream it asserts itself."""
    insides = {}
    for _ in range(5):
        said, steps = attempt()
        for step, frames in steps.items():
            insides[step] = max(insides.get(step, 0), during(said, *frames)[1])
        if all(insides.values()):
            report(name, said, "during the changes of filters " + ", ".join(
                f"{inside} ({step})" for step, inside in insides.items()))
            return
    pytest.fail(f"frames sent during the changes of each step: {insides}")


def test_kept_rule(box, begin):
    """Reload, a rule more, another one changed, kill -9 in the middle of an apply with restart, revert."""
    first = text(box[1], ports=box[0])
    more = text(box[1], "".join(f"      - {{ name: n{i}, match: {{ dst: 10.8.{i}.0/24 }}, action: drop }}\n"
                                for i in range(3)), box[0])
    swd = begin(first)

    def kill(stream):
        swd.file.write_text(more)
        swd.client.send("Apply")
        time.sleep(DELAY_MS / 1000)
        swd.stop(signal.SIGKILL)
        stream.reach()
        swd.start()
        swd.until(lambda: swd.status()["settled"], "rest", 30)

    def attempt():
        steps = {}
        swd.apply(first)
        stream = Stream(*wires(box))

        def step(name, action):
            start = stream.reach()
            done = action()
            steps[name] = (start, stream.reach())   # it hears of a change only when it has its turn
            return done

        assert step("reload", lambda: swd.call("Apply"))["steps"] == 0
        assert step("a rule more", lambda: swd.apply(more))["steps"] == 3
        assert step("another changed", lambda: swd.apply(text(box[1], ports=box[0], other="trap")))["steps"] == 4
        step("kill -9", lambda: kill(stream))
        swd.apply(first)
        assert step("revert", lambda: swd.call("Revert"))["steps"] > 0
        said = stream.end()
        came_once(said, f"{box[1]}w")
        assert said["turns"] == 0
        assert not during(said, *steps.pop("reload"))[0], "a reload of the same file changed filters"
        return said, steps

    flowing(f"{box[0]}, kept rule", attempt)


@pytest.mark.parametrize("kind, steps", [("in place", 1), ("beside", 4)])
def test_changed_rule(nic, begin, kind, steps):
    """Each frame goes the old way or the new one, and none goes the old way behind one that went the new. That
    there is no other way than beside is found out the first time, and known from then on."""
    knob("sim0", "deny_replace", int(kind == "beside"))
    swd, ways = begin(text("sim1")), ["sim1", "sim2"]

    def attempt():
        old, new = ways
        stream = Stream(*wires(nic))
        start = stream.reach()
        done = swd.apply(text(new))
        end = stream.reach()
        said = stream.end()
        came_once(said, f"{old}w", f"{new}w")
        assert said["turns"] == 1 and said["places"][f"{new}w"]["count"] > 0, said
        assert done["steps"] == len(during(said, start, end)[0]) == steps
        assert [r[1] for r in rules("sim0", DST)] == [f"redirect {new}"]
        ways.reverse()
        return said, {"the change": (start, end)}

    for turn in ("first", "second"):
        flowing(f"changed rule, {kind}, {turn} time", attempt)


def test_killed_beside(nic, begin):
    """kill -9 at any time while the copy comes, the old one goes, the new one comes and the copy goes."""
    knob("sim0", "deny_replace", 1)
    swd = begin(text("sim1").replace("tagging", "replace: beside\n    tagging"))
    stream, seen = Stream(*wires(nic)), set()
    for turn in range(10):
        new = ("sim2", "sim1")[turn % 2]
        swd.file.write_text(text(new).replace("tagging", "replace: beside\n    tagging"))
        swd.client.send("Apply")
        time.sleep(DELAY_MS / 4000 * turn)
        swd.stop(signal.SIGKILL)
        seen.add(len(rules("sim0", DST)))
        stream.reach()
        swd.start()
        swd.until(lambda: swd.status()["settled"], "rest", 30)
        assert [r[1] for r in rules("sim0", DST)] == [f"redirect {new}"]
    said = stream.end()
    came_once(said, "sim1w", "sim2w")
    assert 2 in seen, f"it was never killed in the middle: {seen}"
    report("changed rule, beside, killed ten times", said, f"with {sorted(seen)} filters for it when that happened")


def test_gap(nic, begin):
    """Hardware that holds no two rules with one match: the plan says it, it is refused without --allow-gap, and
    with it frames go to the CPU for as long as the hardware takes."""
    for name in ("deny_replace", "deny_equal_key"):
        knob("sim0", name, 1)
    swd = begin(text("sim1"))
    stream = Stream(*wires(nic))
    swd.file.write_text(text("sim2"))
    before = rules("sim0")
    for known in (False, True):
        code, out, said = swd.cli("plan", swd.file, check=False)
        assert code == 10 and ("gap: " in out) == known, out + said
        code, out, said = swd.cli("apply", swd.file, check=False)
        assert code == 4, (code, out, said)
        assert "rule stream" in said and "swd.yaml:" in said and "--allow-gap" in said, said
        assert sorted(r[:2] for r in rules("sim0")) == sorted(r[:2] for r in before)
    assert swd.status()["settled"]
    stream.reach()
    said = stream.end()
    came_once(said, "sim1w")
    report("changed rule, neither, refused", said, "none lost")
    assert "rule stream" in swd.cli("plan", swd.file, check=False)[1]

    swd.process.send_signal(signal.SIGHUP)      # a reload has no --allow-gap
    swd.until(lambda: swd.status()["last_outcome"] == "refused", "a refused reload")
    assert [r[1] for r in rules("sim0", DST)] == ["redirect sim1"]

    stream = Stream(*wires(nic))
    stream.reach()
    assert swd.cli("apply", "--allow-gap", swd.file)[0] == 0
    said = stream.end()
    gap = said["places"]["sim0"]["span"]
    assert said["lost"]["frames"] == 0 and said["turns"] == 2, said
    assert said["to_cpu"] == said["places"]["sim0"]["count"] == gap["frames"] > 0
    assert gap["last"] - gap["first"] + 1 == gap["frames"], "more than one gap"
    assert gap["ns"] < 3 * DELAY_MS * 1e6, f"a gap of {gap['ns'] / 1e6} ms"
    report("changed rule, neither, allowed", said, f"a gap of {gap['frames']} frames, all to the CPU, or "
           f"{gap['ns'] / 1e6:.1f} ms, of which hardware takes {DELAY_MS}")


def test_full_table(nic, begin):
    """A table that is full now has no room for two, whatever the hardware can do else; nothing is learned of it."""
    swd = begin(text("sim1"))
    size = knob("sim0", "table_size").strip()
    knob("sim0", "table_size", len(rules("sim0")))
    swd.file.write_text(text("sim2"))
    code, _, said = swd.cli("apply", swd.file, check=False)
    assert code == 4 and "the table is full" in said, said
    assert [r[1] for r in rules("sim0", DST)] == ["redirect sim1"]
    stream = Stream(*wires(nic))
    assert swd.cli("apply", "--allow-gap", swd.file)[0] == 0
    said = stream.end()
    assert said["lost"]["frames"] == 0 and said["to_cpu"] > 0 and said["turns"] == 2, said
    assert [r[1] for r in rules("sim0", DST)] == ["redirect sim2"]
    knob("sim0", "table_size", size)
    stream = Stream(*wires(nic))
    assert swd.apply(text("sim1"))["steps"] == 1
    came_once(stream.end(), "sim1w", "sim2w")
