# SPDX-License-Identifier: GPL-2.0-or-later
"""daemon/kernel/ on live kernels, with tc and ip as judges. tests/unit/kernel/kernel_room_probe.c does
what the daemon would do, a command each.
"""
import json
import os
import re
import socket
import subprocess
import time
from pathlib import Path

import pytest

import swsimlab
from thiskernel import TELLS

LAB = {"variants": ["6.1", "6.12", "6.1-swd"], "all_variants": ["6.12-swd"], "mem": "512M", "timeout": 300}

REPO = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("SWD_BUILD", REPO / "build/plain"))
ROOM = Path(os.environ.get("SWD_ROOM", BUILD / "tests/unit/kernel/kernel_room_probe"))
FILTERS = REPO / "tests/golden/codec/filters.txt"
DONE, REFUSED = 1, 2


def run(*words, **more):
    done = subprocess.run(words, capture_output=True, text=True, **more)
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


def room(*words, fails=False):
    """The lines a command printed; unless fails is set, none of them may say FAIL."""
    done = subprocess.run([ROOM, *map(str, words)], capture_output=True, text=True)
    if not fails:
        assert done.returncode == 0 and "FAIL" not in done.stdout, done.stdout + done.stderr
    return done.stdout.splitlines()


def answer(*words):
    return json.loads(room(*words)[0])


def has_family():
    return answer("bypass", 1)["result"] != -95     # EOPNOTSUPP


@pytest.fixture(scope="module", autouse=True)
def devices():
    Path("/proc/sys/net/ipv6/conf/default/disable_ipv6").write_text("1")
    run("ip", "link", "add", "dev7", "index", "77", "type", "dummy")
    for name in ("d0", "d1"):
        run("ip", "link", "add", name, "up", "type", "dummy")


@pytest.fixture(name="block")
def fixture_block():
    """Block 10 on d0, and block 11 on d1 for tc."""
    assert answer("bind", "d0", 10)["outcome"] == DONE
    run("tc", "qdisc", "add", "dev", "d1", "ingress_block", "11", "clsact")
    yield 10
    for dev in ("d0", "d1"):
        subprocess.run(["tc", "qdisc", "del", "dev", dev, "clsact"], capture_output=True)


def samples():
    """(number, tc's words) of each filter tc can say too."""
    for number, entry in enumerate(FILTERS.read_text().split("\n\n")[1:], 1):
        words = re.search(r"^tc (.*)$", entry, re.M)
        yield number, words.group(1) if words else None


def sample_count():
    return len(list(samples()))


# ---- filters ----

def test_every_field_and_action_reads_back_equal(block):
    """From the echo, from a dump and from a get; and all in one send."""
    lines = room("filters", block, FILTERS)
    counts = json.loads(lines[0])
    assert counts == {"filters": sample_count(), "sends": 1}
    assert counts["filters"] / counts["sends"] >= 30


def judged(number):
    """What tc lists in block 10 or 11, by pref, without what must differ."""
    found = {}
    for f in json.loads(run("tc", "-j", "filter", "show", "block", str(number))):
        if "handle" not in f.get("options", {}):
            continue
        for action in f["options"].get("actions", []):
            for word in ("index", "cookie", "ref", "bind", "installed", "last_used", "first_used",
                         "overhead_calc", "used_hw_stats"):
                action.pop(word, None)
        found[f["pref"]] = f
    return found


def test_tc_shows_what_it_would_have_made_itself(block):
    room("filters", block, FILTERS)
    lines = []
    for number, words in samples():
        if words:
            _, protocol, kind, rest = words.split(" ", 3)
            lines.append(f"filter add block 11 protocol {protocol} pref {number} "
                         f"handle {number:#x} {kind} {rest}")
    run("tc", "-batch", "-", input="\n".join(lines) + "\n")
    ours, theirs = judged(10), judged(11)
    assert len(theirs) == len(lines) and len(theirs) >= 45
    for pref, f in theirs.items():
        assert ours[pref] == f


def test_changing_in_place_keeps_the_filters(block):
    room("filters", block, FILTERS)
    complaints = [line for line in room("change", block, FILTERS, fails=True) if "FAIL" in line]
    # Linux replaces no matchall: EEXIST, whatever the handle.
    assert len(complaints) == 2 and all("matchall" in c and "File exists" in c for c in complaints)


def test_removing_what_is_gone_is_no_failure(block):
    room("filters", block, FILTERS)
    room("remove", block, FILTERS)
    run("tc", "qdisc", "del", "dev", "d0", "clsact")
    assert answer("unbind", "d0", 10) == {"outcome": DONE, "error": -2, "words": "Invalid handle"}


def test_tc_09_anothers_filter_at_our_key_stays(block):
    """Linux deletes by key alone; what took our filter's place is not deleted, and not replaced."""
    change, remove = [json.loads(line) for line in room("swapped", block)]
    assert change == {"outcome": REFUSED, "error": -17}
    assert remove == {"outcome": DONE, "error": -17}
    (left,) = [f for f in json.loads(run("tc", "-j", "filter", "show", "block", str(block)))
               if "handle" in f.get("options", {})]
    assert left["options"]["actions"][0]["cookie"].startswith("737764310" + "0000002")


def test_a_refusal_brings_the_kernels_words(block):
    assert answer("bind", "d0", 12) == {"outcome": REFUSED, "error": -17,
                                        "words": "Exclusivity flag on, cannot modify"}
    got = answer("add", f"filter block {block} pref 1 handle 1 protocol ip flower skip_sw;action drop")
    assert got["outcome"] == REFUSED and got["error"] == -95


def test_filters_of_others_are_read_with_their_flags(block):
    bytecode = "1,6 0 0 4294967295,"
    run("tc", "filter", "add", "block", "11", "pref", "1", "protocol", "all", "matchall", "action", "ok")
    run("tc", "filter", "add", "block", "11", "pref", "2", "protocol", "ip", "u32", "match", "u32", "0",
        "0", "skip_hw", "action", "ok")
    run("tc", "filter", "add", "block", "11", "pref", "3", "protocol", "all", "bpf", "bytecode",
        bytecode, "skip_hw", "action", "ok")
    run("tc", "filter", "add", "block", "11", "pref", "4", "protocol", "ip", "flower", "enc_key_id",
        "5", "action", "ok")
    found = [json.loads(line) for line in room("dump", "filter", 11)]
    assert [(f["type"], f["skip_hw"]) for f in found] == [
        ("matchall", False), ("u32", True), ("bpf", True), ("flower", False)]
    assert all(f["owner"] == "foreign" and f["match"] == {} for f in found)


def test_counters_are_what_tc_shows(block):
    run("ip", "link", "add", "va", "up", "type", "veth", "peer", "name", "vb")
    run("ip", "link", "set", "vb", "up")
    room("bind", "va", 13)
    answer("add", "filter block 13 pref 1 handle 1 protocol arp flower;action mirror dev7;action drop")
    run("ip", "addr", "add", "192.0.2.1/24", "dev", "vb")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.sendto(b"who has it?", ("192.0.2.2", 9))      # the kernel asks by ARP
    time.sleep(0.1)
    run("ip", "link", "set", "vb", "down")              # and does not ask again while we look
    (found,) = [json.loads(line) for line in room("dump", "filter", 13)]
    shown = json.loads(run("tc", "-s", "-j", "filter", "show", "block", "13"))[-1]
    stats = shown["options"]["actions"][0]["stats"]
    assert found["packets"] == stats["packets"] > 0 and found["bytes"] == stats["bytes"]
    run("ip", "link", "del", "va")


# ---- events ----

def events(command, rcvbuf=0):
    lines = room("events", command, rcvbuf)
    start = lines.index("--")
    return lines[start + 1:-1], int(lines[-1].split()[1])


def test_events_of_filters_in_all_their_forms(block):
    heard, _ = events("""
        tc filter add block 11 pref 1 protocol all matchall action pass
        tc filter add block 11 pref 2 protocol ip handle 0x5 flower dst_ip 10.0.0.1 action drop
        tc filter del block 11 pref 2 protocol ip handle 0x5 flower
        tc filter add block 11 pref 3 protocol ip handle 0x6 flower dst_ip 10.0.0.1 action drop
        tc filter del block 11 pref 3
        tc filter add block 11 chain 4 pref 1 protocol ip handle 0x7 flower action drop
        tc filter del block 11 chain 4
    """)
    of_block = [e for e in heard if "block 11" in e]
    # Our patch tells when a block is no longer bypassed; other kernels tell nothing.
    assert [e for e in of_block if e.startswith("bypass")] == (
        ["bypass block 11 bypassed 0"] if TELLS else [])
    assert [e for e in of_block if not e.startswith("bypass")] == [
        # A new matchall is told without its handle; the room asks.
        "new block 11 chain 0 pref 1 protocol all matchall handle 0x1",
        "new block 11 chain 0 pref 2 protocol ip flower handle 0x5",
        "gone block 11 chain 0 pref 2 protocol ip flower handle 0x5",
        "new block 11 chain 0 pref 3 protocol ip flower handle 0x6",
        "gone block 11 chain 0 pref 3 protocol ip flower handle 0x0",
        "new block 11 chain 4 pref 1 protocol ip flower handle 0x7",
        "gone block 11 chain 4 pref 1 protocol ip flower handle 0x0",
        "gone block 11 chain 4 pref 0 protocol 0x0000  handle 0x0",
    ]


def test_events_of_devices():
    heard, _ = events("""
        ip link add e0 type dummy
        tc qdisc add dev e0 ingress_block 14 clsact
        tc qdisc del dev e0 clsact
        ip link set e0 name e1
        ip addr add 192.0.2.9/32 dev e1
        ip netns add away
        ip link set e1 netns away
    """)
    for line in ("new port e0", "new clsact on e0 (ingress block 14)",
                 "gone clsact on e0 (ingress block 14)", "renamed port e1 was e0",
                 "new address 192.0.2.9/32 on e1", "gone port e1"):
        assert line in heard, heard
    run("ip", "netns", "del", "away")


def test_our_own_event_is_there_with_the_answer(block):
    lines = room("latency", block)
    heard = [line for line in lines if line.startswith("new")]
    assert len(heard) == 20 and all(line.startswith("new own block") for line in heard)
    print(f"answer and event of a filter: at most {json.loads(lines[-1])['worst_us']} us")


def test_a_flood_of_events_ends_in_lost_and_never_in_silence():
    batch = "/tmp/flood"
    Path(batch).write_text("".join(f"addr add 10.9.{i >> 8}.{i & 255}/32 dev d0\n" for i in range(500)))
    heard, _ = events(f"ip -batch {batch}", rcvbuf=1)
    assert "lost " in heard and len(heard) < 500
    assert len([line for line in room("dump", "address") if '"10.9.' in line]) == 500
    run("ip", "addr", "flush", "dev", "d0")


# ---- devices ----

def test_a_port_is_changed_and_ip_sees_it():
    assert answer("port", "d1", 0, 1400)["outcome"] == DONE
    shown = json.loads(run("ip", "-j", "link", "show", "d1"))[0]
    assert shown["mtu"] == 1400 and "UP" not in shown["flags"]
    assert answer("port", "d1", 1, 1500)["outcome"] == DONE
    assert "UP" in json.loads(run("ip", "-j", "link", "show", "d1"))[0]["flags"]


def test_a_leg_and_its_address_go_in_one_execute():
    room("leg", "d1", "core.100", 100)
    shown = json.loads(run("ip", "-d", "-j", "addr", "show", "core.100"))[0]
    assert shown["link"] == "d1" and shown["linkinfo"]["info_data"]["id"] == 100
    assert (shown["addr_info"][0]["local"], shown["addr_info"][0]["prefixlen"]) == ("192.0.2.1", 31)
    run("ip", "link", "del", "core.100")


def test_facts_of_swsims_ports():
    swsimlab.load(nics=1, ports=2)
    ports = {p["name"]: p for p in map(json.loads, room("dump", "port"))}
    assert ports["sim0"]["driver"] == "swsim" and ports["sim0"]["offload"] is True
    lan = ports["lan1"]
    assert lan["type"] == "dsa" and lan["lower"] == "cpu0" and lan["port_name"] == "p0"
    assert (lan["switch"], lan["port_number"]) == (0, 0)
    with open("/sys/class/net/cpu0/dsa/tagging", encoding="ascii") as file:
        assert lan["tagger"] == ports["cpu0"]["tagger"] == file.read().strip()
    for wanted in (0, 1):
        assert answer("port", "sim0", 1, 0, wanted)["outcome"] == DONE
        shown = run("ethtool", "-k", "sim0") if Path("/usr/sbin/ethtool").exists() else None
        ports = {p["name"]: p for p in map(json.loads, room("dump", "port"))}
        assert ports["sim0"]["offload"] is bool(wanted)
        assert not shown or f"hw-tc-offload: {'on' if wanted else 'off'}" in shown
    swsimlab.unload()


def test_in_hardware_is_read_back():
    swsimlab.load(nics=1)
    room("bind", "sim0", 15)
    done, echo = map(json.loads, room("add", "filter block 15 pref 1 handle 1 protocol ip flower "
                                      "skip_sw;match dst 192.0.2.1;action drop"))
    assert done["outcome"] == DONE
    assert echo["in_hw"] and echo["skip_sw"] and echo["in_hw_count"] == 1
    refused = answer("add", "filter block 15 pref 2 handle 1 protocol ip flower skip_sw;"
                            "match dst 192.0.2.2;action sample 100 1")
    assert refused["outcome"] == REFUSED and refused["words"]
    swsimlab.unload()


# ---- the bypass ----

def test_the_probe_knows_this_kernel():
    got = answer("probe")
    if has_family():
        wanted = "readback"
    elif os.uname().release.startswith("6.1."):
        wanted = "none"
    else:
        wanted = "marks"
    assert got["result"] == 0 and got["ability"] == wanted, got
    print(f"probe: {got['ability']} in {got['ms']} ms: {got['how']}")


def test_without_the_right_the_probe_says_so():
    done = subprocess.run(["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin", ROOM,
                           "probe"], capture_output=True, text=True)
    got = json.loads(done.stdout)
    assert got["result"] == -1 and got["ability"] == "unknown" and "CAP_SYS_ADMIN" in got["how"]


def test_the_reading_of_a_block(block):
    if not has_family():
        assert answer("bypass", block)["result"] == -95
        return
    assert answer("bypass", 99)["result"] == -2
    assert answer("bypass", block) == {"result": 0, "block": block, "members": 1, "filters": 0, "sw": 0,
                                       "dead": 0, "bypassed": 1}
    heard, _ = events("tc filter add block 10 pref 1 protocol all matchall action ok")
    assert "bypass block 10 bypassed 0" in heard
    got = answer("bypass", block)
    assert (got["filters"], got["sw"], got["bypassed"]) == (1, 1, 0)
