# SPDX-License-Identifier: GPL-2.0-or-later
"""Field cases of ports: late ones (DSA-07), and names that move to another device (DSA-09); and the changes in
the kernel that no event tells of. What swd has to reach is always the same: the state that it makes of the
file when all is there from the start."""
import json
import os
import signal
import socket
import sqlite3
import time
from pathlib import Path

import pytest

from genl import attr
from linknl import ifindex, link_requests, named, renamed
from swdlab import Swd
from swsimlab import load, run, tc, tc_shows, unload

LAB = {"variants": ["6.1-swd"], "all_variants": ["6.1", "6.12"], "mem": "512M", "timeout": 600}

# The audit, which looks at everything, is too far away to be of help.
FILE = """version: 1
daemon: { audit: 1h, port-wait: 10s }
ports:
  cpu0: { up: true }
  sim0: { up: true, mtu: 1500 }
  lan1: { up: true, mtu: 1500, addresses: [192.0.2.1/24] }
  lan2: { up: true, mtu: 1500 }
  lan3: { up: true, mtu: 1400, addresses: [198.51.100.1/24] }
  lan4: { up: true, mtu: 1500 }
  v0: { up: true, mtu: 1300, addresses: [203.0.113.1/24] }
vlans:
  lan4.30: { link: lan4, id: 30, mtu: 1500, addresses: [10.30.0.1/24] }
blocks:
  near:
    id: 9
    bind: [sim0]
    tagging: none
    rules: [ { name: near, match: { dst: 10.9.0.0/16 }, action: drop } ]
  edge:
    id: 10
    bind: [lan1, lan2]
    tagging: none
    rules:
      - { name: one, match: { dst: 10.10.0.0/16 }, action: drop }
      - { name: two, match: { proto: tcp, dport: 179 }, action: trap }
      - { name: three, match: { dst: 10.11.0.0/16 }, action: { redirect: lan3 } }
  far:
    id: 11
    bind: [lan3]
    tagging: none
    rules: [ { name: far, match: { src: 10.12.0.0/16 }, action: drop } ]
  soft:
    id: 12
    bind: [v0]
    offload: off
    tagging: none
    rules:
      - { name: soft, match: { dst: 10.13.0.0/16 }, action: drop }
      - { name: back, match: { dst: 10.14.0.0/16 }, action: { redirect: v0 } }
"""
PORTS = ("sim0", "lan1", "lan2", "lan3", "lan4", "lan4.30", "v0")
BLOCKS = (9, 10, 11, 12)
SWITCH = Path("/sys/bus/platform/drivers/swsim-switch")
IFLA_LINKINFO = 18


# ---- what the kernel holds ----

def real(said):
    """Of what tc lists, the filters without the headers of each pref."""
    return [f for f in said if f["kind"] == "flower" and "handle" in f.get("options", {})]


def shown(block):
    return real(tc_shows(f"filter show block {block}")[0])


def meaning(f):
    actions = [{k: v for k, v in a.items() if k not in ("index", "ref", "bind", "cookie")} for a in f["options"]["actions"]]
    return json.dumps([f["protocol"], f["options"]["keys"], f["options"].get("in_hw_count"), actions], sort_keys=True)


def links():
    return {link["ifname"]: link for link in json.loads(run("ip", "-j", "-d", "addr").stdout)}


def kernel():
    """All that the file speaks of, without numbers that the kernel gives by itself."""
    now = links()
    ports = {name: ("UP" in now[name]["flags"], now[name]["mtu"], now[name].get("link") if "." in name else None,
                    sorted(a["local"] for a in now[name]["addr_info"] if a["scope"] == "global"))
             for name in PORTS if name in now}
    qdiscs, *blocks = tc_shows("qdisc show", *[f"filter show block {block}" for block in BLOCKS])
    return {"ports": ports, "qdiscs": {q["dev"]: q.get("ingress_block") for q in qdiscs if q["kind"] == "clsact"},
            "filters": {block: sorted(map(meaning, real(said))) for block, said in zip(BLOCKS, blocks)}}


def veth():
    run("ip", "link", "add", "v0", "type", "veth", "peer", "name", "v0w")


def switch(there):
    """The DSA switch comes, with all its ports, or goes."""
    (SWITCH / ("bind" if there else "unbind")).write_text("swsim-switch.0")


# ---- the stage ----

class World:
    """What the kernel holds when all ports are there before swd starts."""
    whole = None
    running = []


class Started(Swd):
    """A daemon that does not outlive its test."""

    def start(self, wait=True):
        World.running.append(self)
        super().start(wait)


@pytest.fixture(name="world")
def fixture_world(tmp_path_factory):
    """New devices, and nothing on them."""
    run("ip", "link", "del", "v0", check=False)
    load(nics=2, ports=4)
    veth()
    if not World.whole:
        swd = Started(tmp_path_factory.mktemp("world"), FILE)
        swd.settle(20)
        World.whole = kernel()
        assert swd.stop() == 0
        run("ip", "link", "del", "v0")
        load(nics=2, ports=4)
        veth()
    whole = World.whole
    assert set(whole["ports"]) == set(PORTS) and [len(whole["filters"][b]) for b in BLOCKS] == [1, 4, 1, 2], whole
    assert whole["qdiscs"] == {"sim0": 9, "lan1": 10, "lan2": 10, "lan3": 11, "v0": 12}
    yield whole
    for swd in World.running:
        swd.stop(signal.SIGKILL)
    World.running.clear()
    run("ip", "link", "del", "v0", check=False)
    unload()


@pytest.fixture(name="swd")
def fixture_swd(tmp_path, world):
    swd = Started(tmp_path, FILE)
    reach(swd, world, "the file", 20)
    yield swd
    assert swd.stop() == 0, swd.log.read_text()[-4000:]


def reach(swd, world, what, timeout=5):
    """Until all is as the file says; returns how long it took."""
    found = {}

    def there():
        found.update(kernel())
        return found == world and swd.status()["settled"]
    try:
        return swd.until(there, what, timeout)
    except AssertionError as error:
        differ = {k: (world[k], found[k]) for k in world if world[k] != found[k]}
        raise AssertionError(f"{what}: {differ}\n{swd.status()['alerts']}\n{error}") from None


def alerts(swd, name):
    return [a["about"] for a in swd.status()["alerts"] if a["id"] == name]


def port(swd, name):
    return next(p for p in swd.call("Ports")["ports"] if p["name"] == name)


# ---- DSA-07 ----

def test_dsa_07_ports_that_come_20_s_later(world, tmp_path):
    """What waits is said and holds up nothing else; READY comes after port-wait; arrival needs no restart."""
    switch(False)
    run("ip", "link", "del", "v0")
    ear = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    ear.bind(str(tmp_path / "notify"))
    ear.settimeout(30)
    os.environ["NOTIFY_SOCKET"] = str(tmp_path / "notify")
    start = time.monotonic()
    try:
        swd = Started(tmp_path, FILE)
    finally:
        del os.environ["NOTIFY_SOCKET"]
    try:
        swd.until(lambda: swd.status()["last_outcome"] == "done", "the first apply")
        now = kernel()
        assert now["ports"] == {"sim0": world["ports"]["sim0"]} and now["qdiscs"] == {"sim0": 9}
        assert now["filters"][9] == world["filters"][9]
        status = swd.status()
        assert status["ports_waiting"] == 6 and status["last_outcome"] == "done", status
        assert {"lan1", "lan2", "lan3", "lan4", "v0"} <= {a.split()[-1] for a in alerts(swd, "port-waiting")}, status
        assert port(swd, "lan3")["state"] == "waiting" and port(swd, "sim0")["state"] == "as wanted"
        heard = ""
        while "READY=1" not in heard:
            heard = ear.recv(4096).decode()
        ready = time.monotonic() - start
        assert 10 <= ready < 12, ready
        time.sleep(max(0, start + 20 - time.monotonic()))
        assert kernel() == now
        process = swd.process.pid
        veth()
        switch(True)
        took = reach(swd, world, "ports that came late")
        swd.until(lambda: swd.status()["ports_waiting"] == 0 and not alerts(swd, "port-waiting"), "its word on them")
        assert port(swd, "lan3")["type"] == "dsa" and port(swd, "lan3")["conduit"] == "cpu0"
        assert swd.process.pid == process and swd.process.poll() is None
        print(f"READY after {ready:.1f} s, all there {took:.2f} s after the ports")
    finally:
        ear.close()
        assert swd.stop() == 0


def test_dsa_07_nothing_waits_for_ports_that_are_there(world, tmp_path):
    """READY is no later than the first apply."""
    ear = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    ear.bind(str(tmp_path / "notify"))
    ear.settimeout(5)
    os.environ["NOTIFY_SOCKET"] = str(tmp_path / "notify")
    try:
        swd = Started(tmp_path, FILE)
    finally:
        del os.environ["NOTIFY_SOCKET"]
    heard = ""
    while "READY=1" not in heard:
        heard = ear.recv(4096).decode()
    reach(swd, world, "the file")
    ear.close()
    assert swd.stop() == 0


def test_dsa_07_created_and_renamed_within_10_ms(swd, world):
    took = []
    for i in range(20):
        run("ip", "link", "del", "v0")
        if i % 2:
            swd.until(lambda: swd.status()["ports_waiting"] == 1, "a port that waits")
        veth_kind = attr(IFLA_LINKINFO, attr(1, b"veth\0"))
        took.append(link_requests((0x600, 7000 + i, 0, named("eth77") + veth_kind), (0, 7000 + i, 0, named("v0"))))
        reach(swd, world, f"round {i}")
        if i % 4 == 3:
            swd.call("Apply")       # what is put right again and again waits; that is not the case here
    assert sorted(took)[10] < 0.01
    # The ports of a switch, as udev's rules find and name them. This kernel renames only what is down.
    swd.process.send_signal(signal.SIGSTOP)
    switch(False)
    switch(True)
    renamed(lan3="up3")
    swd.process.send_signal(signal.SIGCONT)
    swd.until(lambda: swd.status()["ports_waiting"] == 1 and alerts(swd, "port-waiting"), "lan3, which waits")
    renamed(up3="lan3")
    reach(swd, world, "ports renamed as they came")


def test_dsa_07_an_attribute_that_is_not_there_yet(world, tmp_path):
    """Linux tells of a tree's ports before sysfs has their conduit's tagging; a port is one of DSA all the same,
    and the rest is there a moment after it came."""
    place = Path("/sys/class/net/cpu0/dsa").resolve()
    tagging = (place / "tagging").read_text().strip()
    run("mount", "-t", "tmpfs", "none", str(place))
    try:
        swd = Started(tmp_path, FILE)
        reach(swd, world, "the file, whatever sysfs has")
        before = port(swd, "lan3")
        assert before["type"] == "dsa" and before["conduit"] == "cpu0" and before["tagger"] is None, before
        assert before["state"] == "as wanted"
    finally:
        run("umount", str(place))
    took = swd.until(lambda: port(swd, "lan3")["tagger"] == tagging, "what was not there yet", 3)
    assert all(port(swd, f"lan{i}")["tagger"] == tagging for i in range(1, 5))
    dumps = swd.status()["counts"]["dumps"]
    time.sleep(3)
    assert swd.status()["counts"]["dumps"] == dumps, "it is there, and looked for all the same"
    print(f"there after {took:.2f} s")
    assert swd.stop() == 0


# ---- DSA-09 ----

def test_dsa_09_renamed_and_back(swd, world):
    number = ifindex("lan1")
    renamed(lan1="up1")
    swd.until(lambda: swd.status()["ports_waiting"] == 1, "a port that waits")
    assert port(swd, "lan1")["state"] == "waiting"
    # What swd put on the device is not on one that the file does not know.
    swd.until(lambda: "up1" not in kernel()["qdiscs"], "the end of its block")
    swd.until(lambda: not [a for a in links()["up1"]["addr_info"] if a["family"] == "inet"], "the end of its address")
    renamed(up1="lan1")
    reach(swd, world, "the old name")
    assert ifindex("lan1") == number
    # Both at once: swd may see nothing of it but the end.
    for _ in range(5):
        renamed(lan1="up1", up1="lan1")
        reach(swd, world, "the old name")
    # And the file follows the name.
    renamed(lan1="up1")
    swd.apply(FILE.replace("lan1", "up1"))
    swd.until(lambda: kernel()["qdiscs"].get("up1") == 10 and swd.status()["settled"], "the new name")
    assert "192.0.2.1" in [a["local"] for a in links()["up1"]["addr_info"]]
    renamed(up1="lan1")
    swd.apply(FILE)
    reach(swd, world, "the old name and the old file")


def test_dsa_09_deleted_and_made_anew(swd, world):
    """A new ifindex: a new qdisc, its filters, addresses, and what filters name."""
    for i in range(10):
        number = ifindex("v0")
        if i % 2:
            run("ip", "link", "del", "v0")
            swd.until(lambda: swd.status()["ports_waiting"] == 1, "a port that waits")
            veth()
        else:
            run("ip", "-batch", "-", text="link del v0\nlink add v0 type veth peer name v0w\n")
        assert ifindex("v0") != number
        reach(swd, world, f"a new v0, round {i}")
        if i % 4 == 3:
            swd.call("Apply")
    # The switch with all its ports.
    numbers = [ifindex(f"lan{i}") for i in range(1, 5)]
    switch(False)
    switch(True)
    assert not set(numbers) & {ifindex(f"lan{i}") for i in range(1, 5)}
    reach(swd, world, "new ports of a switch")


def swap(one, other):
    renamed(**{one: "swap0", other: one, "swap0": other})


def test_dsa_09_names_swapped(swd, world):
    """Of the same block; of two blocks, with addresses; and one that carries a VLAN."""
    for one, other in (("lan1", "lan2"), ("lan1", "lan3"), ("lan3", "lan4"), ("lan4", "lan2"), ("v0", "lan1")):
        numbers = ifindex(one), ifindex(other)
        swap(one, other)
        assert (ifindex(other), ifindex(one)) == numbers
        if "v0" in (one, other):
            # A port of the switch is in a software block now, and a veth in one of hardware.
            swap(one, other)
        reach(swd, world, f"{one} and {other} swapped")
        assert not alerts(swd, "conflict"), swd.status()["alerts"]


def test_dsa_09_names_swapped_unseen(swd, world):
    """swd is away, or stopped and its events are too many: names are all that it finds changed."""
    swd.stop()
    swap("lan1", "lan3")
    swd.start()
    reach(swd, world, "names that changed while swd was away")
    assert not alerts(swd, "conflict"), swd.status()["alerts"]
    swd.process.send_signal(signal.SIGSTOP)
    swap("lan1", "lan3")
    run("ip", "-batch", "-", text="".join(f"link set lan2w mtu {1400 + i % 2}\n" for i in range(30000)))
    swd.process.send_signal(signal.SIGCONT)
    swd.until(lambda: swd.status()["counts"]["overruns"] > 0, "events that were too many", 20)
    reach(swd, world, "names that changed unheard", 10)
    assert not alerts(swd, "conflict"), swd.status()["alerts"]


def test_dsa_09_state_of_another_boot(swd, world):
    """What the store says of objects is of one boot: in another one they are somebody else's, whatever number
    and name they have."""
    for boot, stays in (("0f0f0f0f-0000-4000-8000-000000000000 net:1", True), (None, False)):
        swd.stop()
        # A stranger's address and leg, of which the store says that they were swd's then.
        run("ip", "-batch", "-", text="addr add 10.99.0.1/24 dev lan2\nlink add lan2.77 link lan2 type vlan id 77\n")
        with sqlite3.connect(swd.folder / "state/swd.db") as db:
            was = db.execute("SELECT value FROM meta WHERE key = 'place'").fetchone()[0]
            assert Path("/proc/sys/kernel/random/boot_id").read_text().strip() in was
            if boot:
                db.execute("UPDATE meta SET value = ? WHERE key = 'place'", (boot,))
            sample = db.execute("SELECT detail FROM owned WHERE kind = 'vlan'").fetchone()[0]
            assert "lan4" in sample
            db.execute("INSERT INTO owned SELECT kind, 'lan2.77', replace(replace(detail, 'lan4', 'lan2'), 'id=30', "
                       "'id=77') FROM owned WHERE kind = 'vlan'")
            db.execute("INSERT INTO owned SELECT kind, 'lan2', replace(detail, '10.30.0.1', '10.99.0.1') FROM owned "
                       "WHERE kind = 'address' AND name = 'lan4.30'")
        db.close()
        swd.start()
        swd.settle()
        left = "lan2.77" in links(), "10.99.0.1" in [a["local"] for a in links()["lan2"]["addr_info"]]
        assert left == (stays, stays), f"{boot}: {left}"
        run("ip", "link", "del", "lan2.77", check=False)
        run("ip", "addr", "del", "10.99.0.1/24", "dev", "lan2", check=False)
        reach(swd, world, "a start with the state of a boot")
        with sqlite3.connect(swd.folder / "state/swd.db") as db:
            assert db.execute("SELECT value FROM meta WHERE key = 'place'").fetchone()[0] == was
        db.close()
        if boot:
            clear_by_hand()
            reach(swd, world, "what was taken away", 10)


def clear_by_hand():
    """What swd finds missing it makes anew, and knows it for its own."""
    tc(*[f"qdisc del dev {name} clsact" for name in ("sim0", "lan1", "lan2", "lan3", "v0")])
    run("ip", "-batch", "-", text="link del lan4.30\naddr flush dev lan1\naddr flush dev lan3\naddr flush dev v0\n")


@pytest.mark.parametrize("name", ["lan3", "sim0", "v0"])
def test_dsa_09_to_another_namespace_and_back(swd, world, name):
    run("ip", "netns", "add", "away")
    try:
        for i in range(4):
            run("ip", "link", "set", name, "netns", "away")
            if i % 2:
                swd.until(lambda: swd.status()["ports_waiting"] == 1, "a port that waits")
                swd.settle()
                assert port(swd, name)["state"] == "waiting"
            if i > 1:
                run("ip", "-n", "away", "link", "set", name, "name", "other")
                run("ip", "-n", "away", "link", "set", "other", "name", name)
            run("ip", "-n", "away", "link", "set", name, "netns", "1")
            reach(swd, world, f"{name} is back, round {i}")
    finally:
        run("ip", "-n", "away", "link", "set", name, "netns", "1", check=False)
        run("ip", "netns", "del", "away")


# ---- what no event tells of ----

def test_silent_the_last_unbind_empties_a_block(swd, world):
    """Nothing is said of the filters that go with it."""
    tc("qdisc del dev lan3 clsact")
    reach(swd, world, "a block that was emptied")
    tc("qdisc del dev lan1 clsact", "qdisc del dev lan2 clsact", "qdisc del dev v0 clsact")
    reach(swd, world, "two blocks that were emptied")


def test_silent_a_whole_pref_goes_in_one_event(swd, world):
    swd.process.send_signal(signal.SIGSTOP)
    for block in BLOCKS:
        prefs = {(f["pref"], f["protocol"]) for f in shown(block)}
        tc(*[f"filter del block {block} protocol {protocol} pref {pref}" for pref, protocol in prefs])
    assert not any(shown(block) for block in BLOCKS)
    swd.process.send_signal(signal.SIGCONT)
    reach(swd, world, "prefs that were deleted")


def test_silent_binds_and_unbinds_move_in_hw(swd, world):
    """A block that hardware holds on one of its two ports, and is not required to: when that port goes the rules
    are in no hardware, and when it comes they are, without a word of theirs."""
    text = FILE.replace("bind: [v0]\n    offload: off", "bind: [v0, lan4]\n    offload: preferred")
    text = text.replace("      - { name: back, match: { dst: 10.14.0.0/16 }, action: { redirect: v0 } }\n", "")
    assert text != FILE
    swd.apply(text)
    swd.settle()

    def state():
        return {r["name"]: r["state"] for r in swd.rules("soft")[0]}
    there = state()
    number = shown(12)[0]["options"].get("in_hw_count", 0)
    run("ip", "netns", "add", "away")
    try:
        run("ip", "link", "set", "lan4", "netns", "away")
        swd.until(lambda: swd.status()["ports_waiting"] > 0, "a port that waits")
        swd.settle()
        assert shown(12)[0]["options"].get("in_hw_count", 0) == number - 1 == 0
        assert state() != there and state()["soft"] != "in hardware", state()
        run("ip", "-n", "away", "link", "set", "lan4", "netns", "1")
    finally:
        run("ip", "netns", "del", "away")
    swd.until(lambda: swd.status()["ports_waiting"] == 0, "the port")
    swd.settle()
    assert shown(12)[0]["options"]["in_hw_count"] == number and state() == there
    # A stranger binds another port to the block: one more holds the rules, and only the qdisc is told.
    tc("qdisc add dev sim1 ingress_block 12 clsact")
    assert shown(12)[0]["options"]["in_hw_count"] == number + 1
    swd.until(lambda: swd.rules("soft")[0][0]["filters"][0]["in_hw_count"] == number + 1, "what a bind changed")
    tc("qdisc del dev sim1 clsact")
    swd.until(lambda: swd.rules("soft")[0][0]["filters"][0]["in_hw_count"] == number, "what an unbind changed")
    swd.apply(FILE)
    reach(swd, world, "the old file")
