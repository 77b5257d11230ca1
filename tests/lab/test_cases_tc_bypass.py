# SPDX-License-Identifier: GPL-2.0-or-later
"""Field cases of tc that are about the bypass, TC-01, TC-02 and TC-16, as test_cases_tc.py has the others: who breaks
it, for how long, and what is said of it. Whether software walks a block is told by the kernel: by the counter of the
qdisc, and with our patches by the kernel's own family."""
import os
import signal

import pytest

from bypasslab import ETH_P_TEST, qdisc_packets
from caselab import Events, DELTFILTER, alerts, checked, dsts, end, findings, packets, place, refusal, rule, start, text
from frames import Wire, eth, udp_frame
from swsimlab import DST, SRC, block_filters, four_ports, refused, tc, wait
from tcbypass import TcBypass
from thiskernel import MARKS_STAY, SHORTCUT, TELLS

LAB = {"variants": ["6.1-swd", "6.1", "6.12"], "all_variants": ["6.12-swd"], "mem": "512M", "timeout": 400}


hardware = pytest.fixture(scope="module", autouse=True)(four_ports)


@pytest.fixture(name="swd")
def fixture_swd(tmp_path):
    swd = start(tmp_path, text(rule("one", "dst: 192.0.2.0/24", pref=100)))
    yield swd
    end(swd)


def walked(count=20):
    """True if software walks block 10 for frames of no rule's that come in by lan1."""
    assert not SHORTCUT, "there it always does, up to the first filter"
    before = qdisc_packets("lan1")
    Wire("lan1w").send(*[eth(DST, SRC, ETH_P_TEST, b"")] * count)
    seen = Wire("lan1")
    Wire("lan1w").send(eth(DST, SRC, ETH_P_TEST, b"last"))
    while seen.receive(1.0) != eth(DST, SRC, ETH_P_TEST, b"last"):
        pass
    after = qdisc_packets("lan1")
    if TELLS:
        assert TcBypass().block(10)["bypassed"] == (after == before)
    return after != before


def state(swd):
    return swd.bypass("edge")["state"]


def foreign(swd):
    """The filters of others in the block, as swd tells them."""
    return [f for f in swd.rules("edge")[1] if f["owner"] == "foreign"]


# ---- TC-01 ----

def test_tc_01_one_pref_never_mixes_skip_sw(swd):
    """A file that asks for it is refused with both names; one that leaves it to swd gets prefs apart."""
    said = checked(swd, text(rule("hw", "dst: 192.0.2.0/24", pref=100),
                             rule("sw", "dst: 198.51.100.0/24", offload="off", pref=100)), 1)
    assert "rules 'hw' (line 13) and 'sw' share block 10 chain 0 pref 100" in said, said
    swd.apply(text(*[rule(f"r{i}", f"dst: 10.0.{i}.0/24", offload=("required", "preferred", "off")[i % 3])
                     for i in range(30)], *[rule(f"s{i}", f"dst: 10.1.{i}.0/24", offload=("required", "off")[i // 10])
                                            for i in range(20)]))
    protos = {}
    for f in block_filters(10):
        o = f["options"]
        protos.setdefault((f.get("chain", 0), f["pref"], f["protocol"]), set()).add(
            (bool(o.get("skip_sw")), bool(o.get("skip_hw"))))
    assert all(len(flags) == 1 for flags in protos.values()), protos
    assert len(set.union(*protos.values())) == 3


STRAY = "filter {} block 10 pref 100 handle 77 protocol ip flower dst_ip 198.51.100.0/24 {} action drop"


def test_tc_01_the_bypass_is_lost_and_regained(swd):
    """A filter without skip_sw joins our pref, is met by frames, and leaves again."""
    swd.until(lambda: state(swd) == "on", "bypass on")
    tc(STRAY.format("add", ""))
    swd.until(lambda: state(swd) == "off", "bypass off")
    (culprit,) = [c for c in swd.bypass("edge")["culprits"] if c["handle"] == 77]
    assert culprit["text"] == "pref 100 protocol ip flower handle 0x4d, foreign: not skip_sw", culprit
    Wire("lan1w").send(udp_frame(DST, SRC, "10.0.0.1", "198.51.100.1"))
    wait(lambda: packets(dsts()["198.51.100.0/24"]) == 1, "the frame at the second filter")
    # Not in hardware, it is for software to drop, and software looks.
    tc("filter del block 10 pref 100 handle 77 protocol ip flower", STRAY.format("add", "skip_hw"))
    swd.until(lambda: len(foreign(swd)) == 1 and foreign(swd)[0]["skip_hw"], "the new one")
    if SHORTCUT:
        swd.until(lambda: not any(f["options"].get("skip_hw") and f["pref"] != 100 for f in block_filters(10)),
                  "no shortcut in front")
    Wire("lan1w").send(*[udp_frame(DST, SRC, "10.0.0.1", "198.51.100.1")] * 3)
    wait(lambda: packets(dsts()["198.51.100.0/24"]) == 3, "the frames at the second filter")

    events = Events()
    os.kill(swd.process.pid, signal.SIGSTOP)
    tc("filter del block 10 pref 100 handle 77 protocol ip flower")
    listed = block_filters(10)
    assert all(f["options"].get("skip_sw") and f["options"].get("in_hw") for f in listed), listed
    if not SHORTCUT:
        # tc lists skip_sw filters alone, and on 6.12 the proto is marked all the same.
        assert walked() == MARKS_STAY
    os.kill(swd.process.pid, signal.SIGCONT)
    swd.until(lambda: state(swd) == "on", "bypass on")
    assert SHORTCUT or not walked()
    swd.settle()
    assert set(dsts()) == {"192.0.2.0/24"} and dsts()["192.0.2.0/24"]["pref"] == 100
    # There the whole pref went, and came anew.
    gone = [t for t in events.heard() if t.type == DELTFILTER and t.pref == 100 and t.handle != 77]
    assert bool(gone) == MARKS_STAY, gone


@pytest.mark.skipif(not MARKS_STAY, reason="marks that stay are Linux 6.12's")
def test_tc_01_on_is_not_derived_from_the_filters(swd):
    """All of them are skip_sw and in hardware, and yet: marked by what was there, or nobody knows by what."""
    tc(STRAY.format("add", ""))
    swd.until(lambda: state(swd) == "off", "bypass off")
    tc(STRAY.format("replace", "skip_sw"))
    swd.until(lambda: len(foreign(swd)) == 1 and foreign(swd)[0]["skip_sw"], "the other")
    listed = block_filters(10)
    assert len(listed) == 2 and all(f["options"].get("skip_sw") and f["options"].get("in_hw") for f in listed), listed
    assert walked()
    block = swd.bypass("edge")
    assert block["state"] == "off" and block["culprits"][0]["text"].startswith("pref 100 protocol ip: marked by"), block
    assert "bypass OFF" in swd.cli("bypass", "edge")[1]
    swd.stop()
    swd.start()
    swd.settle()
    assert walked() and state(swd) == "unknown" and "bypass UNKNOWN" in swd.cli("bypass", "edge")[1]
    tc("filter del block 10 pref 100 handle 77 protocol ip flower")
    swd.apply(text(rule("one", "dst: 192.0.2.0/24", pref=100), extra="bypass: required"))
    swd.until(lambda: state(swd) == "on", "bypass on")
    assert not walked()


# ---- TC-02 ----

# The shortcut has pref 1 for itself.
PREF = 2 if SHORTCUT else 1
HAND = f"filter add block 10 pref {PREF} protocol all matchall action pass"


def test_tc_02_a_stray_filter_is_named_once_and_tolerated(swd):
    swd.until(lambda: state(swd) == "on", "bypass on")
    if SHORTCUT:
        assert "File exists" in refused(HAND.replace("pref 2", "pref 1"))
    else:
        assert not walked()
    tc(HAND)
    took = swd.until(lambda: state(swd) == "off", "bypass off")
    assert took < 1, took
    words = f"pref {PREF} protocol all matchall handle 0x1, foreign: not skip_sw"
    assert words in [c["text"] for c in swd.bypass("edge")["culprits"]]
    out = swd.cli("bypass", "edge")[1]
    assert "edge (block 10)  bypass OFF since" in out and f"breaks it: {words}" in out, out
    assert "cost: " in out and f"mend: tc filter del block 10 pref {PREF}, or foreign: evict in swd.yaml:8" in out, out
    assert SHORTCUT or walked()
    # One alert, raised once, whatever else happens.
    swd.until(lambda: swd.status()["alerts"], "an alert")
    swd.apply(text(rule("one", "dst: 192.0.2.0/24", pref=100), rule("two", "dst: 203.0.113.0/24")))
    swd.settle()
    (alert,) = swd.status()["alerts"]
    assert (alert["id"], alert["about"]) == ("bypass-off", "block edge") and words in alert["text"], alert
    assert swd.log.read_text().count("alert: ") == 1, swd.log.read_text()
    # It is tolerated, and never swd's own: not after a start, and not for a teardown.
    for _ in range(2):
        (other,) = foreign(swd)
        assert (other["pref"], other["type"], other["owner"]) == (PREF, "matchall", "foreign")
        assert [f["filter"]["pref"] for f in findings(swd, "foreign")] == [PREF]
        swd.stop(signal.SIGKILL)
        swd.start()
        swd.settle()
    swd.stop()
    _, out, _ = swd.teardown()
    assert [(f["pref"], f["kind"]) for f in block_filters(10)] == [(PREF, "matchall")]
    assert f"pref {PREF}" in out and "not swd's" in out, out
    swd.start()
    swd.until(lambda: state(swd) == "off", "bypass off")
    tc(f"filter del block 10 pref {PREF}")
    swd.until(lambda: state(swd) == "on", "bypass on")
    swd.until(lambda: not swd.status()["alerts"], "no alert")


def test_tc_02_a_stray_filter_is_removed_by_policy(swd):
    swd.apply(text(rule("one", "dst: 192.0.2.0/24", pref=100), extra="foreign: evict"))
    swd.until(lambda: state(swd) == "on", "bypass on")
    tc(HAND)
    swd.until(lambda: f"evict" in swd.log.read_text() and state(swd) == "on", "eviction and bypass")
    assert not [f for f in block_filters(10) if f["pref"] == PREF]
    assert SHORTCUT or not walked()


# ---- TC-16 ----

def test_tc_16_ct_is_refused_with_the_reason(swd):
    tc("qdisc add dev lan3 clsact")
    words = refused("filter add dev lan3 ingress pref 1 protocol ip flower skip_sw dst_ip 10.0.0.1 action ct")
    assert "swsim: " in words, words
    for offload in ("required", "preferred"):
        file = text(rule("one", "dst: 192.0.2.0/24"), rule("track", "proto: tcp", "ct", offload=offload))
        said = checked(swd, file, 1)
        assert "checked.yaml:14:" in said and "unknown action 'ct'" in said, said
        assert "connections are tracked in software" in said, said
        assert "connections are tracked in software" in refusal(swd, file)


def test_tc_16_rules_for_software_make_the_bypass_impossible(swd):
    """A rule that need not be in hardware: what it costs is said, and where the bypass is required it is refused."""
    rules = rule("one", "dst: 192.0.2.0/24"), rule("soft", "dst: 203.0.113.0/24", offload="preferred")
    said = checked(swd, text(*rules, extra="bypass: required"), 1)
    assert "rule 'soft' needs software (offload: preferred), which ends the bypass this block requires: " in said, said
    swd.apply(text(*rules))
    swd.until(lambda: state(swd) == "off", "bypass off")
    out = swd.cli("bypass", "edge")[1]
    assert "bypass OFF" in out and "rule soft: not skip_sw" in out, out
    assert "mend: offload: required for rule soft in swd.yaml:14" in out, out
    assert not alerts(swd, "bypass-off"), "the file says so: no alarm"
    assert SHORTCUT or walked()
    assert dsts()["203.0.113.0/24"]["options"].get("in_hw"), "in hardware all the same"
    swd.apply(text(*rules[:1]))
    swd.until(lambda: state(swd) == "on", "bypass on")
    assert SHORTCUT or not walked()
    assert place(dsts()["192.0.2.0/24"])
