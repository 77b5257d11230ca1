# SPDX-License-Identifier: GPL-2.0-or-later
"""Field cases of netlink that need a kernel: dumps that are interrupted (NL-02), flags in a wrong order (NL-04), and
which socket does what (NL-01, NL-07). The rest is in tests/unit/kernel and tests/unit/engine, in test_overrun.py and
test_every_step.py."""
import ctypes
import json
import os
import socket
import struct
import subprocess
import time
from pathlib import Path

import pytest

from genl import attr
from swdlab import Refusal, Swd
from swsimlab import load, run, tc, unload

LAB = {"variants": ["6.1-swd"], "all_variants": ["6.12"], "mem": "512M", "timeout": 300}

OWN = [f"10.80.{i}.1/24" for i in range(80)] + [f"2001:db8:80:{i}::1/64" for i in range(1, 5)]
OTHERS = 3000           # so that a dump has many parts, and something can happen between them
FILE = f"""version: 1
daemon: {{ audit: 1s }}
ports:
  cpu0: {{ up: true }}
  lan1: {{ up: true }}
  lan2: {{ up: true, addresses: {json.dumps(OWN)} }}
blocks:
  edge:
    id: 10
    bind: [lan1]
    tagging: none
    rules: [ {{ name: one, match: {{ dst: 10.10.0.0/16 }}, action: drop }} ]
"""
DUMP_INTR = 0x10
SOL_NETLINK, NETLINK_NO_ENOBUFS = 270, 5
RTM_NEWTFILTER, RTM_GETADDR, NLMSG_ERROR, NLMSG_DONE = 44, 22, 2, 3


@pytest.fixture(name="swd")
def fixture_swd(tmp_path):
    load(ports=2)
    for name in ("all", "default", "lan2"):
        Path(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6").write_text("0")
    swd = Swd(tmp_path, FILE)
    swd.until(lambda: swd.status()["generation"] == 1, "the first apply", 20)
    swd.settle(20)
    yield swd
    code = swd.stop()
    unload()
    assert code == 0, swd.log.read_text()[-4000:]


def addresses(name):
    link = json.loads(run("ip", "-j", "addr", "show", "dev", name).stdout)[0]
    return sorted(f"{a['local']}/{a['prefixlen']}" for a in link["addr_info"] if a["scope"] == "global")


def interrupted():
    """A dump of addresses in small parts: was any of them marked?"""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as s:
        s.send(struct.pack("=IHHIIBBBBI", 24, RTM_GETADDR, 0x301, 1, 0, 0, 0, 0, 0, 0))
        marked = False
        while True:
            data = s.recv(8192)
            while data:
                size, kind, flags = struct.unpack_from("=IHH", data)
                marked |= bool(flags & DUMP_INTR)
                if kind == NLMSG_DONE:
                    return marked
                assert kind != NLMSG_ERROR
                data = data[size + 3 & ~3:]


def test_nl_02_addresses_that_come_while_they_are_read(swd):
    """Others add and remove addresses without a pause, so that dumps are interrupted again and again. swd removes
    nothing that it merely did not see, and adds nothing that is there; what it can't do meanwhile it refuses in
    words; and behind it all is well."""
    run("ip", "-batch", "-", text="".join(f"addr add 10.90.{i // 250}.{i % 250 + 1}/32 dev lan1\n" for i in range(OTHERS)))
    swd.settle(20)
    assert addresses("lan2") == sorted(OWN)
    start = swd.status()["counts"]
    lines = "addr add 10.91.0.1/32 dev lan1\naddr del 10.91.0.1/32 dev lan1\n"
    storm = subprocess.Popen(["sh", "-c", f"while :; do printf '{lines * 200}'; done | ip -force -batch -"],
                             stderr=subprocess.DEVNULL, start_new_session=True)
    marked, refused, done, end = 0, 0, 0, time.monotonic() + 20
    try:
        while time.monotonic() < end:
            marked += interrupted()
            try:
                swd.call("Apply")
                done += 1
            except Refusal as refusal:
                refused += 1
                text = refusal.parameters["diags"][0]["text"]
                assert text.startswith("the kernel can't be read, so nothing was changed: "), text
    finally:
        os.killpg(storm.pid, 9)
        storm.wait()
    now = swd.status()["counts"]
    assert marked > 0, "no dump was interrupted"
    assert now["dumps"] - start["dumps"] > 20
    swd.until(lambda: swd.status()["settled"] and not [a for a in swd.status()["alerts"] if a["id"] == "dump"], "rest", 20)
    assert swd.status()["counts"]["messages"] == start["messages"], "something was removed or added"
    assert addresses("lan2") == sorted(OWN) and len(addresses("lan1")) >= OTHERS
    assert swd.status()["last_outcome"] in ("done", "refused")
    swd.call("Apply")
    # And its own addresses, which Linux confirms a moment later.
    for i in range(10):
        fewer = [a for n, a in enumerate(OWN) if n % 10 != i and ":" not in a] + [f"2001:db8:81:{i + 1}::1/64"]
        swd.apply(FILE.replace(json.dumps(OWN), json.dumps(fewer)))
        swd.settle()
        assert addresses("lan2") == sorted(fewer)
    print(f"{marked} dumps of ours were interrupted; {now['dumps'] - start['dumps']} dumps of swd; {done} applies done, "
          f"{refused} refused")


def send_filter(flags):
    """A flower filter with these bytes as its flags; the kernel's answer."""
    action = attr(1, attr(1, b"gact\0") + attr(2 | 0x8000, attr(2, struct.pack("=5i", 0, 0, 2, 0, 0))))
    options = (attr(8, b"\x08\0") + attr(12, bytes([10, 33, 0, 0])) + attr(13, b"\xff\xff\0\0") + attr(22, flags)
               + attr(3 | 0x8000, action))
    info = 300 << 16 | socket.htons(0x0800)
    body = (struct.pack("=BxxxiIII", 0, -1, 1, 10, info) + attr(1, b"flower\0") + attr(2 | 0x8000, options))
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as s:
        s.send(struct.pack("=IHHII", 16 + len(body), RTM_NEWTFILTER, 0x605, 1, 0) + body)
        return -struct.unpack_from("=i", s.recv(65536), 16)[0]


def test_nl_04_linux_takes_flags_in_host_order_only(swd):
    """The bytes of the case, to the kernel itself; and what swd tells of what it took."""
    assert send_filter(struct.pack(">I", 2)) == 22
    assert send_filter(struct.pack("<I", 2)) == 0
    found = json.loads(run("tc", "-j", "filter", "show", "block", "10", "pref", "300").stdout)[-1]["options"]
    assert found["skip_sw"] and found["in_hw"]
    swd.until(lambda: swd.rules("edge")[1], "a foreign filter")
    other = swd.rules("edge")[1][0]
    assert other["skip_sw"] and other["in_hw"] and not other["not_in_hw"] and not other["skip_hw"], other
    tc("filter del block 10 pref 300")
    assert send_filter(struct.pack("<I", 1)) == 0
    swd.until(lambda: swd.rules("edge")[1] and swd.rules("edge")[1][0]["skip_hw"], "another foreign filter")
    other = swd.rules("edge")[1][0]
    assert not other["skip_sw"] and not other["in_hw"] and other["not_in_hw"], other
    tc("filter del block 10 pref 300")


def sockets(swd):
    """(groups, a copy of the socket) of each rtnetlink socket of swd."""
    route = {}
    for line in Path("/proc/net/netlink").read_text().splitlines()[1:]:
        words = line.split()
        if words[1] == "0":
            route[words[9]] = int(words[3], 16)
    libc = ctypes.CDLL(None, use_errno=True)
    pidfd = libc.syscall(434, swd.process.pid, 0)
    assert pidfd >= 0
    found = []
    for link in Path(f"/proc/{swd.process.pid}/fd").iterdir():
        target = os.readlink(link)
        if target.startswith("socket:[") and target[8:-1] in route:
            fd = libc.syscall(438, pidfd, int(link.name), 0)
            assert fd >= 0, os.strerror(ctypes.get_errno())
            found.append((route[target[8:-1]], socket.socket(fileno=fd)))
    os.close(pidfd)
    return found


def test_nl_07_events_and_requests_have_sockets_of_their_own(swd):
    """And that of events has a buffer larger than the system gives (NL-01), and is told what it lost."""
    found = sockets(swd)
    events = [s for groups, s in found if groups]
    assert len(events) == 1 and len(found) >= 3, found
    most = int(Path("/proc/sys/net/core/rmem_max").read_text())
    assert events[0].getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) > 4 * most
    for _, one in found:
        assert one.getsockopt(SOL_NETLINK, NETLINK_NO_ENOBUFS) == 0
        one.close()
