# SPDX-License-Identifier: GPL-2.0-or-later
"""What the test_cases_*.py share: a file of a few rules, what is in the kernel by tc's word, and two ears: what
the kernel tells everybody of filters, and what anybody asks of it."""
import socket
import struct
import time
from collections import namedtuple

from genl import attrs
from swdlab import Refusal, Swd
from swsimlab import block_filters, run, tc

NEWTFILTER, DELTFILTER, GETTFILTER = 44, 45, 46
REPLACE, EXCL, CREATE = 0x100, 0x200, 0x400
_TCA_KIND, _TCA_CHAIN, _DUMP = 1, 11, 0x300

PORTS = ("lan1", "lan2", "lan3", "lan4")


def text(*rules, bind="lan1, lan2", extra="", more="", tagging="none", block=10):
    """Rules as they stand in a file, each without its braces; `more` is behind the block."""
    lines = ["version: 1", "daemon: { port-wait: 0ms }", "ports:", "  cpu0: { up: true }", "  lan1: { up: true }",
             "  lan2: { up: true }", "blocks:", "  edge:", f"    id: {block}", f"    bind: [{bind}]",
             f"    tagging: {tagging}"]
    lines += [f"    {extra}"] * bool(extra) + ["    rules:" + " []" * (not rules)]
    lines += [f"      - {{ {rule} }}" for rule in rules]
    return "\n".join(lines) + "\n" + more


def rule(name, match, action="drop", **words):
    """One of them; words such as pref=100, offload="off"."""
    said = "".join(f", {key}: {value}" for key, value in words.items())
    return f"name: {name}, match: {{ {match} }}, action: {action}{said}"


def start(folder, file=None, settle=True):
    swd = Swd(folder, file)
    if settle:
        swd.settle(20)
    return swd


def end(swd, *devices):
    """Ends swd, and takes away all that a test may have left."""
    code = swd.stop()
    tc(*[f"qdisc del dev {dev} {kind}" for dev in PORTS + devices for kind in ("clsact", "ingress")], force=True)
    for dev in devices:
        run("ip", "link", "del", dev, check=False)
    assert code in (0, -9), swd.log.read_text()


def refusal(swd, file):
    """What an apply of the file is refused with: all its messages, a line each."""
    swd.file.write_text(file)
    try:
        swd.call("Apply")
    except Refusal as caught:
        return "\n".join(d["message"] for d in caught.parameters["diags"])
    raise AssertionError("was applied:\n" + file)


def checked(swd, file, code):
    """What `sw-cli check` says of the file, which must end with that code."""
    path = swd.folder / "checked.yaml"
    path.write_text(file)
    done, out, err = swd.cli("check", str(path), check=False)
    assert done == code, (done, out, err)
    return out + err


def dsts(block=10):
    """{dst_ip: filter} as tc shows them."""
    return {f["options"]["keys"]["dst_ip"]: f for f in block_filters(block) if "dst_ip" in f["options"].get("keys", {})}


def place(f, block=10):
    """A filter's place as a line of tc names it."""
    return (f"block {block} chain {f.get('chain', 0)} protocol {f['protocol']} pref {f['pref']} "
            f"handle {f['options'].get('handle', 1)} {f['kind']}")


def action(f):
    a = f["options"]["actions"][0]
    return a["control_action"]["type"] if "control_action" in a else a.get("mirred_action")


def packets(f):
    return f["options"]["actions"][0]["stats"]["packets"]


def findings(swd, kind=None):
    """What sw-cli audit finds, but for marks, which Linux 6.12 keeps to itself after a start."""
    found = swd.call("Audit")["findings"]
    return [f for f in found if f["kind"] == kind or (kind is None and f["kind"] != "mark")]


def alerts(swd, kind):
    return [a for a in swd.status()["alerts"] if a["id"] == kind]


Told = namedtuple("Told", "type flags number block chain pref protocol handle classifier port")


def _messages(data):
    while len(data) >= 16:
        size, kind, flags, number, port = struct.unpack_from("=IHHII", data)
        if size < 16:
            return
        if kind in (NEWTFILTER, DELTFILTER, GETTFILTER) and size >= 36:
            _, index, handle, block, info = struct.unpack_from("=BxxxiIII", data, 16)
            said = dict(attrs(data[36:size]))
            yield Told(kind, flags, number, block if index == -1 else 0,
                       struct.unpack("=I", said.get(_TCA_CHAIN, bytes(4)))[0], info >> 16,
                       socket.ntohs(info & 0xffff), handle, said.get(_TCA_KIND, b"").rstrip(b"\0").decode(), port)
        data = data[size + 3 & ~3:]


class _Ear:
    def heard(self, quiet=0.1):
        """What came since the last call, until there was nothing for a while."""
        found, end = [], time.monotonic() + quiet
        while time.monotonic() < end:
            try:
                data = self.sock.recv(1 << 20)
            except BlockingIOError:
                time.sleep(0.005)
                continue
            found += _messages(data)
            end = time.monotonic() + quiet
        return found


class Events(_Ear):
    """What the kernel tells everybody of filters, in its order."""

    def __init__(self):
        self.sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
        self.sock.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)   # SO_RCVBUFFORCE
        self.sock.bind((0, 1 << 3))     # RTNLGRP_TC
        self.sock.setblocking(False)


class Requests(_Ear):
    """What is asked of the kernel about filters, by whomever: from a tap on all netlink sockets."""

    def __init__(self):
        run("ip", "link", "add", "tap0", "type", "nlmon")
        run("ip", "link", "set", "tap0", "up")
        self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.sock.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)
        self.sock.bind(("tap0", 3))
        self.sock.setblocking(False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()
        run("ip", "link", "del", "tap0")

    def heard(self, quiet=0.1):
        """Without dumps, and without the kernel's answers and events, which have the number of their request."""
        seen = {}
        for t in super().heard(quiet):
            seen.setdefault((t.port, t.number), t)
        return [t for t in seen.values() if t.port and not (t.type == GETTFILTER and t.flags & _DUMP == _DUMP)]
