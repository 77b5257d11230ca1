# SPDX-License-Identifier: GPL-2.0-or-later
"""Generations on a live device: one on trial goes back unless it is confirmed, whatever happens to swd and
to the clock meanwhile; what was in force before is kept, shown, given out byte for byte, and brought back.

That all is as before is judged by strangers: tc and ip."""
import json
import os
import re
import signal
import subprocess
import time
from contextlib import contextmanager

import pytest

from frames import Wire, udp_frame
from swdlab import BUILD, Refusal, Swd
from swsimlab import DST, SRC, four_ports, knob, run, tc, wait

LAB = {"variants": ["6.1-swd"],
       "all_variants": ["6.1", "6.12", "6.1-debug", "6.12-debug"], "mem": "512M", "timeout": 400}

# Odd on purpose: all of it must come back from export.
BASE = """\ufeff# base \u20ac \t
version:   1
daemon: {port-wait: 0ms, "history": 20}
ports: { cpu0: { up: true },   lan1: {} }\r
blocks:
  edge:
    id: 10
    bind: [lan1, lan2]
    tagging: none
    rules:
      - { name: no-bogons, match: { src: 203.0.113.0/24 }, action: drop }
      - { name: kept, match: { dst: 198.18.0.0/15 }, action: { redirect: lan2 } }
# the end, without a line feed"""
# Takes the operator's port down, its MTU, a rule, and brings in a VLAN and another block.
TRIAL = """version: 1
daemon: { port-wait: 0ms, history: 20 }
ports:
  cpu0: { up: true }
  lan3: { up: false, mtu: 1300 }
vlans:
  lan4.30: { link: lan4, id: 30, addresses: [10.30.0.1/24] }
blocks:
  edge:
    id: 10
    bind: [lan1, lan2]
    tagging: none
    rules:
      - { name: kept, match: { dst: 198.18.0.0/15 }, action: { redirect: lan2 } }
      - { name: wrong, match: { dst: 192.0.2.0/24 }, action: drop }
  other: { id: 11, bind: [lan4], tagging: none, rules: [ { name: x, match: { ttl: 1 }, action: trap } ] }
"""


hardware = pytest.fixture(scope="module", autouse=True)(four_ports)


@pytest.fixture
def swd(tmp_path):
    swd = Swd(tmp_path)
    swd.stop()
    swd.file.write_bytes(BASE.encode())
    swd.start()
    swd.until(lambda: swd.status()["generation"] == 1, "the first apply", 20)
    swd.settle(20)
    yield swd
    code = swd.stop()
    tc(*[f"qdisc del dev {name} clsact" for name in ("lan1", "lan2", "lan4")], force=True)
    run("ip", "link", "del", "lan4.30", check=False)
    run("ip", "link", "set", "lan3", "up", "mtu", "1500")
    assert code == 0, swd.log.read_text()


def kernel():
    """All that the two files speak of, as tc and ip tell it; without prefs, which may move."""
    links = json.loads(run("ip", "-j", "addr", "show").stdout)
    shown = {(k["ifname"], k["mtu"], "UP" in k["flags"],
              tuple(f"{a['local']}/{a['prefixlen']}" for a in k["addr_info"]))
             for k in links if k["ifname"].startswith("lan") and not k["ifname"].endswith("w")}
    filters = set()
    for block in (10, 11):
        done = run("tc", "-j", "filter", "show", "block", str(block), check=False)
        for f in json.loads(done.stdout.strip() or "[]") if done.returncode == 0 else []:
            if "handle" in f.get("options", {}) and f["kind"] == "flower":
                options = {k: v for k, v in f["options"].items() if k not in ("handle", "actions")}
                filters.add((block, f["protocol"], json.dumps(options, sort_keys=True),
                             tuple(a["kind"] for a in f["options"]["actions"])))
    return shown, filters


def kept_place():
    """Where the rule that both files have stands: pref and handle."""
    shown = json.loads(run("tc", "-j", "filter", "show", "block", "10").stdout)
    return [(f["pref"], f["options"]["handle"]) for f in shown
            if "198.18.0.0/15" in json.dumps(f.get("options", {}))]


def on_trial(swd, confirm_ms, text=TRIAL):
    answer = swd.call("Apply", text=text, confirm_ms=confirm_ms)
    assert answer["deadline"]["generation"] == answer["generation"]
    assert "lan4.30" in run("ip", "-o", "link").stdout
    return answer["generation"]


def wait_back(swd, timeout=20.0):
    swd.until(lambda: swd.status()["deadline"] is None, "the way back", timeout)
    swd.settle()


def history(swd):
    return {g["id"]: g for g in swd.call("History")["generations"]}


def test_not_confirmed_goes_back(swd):
    """In time, whole, and for all to see; the rule that both files have never goes."""
    before, place = kernel(), kept_place()
    monitor = swd.connect()
    monitor.send("Monitor", more=True)
    monitor.message()
    code, out, _ = swd.cli("apply", "--confirm", "6s", "--why", "ticket 42",
                           str(write(swd, "trial.yaml", TRIAL)))
    assert "generation 2: " in out and re.search(r"generation 1 comes back in [56]s", out)
    there = kernel()
    assert there != before and not any(link[0] == "lan3" and link[2] for link in there[0])
    assert re.search(r"it waits for 'sw-cli confirm': in \ds generation 1 comes back",
                     swd.cli("status")[1])
    deadline = swd.status()["deadline"]
    assert (deadline["generation"], deadline["back_to"], deadline["confirm_ms"]) == (2, 1, 6000)
    assert 0 < deadline["left_ms"] <= 6000
    wait_back(swd)
    assert kernel() == before and kept_place() == place
    status = swd.status()
    assert (status["generation"], status["last_outcome"]) == (1, "reverted")
    assert "generation 2 was not confirmed within 6s" in status["last_error"]
    assert any(a["id"] == "unconfirmed" for a in status["alerts"])
    heard = {}
    while "reverted" not in heard:
        event = monitor.message()["parameters"]["event"]
        heard[event["type"]] = event["at_ms"]
    # To the second; a busy machine may make it later.
    assert 5990 <= heard["reverted"] - heard["armed"] < 12000
    entry = history(swd)[2]
    assert (entry["outcome"], entry["why"], entry["confirm_ms"]) == ("unconfirmed", "ticket 42", 6000)
    assert swd.cli("confirm", check=False)[0] == 1


def write(swd, name, text):
    path = swd.folder / name
    path.write_bytes(text.encode())
    return path


def test_confirmed_stays(swd):
    on_trial(swd, 8000)
    there = kernel()
    assert swd.cli("confirm")[1] == "generation 2 is confirmed\n"
    time.sleep(8)
    swd.settle()
    assert kernel() == there
    assert swd.status()["generation"] == 2 and swd.status()["deadline"] is None
    assert history(swd)[2]["outcome"] == "done"


@contextmanager
def wall_clock(seconds):
    """Sets the guest's wall clock, and sets it right again."""
    real, since = time.time(), time.monotonic()
    time.clock_settime(time.CLOCK_REALTIME, real + seconds)
    try:
        yield
    finally:
        time.clock_settime(time.CLOCK_REALTIME, real + time.monotonic() - since)


def test_the_wall_clock_fools_nobody(swd):
    """Set ahead it comes no sooner, set back no later; also with swd killed in between."""
    before = kernel()
    for step in (86400, -86400):
        start = time.monotonic()
        on_trial(swd, 4000)
        with wall_clock(step):
            time.sleep(1.2)     # swd looks once a second
            swd.stop(signal.SIGKILL)
            swd.start()
            left = swd.status()["deadline"]["left_ms"]
            assert 0 < left <= 2800, left
            wait_back(swd, 10)
            assert 3.9 < time.monotonic() - start < 9
        assert kernel() == before


def test_killed_before_its_time(swd):
    """The next start puts it in force again, sends nothing, and waits on; then it is confirmed."""
    on_trial(swd, 60000)
    there, place = kernel(), kept_place()
    swd.stop(signal.SIGKILL)
    swd.start()
    swd.settle()
    status = swd.status()
    assert status["generation"] == status["deadline"]["generation"] == 2
    assert status["deadline"]["left_ms"] < 60000
    assert status["counts"]["messages"] == 0, swd.log.read_text()
    assert kernel() == there and kept_place() == place
    swd.cli("confirm")
    assert swd.status()["deadline"] is None


def test_killed_past_its_time(swd):
    """The next start goes back first, and takes the bad file neither then nor later."""
    before = kernel()
    swd.file.write_text(TRIAL)
    assert swd.call("Apply", confirm_ms=1500)["generation"] == 2
    swd.stop(signal.SIGKILL)
    time.sleep(2)
    assert kernel() != before       # nobody acts while swd is away
    for _ in range(2):
        swd.start()
        swd.settle()
        assert kernel() == before
        assert swd.status()["generation"] == 1 and swd.status()["deadline"] is None
        assert any(a["id"] == "config" and "generation 2" in a["text"]
                   for a in swd.status()["alerts"])
        swd.stop(signal.SIGKILL)
    assert history_after(swd)[2]["outcome"] == "unconfirmed"
    # A person may still want it, and then a start does too.
    swd.cli("apply")
    assert swd.status()["generation"] == 3
    swd.stop()
    swd.start()
    assert swd.status()["generation"] == 3
    assert not [a for a in swd.status()["alerts"] if a["id"] == "config"]


def history_after(swd):
    swd.start()
    return history(swd)


def test_killed_in_the_middle(swd):
    """While the hardware still chews on it: half a trial is none."""
    before = kernel()
    swd.file.write_text(TRIAL)
    knob("dsa0", "install_delay_ms", 2000)
    try:
        swd.client.send("Apply", confirm_ms=60000)
        time.sleep(1)
        swd.process.send_signal(signal.SIGKILL)
        swd.process.wait(30)
    finally:
        knob("dsa0", "install_delay_ms", 0)
    assert kernel() != before
    swd.start()
    swd.settle(20)
    assert kernel() == before
    assert swd.status()["generation"] == 1 and swd.status()["deadline"] is None
    assert history(swd)[2]["outcome"] == "interrupted"


def test_while_one_waits(swd):
    """Without a time of its own nothing may take its place, whichever way it comes."""
    before = kernel()
    on_trial(swd, 60000)
    there = kernel()
    code, _, errors = swd.cli("apply", check=False)
    assert code == 1 and "generation 2 waits for its confirmation" in errors
    with pytest.raises(Refusal) as refusal:
        swd.call("Apply", text=BASE)
    assert refusal.value.error == "Armed"
    assert refusal.value.parameters["deadline"]["back_to"] == 1
    swd.process.send_signal(signal.SIGHUP)
    swd.until(lambda: "refused to SIGHUP" in swd.log.read_text(), "the refusal")
    assert swd.cli("revert", "1", check=False)[0] == 1
    # A file that is wrong, and one that the kernel refuses, change nothing of that.
    with pytest.raises(Refusal) as refusal:
        swd.call("Apply", text="nonsense", confirm_ms=1000)
    assert refusal.value.error == "BadConfig"
    time.sleep(1.5)
    assert kernel() == there and swd.status()["deadline"]["generation"] == 2
    # Another trial takes its place, and goes back to where all began.
    swd.call("Apply", text=TRIAL.replace("192.0.2.0/24", "192.0.2.0/25"), confirm_ms=1000)
    wait_back(swd)
    assert kernel() == before
    assert [g["outcome"] for g in history(swd).values()] == ["unconfirmed", "unconfirmed", "done"]


def test_a_refused_trial_arms_nothing(swd):
    before = kernel()
    knob("dsa0", "fail_next", "1 5")
    try:
        with pytest.raises(Refusal) as refusal:
            swd.call("Apply", text=TRIAL, confirm_ms=60000)
    finally:
        knob("dsa0", "fail_next", 0)
    assert (refusal.value.error, refusal.value.parameters["outcome"]) == ("Refused", "reverted")
    swd.settle()
    assert kernel() == before and swd.status()["deadline"] is None
    assert history(swd)[2]["outcome"] == "reverted"


def export(swd, *number):
    done = subprocess.run([BUILD / "cli/sw-cli", "--socket", swd.socket, "export", *number],
                          capture_output=True, check=True)
    return done.stdout


def test_revert_and_history(swd):
    before = kernel()
    assert export(swd) == BASE.encode()
    swd.file.write_text(TRIAL)
    swd.cli("apply", "--why", "new neighbours")
    assert export(swd) == TRIAL.encode() and export(swd, "1") == BASE.encode()
    code, out, _ = swd.cli("revert")
    assert "generation 3: " in out
    assert export(swd) == BASE.encode()
    kept = [rule for rule in kernel()[1] if "lan" not in rule]
    assert set(kept) == before[1]
    lines = swd.cli("history")[1].splitlines()
    assert [line.split()[0] for line in lines] == ["ID", "3*", "2", "1"]
    assert "revert to 1" in lines[1] and "new neighbours" in lines[2] and "start" in lines[3]
    shown = swd.cli("history", "show", "2")[1]
    assert "why: new neighbours" in shown and "+ vlan lan4.30: missing" in shown
    assert json.loads(swd.cli("--json", "history")[1])["current"] == 3
    # The file still has what was reverted, and a reboot would be a bad moment to find out.
    swd.stop()
    swd.start()
    swd.settle()
    assert swd.status()["generation"] == 3 and set(kernel()[1]) == before[1]
    assert swd.status()["counts"]["messages"] == 0
    assert swd.cli("revert", "17", check=False)[0] == 1
    assert swd.cli("revert", "--confirm", "2s", "2")[0] == 0
    assert export(swd) == TRIAL.encode()
    wait_back(swd)
    assert swd.status()["generation"] == 3


def test_traffic_on_a_kept_rule_never_stops(swd):
    """Frames all the while: out with the trial, back at its end, none of them lost or sent to the CPU."""
    wire, out = Wire("lan1w"), Wire("lan2w")
    frame = udp_frame(DST, SRC, "10.0.0.1", "198.18.0.9")
    sent = 0
    on_trial(swd, 1500)
    end = time.monotonic() + 3
    while time.monotonic() < end:
        wire.send(frame)
        sent += 1
        time.sleep(0.005)
    assert swd.status()["deadline"] is None
    rule = next(r for r in swd.rules("edge")[0] if r["name"] == "kept")
    wait(lambda: next(r for r in swd.rules("edge")[0] if r["name"] == "kept")["packets"] == sent,
         f"{sent} packets, all counted by the rule ({rule['packets']})")
    del out


def test_no_room_on_the_disk(tmp_path):
    """On a full disk no trial begins, and the way back from one is free."""
    disk = tmp_path / "disk"
    disk.mkdir()
    run("mount", "-t", "tmpfs", "-o", "size=2m", "swd", str(disk))
    swd = None
    try:
        swd = Swd(disk, BASE)
        swd.until(lambda: swd.status()["generation"] == 1, "the first apply", 20)
        swd.settle(20)
        before = kernel()
        on_trial(swd, 4000)
        fill = disk / "fill"
        with open(fill, "wb", buffering=0) as out, pytest.raises(OSError):
            while True:
                out.write(b"x" * 4096)
        with pytest.raises(Refusal) as refusal:
            swd.call("Apply", text=TRIAL + "#" * 1000000, confirm_ms=60000)
        assert "can't be written" in refusal.value.parameters["diags"][0]["text"]
        assert any(a["id"] == "store" for a in swd.status()["alerts"])
        assert swd.status()["deadline"]["confirm_ms"] == 4000
        wait_back(swd)
        assert kernel() == before
        fill.unlink()
        swd.stop(signal.SIGKILL)
        swd.start()
        swd.settle()
        assert kernel() == before and swd.status()["generation"] == 1
        assert swd.stop() == 0
    finally:
        if swd:
            swd.stop(signal.SIGKILL)
        tc(*[f"qdisc del dev {name} clsact" for name in ("lan1", "lan2", "lan4")], force=True)
        os.system(f"umount -l {disk}")
