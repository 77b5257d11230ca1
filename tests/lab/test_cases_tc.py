# SPDX-License-Identifier: GPL-2.0-or-later
"""Field cases of tc, from TC-03 to TC-12, each by its number: how it went wrong for somebody, done again with tc
as the stranger, and what swd does then. Those about the bypass are in test_cases_tc_bypass.py, TC-13 and TC-18 in
test_cases_tc_tables.py."""
import errno
import json
import signal
import time

import pytest

from caselab import (CREATE, DELTFILTER, EXCL, GETTFILTER, NEWTFILTER, REPLACE, Events, Requests, action, alerts,
                     checked, dsts, end, findings, place, refusal, rule, start, text)
from faults import FAIL, REQUEST, FaultySwd
from swsimlab import block_filters, four_ports, knob, refused, run, tc
from thiskernel import SHORTCUT

LAB = {"variants": ["6.1-swd", "6.12"], "all_variants": ["6.1"], "mem": "512M", "timeout": 400,
       "faults": True}

ONE, TWO, THREE = (rule(name, f"dst: {dst}") for name, dst in
                   (("one", "192.0.2.0/24"), ("two", "198.51.100.0/24"), ("three", "203.0.113.0/24")))

hardware = pytest.fixture(scope="module", autouse=True)(four_ports)


@pytest.fixture(name="swd")
def fixture_swd(tmp_path):
    swd = start(tmp_path, text(ONE, TWO))
    yield swd
    end(swd)


@pytest.fixture(name="veth")
def fixture_veth():
    """v0 and v1, which offload nothing."""
    run("ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1")
    yield
    run("ip", "link", "del", "v0", check=False)


def qdiscs():
    """{device: (kind, ingress block)}"""
    return {q["dev"]: (q["kind"], q.get("ingress_block")) for q in
            json.loads(run("tc", "-j", "qdisc", "show").stdout) if q["kind"] in ("clsact", "ingress")}


# ---- TC-03 ----

def test_tc_03_a_refused_rule_is_a_failure_with_the_kernels_words(swd, veth):
    """skip_sw on a port that can't, and on hardware that says why not."""
    line = ("filter add dev {} ingress protocol all pref 100 flower skip_sw indev lan1 dst_mac 02:00:00:00:00:02 "
            "action mirred egress redirect dev lan2")
    tc("qdisc add dev v0 clsact")
    assert "Operation not supported" in refused(line.format("v0"))
    tc("qdisc del dev v0 clsact")

    before = block_filters(10)
    moved = rule("moved", 'dst-mac: "02:00:00:00:00:02", ethertype: all', "{ redirect: lan2 }")
    said = refusal(swd, text(ONE, TWO, moved) + "  other:\n    id: 11\n    bind: [v0]\n    tagging: any\n    rules:\n"
                   "      - { name: nowhere, match: { dst: 10.0.0.0/8 }, action: { redirect: lan2 } }\n")
    assert "rule nowhere: kernel: " in said and "Operation not supported" in said, said
    assert "swd.yaml:21:9: error: " in said, said
    assert swd.status()["last_outcome"] == "reverted"

    knob("dsa0", "deny_actions", "redirect")
    try:
        said = refusal(swd, text(ONE, TWO, moved))
    finally:
        knob("dsa0", "deny_actions", "")
    assert "rule moved: kernel: swsim: " in said and "redirect" in said, said

    # The way back is whole, and no other device was tried: not the conduit, nor the ports one by one.
    assert [place(f) for f in block_filters(10)] == [place(f) for f in before]
    assert qdiscs() == {"lan1": ("clsact", 10), "lan2": ("clsact", 10)}
    rules, _ = swd.rules("edge")
    assert {r["name"]: r["state"] for r in rules} == {"one": "in hardware", "two": "in hardware"}


def test_tc_03_in_hardware_is_what_was_read_back(swd):
    """Taken by the kernel and refused by hardware: done, and not in hardware."""
    maybe = rule("maybe", "dst: 10.44.0.0/16", offload="preferred")
    knob("dsa0", "fail_next", "2 28")
    swd.apply(text(ONE, TWO, maybe))
    knob("dsa0", "fail_next", "0")
    assert dsts()["10.44.0.0/16"]["options"].get("not_in_hw")
    states = {r["name"]: r["state"] for r in swd.rules("edge")[0]}
    assert states == {"one": "in hardware", "two": "in hardware", "maybe": "not in hardware"}, states
    assert swd.status()["in_hw"] == sum(bool(f["options"].get("in_hw")) for f in block_filters(10)
                                        if not f["options"].get("skip_hw"))


# ---- TC-05 ----

def tries(swd):
    """How often the kernel was asked for what it refuses, by the log."""
    return swd.log.read_text().count("clsact on v0")


def test_tc_05_a_late_member_that_cannot_offload_is_left_out(tmp_path, veth):
    """(b) of the case: the block holds filters in hardware when it comes."""
    run("ip", "link", "del", "v0")
    swd = start(tmp_path, text(ONE, TWO, bind="lan1, v0, lan2", block=22), settle=False)
    try:
        swd.until(lambda: len(dsts(22)) == 2, "the rules")
        before = [place(f, 22) for f in block_filters(22)]
        events = Events()
        run("ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1")
        swd.until(lambda: alerts(swd, "refused"), "a report")
        (alert,) = alerts(swd, "refused")
        assert "clsact on v0 (ingress block 22)" in alert["about"] and "Operation not supported" in alert["text"], alert
        assert [place(f, 22) for f in block_filters(22)] == before
        assert all(f["options"].get("in_hw") and f["options"]["in_hw_count"] == 2 for f in dsts(22).values())
        assert qdiscs() == {"lan1": ("clsact", 22), "lan2": ("clsact", 22)}
        assert "Operation not supported" in refused("qdisc add dev v0 ingress_block 22 clsact")
        assert not [t for t in events.heard() if t.type == DELTFILTER]
        # Tried again ever more seldom: 100 ms, doubled each time.
        time.sleep(3)
        assert tries(swd) <= 8, swd.log.read_text()

        # The rest goes on: a file with one rule more is applied, and says who is left out.
        answer = swd.apply(text(ONE, TWO, THREE, bind="lan1, v0, lan2", block=22))
        said = [d["message"] for d in answer["diags"]]
        assert len(said) == 1 and said[0].startswith("swd.yaml:10:18: warning: clsact on v0 (ingress block 22)"), said
        assert len(dsts(22)) == 3 and swd.status()["generation"] == 2
        # So does a start, over and over.
        swd.stop(signal.SIGKILL)
        swd.start()
        swd.until(lambda: alerts(swd, "refused"), "a report")
        assert swd.status()["missing"] == 0 and all(f["options"].get("in_hw") for f in dsts(22).values())
        swd.apply(text(ONE, bind="lan1, lan2", block=22))
        swd.settle()
        assert not alerts(swd, "refused")
    finally:
        end(swd)


def test_tc_05_a_member_left_out_does_not_spoil_the_way_back(tmp_path, veth):
    """It is tried again on the way back, and refused again: all is as before nevertheless, and another way is tried."""
    words = {"bind": "lan1, v0, lan2", "block": 22}
    swd = start(tmp_path, text(ONE, TWO, **words), settle=False)
    try:
        swd.until(lambda: len(dsts(22)) == 2, "the rules")
        knob("dsa0", "fail_next", "1 22")
        said = refusal(swd, text(ONE, TWO, THREE, **words))
        assert "can't be undone" not in said and swd.status()["last_outcome"] == "reverted", said
        knob("dsa0", "deny_replace", "1")
        swd.apply(text(ONE, TWO.replace("drop", "trap"), **words))
        assert swd.status()["last_outcome"] == "done" and len(dsts(22)) == 2
    finally:
        knob("dsa0", "fail_next", "0 22")
        knob("dsa0", "deny_replace", "0")
        end(swd)


def test_tc_05_a_member_that_cannot_offload_is_there_first(tmp_path, veth):
    """A box that boots, with all its ports: the file names first who can't, and the others have their rules."""
    swd = start(tmp_path, text(ONE, TWO, bind="v0, lan1, lan2", block=22), settle=False)
    try:
        swd.until(lambda: len(dsts(22)) == 2, "the rules")
        assert "v0" not in qdiscs() and swd.status()["generation"] == 1
        assert all(f["options"].get("in_hw") for f in dsts(22).values())
        swd.until(lambda: alerts(swd, "refused"), "a report")
    finally:
        end(swd)


def test_tc_05_a_member_that_cannot_offload_makes_room(tmp_path, veth):
    """(a) of the case, by swd itself: it was bound while the block had nothing for hardware."""
    words = {"bind": "v0, lan1, lan2", "block": 22}
    swd = start(tmp_path, text(**words))
    try:
        assert set(qdiscs()) == {"v0", "lan1", "lan2"}
        said = [d["message"] for d in swd.apply(text(ONE, TWO, **words))["diags"]]
        assert len(said) == 1 and "clsact on v0 (ingress block 22): left out" in said[0], said
        assert set(qdiscs()) == {"lan1", "lan2"}
        assert all(f["options"]["in_hw_count"] == 2 for f in dsts(22).values()) and len(dsts(22)) == 2
        swd.apply(text(**words))
        swd.settle()
        assert set(qdiscs()) == {"v0", "lan1", "lan2"}
    finally:
        end(swd)


def test_tc_05_a_member_by_others_that_cannot_offload_is_named(tmp_path, veth):
    """(a) of the case: by tc on a block without filters; then no rule gets in, and swd says why."""
    tc("qdisc add dev v0 ingress_block 22 clsact")
    swd = start(tmp_path, text(bind="lan1, lan2", block=22))
    try:
        line = "filter add block 22 pref 1 protocol ip flower skip_sw dst_ip 192.0.2.2 action drop"
        assert "Operation not supported" in refused(line)
        said = refusal(swd, text(ONE, bind="lan1, lan2", block=22))
        assert "rule one: kernel: " in said and "(block 22 " in said, said
        assert "its block has a member that may not offload: v0" in said, said
        assert not block_filters(22)
        tc("qdisc del dev v0 clsact")
        swd.call("Apply")
        assert dsts(22)["192.0.2.0/24"]["options"]["in_hw_count"] == 2
    finally:
        end(swd)


def test_tc_05_partly_offloaded_is_said(swd):
    """swsim has a callback a port, so here it can be known: one of two refuses."""
    knob("dsa0", "fail_next", "1 28")
    swd.apply(text(ONE, TWO, rule("maybe", "dst: 10.44.0.0/16", offload="preferred")))
    knob("dsa0", "fail_next", "0")
    assert dsts()["10.44.0.0/16"]["options"]["in_hw_count"] == 1
    (found,) = findings(swd, "partly")
    assert found["rule"] == "maybe" and "held by 1 of at least 2" in found["text"]
    states = {r["name"]: r["state"] for r in swd.rules("edge")[0]}
    assert states == {"one": "in hardware", "two": "in hardware", "maybe": "partly"}, states


# ---- TC-06 ----

def test_tc_06_one_pref_one_protocol_and_kind(swd):
    """The kernel's words mislead; so files are told before, and strangers' prefs are passed by."""
    tc("filter add block 10 pref 5 protocol ip flower skip_sw dst_ip 10.1.0.0/16 action drop")
    assert "Filter with specified priority/protocol not found" in refused(
        "filter add block 10 pref 5 protocol ipv6 flower skip_sw dst_ip 2001:db8::/32 action drop")
    assert "Specified filter kind does not match existing one" in refused(
        "filter add block 10 pref 5 protocol ip matchall action drop")
    four, six, all_ = (rule(n, m, pref=10) for n, m in
                       (("v4", "dst: 192.0.2.0/24"), ("v6", 'dst: "2001:db8::/32"'), ("all", "ethertype: all")))
    said = checked(swd, text(four, six), 1)
    assert "rules 'v4' (line 13) and 'v6' share block 10 chain 0 pref 10 but differ in protocol (ip and ipv6)" in said
    said = checked(swd, text(four, all_), 1)
    assert "rules 'v4' (line 13) and 'all' share block 10 chain 0 pref 10 but differ in protocol" in said, said

    with Requests() as requests:
        swd.apply(text(ONE, rule("both", "proto: tcp, dport: 179"), rule("v6", 'dst: "2001:db8::/32"'), TWO))
        asked = [t for t in requests.heard() if t.type == NEWTFILTER]
    assert len(asked) >= 3 and all(t.pref and t.handle and t.protocol and t.block == 10 for t in asked), asked
    protocols = {}
    for f in block_filters(10):
        protocols.setdefault((f.get("chain", 0), f["pref"]), set()).add((f["protocol"], f["kind"]))
    assert all(len(p) == 1 for p in protocols.values()), protocols
    assert {"ip", "ipv6"} <= {p for kinds in protocols.values() for p, _ in kinds}
    # A pref of the stranger's, said by the file for another protocol: refused, and both are named.
    said = refusal(swd, text(rule("mine", 'dst: "2001:db8::/32"', pref=5)))
    assert "a foreign filter holds its pref: block 10 chain 0 pref 5 protocol ip flower" in said, said
    assert dsts()["10.1.0.0/16"]["pref"] == 5


# ---- TC-07 ----

def test_tc_07_equal_keys(swd):
    """Two rules with one match; replace with and without a handle; somebody's filter with our key."""
    add = "filter {} block 10 pref 7 {}protocol ip flower skip_sw dst_ip 10.7.0.0/16 action {}"
    tc(add.format("add", "handle 1 ", "drop"))
    assert "File exists" in refused(add.format("add", "", "pass"))
    assert "File exists" in refused(add.format("replace", "", "pass"))
    tc(add.format("replace", "handle 1 ", "pass"),
       # Another mask in one pref is another key.
       "filter add block 10 pref 7 protocol ip flower skip_sw dst_ip 10.7.0.0/24 action drop")
    tc("filter del block 10 pref 7")
    said = checked(swd, text(ONE, rule("again", "dst: 192.0.2.0/24", "trap")), 1)
    assert "rules 'one' (line 13) and 'again' have the same match in chain 0" in said

    # Every handle is swd's own, and what changes is replaced by its whole place.
    old = dsts()["192.0.2.0/24"]
    with Requests() as requests:
        swd.apply(text(rule("one", "dst: 192.0.2.0/24", "trap"), TWO))
        asked = requests.heard()
    changes = [t for t in asked if t.type != GETTFILTER]
    assert [(t.type, t.block, t.chain, t.pref, t.protocol, t.handle) for t in changes] == \
        [(NEWTFILTER, 10, 0, old["pref"], 0x0800, old["options"]["handle"])], asked
    assert changes[0].flags & REPLACE or not changes[0].flags & (CREATE | EXCL)
    assert action(dsts()["192.0.2.0/24"]) == "trap" and place(dsts()["192.0.2.0/24"]) == place(old)


@pytest.mark.parametrize("heard", [True, False])
def test_tc_07_anothers_filter_with_our_key_stays(swd, heard):
    """Known before, or only by the kernel's EEXIST: reported, and not overwritten."""
    if not heard:
        swd.deafen()
    tc("filter add block 10 pref 3000 handle 0x77 protocol ip flower skip_sw dst_ip 203.0.113.0/24 action pass")
    said = refusal(swd, text(ONE, TWO, rule("three", "dst: 203.0.113.0/24", pref=3000)))
    if heard:
        assert "a foreign filter holds its pref: block 10 chain 0 pref 3000 protocol ip flower handle 0x77" in said
    else:
        swd.deafen(False)
        assert "rule three: kernel: " in said and "File exists" in said, said
    assert action(dsts()["203.0.113.0/24"]) == "pass"
    assert dsts()["203.0.113.0/24"]["options"]["handle"] == 0x77 and len(block_filters(10)) == 3 + SHORTCUT
    assert [f["filter"]["handle"] for f in findings(swd, "foreign")] == [0x77]


# ---- TC-09 ----

def test_tc_09_a_stolen_handle_is_not_deleted(swd):
    """Outside swd, and unheard by it, a filter goes and another takes its place; then the rule leaves the file."""
    tc("filter add block 10 pref 4000 protocol ip flower skip_sw dst_ip 10.9.9.9 action drop")
    one = dsts()["192.0.2.0/24"]
    swd.deafen()
    tc(f"filter del {place(one)}", f"filter add {place(one)} skip_sw dst_ip 203.0.113.7 action pass")
    with Requests() as requests:
        swd.apply(text(TWO))
        asked = requests.heard()
    assert [t.type for t in asked if t.pref == one["pref"]] == [GETTFILTER], "it looks, and leaves it"
    swd.deafen(False)
    found = dsts()
    assert set(found) == {"203.0.113.7", "198.51.100.0/24", "10.9.9.9"}
    assert place(found["203.0.113.7"]) == place(one) and action(found["203.0.113.7"]) == "pass"
    told = {f["filter"]["pref"]: f["text"] for f in findings(swd, "foreign")}
    assert set(told) == {one["pref"], 4000}, told


def test_tc_09_a_delete_names_its_filter_whole(swd):
    """Handle, pref, protocol, chain and block; what is gone already is no failure, and is noted."""
    swd.apply(text(ONE, TWO, THREE))
    found = dsts()
    swd.deafen()
    tc(f"filter del {place(found['192.0.2.0/24'])}")
    with Requests() as requests:
        swd.apply(text(TWO))
        asked = [t for t in requests.heard() if t.type == DELTFILTER]
    swd.deafen(False)
    wanted = found["203.0.113.0/24"]
    assert [(t.block, t.chain, t.pref, t.protocol, t.handle, t.classifier) for t in asked] == \
        [(10, 0, wanted["pref"], 0x0800, wanted["options"]["handle"], "flower")], asked
    assert set(dsts()) == {"198.51.100.0/24"} and swd.status()["last_outcome"] == "done"
    gone = found["192.0.2.0/24"]
    assert f"pref {gone['pref']} protocol ip flower handle 0x1" in swd.log.read_text()
    assert "was gone already" in swd.log.read_text()
    assert findings(swd) == []


def test_tc_09_a_failed_delete_is_logged_and_counted(tmp_path):
    swd = FaultySwd(tmp_path, text(ONE, TWO, THREE))
    try:
        swd.settle()
        before, counted = [place(f) for f in block_filters(10)], swd.status()["counts"]["refused"]
        with swd.faults(REQUEST, FAIL, 1, error=errno.EBUSY):
            said = refusal(swd, text(TWO))
        assert "kernel: Device or resource busy" in said and "block 10 chain 0 pref" in said, said
        assert swd.status()["counts"]["refused"] == counted + 1
        assert said.splitlines()[0] in swd.log.read_text()
        assert [place(f) for f in block_filters(10)] == before
    finally:
        end(swd)


# ---- TC-10 ----

def test_tc_10_a_deleted_qdisc_is_bound_again(swd):
    """By another manager, once and again and again: soon, then ever more seldom, and counted."""
    before = [place(f) for f in block_filters(10)]
    took = []
    for _ in range(3):
        tc("qdisc del dev lan1 clsact")
        took.append(swd.until(lambda: qdiscs().get("lan1") == ("clsact", 10) and swd.status()["settled"], "lan1"))
    assert sorted(took)[1] < 2, took
    assert [place(f) for f in block_filters(10)] == before
    assert all(f["options"]["in_hw_count"] == 2 for f in dsts().values())
    gone = 3

    def again(done, seconds):
        nonlocal gone
        end_ = time.monotonic() + seconds
        while time.monotonic() < end_ and not done():
            if "lan1" in qdiscs():
                tc("qdisc del dev lan1 clsact")
                gone += 1
    again(lambda: alerts(swd, "drift"), 20)
    (alert,) = alerts(swd, "drift")
    assert alert["about"].startswith("clsact on lan1") and "waits longer each time" in alert["text"], alert
    # From here on it waits 100 ms, doubled each time.
    noticed = gone
    again(lambda: False, 4)
    assert gone - noticed <= 7, (gone, noticed)
    swd.until(lambda: f"put right {gone} times" in alerts(swd, "drift")[0]["text"], f"{gone} times", 30)
    assert qdiscs()["lan1"] == ("clsact", 10)
    log = swd.log.read_text()
    assert log.count("repair: + clsact on lan1 (ingress block 10)") == swd.status()["repairs"], log


@pytest.mark.parametrize("takeover", [False, True])
def test_tc_10_a_foreign_qdisc_is_not_replaced_silently(tmp_path, takeover):
    """A plain ingress qdisc with a filter, before swd starts."""
    tc("qdisc add dev lan1 ingress",
       "filter add dev lan1 parent ffff: protocol ip pref 1 flower skip_sw dst_ip 10.5.5.5 action drop")
    extra = "takeover: true" if takeover else ""
    swd = start(tmp_path, text(ONE, extra=extra), settle=takeover)
    try:
        swd.until(lambda: len(dsts()) == 1, "the rule")
        if takeover:
            assert qdiscs() == {"lan1": ("clsact", 10), "lan2": ("clsact", 10)}
            log = swd.log.read_text()
            assert "- ingress on lan1: takeover, with all its filters" in log, log
            return
        assert qdiscs() == {"lan1": ("ingress", None), "lan2": ("clsact", 10)}
        assert "10.5.5.5" in run("tc", "filter", "show", "dev", "lan1", "ingress").stdout
        (alert,) = alerts(swd, "conflict")
        assert "lan1 has a ingress qdisc that is not swd's; takeover: true would replace it" in alert["text"], alert
        said = refusal(swd, text(ONE, TWO))
        assert said.startswith("swd.yaml:10:12: error: clsact on lan1 (ingress block 10): lan1 has a"), said
        code, out, _ = swd.cli("plan", check=False)
        assert code == 10 and "takeover: true would replace it" in out, out
        # The plan says what a takeover does.
        swd.file.write_text(text(ONE, extra="takeover: true"))
        code, out, _ = swd.cli("plan", check=False)
        assert code == 10 and "- ingress on lan1: takeover" in out and "+ clsact on lan1" in out, out
        swd.call("Apply")
        assert qdiscs()["lan1"] == ("clsact", 10)
    finally:
        end(swd)


def test_tc_10_a_replace_that_binds_nothing_is_seen(tmp_path):
    """Linux says yes to `replace ... ingress_block` on a live clsact; swd reads back, and takes over in two steps."""
    tc("qdisc add dev lan1 clsact", "qdisc replace dev lan1 ingress_block 10 clsact")
    assert qdiscs() == {"lan1": ("clsact", None)}
    swd = start(tmp_path, text(ONE), settle=False)
    try:
        swd.until(lambda: alerts(swd, "conflict"), "a report")
        assert qdiscs() == {"lan1": ("clsact", None), "lan2": ("clsact", 10)}
        (block,) = swd.call("Blocks")["blocks"]
        assert {b["port"]: b["state"] for b in block["bindings"]} == {"lan1": "missing", "lan2": "bound"}
        swd.apply(text(ONE, extra="takeover: true"))
        assert qdiscs() == {"lan1": ("clsact", 10), "lan2": ("clsact", 10)}
    finally:
        end(swd)
