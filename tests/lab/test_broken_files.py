# SPDX-License-Identifier: GPL-2.0-or-later
"""Files as people break them. Each is refused whole, with every error at once and its place, whichever
way it comes: sw-cli check, sw-cli apply FILE, sw-cli apply and SIGHUP with the daemon's own file, and at
a start. What ran before runs on: nobody on this machine hears of one change in the kernel.

A "^" in a text below stands before each place that must be named, and is taken out; behind the text is
what must be said of each, in order. Besides its errors every file asks for another MTU, which nobody
may ever see.
"""
import json
import os
import re
import select
import signal
import socket
import subprocess
from collections import namedtuple

import pytest

from frames import Wire, udp_frame
from swdlab import BUILD, Swd
from swsimlab import DST, SRC, carrier, load, run, unload, wait

LAB = {"variants": ["6.1"], "all_variants": ["6.1-swd", "6.12"], "mem": "512M", "timeout": 600}

GOOD = """version: 1
ports:
  cpu0: { up: true }
  lan1: { up: true, mtu: 1500, addresses: [192.0.2.1/24] }
  lan2: { up: true }
vlans:
  lan1.10: { link: lan1, id: 10, addresses: [198.51.100.1/24] }
blocks:
  edge:
    id: 10
    bind: [lan1, lan2]
    rules:
      - { name: no-bogons, match: { src: 203.0.113.0/24 }, action: drop }
      - { name: to-lan2, match: { dst: 198.18.0.0/15, tagging: none }, action: { redirect: lan2 } }
      - { name: dns, match: { proto: udp, dport: 53, tagging: none }, action: { goto: 7 } }
      - { name: some-dns, match: { dst: 192.0.2.0/24, tagging: none }, action: trap, chain: 7 }
"""
TOP = "version: 1\nports:\n  lan1: { up: true, mtu: 1400 }\n"
BLOCK = TOP + "blocks:\n  edge:\n    id: 10\n    bind: [lan1, lan2]\n    rules:\n"


def rules(*lines):
    return BLOCK + "".join(f"      - {line}\n" for line in lines)


CASES = {
    # Numbers as YAML 1.1 reads them
    "YM-01 base 60": (TOP + "  lan2: { mtu: ^22:22 }\n"
                      "blocks:\n  edge:\n    id: ^1:60\n    bind: [lan1]\n    rules:\n"
                      "      - { name: a, match: { vlan: ^2122:22 }, action: drop, pref: ^10:20:30 }\n"
                      "      - { name: b, match: { ttl: ^12:30:45.5 }, action: { goto: ^22:22 } }\n",
                      ["22:22", "1:60", "2122:22", "10:20:30", "12:30:45.5", "22:22"]),
    "YM-01 octal and others": (TOP + "  lan2: { mtu: ^01500 }\n  lan3: { mtu: ^0o2734 }\n"
                               "  lan4: { mtu: ^1_500 }\n  lan5: { mtu: ^1.5e3 }\n  lan6: { mtu: ^+1500 }\n",
                               ["write 1500", "0o2734", "1_500", "1.5e3", r"\+1500"]),
    # Keys twice, and from elsewhere
    "YM-03 two sections": (TOP + "blocks: {}\n^ports:\n  lan2: { up: true }\n",
                           ["duplicate key 'ports', it was given in line 2 before"]),
    "YM-03 twice inside": (rules("{ name: a, match: { src: 192.0.2.1, ^src: 192.0.2.2 }, action: drop }",
                                 "{ name: b, match: { ttl: 1 }, action: drop, ^action: trap }")
                           + "    ^id: 11\n", ["duplicate key 'src'", "duplicate key 'action'",
                                               "duplicate key 'id', it was given in line 6"]),
    "YM-03 anchor and merge": (TOP + "  lan2: ^&a { up: true }\n  lan3:\n    ^<<: ^*a\n    up: false\n",
                               ["anchor '&a'", "merge key", r"alias '\*a'"]),
    # Words that YAML 1.1 takes for booleans
    "YM-06 booleans": (TOP + "  lan2: { up: ^yes }\n  lan3: { up: ^True }\n  lan4: { up: ^on }\n"
                       "  lan5: { up: ^~ }\n  lan6: { up: ^\"true\" }\n",
                       ["'yes' .write true", "'True'", "'on'", "'~'", "without quotes"]),
    "YM-06 names": (TOP.replace("lan1", "no") + "  on: { up: ^off }\n  1e3: { mtu: ^no }\n",
                    [r"ports\.on\.up", r"ports\.1e3\.mtu"]),
    # Numbers out of range
    "YM-08 VLAN ids": (TOP + "vlans:\n  v0: { link: lan1, id: ^0 }\n  v1: { link: lan1, id: 4094 }\n"
                       "  v2: { link: lan1, id: ^4095 }\n  v3: { link: lan1, id: ^4096 }\n"
                       "  v4: { link: lan1, id: ^-1 }\n  v5: { link: lan1, id: ^10.5 }\n"
                       "  v6: { link: lan1, id: ^\"10 \" }\n  v7: { link: lan1, id: ^99999999999 }\n"
                       "  v8: { link: lan1, id: ^18446744073709551617 }\n",
                       ["1 to 4094, found '0'", "'4095'", "'4096'", "'-1'", "'10.5'", "'10 '",
                        "'99999999999'", "'18446744073709551617'"]),
    "YM-08 in rules": (rules("{ name: a, match: { vlan: ^4095 }, action: drop, pref: ^0 }",
                             "{ name: b, match: { proto: tcp, dport: ^65536 }, action: drop, pref: ^65536 }",
                             "{ name: c, match: { proto: tcp, dport: ^10-5 }, action: { vlan-push: ^0 } }",
                             "{ name: d, match: { dst: ^192.0.2.0/33, src: ^192.0.2.7/24 }, action: drop }",
                             "{ name: e, match: { dst: ^\"2001:db8::/129\" }, action: { goto: ^268435456 } }"),
                       ["4095", "1 to 65535, found '0'", "65536", "65536", "the lower port comes first",
                        "1 to 4094", "192.0.2.0/33", "did you mean '192.0.2.0/24'", "/129", "268435456"]),
    # Keys nobody knows, and lines at the wrong depth
    "YM-09 unknown keys": ("^skip_sv: true\n" + TOP + "  lan2: { ^upp: true }\n"
                           "blocks:\n  edge:\n    id: 10\n    bind: [lan1]\n    ^flters: []\n    rules:\n"
                           "      - { name: a, match: { ^scr: 192.0.2.0/24 }, ^skip_sw: true, action: ^dorp }\n",
                           ["skip_sv", "did you mean 'up'", "did you mean 'rules'", "did you mean 'src'",
                            "skip_sw", "did you mean 'drop'"]),
    "YM-09 thirty": (TOP + "".join(f"  p{i}: {{ up: true, ^mtuu: 1500 }}\n" for i in range(30)),
                     [rf"ports\.p{i}\.mtuu: unknown key" for i in range(30)]),
    "YM-09 block at column 0": (TOP + "blocks:^\n^edge:\n  id: 10\n  bind: [lan1]\n  rules: []\n",
                                ["found nothing", "unknown key 'edge'.*indent it more"]),
    "YM-09 empty sections": ("version: 1\nports:^\nvlans: ^~\nblocks: ^null\n",
                             ["write {}", "write {}", "write {}"]),
    "YM-09 empty block": (TOP + "blocks:\n  edge:\n    id: 10\n    bind: [lan1]\n    rules:^\n",
                          [r"blocks\.edge\.rules"]),
    # What the kernel would take wrongly, or refuse with misleading words
    "TC-01 software in a hardware pref": (
        rules("{ name: hw, match: { dst: 192.0.2.0/24, tagging: none }, action: drop, pref: 100 }",
              "{ name: sw, match: { dst: 198.51.100.0/24, tagging: none }, action: drop, offload: off, "
              "pref: ^100 }"), ["'hw' .line 9. and 'sw'.*pref 100"]),
    "TC-06 protocols in a pref": (
        rules("{ name: v4, match: { dst: 192.0.2.0/24, tagging: none }, action: drop, pref: 10 }",
              "{ name: v6, match: { dst: \"2001:db8::/32\", tagging: none }, action: drop, pref: ^10 }",
              "{ name: arp, match: { ethertype: arp, tagging: none }, action: drop, pref: ^10 }"),
        ["'v4' .line 9. and 'v6'.*ip and ipv6", "'v4' .line 9. and 'arp'.*ip and arp"]),
    "TC-06 order": (
        rules("{ name: first, match: { dst: 192.0.2.0/24, tagging: none }, action: drop, pref: 20 }",
              "{ name: then, match: { dst: 192.0.0.0/16, tagging: none }, action: trap, pref: ^10 }"),
        ["pref 10 comes before pref 20 of rule 'first' .line 9"]),
    "TC-07 twins": (
        rules("{ name: a, match: { proto: tcp, dport: 80, dst: 192.0.2.0/24 }, action: drop }",
              "{ name: b, match: ^{ dst: 192.0.2.0/255.255.255.0, dport: 80, proto: 6 }, action: trap }",
              "{ name: c, match: { ttl: 9 }, action: drop }", "{ name: ^c, match: { ttl: 8 }, action: drop }"),
        ["'a' .line 9. and 'b' have the same match", "'c'"]),
    "TC-12 goto": (
        rules("{ name: a, match: { ttl: 1 }, action: ^{ goto: 7 } }",
              "{ name: b, match: { ttl: 2 }, action: [ { mirror: lan2 }, ^{ goto: 8 } ] }",
              "{ name: c, match: { ttl: 3 }, action: ^{ goto: 0 } }"),
        ["goto 7 leads to a chain without rules", "goto 8", "goto 0 leads back"]),
    "TC-12 loop": (
        rules("{ name: a, match: { ttl: 2 }, action: { goto: 1 } }",
              "{ name: b, match: { ttl: 2 }, action: { goto: 2 }, chain: 1 }",
              "{ name: c, match: { ttl: 2 }, action: ^{ goto: 1 }, chain: 2 }"),
        ["goto 1 leads from chain 2 back"]),
    "TC-16 actions": (
        rules("{ name: a, match: { ttl: 1 }, action: ^ct }",
              "{ name: b, match: { ttl: 2 }, action: ^trap, offload: preferred }",
              "{ name: c, match: { ttl: 3, tagging: none }, action: [ ^{ vlan-modify: 20 }, pass ] }",
              "{ name: d, match: { ttl: 4 }, action: [ drop, ^pass ] }",
              "{ name: e, match: { ethertype: arp }, action: [ ^dec-ttl, { redirect: lan2 } ] }"),
        ["unknown action 'ct'", "trap is for hardware alone", "vlan-modify on frames that have no tag",
         "pass comes after drop", "dec-ttl needs an IP packet"]),
    # No YAML at all
    "no YAML": (TOP + "  lan2: { up: true\nblocks: {}\n", None),
    "a tab": (TOP + "\tlan2: { up: true }\n", None),
    "no file": ("", None),
}


def plain(text):
    """(the file, [(line, column)])"""
    places = []
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        while "^" in line:
            places.append((number, line.index("^") + 1))
            line = line.replace("^", "", 1)
        lines[number - 1] = line
    return "\n".join(lines), places


def errors(output, file):
    """[(line, column, words)] of the errors in what was printed or logged."""
    found = []
    for line in output.splitlines():
        if match := re.match(rf"(?:<\d>)?{re.escape(str(file))}:(\d+):(\d+): error: (.*)", line):
            found.append((int(match[1]), int(match[2]), match[3]))
    return found


def judge(name, output, file):
    """All the errors, at their places, with their words; nothing else."""
    text, wanted = plain(CASES[name][0])[1], CASES[name][1]
    said = errors(output, file)
    assert "Sanitizer" not in output
    if wanted is None:      # where a parser gives up is its own affair, but it must say where
        assert said and all(line >= 1 and column >= 1 for line, column, _ in said), output
        return
    assert [(line, column) for line, column, _ in said] == text, output
    for (_, _, words), pattern in zip(said, wanted, strict=True):
        assert re.search(pattern, words), f"{pattern!r} is not in {words!r}"


def sw_cli(swd, *words):
    """(exit code, output, errors); no shell, no daemon needed for check."""
    return swd.cli(*words, check=False)


class Listener:
    """Hears of every change of links, addresses, qdiscs, filters and chains."""

    GROUPS = (1, 4, 5, 9)   # RTNLGRP_LINK, _TC, _IPV4_IFADDR, _IPV6_IFADDR

    def __init__(self):
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self.socket.bind((0, sum(1 << group - 1 for group in self.GROUPS)))

    def heard(self, quiet=0.05):
        messages = []
        while select.select([self.socket], [], [], quiet)[0]:
            messages.append(self.socket.recv(65536))
        return messages


Kernel = namedtuple("Kernel", "devices tc")


def in_kernel():
    """All that swd can change, as iproute2 tells it: devices with their addresses, and the block."""
    tc = "qdisc show\nfilter show block 10\nchain show block 10\n"
    return Kernel(json.loads(run("ip", "-j", "-d", "addr", "show").stdout),
                  run("tc", "-batch", "-", text=tc).stdout.splitlines())


@pytest.fixture(scope="module")
def swd(tmp_path_factory):
    load(ports=4, up=False)
    run("ip", "-batch", "-", text="\n".join(f"link set lan{n}w up" for n in range(1, 5)))
    swd = Swd(tmp_path_factory.mktemp("swd"), GOOD)
    swd.settle(60)
    wait(lambda: carrier("lan1") and carrier("lan2"), "carrier", 30)
    Listener().heard(1.5)       # Linux tells the state of a device up to a second late
    swd.before = in_kernel()
    yield swd
    code = swd.stop()
    unload()
    assert code == 0, swd.log.read_text()


@pytest.fixture
def unmoved(swd):
    """Whatever a test does, the kernel and what is in force stay, to the byte and to the event."""
    listener = Listener()
    status = swd.status()
    listener.heard()
    yield status
    assert listener.heard() == []
    now = swd.status()
    assert now["generation"] == status["generation"] == 1
    assert now["counts"]["messages"] == status["counts"]["messages"]
    assert now["settled"] and now["missing"] == 0 and now["repairs"] == status["repairs"]
    after = in_kernel()
    for name, a, b in zip(Kernel._fields, swd.before, after):
        assert a == b, name
    assert any("in_hw" in line for line in after.tc) and any("ingress_block 10" in line for line in after.tc)
    assert [link["mtu"] for link in after.devices if link["ifname"] == "lan1"] == [1500]


def reload_and_wait(swd):
    """SIGHUP; what the daemon logged of it."""
    start = len(swd.log.read_bytes())
    os.kill(swd.process.pid, signal.SIGHUP)

    def said():
        return swd.log.read_bytes()[start:].decode()
    swd.until(lambda: "apply by SIGHUP: " in said(), "the end of the reload", 20)
    swd.call("Check", text="")      # the engine's jobs come one after the other: so the reload is over
    return said()


@pytest.mark.parametrize("name", CASES)
def test_refused_whole(name, swd, unmoved, tmp_path):
    text, _ = plain(CASES[name][0])
    file = tmp_path / "new.yaml"
    file.write_text(text)

    done = subprocess.run([BUILD / "cli/sw-cli", "check", file], capture_output=True, text=True)
    assert done.returncode == 1, done
    judge(name, done.stderr, file)

    code, out, err = sw_cli(swd, "apply", str(file))
    assert code == 1 and not out, (code, out)
    judge(name, err, file)
    assert err.splitlines()[-1] == "sw-cli: the file is refused; nothing was changed"
    assert swd.status()["last_outcome"] == "refused"
    assert not swd.status()["alerts"], "a text that somebody tried is not the daemon's file"

    swd.file.write_text(text)
    try:
        code, out, err = sw_cli(swd, "apply")
        assert code == 1 and not out, (code, out)
        judge(name, err, "swd.yaml")
        judge(name, reload_and_wait(swd), "swd.yaml")
        refused(swd, errors(err, "swd.yaml")[0])
    finally:
        swd.file.write_text(GOOD)
        good = swd.call("Apply")
    assert good["steps"] == 0 and good["generation"] == 1, good
    assert not swd.status()["alerts"] and swd.status()["last_outcome"] == "done"


def refused(swd, first):
    """status says that the file is not in force, what is, and why, for people and for programs."""
    status = swd.status()
    assert status["last_outcome"] == "refused" and status["generation"] == 1
    line, column, words = first
    assert status["last_error"].startswith(f"swd.yaml:{line}:{column}: error: "), status
    alert, = status["alerts"]
    assert alert["id"] == "config" and str(swd.file) in alert["text"], alert
    assert "generation 1 is" in alert["text"] and status["last_error"][:60] in alert["text"], alert
    code, out, _ = sw_cli(swd, "status")
    assert code == 0 and re.search(r"^last apply .*: refused$", out, re.M), out
    assert f"swd.yaml:{line}:{column}: error: {words[:40]}" in out, out


def test_places_for_programs(swd, unmoved, tmp_path):
    """--json tells the same, in fields."""
    text, places = plain(CASES["YM-09 unknown keys"][0])
    file = tmp_path / "new.yaml"
    file.write_text(text)
    code, out, _ = sw_cli(swd, "--json", "check", str(file))
    said = json.loads(out)
    assert code == 1 and not said["good"] and said["errors"] == len(places)
    assert [(d["line"], d["column"]) for d in said["diags"]] == places
    code, out, _ = sw_cli(swd, "--json", "apply", str(file))
    said = json.loads(out)
    assert code == 1 and said["error"] == "io.swd.Switch.BadConfig"
    assert [(d["line"], d["column"]) for d in said["parameters"]["diags"]] == places
    for diag in said["parameters"]["diags"]:
        assert diag["file"] == str(file) and diag["message"].startswith(f"{file}:{diag['line']}:")
    assert swd.status()["last_error"].startswith(f"{file}:{places[0][0]}:{places[0][1]}: error: ")


def test_a_file_that_is_gone(swd, unmoved):
    swd.file.rename(swd.file.with_suffix(".away"))
    try:
        code, _, err = sw_cli(swd, "apply")
        assert code == 1 and "can't be read: No such file or directory" in err, err
        assert "can't be read" in reload_and_wait(swd)
        assert "can't be read" in sw_cli(swd, "status")[1]
    finally:
        swd.file.with_suffix(".away").rename(swd.file)
    swd.cli("apply")


def test_traffic_goes_on(swd, unmoved):
    """Frames before, while and after a file is refused go the same way."""
    wire, out = Wire("lan1w"), Wire("lan2w")
    frame = udp_frame(DST, SRC, "10.0.0.1", "198.18.0.1")
    swd.file.write_text(plain(CASES["TC-07 twins"][0])[0])
    try:
        for turn in range(6):
            if turn % 2:
                os.kill(swd.process.pid, signal.SIGHUP)
            wire.send(*[frame] * 20)
            assert out.drain(0.2) == [frame] * 20
        swd.until(lambda: swd.status()["last_outcome"] == "refused", "the reload", 20)
    finally:
        swd.file.write_text(GOOD)
    swd.cli("apply")


def test_start_with_a_broken_file(swd, unmoved):
    """The last good generation is in force, untouched, and status says so."""
    text, places = plain(CASES["YM-09 unknown keys"][0])
    swd.stop(signal.SIGKILL)
    swd.file.write_text(text)
    start = len(swd.log.read_bytes())
    try:
        swd.start()
        swd.settle(30)
        said = errors(swd.log.read_bytes()[start:].decode(), "swd.yaml")
        assert [place[:2] for place in said] == places
        status = swd.status()
        assert status["generation"] == 1 and status["counts"]["messages"] == 0, status
        assert any(a["id"] == "config" and "swd.yaml" in a["text"] for a in status["alerts"]), status
    finally:
        swd.file.write_text(GOOD)
    unmoved["counts"]["messages"] = unmoved["repairs"] = 0      # both count since the start
    assert swd.cli("apply")[1].splitlines()[-1] == "generation 1: 0 steps"
