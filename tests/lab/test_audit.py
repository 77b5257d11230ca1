# SPDX-License-Identifier: GPL-2.0-or-later
"""Whose is what, and what is left: sw-cli audit, the start, swd --teardown, and the last look before a filter
goes; tc and ip are the judges."""
import json
import os
import signal
import socket
import time
from pathlib import Path

import pytest

from frames import Wire, udp_frame
from swdlab import Swd
from swsimlab import DST, SRC, block_filters, four_ports, knob, run, tc, wait
from thiskernel import EXACT, MARKS_STAY

LAB = {"variants": ["6.1-swd"], "all_variants": ["6.12", "6.1", "6.12-swd"], "mem": "512M", "timeout": 300}

RULE = "      - {{ name: {0}, match: {{ dst: {1} }}, action: {2} }}"
RULES = {"one": ("192.0.2.0/24", "drop"), "two": ("198.51.100.0/24", "drop"), "three": ("203.0.113.7", "trap")}
ADDRESS = "192.0.2.1/31"


def text(extra="", **rules):
    """Two ports on a block, one with a dot in its name on another, a leg with an address."""
    lines = ["version: 1", "daemon: { port-wait: 1s }", "ports:", "  lan1: { up: true }",
             "  lan2: { up: true }", "  cpu0: { up: true }", "vlans:",
             f"  lan3.30: {{ link: lan3, id: 30, addresses: [{ADDRESS}] }}",
             "blocks:", "  edge:", "    id: 10", "    bind: [lan1, lan2]", "    tagging: none"]
    lines += [f"    {extra}"] * bool(extra) + ["    rules:"]
    lines += [RULE.format(name, *RULES[name][:1], action or RULES[name][1])
              for name, action in (rules or dict.fromkeys(RULES)).items()]
    lines += ["  leg:", "    id: 11", "    bind: [lan3.30]", "    offload: off", "    tagging: none",
              "    rules:", RULE.format("far", "10.9.0.0/16", "drop")]
    return "\n".join(lines) + "\n"


hardware = pytest.fixture(scope="module", autouse=True)(four_ports)


@pytest.fixture
def swd(tmp_path, hardware):
    swd = Swd(tmp_path, text())
    swd.settle()
    yield swd
    code = swd.stop()
    tc(*[f"qdisc del dev {name} clsact" for name in ("lan1", "lan2", "lan3.30", "lan4")], force=True)
    run("ip", "link", "del", "lan3.30", check=False)
    assert code in (0, -signal.SIGKILL), swd.log.read_text()


def dsts(block=10):
    return {f["options"]["keys"]["dst_ip"]: f for f in block_filters(block) if "keys" in f["options"]}


def place(f, block=10):
    return (f"block {block} protocol {f['protocol']} pref {f['pref']} "
            f"handle {f['options'].get('handle', 1)} {f['kind']}")


def audit(swd, *words):
    code, out, _ = swd.cli("--json", "audit", *words, check=False)
    said = json.loads(out)
    assert code == (10 if said["count"] else 0), (code, out)
    return said["findings"]


def surely(swd, *words):
    """Without what Linux 6.12 keeps to itself: after a start prefs may be marked, and swd says so."""
    found = audit(swd, *words)
    assert not [f for f in found if f["kind"] == "mark" and (not MARKS_STAY or f["breaks"])], found
    return [f for f in found if f["kind"] != "mark"]


def kinds(swd):
    return sorted(f["kind"] for f in audit(swd))


# ---- audit ----

def test_clean(swd):
    assert audit(swd) == []
    assert swd.cli("audit")[:2] == (0, "nothing found\n")
    assert swd.cli("audit", "edge")[:2] == (0, "nothing found\n")
    assert swd.cli("audit", "nowhere", check=False)[0] == 1


def test_a_foreign_address_behind_ours_stays_when_ours_goes(swd):
    """Linux makes a second address of a prefix a secondary of the first, and takes it away with that."""
    def shown():
        link = json.loads(run("ip", "-4", "-j", "addr", "show", "dev", "lan3.30").stdout)[0]
        return {a["local"]: "secondary" in a for a in link["addr_info"]}

    knob = Path("/proc/sys/net/ipv4/conf/lan3.30/promote_secondaries")
    run("ip", "addr", "add", "192.0.2.0/31", "dev", "lan3.30")
    assert knob.read_text() == "0\n" and shown() == {"192.0.2.1": False, "192.0.2.0": True}
    swd.apply(text().replace(f"[{ADDRESS}]", "[198.51.100.1/31]"))
    assert shown() == {"192.0.2.0": False, "198.51.100.1": False}
    assert knob.read_text() == "0\n"


def test_foreign_filters_are_told_with_what_they_are(swd):
    tc("filter add block 10 protocol ip pref 3 flower dst_ip 10.0.0.2",
       "filter add block 10 protocol ip pref 60000 flower skip_sw dst_ip 10.0.0.1 action drop")
    found = audit(swd, "edge")
    assert [f["kind"] for f in found] == ["foreign", "foreign"]
    first, last = found
    assert (first["breaks"], first["counts"], last["breaks"], last["counts"]) == (True, False, False, True)
    assert "pref 3 protocol ip flower" in first["text"] and "no action and so no counter" in first["text"]
    assert first["risk"].startswith("breaks the bypass")
    assert last["filter"]["in_hw"] and "skip_sw in_hw" in last["text"]
    # What mends it can be pasted.
    for f in found:
        tc(f["mend"].split(",")[0].removeprefix("tc "))
    if EXACT:
        assert audit(swd) == []
    swd.until(lambda: audit(swd) == [], "a clean audit")
    assert swd.cli("bypass", "edge")[1].startswith("edge (block 10)  bypass ON")


def test_partly_is_said_where_it_is_known(swd):
    """swsim has a callback a port; one of them refuses a rule that need not be in hardware."""
    extra = "      - { name: maybe, match: { dst: 10.44.0.0/16 }, action: drop, offload: preferred }\n"
    knob("dsa0", "fail_next", "1 28")
    swd.apply(text().replace("  leg:\n", extra + "  leg:\n"))
    knob("dsa0", "fail_next", "0")
    judged = {dst: f["options"]["in_hw_count"] for dst, f in dsts().items()}
    assert judged.pop("10.44.0.0/16") == 1 and set(judged.values()) == {2}, judged
    (partly,) = [f for f in audit(swd, "edge") if f["kind"] == "partly"]
    assert partly["rule"] == "maybe" and "held by 1 of at least 2" in partly["text"]
    assert partly["mend"].startswith("offload: required for rule maybe in swd.yaml:")
    assert partly["place"].startswith("swd.yaml:")


def test_another_binds_our_block(swd):
    tc("qdisc add dev lan4 ingress_block 10 clsact")
    (found,) = [f for f in audit(swd, "edge") if f["kind"] != "mark"]
    assert found["kind"] == "binding" and "lan4 binds block 10" in found["text"]
    tc(found["mend"].split(",")[0].removeprefix("tc "))
    swd.until(lambda: surely(swd) == [], "a clean audit")


def test_another_swds_filters_are_told_as_such(swd, tmp_path):
    swd.stop()
    (tmp_path / "other").mkdir()
    other = Swd(tmp_path / "other", text(one=None, two="trap"))
    other.settle()
    other.stop()
    swd.start()
    found = surely(swd)
    assert {f["kind"] for f in found} <= {"other swd", "missing", "foreign"}, found
    told = [f for f in found if f["kind"] == "other swd"]
    assert told and all("of the swd with mark 0x" in f["text"] for f in told)
    swd.stop()
    code, out, _ = other.teardown()
    assert code == 0, out
    swd.start()
    swd.settle()
    swd.until(lambda: surely(swd) == [], "a clean audit")


def test_a_qdisc_in_our_place(swd):
    swd.stop()
    tc("qdisc del dev lan1 clsact", "qdisc add dev lan1 ingress")
    swd.start()
    found = [f for f in audit(swd) if f["kind"] == "qdisc"]
    assert len(found) == 1 and "lan1" in found[0]["text"] and "takeover: true in swd.yaml" in found[0]["mend"]
    tc(found[0]["mend"].split(",")[0].removeprefix("tc "))
    swd.until(lambda: surely(swd) == [], "a clean audit")


# ---- start ----

def test_tc_11_start_keeps_replaces_and_removes(swd):
    """kill -9, a file with one rule less and one changed: the kept ones are not touched, and go on counting."""
    Wire("lan1w").send(udp_frame(DST, SRC, "10.0.0.1", "192.0.2.9"))
    wait(lambda: dsts()["192.0.2.0/24"]["options"]["actions"][0]["stats"]["packets"] == 1, "a packet")
    swd.stop(signal.SIGKILL)
    swd.start()
    swd.settle()
    assert swd.status()["counts"]["messages"] == 0
    swd.stop(signal.SIGKILL)
    swd.file.write_text(text(one=None, two="trap"))
    swd.start()
    swd.settle()
    found = dsts()
    assert set(found) == {"192.0.2.0/24", "198.51.100.0/24"}
    assert found["192.0.2.0/24"]["options"]["actions"][0]["stats"]["packets"] == 1
    assert found["198.51.100.0/24"]["options"]["actions"][0]["control_action"]["type"] == "trap"
    assert surely(swd) == []


# ---- the last look ----

def test_tc_09_a_swapped_filter_stays(swd):
    """While swd is stopped another takes our filter's key; the reload that follows must not delete it."""
    one = dsts()["192.0.2.0/24"]
    swd.file.write_text(text(two=None, three=None))
    os.kill(swd.process.pid, signal.SIGSTOP)
    tc(f"filter del {place(one)}",
       f"filter add {place(one)} skip_sw dst_ip 192.0.2.0/24 action pass")
    os.kill(swd.process.pid, signal.SIGCONT)
    swd.call("Apply")
    assert dsts()["192.0.2.0/24"]["options"]["actions"][0]["control_action"]["type"] == "pass"
    assert [f["kind"] for f in surely(swd)] == ["foreign"]


# ---- teardown ----

def test_teardown(swd):
    run("ip", "addr", "add", "198.18.0.1/24", "dev", "lan4")
    code, out, err = swd.teardown()
    assert code == 1 and "held by another swd" in err and "stop it first" in err, (out, err)
    assert block_filters(10) and swd.status()["settled"]
    code, _, err = swd.teardown("no-such")
    assert code == 1 and "no-such" in err
    swd.stop()
    code, out, err = swd.teardown()
    assert code == 0 and "left: 0 of swd's, 0 of others" in out, (out, err)
    assert not [q for q in json.loads(run("tc", "-j", "qdisc", "show").stdout) if q["kind"] == "clsact"]
    assert run("ip", "link", "show", "lan3.30", check=False).returncode != 0
    assert "198.18.0.1/24" in run("ip", "addr", "show", "lan4").stdout
    run("ip", "addr", "del", "198.18.0.1/24", "dev", "lan4")
    swd.start()
    swd.settle()
    assert len(dsts()) == 3 and surely(swd) == []


def test_teardown_names_what_it_leaves(swd):
    tc("filter add block 10 protocol ip pref 60000 flower skip_sw dst_ip 10.0.0.1 action drop")
    run("ip", "addr", "add", "10.30.0.1/24", "dev", "lan3.30")
    swd.stop()
    code, out, _ = swd.teardown()
    assert code == 1 and "pref 60000" in out and "not swd's" in out, out
    assert "stays, since it holds a foreign filter" in out
    assert list(dsts()) == ["10.0.0.1"]
    tc("filter del block 10 pref 60000")
    code, out, _ = swd.teardown()
    assert code == 1 and "vlan lan3.30: stays, since it holds a foreign address: address 10.30.0.1/24" in out, out
    run("ip", "addr", "del", "10.30.0.1/24", "dev", "lan3.30")
    code, out, _ = swd.teardown()
    assert code == 0, out


# ---- a counter against a history ----

def send(count=20):
    for _ in range(count):
        Wire("lan1w").send(udp_frame(DST, SRC, "10.0.0.1", "10.77.0.1"))


def qdisc_packets():
    return next(q["packets"] for q in json.loads(run("tc", "-s", "-j", "qdisc", "show", "dev", "lan1").stdout)
                if q["kind"] == "clsact")


@pytest.mark.skipif(not MARKS_STAY, reason="only Linux 6.12's bypass is derived from a history")
def test_a_counter_disproves_what_swd_did_not_hear(swd):
    assert swd.bypass("edge")["state"] == "on"
    time.sleep(1.1)
    one = dsts()["192.0.2.0/24"]
    audit(swd)
    before = qdisc_packets()
    send()
    assert qdisc_packets() == before            # bypassed packets are not counted
    # The other direction counts into the same qdisc: that proves nothing.
    tc("filter add dev lan1 egress protocol all pref 1 matchall action pass")
    for _ in range(3):
        run("ip", "neigh", "replace", "198.18.5.9", "lladdr", DST, "dev", "lan1")
        run("ip", "addr", "replace", "198.18.5.1/24", "dev", "lan1")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.sendto(b"out", ("198.18.5.9", 9))
        audit(swd)
        assert swd.bypass("edge")["state"] == "on"
    assert qdisc_packets() > before
    tc("filter del dev lan1 egress pref 1")
    run("ip", "addr", "del", "198.18.5.1/24", "dev", "lan1")
    # A mark that swd could not hear of.
    os.kill(swd.process.pid, signal.SIGSTOP)
    swd.deafen()
    tc(f"filter add block 10 protocol ip pref {one['pref']} flower dst_ip 10.1.1.1 action pass")
    tc(f"filter del {place(dsts()['10.1.1.1'])}")
    swd.deafen(False)
    os.kill(swd.process.pid, signal.SIGCONT)
    before = qdisc_packets()
    audit(swd)
    assert swd.bypass("edge")["state"] == "on"
    for _ in range(3):
        send()
        audit(swd)
    assert qdisc_packets() > before
    block = swd.bypass("edge")
    assert (block["state"], block["evidence"]) == ("off", "disproved by a counter"), block
    assert "mark" in kinds(swd)
