# SPDX-License-Identifier: GPL-2.0-or-later
"""Field cases of tc, from TC-11 to TC-18, as test_cases_tc.py has those before: what is left behind, the order of
chains, keys of VLANs, and large tables."""
import json
import os
import signal
import socket
import threading
import time
from pathlib import Path

import pytest

from caselab import (DELTFILTER, NEWTFILTER, Events, action, checked, dsts, end, findings, packets, place, refusal,
                     rule, start, text)
from flowernl import add_drops
from frames import Wire, udp_frame
from swdlab import REPO
from swsimlab import DST, SRC, block_filters, four_ports, run, tc, wait

LAB = {"variants": ["6.1-swd"], "all_variants": ["6.12", "6.1"], "mem": "768M", "timeout": 500}

hardware = pytest.fixture(scope="module", autouse=True)(four_ports)


# ---- TC-11 ----

KEPT = rule("kept", "dst: 198.18.0.0/15", "{ redirect: lan2 }")
LEG = "vlans:\n  lan1.100: { link: lan1, id: 100 }\n"


def with_leg(*legs):
    """A block of its own on a device with a dot in its name."""
    lines = ["  leg:", "    id: 11", "    bind: [lan1.100]", "    offload: off", "    tagging: none", "    rules:"]
    return "\n".join(lines + [f"      - {{ {r} }}" for r in legs]) + "\n" + LEG


class Stream:
    """Frames over the kept rule, one after the other, through whatever happens."""

    def __init__(self):
        self.wire, self.out, self.sent = Wire("lan1w"), Wire("lan2w"), 0
        self.frame = udp_frame(DST, SRC, "10.0.0.1", "198.18.0.1")

    def run(self, until):
        """Until until() is true, and a few more."""
        more = 20
        while more:
            self.wire.send(self.frame)
            assert self.out.receive(1.0) == self.frame, f"frame {self.sent} did not arrive"
            self.sent += 1
            more -= bool(until())


def test_tc_11_a_start_after_a_kill_keeps_replaces_and_removes(tmp_path):
    """kill -9, and then a file with one rule less, one other and one the same, in each of two blocks."""
    swd = start(tmp_path, text(KEPT, rule("changed", "dst: 192.0.2.0/24"), rule("gone", "dst: 203.0.113.0/24"),
                               more=with_leg(rule("far", "dst: 10.9.0.0/16"), rule("left", "dst: 10.8.0.0/16"))))
    try:
        stream, events, before = Stream(), Events(), dsts()
        stream.run(lambda: stream.sent >= 30)
        swd.process.kill()
        stream.run(lambda: swd.process.poll() is not None)
        assert packets(dsts()["198.18.0.0/15"]) == stream.sent
        swd.file.write_text(text(KEPT, rule("changed", "dst: 192.0.2.0/24", "trap"),
                                 more=with_leg(rule("far", "dst: 10.9.0.0/16"))))
        swd.start(wait=False)
        client = swd.client = swd.connect()
        stream.run(lambda: client.call("Status")["settled"] and client.call("Status")["generation"] == 2)

        found = dsts()
        assert set(found) == {"198.18.0.0/15", "192.0.2.0/24"} and set(dsts(11)) == {"10.9.0.0/16"}
        assert action(found["192.0.2.0/24"]) == "trap"
        assert place(found["198.18.0.0/15"]) == place(before["198.18.0.0/15"])
        assert packets(found["198.18.0.0/15"]) == stream.sent, "its counter goes on"
        deleted = [t for t in events.heard() if t.type == DELTFILTER]
        assert deleted and all(t.handle and t.pref for t in deleted), "one by one, and nothing is flushed"
        kept = (before["198.18.0.0/15"]["pref"], before["198.18.0.0/15"]["options"]["handle"])
        assert kept not in [(t.pref, t.handle) for t in deleted if t.block == 10]
        assert findings(swd) == []
        tear_down(swd)
    finally:
        end(swd, "lan1.100")


def tear_down(swd):
    """None of swd's own filters is left, and what is not its own is named, on both devices."""
    tc("filter add block 10 protocol ip pref 60000 flower skip_sw dst_ip 10.1.1.1 action drop",
       "filter add block 11 protocol ip pref 60001 flower skip_hw dst_ip 10.1.1.2 action drop")
    swd.stop()
    _, out, _ = swd.teardown()
    assert list(dsts()) == ["10.1.1.1"] and list(dsts(11)) == ["10.1.1.2"], out
    assert len(block_filters(10)) == len(block_filters(11)) == 1
    for pref in (60000, 60001):
        assert any(f"pref {pref}" in line and "not swd's" in line for line in out.splitlines()), out
    assert "clsact on lan1.100 (ingress block 11): stays, since it holds a foreign filter" in out, out
    tc("filter del block 10 pref 60000", "filter del block 11 pref 60001")
    code, out, _ = swd.teardown()
    assert code == 0 and "left: 0 of swd's, 0 of others" in out, out
    assert not [q for q in json.loads(run("tc", "-j", "qdisc", "show").stdout) if q["kind"] == "clsact"]
    assert not Path("/sys/class/net/lan1.100").exists()


# ---- TC-12 ----

@pytest.fixture(name="swd")
def fixture_swd(tmp_path):
    swd = start(tmp_path, text(rule("one", "dst: 192.0.2.0/24")))
    yield swd
    end(swd)


def test_tc_12_chains_that_lead_nowhere_are_told(swd):
    one = rule("one", "dst: 192.0.2.0/24")
    said = checked(swd, text(one, rule("five", "dst: 10.5.0.0/16", chain=5)), 0)
    assert "checked.yaml:14:73: warning: " in said, said
    assert "no goto leads from chain 0 to chain 5, so its rules are never met" in said, said
    said = checked(swd, text(one, rule("jump", "dst: 10.7.0.0/16", "{ goto: 7 }")), 1)
    assert "error: " in said and "goto 7 leads to a chain without rules, expected at least one rule with chain: 7" in said
    # A warning is no obstacle, and comes with an apply too.
    answer = swd.apply(text(one, rule("five", "dst: 10.5.0.0/16", chain=5)))
    assert len(answer["diags"]) == 1 and "no goto leads" in answer["diags"][0]["message"], answer
    assert dsts()["10.5.0.0/16"]["chain"] == 5


def test_tc_12_a_template_of_others_that_does_not_fit(swd):
    """The file has no templates, so only somebody else's can be in the way: then by the kernel's words."""
    tc("chain add block 10 chain 3 protocol ip flower dst_mac 00:00:00:00:00:00/ff:ff:ff:ff:ff:ff")
    before = [place(f) for f in block_filters(10)]
    file = text(rule("one", "dst: 192.0.2.0/24"), rule("jump", "dst: 10.3.0.0/16", "{ goto: 3 }"),
                rule("three", "dst: 10.3.3.0/24", chain=3))
    assert "warning" not in checked(swd, file, 0)
    said = refusal(swd, file)
    assert "swd.yaml:15:9: error: rule three: kernel: " in said and "Mask does not fit the template" in said, said
    assert [place(f) for f in block_filters(10)] == before
    tc("chain del block 10 chain 3")
    swd.call("Apply")
    assert {"10.3.0.0/16", "10.3.3.0/24"} <= set(dsts())


def chain_order(told, kind):
    return [t.chain for t in told if t.type == kind and t.block == 10 and t.handle]


def test_tc_12_targets_come_before_jumps_and_go_after(swd):
    """By the kernel's own events: chain 9, which chain 7 jumps to, which chain 0 jumps to; and back."""
    one = rule("one", "dst: 192.0.2.0/24")
    chains = [rule("to-7", "dst: 10.7.0.0/16", "{ goto: 7 }"),
              rule("seven", "dst: 10.7.1.0/24", chain=7), rule("to-9", "dst: 10.7.2.0/24", "{ goto: 9 }", chain=7),
              rule("nine", "dst: 10.7.2.9", chain=9), rule("nine-too", "dst: 10.7.2.0/28", "trap", chain=9)]
    events = Events()
    swd.apply(text(one, *chains))
    assert chain_order(events.heard(), NEWTFILTER) == [9, 9, 7, 7, 0]
    swd.apply(text(one))
    told = events.heard()
    assert chain_order(told, DELTFILTER) == [0, 7, 7, 9, 9] and not chain_order(told, NEWTFILTER), told
    # The way back of an apply that fails, too: the last of them is refused.
    said = refusal(swd, text(one, *chains, rule("bad", "dst: 10.10.0.0/16", "{ redirect: cpu0 }")))
    assert "rule bad" in said, said
    told = events.heard()
    gone = chain_order(told, DELTFILTER)
    assert gone and gone == sorted(gone), told
    assert set(dsts()) == {"192.0.2.0/24"}
    # A jump that turns to another chain: the new target is there before, the old one goes after.
    swd.apply(text(one, *chains[:2]))
    events.heard()
    swd.apply(text(one, rule("to-7", "dst: 10.7.0.0/16", "{ goto: 8 }"), rule("eight", "dst: 10.7.1.0/24", chain=8)))
    told = [(t.type, t.chain) for t in events.heard() if t.block == 10 and t.handle]
    assert told.index((NEWTFILTER, 8)) < told.index((NEWTFILTER, 0)) < told.index((DELTFILTER, 7)), told


# ---- TC-13 ----

def test_tc_13_vlan_keys_match_what_they_say(swd):
    """Both ethertypes with every VLAN rule on IP; and VLAN 1 is not 256, nor every frame."""
    swd.apply(text(rule("v1", "vlan: 1, dst: 10.8.0.0/16"), rule("v6", 'vlan: 2, dst: "2001:db8::/32"'),
                   rule("inner", "vlan: 5, cvlan: 256, dst: 10.9.0.0/16"), rule("bare", "vlan: 7")))
    keys = [(f["protocol"].lower(), f["options"]["keys"]) for f in block_filters(10) if "keys" in f["options"]]
    for protocol, k in keys:
        assert protocol in ("802.1q", "802.1ad"), keys
        assert {"dst_ip": "vlan_ethtype"}.keys() - k.keys() or "vlan_ethtype" in k, k
        assert "cvlan_id" not in k or "cvlan_ethtype" in k, k
    assert {k.get("vlan_id") for _, k in keys} == {1, 2, 5, 7} and {k.get("cvlan_id") for _, k in keys} == {None, 256}
    assert {k["vlan_ethtype"] for _, k in keys if k.get("vlan_id") in (1, 2)} == {"ip", "ipv6"}

    wire = Wire("lan1w")
    frames = {"v1": ([1], "10.8.0.1"), "v6": ([2], "2001:db8::1"), "inner": ([5, 256], "10.9.0.1"), "bare": ([7], "10.0.0.9")}
    others = [([256], "10.8.0.1"), ([], "10.8.0.1"), ([512], "2001:db8::1"), ([5, 1], "10.9.0.1"), ([1], "10.9.0.1"),
              ([1792], "10.0.0.9"), ([5], "10.9.0.1")]
    for tags, dst in others:
        wire.send(udp_frame(DST, SRC, "10.0.0.1" if "." in dst else "2001:db8:1::1", dst, vlans=tags))
    for times, (tags, dst) in enumerate(frames.values(), 1):
        wire.send(*[udp_frame(DST, SRC, "10.0.0.1" if "." in dst else "2001:db8:1::1", dst, vlans=tags)] * times)
    wanted = {name: times for times, name in enumerate(frames, 1)}

    def counted():
        return {r["name"]: r["packets"] for r in swd.rules("edge")[0]}
    wait(lambda: counted() == wanted, f"{wanted}, not {counted()}")


def test_tc_13_every_key_comes_back_as_it_went(swd):
    """Written, dumped and read: a start finds all of it as wanted, and sends nothing."""
    file = (REPO / "tests/golden/yaml/all-fields.yaml").read_text().replace("    rules:", "    offload: off\n    rules:")
    file = file.replace("action: trap", "action: pass")
    swd.apply(file)
    swd.settle()
    assert swd.status()["missing"] == 0 and len(block_filters(10)) == swd.status()["filters"]
    said = [r["filters"] for r in swd.rules("edge")[0]]
    swd.stop(signal.SIGKILL)
    swd.start()
    swd.settle()
    assert swd.status()["counts"]["messages"] == 0, swd.log.read_text()
    assert [[f["match"] for f in fs] for fs in said] == [[f["match"] for f in r["filters"]] for r in swd.rules("edge")[0]]


@pytest.mark.parametrize("match", ["dst: 0.0.0.0/0", 'src: "::/0"', "ttl: 0/0", "vlan: 5, src: 0.0.0.0/0",
                                   'dst-mac: "00:00:00:00:00:00/00:00:00:00:00:00"', 'proto: tcp, tcp-flags: ""'])
def test_tc_13_a_match_on_nothing_is_refused(swd, match):
    assert "swd.yaml:13:" in refusal(swd, text(rule("all", match)))
    assert set(dsts()) == {"192.0.2.0/24"}


# ---- TC-18 ----

class Watch(threading.Thread):
    """Asks for the status all the time, and is swd's systemd: how long answers took, and how often the dog was fed."""

    def __init__(self, folder):
        super().__init__(daemon=True)
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sock.bind(str(folder / "notify"))
        self.sock.setblocking(False)
        os.environ.update(NOTIFY_SOCKET=str(folder / "notify"), WATCHDOG_USEC="4000000")
        self.took, self.fed, self.over, self.swd = [], [], False, None

    def run(self):
        client = self.swd.connect()
        while not self.over:
            before = time.monotonic()
            client.call("Status")
            self.took.append(time.monotonic() - before)
            try:
                while b"WATCHDOG=1" in self.sock.recv(4096):
                    self.fed.append(time.monotonic())
            except BlockingIOError:
                pass
            time.sleep(0.05)

    def end(self):
        self.over = True
        self.join()
        self.sock.close()
        for name in ("NOTIFY_SOCKET", "WATCHDOG_USEC"):
            del os.environ[name]


def resident(swd):
    words = (Path(f"/proc/{swd.process.pid}/status").read_text()).split()
    return int(words[words.index("VmHWM:") + 1])


def test_tc_18_the_highest_handle(swd):
    """Of a stranger's filter in our block: dumps end, and swd tells it and leaves it."""
    tc("filter add block 10 protocol ip pref 500 handle 0xffffffff flower skip_sw dst_ip 10.255.0.1 action drop",
       "filter add block 10 protocol ip pref 500 handle 0xfffffffe flower skip_sw dst_ip 10.255.0.2 action drop")
    for _ in range(2):
        before = time.monotonic()
        assert {f["filter"]["handle"] for f in findings(swd, "foreign")} == {0xffffffff, 0xfffffffe}
        assert time.monotonic() - before < 2
        swd.stop(signal.SIGKILL)
        swd.start()
        swd.settle()
    assert swd.status()["counts"]["messages"] == 0
    swd.apply(text(rule("one", "dst: 192.0.2.0/24"), rule("same", "dst: 10.255.0.1")))
    assert [f["options"]["handle"] for f in block_filters(10) if f["pref"] == 500] == [0xfffffffe, 0xffffffff]


COUNT = 50000


def test_tc_18_fifty_thousand_filters_beside_ours(tmp_path):
    """Put in by a stranger while swd listens and dumps: it answers, is fed, stays small, and every dump ends."""
    watch = Watch(tmp_path)
    swd = watch.swd = start(tmp_path, text(rule("one", "dst: 192.0.2.0/24")))
    try:
        watch.start()
        audits, began = [], time.monotonic()
        rows = [(1000, i + 1, bytes((10, i >> 16, i >> 8 & 255, i & 255))) for i in range(COUNT)]
        adding = threading.Thread(target=add_drops, args=(None, rows), kwargs={"block": 10})
        adding.start()
        while adding.is_alive():
            before = time.monotonic()
            swd.call("Audit", block="edge")
            audits.append(time.monotonic() - before)
        added = time.monotonic() - began
        swd.until(lambda: swd.status()["foreign_filters"] == COUNT, "all of them", 60)
        swd.until(lambda: swd.status()["settled"], "rest", 20)
        print(f"added in {added:.1f} s, {len(audits)} audits meanwhile, the longest {max(audits):.1f} s; "
              f"{len(watch.took)} answers, the longest {max(watch.took) * 1000:.0f} ms; {resident(swd)} KiB at most")
        assert audits and max(watch.took) < 1, sorted(watch.took)[-5:]
        swd.until(lambda: len(watch.fed) >= 3, "food", 20)
        # Fed each two seconds, as asked for by WATCHDOG_USEC, or systemd would have ended it after four.
        gaps = [b - a for a, b in zip(watch.fed, watch.fed[1:])]
        assert max(gaps) < 4, gaps
        assert resident(swd) < 100 * 1024
        assert dsts()["192.0.2.0/24"]["options"]["in_hw"]
    finally:
        watch.end()
        tc("filter del block 10 pref 1000")
        end(swd)
