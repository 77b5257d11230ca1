# SPDX-License-Identifier: GPL-2.0-or-later
"""SV-06: an apply of more than 30 mixed steps, and whatever can happen at each of them: the kernel refuses it, its answer
is lost, it is never carried out, swd is killed there, or nothing works from there on, the way back neither. The
kernel ends as it was, or as it is to be, whole; and no rule that both files have is ever gone."""
import json
import os
import signal
import time
from itertools import count
from pathlib import Path

import pytest

from faults import (FAIL, FOREVER, KILL, LOST_ANSWER, LOST_REQUEST, REQUEST, STORE, Ear, FaultySwd, deleted_filters,
                    unbound_ports)
from swdlab import Refusal
from swsimlab import knob, load, run, tc_shows, unload

LAB = {"variants": ["6.1-swd"], "mem": "512M", "timeout": 1200, "faults": True, "all_only": True}

EVERY = int(os.environ.get("SWD_EVERY", "1"))       # 7: only each 7th step, for a quick look
# Errnos to refuse with, in turn: none that says that hardware can't hold an old rule and a new one, for then
# another way is taken.
ERRORS = (5, 12, 13, 2, 19, 110, 71, 105)
BLOCKS = (10, 11, 12)

OLD = """version: 1
ports:
  cpu0: { up: true }
  lan1: { up: true, mtu: 1500, addresses: [192.0.2.1/24] }
  lan2: { up: true, mtu: 1500, addresses: [198.51.100.1/24] }
  lan3: { up: true }
  lan4: { up: true }
  sim0: { up: true, mtu: 1500, tc-offload: true }
vlans:
  lan4.30: { link: lan4, id: 30, addresses: [10.30.0.1/24, 10.30.1.1/24] }
  lan4.31: { link: lan4, id: 31 }
  lan4.32: { link: lan4, id: 32, addresses: [10.32.0.1/24] }
blocks:
  edge:
    id: 10
    bind: [lan1, lan2]
    tagging: none
    rules:
      - { name: kept-1, match: { dst: 192.0.2.0/24 }, action: drop }
      - { name: changed-1, match: { dst: 10.1.1.1 }, action: drop }
      - { name: changed-2, match: { proto: tcp, dport: 179 }, action: trap }
      - { name: kept-2, match: { proto: udp, dport: 100-120 }, action: drop }
      - { name: goes-1, match: { dst: 10.2.0.0/16 }, action: drop }
      - { name: goes-2, match: { dst-mac: "02:00:00:00:00:07", ethertype: ip }, action: { redirect: lan2 } }
      - { name: moves, match: { src: 10.3.0.0/16 }, action: trap }
      - { name: kept-3, match: { vlan: 30, dst: 10.1.1.1 }, action: [ { vlan-modify: 31 }, dec-ttl, { redirect: lan1 } ] }
      - { name: kept-4, match: { dst: 10.77.0.0/16 }, action: { goto: 3 } }
      - { name: kept-5, match: { dst: 10.77.1.0/24 }, action: drop, chain: 3 }
      - { name: goes-3, match: { dst: 10.77.2.0/24 }, action: trap, chain: 3 }
  third:
    id: 11
    bind: [sim0]
    rules:
      - { name: kept-6, match: { src: 10.9.0.0/16 }, action: drop }
      - { name: goes-4, match: { src: 10.8.0.0/16 }, action: drop }
"""
NEW = """version: 1
ports:
  cpu0: { up: true }
  lan1: { up: true, mtu: 1400, addresses: [192.0.2.9/24] }
  lan2: { up: true, mtu: 1450, addresses: [198.51.100.1/24, 203.0.113.1/24] }
  lan3: { up: true }
  lan4: { up: true }
  sim0: { up: true, mtu: 1480, tc-offload: true }
vlans:
  lan4.30: { link: lan4, id: 40, addresses: [10.30.0.1/24, 10.30.2.1/24] }
  lan4.32: { link: lan4, id: 32, up: false, addresses: [10.32.0.2/24] }
  lan4.33: { link: lan4, id: 33, addresses: [10.33.0.1/24] }
blocks:
  edge:
    id: 10
    bind: [lan1, lan2, lan4]
    tagging: none
    rules:
      - { name: comes-0, match: { dst: 192.0.3.0/24 }, action: drop }
      - { name: kept-1, match: { dst: 192.0.2.0/24 }, action: drop }
      - { name: moves, match: { src: 10.3.0.0/16 }, action: trap }
      - { name: changed-1, match: { dst: 10.1.1.1 }, action: trap }
      - { name: changed-2, match: { proto: tcp, dport: 179 }, action: { redirect: lan1 } }
      - { name: kept-2, match: { proto: udp, dport: 100-120 }, action: drop }
      - { name: comes-1, match: { src-mac: "02:00:00:00:00:08", ethertype: ip }, action: drop }
      - { name: kept-3, match: { vlan: 30, dst: 10.1.1.1 }, action: [ { vlan-modify: 31 }, dec-ttl, { redirect: lan1 } ] }
      - { name: kept-4, match: { dst: 10.77.0.0/16 }, action: { goto: 3 } }
      - { name: kept-5, match: { dst: 10.77.1.0/24 }, action: drop, chain: 3 }
      - { name: comes-2, match: { proto: tcp, dst: 10.77.3.1, dport: 80 }, action: drop, chain: 3 }
  third:
    id: 11
    bind: [sim0]
    rules:
      - { name: kept-6, match: { src: 10.9.0.0/16 }, action: drop }
      - { name: comes-3, match: { proto: tcp, sport: 80 }, action: drop }
  far:
    id: 12
    bind: [lan3]
    rules:
      - { name: comes-4, match: { src: 10.7.0.0/16, tagging: none }, action: trap }
"""


# ---- what the kernel holds ----

def place(block, f):
    return block, f.get("chain", 0), f["pref"], f["options"].get("handle", 1)


def meaning(f):
    options = {k: v for k, v in f["options"].items() if k not in ("handle", "actions")}
    actions = [{k: v for k, v in a.items() if k not in ("index", "ref", "bind")}
               for a in f["options"].get("actions", [])]
    return json.dumps([f["kind"], f["protocol"], options, actions], sort_keys=True)


def all_filters(listed):
    """Of what tc lists for each block, without the headers of each pref."""
    return {place(block, f): meaning(f) for block, said in zip(BLOCKS, listed) for f in said
            if {"handle", "in_hw", "not_in_hw"} & set(f.get("options", {}))}


FILTER_LINES = [f"filter show block {block}" for block in BLOCKS]


def filters():
    return all_filters(tc_shows(*FILTER_LINES))


def clean(link):
    """Without numbers that the kernel gives by itself, and what follows carrier a moment later."""
    link = {k: v for k, v in link.items() if k not in ("ifindex", "link_index", "operstate", "txqlen")}
    link["flags"] = sorted(set(link["flags"]) - {"LOWER_UP", "NO-CARRIER", "M-DOWN"})
    link["addr_info"] = sorted(link.get("addr_info", []), key=lambda a: a["local"])
    return link


def hardware():
    """What is in hardware, without counters and the numbers of actions."""
    return sorted(" :".join(line.split(" :")[:2]) for name in ("dsa0", "sim0") for line in knob(name, "rules").splitlines())


def state():
    links = {link["ifname"]: clean(link) for link in json.loads(run("ip", "-j", "-d", "addr").stdout)}
    listed, *blocks = tc_shows("qdisc show", *FILTER_LINES)
    qdiscs = {q["dev"] + q["kind"]: (q.get("ingress_block"), q.get("egress_block"))
              for q in listed if q["kind"] in ("clsact", "ingress")}
    return {"links": links, "qdiscs": qdiscs, "filters": all_filters(blocks), "hardware": hardware()}


def whole(now):
    """The same where prefs may be others: each block's rules in their order. Neighbours in one pref have none."""
    order = sorted((block, chain, pref, said) for (block, chain, pref, _), said in now["filters"].items())
    return {**now, "filters": [(block, chain, said) for block, chain, _, said in order], "hardware": len(now["hardware"])}


def differences(was, now, path=""):
    if isinstance(was, dict) and isinstance(now, dict):
        return [d for key in {**was, **now} for d in
                differences(was.get(key), now.get(key), f"{path}.{key}" if path else str(key))]
    return [] if was == now else [f"{path}: {was} -> {now}"]


def assert_same(was, now, what):
    found = differences(was, now)
    assert not found, what + "\n" + "\n".join(found)


# ---- the stage ----

class Stage:
    """swd under the old file, and what is known of both."""

    def __init__(self, swd):
        self.swd, self.ear = swd, Ear()
        swd.settle(20)
        self.old = state()
        swd.arm(REQUEST)
        self.plan = swd.apply(NEW)["plan"]["steps"]
        self.requests, self.writes, _ = swd.disarm()
        swd.settle()
        self.new = whole(state())
        self.bound = {int(Path(f"/sys/class/net/{name}/ifindex").read_text()) for name in ("lan1", "lan2", "sim0")}
        now = filters()
        self.lasting = {said for where, said in self.old["filters"].items() if now.get(where) == said}
        self.back("the first time")
        self.ear.heard()

    @property
    def kept(self):
        """Where the filters stand that both files have, and that stay where they are."""
        return {where for where, said in self.old["filters"].items() if said in self.lasting}

    def back(self, what):
        """The old file again. Prefs may be others than they were."""
        self.swd.apply(OLD)
        self.swd.settle()
        now = state()
        assert_same(whole(self.old), whole(now), f"{what}, and the old file again")
        self.heard(f"{what}, and the old file again")
        self.old = now

    def heard(self, what):
        """How many changes the kernel told of since the last call; none of them takes a kept rule away."""
        messages = self.ear.heard()
        for block, chain, pref, handle in deleted_filters(messages):
            gone = [p for p in self.kept if p[:3] == (block, chain, pref) and handle in (0, p[3])]
            assert not gone, f"{what}: a kept rule was deleted: {gone}"
        assert not self.bound & set(unbound_ports(messages)), f"{what}: a kept port was unbound"
        return len(messages)

    def refused(self, k, what, **words):
        """An apply that fails at k. Returns all that was said of it."""
        self.ear.heard()
        self.swd.arm(REQUEST, FAIL, k, error=ERRORS[k % len(ERRORS)], **words)
        with pytest.raises(Refusal) as caught:
            self.swd.call("Apply", text=NEW)
        requests = self.swd.disarm()[REQUEST]
        assert requests >= k, what
        assert self.heard(what) > 0 or k == 1, f"{what}: nothing had changed before"
        assert "undone" not in caught.value.parameters["text"], "the reason comes first"
        return json.dumps(caught.value.parameters)


@pytest.fixture(name="stage", scope="module")
def fixture_stage(tmp_path_factory):
    load(nics=1, ports=4)
    swd = FaultySwd(tmp_path_factory.mktemp("swd"), OLD)
    yield Stage(swd)
    code = swd.stop()
    unload()
    assert code == 0, swd.log.read_text()[-4000:]


def each(n):
    return range(1, n + 1, EVERY)


# ---- the cases ----

def test_sv_06_the_apply_is_mixed(stage):
    kinds = {(s["op"], s["object"]["kind"] if isinstance(s["object"], dict) else s["object"].split()[0])
             for s in stage.plan}
    print(f"{len(stage.plan)} steps, {stage.requests} requests, {stage.writes} writes to the store; "
          f"{len(stage.kept)} rules kept")
    assert len(stage.plan) >= 30 and len(stage.kept) >= 6
    assert stage.requests == len(stage.plan), "and it leaves nothing to repair"
    assert {op for op, _ in kinds} == {"add", "change", "remove"}, kinds
    assert len({kind for _, kind in kinds}) == 5, kinds


def test_sv_06_refused(stage):
    """What was done is undone."""
    ran = 0
    for ran, k in zip(count(1), each(stage.requests)):
        said = stage.refused(k, f"request {k} refused")
        assert "kernel: " in said, said
        assert_same(stage.old, state(), f"request {k} refused: {said}")
        assert stage.swd.status()["last_outcome"] == "reverted"
    print(f"{ran} requests")
    stage.swd.settle()
    assert_same(stage.old, state(), "at rest")


def test_sv_06_undo_refused_as_well(stage):
    """It is told, in the answer and in the journal, and mended later."""
    ran = failed = 0
    for ran, k in zip(count(1), each(stage.requests)):
        what = f"all refused from request {k} on"
        written = stage.swd.log.stat().st_size
        said = stage.refused(k, what, last=FOREVER)
        if stage.swd.status()["last_outcome"] == "failed":
            failed += 1
            log = stage.swd.log.read_text()[written:]
            assert "can't be undone" in said and "can't be undone" in log, f"{what}: {said}\n{log}"
        stage.swd.settle(20)
        now = state()
        assert_same(whole(stage.old), whole(now), what)
        stage.heard(what)
        stage.old = now
    print(f"{ran} requests, {failed} times something was left of it")
    assert failed > ran // 2


def test_sv_06_nl_07_lost_answers(stage):
    """What was carried out and not answered is read back."""
    ran = 0
    for ran, k in zip(count(1), each(stage.requests)):
        what = f"the answer to request {k} lost"
        with stage.swd.faults(REQUEST, LOST_ANSWER, k):
            stage.swd.call("Apply", text=NEW)
        assert stage.heard(what) > 0
        assert_same(stage.new, whole(state()), what)
        stage.back(what)
    print(f"{ran} requests")


def test_sv_06_lost_requests(stage):
    """What was not carried out and not answered is undone, but for what had gone with something else."""
    ran = done = 0
    for ran, k in zip(count(1), each(stage.requests)):
        what = f"request {k} lost"
        with stage.swd.faults(REQUEST, LOST_REQUEST, k):
            try:
                stage.swd.call("Apply", text=NEW)
                there = True
            except Refusal:
                there = False
        assert stage.heard(what) > 0 or k == 1
        if there:
            done += 1
            assert_same(stage.new, whole(state()), what)
            stage.back(what)
        else:
            assert_same(stage.old, state(), what)
    print(f"{ran} requests, {done} of them were needless")
    assert done < 5


def killed(stage, point, k, file, what):
    """Killed at k in the apply of the new file (or text, while the file is the old one); then started again."""
    swd = stage.swd
    stage.ear.heard()
    swd.file.write_text(file)
    swd.arm(point, KILL, k)
    swd.client.send("Apply", **({} if file == NEW else {"text": NEW}))
    assert swd.process.wait(30) == -9, what
    counts = swd.disarm()
    assert counts[point] == k, what
    changed = stage.heard(what) > 0
    swd.start()
    swd.settle(20)
    stage.heard(f"{what}, and started")
    now = state()
    assert_same(stage.new if file == NEW else whole(stage.old), whole(now), what)
    status = swd.status()
    assert status["missing"] == 0 and not [a for a in status["alerts"] if a["id"] != "foreign"], f"{what}: {status}"
    if file == NEW:
        stage.back(what)
    else:
        stage.old = now
    return changed


@pytest.mark.parametrize("file", [NEW, OLD], ids=["file", "text"])
def test_sv_06_killed_at_request(stage, file):
    ran = 0
    for ran, k in zip(count(1), each(stage.requests)):
        what = f"killed at request {k}"
        assert killed(stage, REQUEST, k, file, what) or k == 1, f"{what}: nothing had changed before"
    print(f"{ran} requests")


@pytest.mark.parametrize("file", [NEW, OLD], ids=["file", "text"])
def test_sv_06_killed_at_store_write(stage, file):
    """Before the first change, between it and the last, and behind that."""
    seen = [killed(stage, STORE, k, file, f"killed at write {k} to the store") for k in each(stage.writes)]
    print(f"{len(seen)} writes, {sum(seen)} of them with the kernel changed")
    assert EVERY > 1 or (not seen[0] and seen[-1]), seen


def test_sv_06_what_failed_is_not_tried_again(stage):
    """The file that the kernel refused is still there, and nobody asks for it: what happens meanwhile is repaired to
    what is in force. Each start tries it once, and goes back to what was committed last."""
    swd, generation = stage.swd, stage.swd.status()["generation"]
    swd.file.write_text(NEW)
    with swd.faults(REQUEST, FAIL, stage.requests // 2, error=ERRORS[0]), pytest.raises(Refusal):
        swd.call("Apply")
    swd.settle()
    assert_same(stage.old, state(), "the file was refused")
    messages = swd.status()["counts"]["messages"]
    run("ip", "link", "set", "lan1", "mtu", "1450")
    swd.until(lambda: swd.status()["counts"]["messages"] > messages and swd.status()["settled"], "repair of the mtu")
    assert swd.status()["counts"]["messages"] == messages + 1
    time.sleep(2)
    status = swd.status()
    assert status["counts"]["messages"] == messages + 1 and status["generation"] == generation
    assert [a for a in status["alerts"] if a["id"] == "config"], status["alerts"]
    assert_same(stage.old, state(), "and left alone")
    for _ in range(2):
        swd.stop(signal.SIGKILL)
        swd.arm(REQUEST, FAIL, stage.requests // 2, FOREVER, error=ERRORS[0])
        stage.heard("before the start")
        swd.start()
        assert stage.heard("the start") > 0
        swd.disarm()
        swd.settle(20)
        status = swd.status()
        assert status["generation"] == generation and [a for a in status["alerts"] if a["id"] == "config"], status
        now = state()
        assert_same(whole(stage.old), whole(now), "a start with a file that the kernel refuses")
        stage.old = now
        messages = status["counts"]["messages"]
        time.sleep(2)
        assert swd.status()["counts"]["messages"] == messages, "it is tried again"
    swd.file.write_text(OLD)
