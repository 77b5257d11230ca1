# SPDX-License-Identifier: GPL-2.0-or-later
"""swsim's knobs, counters, callbacks and its life: each narrowness that can be imitated is felt by
tc with the words of the driver; loading and unloading leaves nothing behind.
"""
import json
import socket
import subprocess
import time
from pathlib import Path

import pytest

from flowernl import add_drops
from frames import Wire, socket_in, udp_frame
from swsimlab import (DST, SRC, all_refused, carrier, counters, filters, knob, load, refused, rules,
                      run, tc, unload, wait)

LAB = {"variants": ["6.1"], "all_variants": ["6.12", "6.1-debug"], "mem": "3072M", "timeout": 1500}

RULE = "protocol ip flower skip_sw dst_ip 10.2.0.1"
FRAME = udp_frame(DST, SRC, "10.1.0.1", "10.2.0.1")
DEFAULTS = {"table_size": "131072", "pref_range": "1 65535", "chain_max": str(2**32 - 1),
            "deny_fields": "", "deny_actions": "", "deny_replace": "0", "deny_equal_key": "0",
            "fail_next": "0", "fail_after": "0", "install_delay_ms": "0", "one_callback": "0"}


@pytest.fixture(scope="module", autouse=True)
def switch():
    load(nics=2, ports=2)
    tc("qdisc add dev sim0 clsact", "qdisc add dev sim1 clsact")
    yield
    unload()


@pytest.fixture(autouse=True)
def neutral(switch):
    yield
    for name, value in DEFAULTS.items():
        for instance in ("sim0", "dsa0"):
            knob(instance, name, value)
    tc("qdisc del dev sim0 clsact", "qdisc add dev sim0 clsact", force=True)
    assert not rules("sim0")


def udp_in(netns):
    return socket_in(netns, socket.AF_INET, socket.SOCK_DGRAM, 0)


def add(pref=1, what=RULE, act="action drop", verb="add"):
    return f"filter {verb} dev sim0 ingress pref {pref} {what} {act}"


def resource():
    said = json.loads(run("devlink", "-j", "resource", "show", "platform/swsim-nic.0").stdout)
    row, = said["resources"]["platform/swsim-nic.0"]
    return row["name"], row["size"], row["occ"]


def test_defaults():
    for name, value in DEFAULTS.items():
        if not name.startswith("fail"):
            assert knob("sim0", name).strip() == value


@pytest.mark.parametrize("name, value", [
    ("table_size", "many"), ("pref_range", "5"), ("pref_range", "5 4"), ("pref_range", "1 2 3"),
    ("deny_fields", "colour"), ("deny_actions", "drop nap"), ("fail_next", "3"),
    ("fail_next", "3 0"), ("fail_after", "1 2"), ("deny_replace", "perhaps")])
def test_nonsense(name, value):
    before = knob("sim0", name)
    with pytest.raises(OSError) as refusal:
        knob("sim0", name, value)
    assert refusal.value.errno == 22 and knob("sim0", name) == before


def test_table_size():
    knob("sim0", "table_size", "2")
    assert resource() == ("rules", 2, 0)
    tc(add(1), add(2))
    assert resource() == ("rules", 2, 2)
    assert "swsim: the table is full" in refused(add(3))
    tc("filter del dev sim0 ingress pref 1", add(3))
    assert resource()[2] == 2
    run("devlink", "resource", "show", "platform/swsim-switch.0")


def test_pref_and_chain_range():
    knob("sim0", "pref_range", "1 16")
    knob("sim0", "chain_max", "3")
    tc(add(1), add(16), add("1 chain 3", act="action goto chain 3"))
    assert "this pref" in refused(add(17))
    assert "this chain" in refused(add("1 chain 4"))
    assert "chain of goto" in refused(add(3, act="action goto chain 4"))


def test_deny_fields():
    knob("sim0", "deny_fields", "ip_ttl dst_port src_port_range dst_ip vlan_prio")
    assert knob("sim0", "deny_fields").split() == ["vlan_prio", "dst_ip", "ip_ttl", "dst_port",
                                                   "src_port_range"]
    cases = {"does not match on dst_ip": RULE,
             "match on dst_ip": "protocol ipv6 flower skip_sw dst_ip ::1",
             "on ip_ttl": "protocol ip flower skip_sw ip_ttl 1",
             "on dst_port": "protocol ip flower skip_sw ip_proto udp dst_port 1",
             "on src_port_range": "protocol ip flower skip_sw ip_proto udp src_port 1-2",
             "on vlan_prio": "protocol 802.1q flower skip_sw vlan_prio 1"}
    for words, said in zip(cases, all_refused(*[add(what=what) for what in cases.values()])):
        assert words in said
    tc(add(what="protocol ip flower skip_sw src_ip 10.0.0.1 ip_proto udp src_port 5"),
       add(2, "protocol 802.1q flower skip_sw vlan_id 1"))


def test_deny_actions():
    names = {"drop": "drop", "pass": "ok", "trap": "trap", "goto": "goto chain 1",
             "redirect": "mirred egress redirect dev sim1",
             "mirror": "mirred egress mirror dev sim1",
             "vlan_push": "vlan push id 1", "vlan_pop": "vlan pop",
             "vlan_modify": "vlan modify id 2",
             "pedit": "pedit ex munge eth dst set 02:00:00:00:00:07", "csum": "csum ip4h",
             "police": "police rate 1mbit burst 10k conform-exceed drop/pipe"}
    knob("sim0", "deny_actions", " ".join(names))
    assert knob("sim0", "deny_actions").split() == list(names)
    lines = [add(act=f"action {words}") for words in names.values()]
    for name, said in zip(names, all_refused(*lines)):
        assert f"no action {name}" in said
    knob("sim0", "deny_actions", "")
    tc(*[add(10 + i, act=f"action {words}") for i, words in enumerate(names.values())])


def test_deny_replace():
    knob("sim0", "deny_replace", "1")
    first = add("1 handle 1")
    tc(first)
    said = refused(add("1 handle 1", act="action trap", verb="replace"))
    assert "replace a rule in place" in said
    assert [r[1] for r in rules("sim0")] == ["drop"]
    tc(add(2, act="action trap"))  # beside it is allowed


def test_deny_equal_key():
    knob("sim0", "deny_equal_key", "1")
    tc(add(1), add(2))  # the same actions
    assert "this key and other actions" in refused(add(3, act="action trap"))
    # nor may the first be changed while the second has the old actions
    assert "this key" in refused(add("1 handle 1", act="action trap", verb="replace"))
    tc("filter del dev sim0 ingress pref 2",
       add("1 handle 1", act="action trap", verb="replace"))


def test_fail_next():
    knob("sim0", "fail_next", "2 28")
    for said in all_refused(add(), add()):
        assert "fails on request" in said
    tc(add())
    assert knob("sim0", "fail_next").startswith("0 ")


def test_fail_after():
    knob("sim0", "fail_after", "2 1 16")
    tc(add(1), add(2))
    assert "fails on request" in refused(add(3))
    tc(add(4))


def test_install_delay():
    knob("sim0", "install_delay_ms", "700")
    start = time.monotonic()
    adding = subprocess.Popen(["tc", *add().split()])
    time.sleep(0.3)
    run("ip", "link", "set", "lo", "up")  # wants rtnl, which the install holds
    waited = time.monotonic() - start
    assert adding.wait() == 0 and waited >= 0.6
    assert len(rules("sim0")) == 1


def test_carrier():
    for device, instance in (("sim0", "sim0"), ("lan1", "dsa0")):
        knob(instance, f"ports/{device}/carrier", 0)
        wait(lambda: not carrier(device) and not carrier(f"{device}w"), f"{device} down")
        with Wire(f"{device}w") as wire, Wire(device) as port:
            before = counters(instance)[device]["rx"]
            wire.send(FRAME)
            assert not port.drain() and counters(instance)[device]["rx"] == before
        knob(instance, f"ports/{device}/carrier", 1)
        wait(lambda: carrier(device) and carrier(f"{device}w"), f"{device} up")
        run("ip", "link", "set", f"{device}w", "down")
        wait(lambda: not carrier(device), f"{device} down with its wire")
        run("ip", "link", "set", f"{device}w", "up")
        wait(lambda: carrier(device), f"{device} up with its wire")


@pytest.mark.parametrize("one, count", [(0, 2), (1, 1)])
def test_shared_block(one, count):
    """Two ports on a block: two callbacks or one, and the rule is executed at both ports."""
    tc("qdisc del dev sim0 clsact", "qdisc del dev sim1 clsact")
    knob("sim0", "one_callback", one)
    try:
        tc("qdisc add dev sim0 ingress_block 7 clsact",
           "filter add block 7 pref 1 protocol ip flower skip_sw dst_ip 10.2.0.1 action drop",
           "qdisc add dev sim1 ingress_block 7 clsact",
           "filter add block 7 pref 2 protocol all matchall skip_sw action trap")
        shown = json.loads(run("tc", "-j", "filter", "show", "block", "7").stdout)
        assert [f["options"]["in_hw_count"] for f in shown
                if "in_hw_count" in f.get("options", {})] == [count]  # matchall tells none
        with Wire("sim0w") as wire0, Wire("sim1w") as wire1:
            wire0.send(FRAME)
            wire1.send(FRAME, FRAME)
            wire1.drain()
        found = json.loads(run("tc", "-s", "-j", "filter", "show", "block", "7").stdout)
        stats = [f["options"]["actions"][0]["stats"].get("hw_packets", 0) for f in found
                 if f.get("options", {}).get("actions")]
        assert stats[0] == 3
        tc("qdisc del dev sim0 ingress_block 7 clsact")
        with Wire("sim1w") as wire1:
            wire1.send(FRAME)
            wire1.drain()
        assert sum(r[2] for i in ("sim0", "sim1") for r in rules(i) if "flower" in r[0]) >= 2
    finally:
        tc("qdisc del dev sim0 clsact", "qdisc del dev sim1 clsact", force=True)
        assert not rules("sim0") and not rules("sim1")
        knob("sim0", "one_callback", 0)
        tc("qdisc add dev sim0 clsact", "qdisc add dev sim1 clsact")


def test_hw_tc_offload():
    tc(add())
    assert run("ethtool", "-K", "sim0", "hw-tc-offload", "off", check=False).returncode
    tc("filter del dev sim0 ingress")
    run("ethtool", "-K", "sim0", "hw-tc-offload", "on")  # or "off" stays wanted, unfulfilled
    run("ethtool", "-K", "sim0", "hw-tc-offload", "off")
    refused(add())
    run("ethtool", "-K", "sim0", "hw-tc-offload", "on")
    tc(add())
    assert "driver: swsim" in run("ethtool", "-i", "sim0").stdout


def test_statistics():
    """The rule's counter, the port's with all frames, and those that reached the CPU."""
    def cpu_hit():
        text = run("ip", "-j", "stats", "show", "dev", "sim0", "group", "offload", "subgroup",
                   "cpu_hit").stdout
        return json.loads(text)[0]["stats64"]["rx"]["packets"]

    def port():
        text = run("ip", "-s", "-j", "link", "show", "sim0").stdout
        return json.loads(text)[0]["stats64"]["rx"]["packets"]

    tc(add())
    hit, rx = cpu_hit(), port()
    other = udp_frame(DST, SRC, "10.1.0.1", "10.2.0.2")
    with Wire("sim0w") as wire, Wire("sim0") as cpu:
        wire.send(FRAME, FRAME, FRAME, other)
        assert cpu.drain() == [other]
    assert cpu_hit() - hit == 1 and port() - rx == 4
    rule, = filters("sim0")
    stats = rule["options"]["actions"][0]["stats"]
    assert (stats["hw_packets"], stats["hw_bytes"]) == (3, 3 * len(FRAME))
    assert rule["options"]["actions"][0]["last_used"] <= 2


def test_names():
    for device, name in (("sim0", "p0"), ("sim1", "p0"), ("lan1", "p0"), ("lan2", "p1")):
        assert Path(f"/sys/class/net/{device}/phys_port_name").read_text().strip() == name


def datagram(sender, receiver, address, port=9, size=8900):
    """Does a datagram that may not be fragmented get through?"""
    receiver.bind(("", port))
    receiver.settimeout(2)
    sender.setsockopt(socket.IPPROTO_IP, 10, 2)  # IP_MTU_DISCOVER: do
    sender.sendto(bytes(size), (address, port))
    try:
        return len(receiver.recv(65536)) == size
    except socket.timeout:
        return False


def test_wire_as_host():
    """A wire in a namespace of its own is a host; so is a VLAN on top of it, with jumbo frames."""
    run("ip", "netns", "add", "host")
    try:
        run("ip", "-batch", "-", text="""
            link set sim0 mtu 9000
            link set sim0w mtu 9000
            link set sim0w netns host
            link add link sim0 name sim0.100 type vlan id 100
            link set sim0.100 up
            addr add 192.0.2.1/24 dev sim0
            addr add 198.51.100.1/24 dev sim0.100""")
        run("ip", "-n", "host", "-batch", "-", text="""
            link set sim0w up
            link add link sim0w name v100 type vlan id 100
            link set v100 up
            addr add 192.0.2.2/24 dev sim0w
            addr add 198.51.100.2/24 dev v100""")
        wait(lambda: carrier("sim0"), "carrier")
        for ours, theirs in (("192.0.2.1", "192.0.2.2"), ("198.51.100.1", "198.51.100.2")):
            with udp_in(None) as one, udp_in("host") as other:
                assert datagram(one, other, theirs)
            with udp_in(None) as one, udp_in("host") as other:
                assert datagram(other, one, ours)
        tc(add(what="protocol ip flower skip_sw ip_proto udp"))
        with udp_in(None) as one, udp_in("host") as other:
            assert not datagram(other, one, "192.0.2.1")
        with udp_in(None) as one, udp_in("host") as other:
            assert datagram(other, one, "198.51.100.1")  # tagged: not matched by protocol ip
    finally:
        run("ip", "-batch", "-", text="link del sim0.100\naddr flush dev sim0", check=False)
        run("ip", "-n", "host", "link", "set", "sim0w", "netns", "1", check=False)
        run("ip", "netns", "del", "host")
        run("ip", "link", "set", "sim0w", "up")


def test_many_rules():
    """100,000 rules of one mask go in fast and one of them is found; so do 10,000 prefs."""
    rows = [(1, i + 1, bytes((10, 2 + (i >> 16), i >> 8 & 255, i & 255))) for i in range(100000)]
    start = time.monotonic()
    add_drops("sim0", rows)
    print(f"\n100000 rules in {time.monotonic() - start:.1f} s, system calls included")
    with Wire("sim0w") as wire, Wire("sim0") as cpu:
        wire.send(*[FRAME] * 10)
        assert not cpu.drain()
    assert resource()[2] == 100000
    assert [r[2] for r in rules("sim0", "10.2.0.1 ") if "10.2.0.1 " in r[0] + " "] == [10]
    start = time.monotonic()
    tc("filter del dev sim0 ingress")
    print(f"deleted in {time.monotonic() - start:.1f} s")
    start = time.monotonic()
    # from the last to the first: the kernel looks for the place of a new pref from the first on
    add_drops("sim0", [(i + 1, 1, bytes((10, 3, i >> 8, i & 255))) for i in range(9999, -1, -1)])
    tc(add(20000))
    print(f"10000 prefs in {time.monotonic() - start:.1f} s")
    with Wire("sim0w") as wire, Wire("sim0") as cpu:
        wire.send(FRAME)
        assert not cpu.drain()
    assert [r[2] for r in rules("sim0", "pref 20000 ") if "pref 20000 " in r[0]] == [1]


def once(frame):
    """One life with everything in use: rules, blocks, a wire elsewhere, frames on their way."""
    load(nics=2, ports=3)
    tc("qdisc add dev sim0 ingress_block 3 clsact", "qdisc add dev sim1 ingress_block 3 clsact",
       "qdisc add dev lan1 clsact", "qdisc add dev lan2 clsact",
       f"filter add block 3 pref 1 {RULE} action mirred egress redirect dev lan2",
       f"filter add dev lan1 ingress pref 1 {RULE} action mirred egress redirect dev sim1",
       "filter add dev lan2 egress pref 1 protocol all matchall skip_sw "
       "action mirred egress mirror dev lan3",
       "filter add dev lan1 ingress pref 2 protocol ip flower skip_sw ip_proto tcp action police "
       "rate 1mbit burst 10k conform-exceed drop/pipe")
    run("ip", "link", "set", "lan3w", "netns", "host")
    run("ip", "-n", "host", "link", "set", "lan3w", "up")
    with Wire("sim0w") as one, Wire("lan1w") as two:
        one.send(*[frame] * 20)
        two.send(*[frame] * 20)
    run("rmmod", "swsim")


def test_load_and_unload():
    """Ten lives; a hundred where kmemleak and lockdep watch (6.1-debug)."""
    times = 100 if Path("/sys/kernel/debug/kmemleak").exists() else 10
    unload()
    run("ip", "netns", "add", "host")
    try:
        for _ in range(times):
            once(FRAME)
        left = run("ip", "-br", "link").stdout + run("ip", "-n", "host", "-br", "link").stdout
        assert not any(word in left for word in ("sim0", "lan1", "lan3w", "cpu0"))
        assert not Path("/sys/kernel/debug/swsim").exists()
        assert not Path("/sys/bus/platform/devices/swsim-nic.0").exists()
    finally:
        run("ip", "netns", "del", "host")
        load(nics=2, ports=2)
        tc("qdisc add dev sim0 clsact", "qdisc add dev sim1 clsact")


def test_parameters():
    unload()
    try:
        for words in (["ports=12"], ["nics=65"], ["nics=many"]):
            assert run("modprobe", "swsim", *words, check=False).returncode
        run("ip", "link", "add", "lan2w", "type", "dummy")  # a name that is taken: all or nothing
        assert run("modprobe", "swsim", "nics=2", "ports=4", check=False).returncode
        assert not Path("/sys/class/net/sim0").exists() and not Path("/sys/class/net/cpu0").exists()
        run("ip", "link", "del", "lan2w")
    finally:
        load(nics=2, ports=2)
        tc("qdisc add dev sim0 clsact", "qdisc add dev sim1 clsact")
