# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of the bypass share: tc in batches, filters as tc lists them, and packets.

test_bypass_kernel.py and test_bypass_stress.py stand on this. tc is the judge of what filters there
are; tcbypass.py tells what the kernel's family says of them; frames and the counters of the qdisc
prove which of both a packet went through.
"""

import re
import socket
import struct
import subprocess
import time

import genl

RTM_GETQDISC = 38
TCA_KIND = 1
TCA_STATS2 = 7
TCA_STATS_BASIC = 1

ETH_P_TEST = 0x88B5     # for local experiments: no rule of the tests matches it


def run(*command, check=True):
    """A command's output. Raises with what it said if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise AssertionError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def batch(tool, *lines):
    """One process of tc or ip for all lines; the first that fails ends it and the test. Returns what
    they print."""
    done = subprocess.run([tool, "-batch", "-"], input="\n".join(lines) + "\n",
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{lines[:3]}...: {done.stderr.strip()}"
    return done.stdout


def tc(*lines):
    """The same, for tc."""
    return batch("tc", *lines)


def tc_taken(*lines):
    """Those of the lines that the kernel does not refuse. A line that tc's parser refuses raises."""
    done = subprocess.run(["tc", "-force", "-batch", "-"], input="\n".join(lines) + "\n",
                          capture_output=True, text=True, check=False)
    assert "What is" not in done.stderr, done.stderr
    refused = {int(n) for n in re.findall(r"Command failed -:(\d+)", done.stderr)}
    return [line for n, line in enumerate(lines, 1) if n not in refused]


def tc_filters(listed):
    """The filters of a list that tc gave: a list of sets of words."""
    ret = []
    for line in listed.splitlines():
        words = line.split()
        if words[:1] == ["filter"]:
            found = "handle" in words or "key" in words
            if found:
                ret.append(set(words))
        elif found:
            ret[-1].update(words)
    return ret


def tc_counts(where, *before):
    """(filters, those that need software, those that are nowhere), by what tc lists.

    where: "block 10" or "dev sim0 ingress"; before: what the same process of tc is to do first.
    """
    filters = tc_filters(tc(*before, f"filter show {where}"))
    skip_sw = [f for f in filters if "skip_sw" in f]
    return (len(filters), len(filters) - len(skip_sw),
            len([f for f in skip_sw if "in_hw" not in f]))


def kernel_counts(block):
    """The same, by what the tc_bypass family says of the block."""
    return block["filters"], block["sw"], block["dead"]


def flower(number, pref=1, handle=None, flags="skip_sw"):
    """A flower filter that no frame of the tests matches, without "filter add ..."."""
    named = f"handle {handle} " if handle else ""
    return (f"protocol ip pref {pref} {named}flower dst_ip 10.{number >> 16}."
            f"{number >> 8 & 255}.{number & 255} {flags} action drop")


def add_flower(where, count, flags="skip_sw", pref=1, start=0):
    """count filters in one pref."""
    tc(*(f"filter add {where} {flower(start + i, pref, flags=flags)}" for i in range(count)))


def ifindex(dev):
    return socket.if_nametoindex(dev)


def qdisc_packets(dev):
    """What the ingress or clsact qdisc of the device has counted.

    Asked from the kernel itself: a process of tc for each look would be most of the tests' time.
    """
    index = ifindex(dev)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as sock:
        sock.send(struct.pack("=IHHII", 36, RTM_GETQDISC, genl.NLM_F_REQUEST | genl.NLM_F_DUMP, 1,
                              0) + struct.pack("=BxHiIII", 0, 0, index, 0, 0, 0))
        found = None
        while True:
            data = sock.recv(1 << 17)
            while len(data) >= 16:
                length, kind = struct.unpack_from("=IH", data)
                if kind in (genl.NLMSG_DONE, genl.NLMSG_ERROR):
                    assert found is not None, f"{dev} has neither clsact nor ingress"
                    return found
                if struct.unpack_from("=i", data, 20)[0] == index:
                    pairs = genl.attrs(data[36:length])
                    if genl.first(pairs, TCA_KIND) in (b"clsact\0", b"ingress\0"):
                        basic = genl.first(genl.attrs(genl.first(pairs, TCA_STATS2)),
                                           TCA_STATS_BASIC)
                        found = struct.unpack_from("=QI", basic)[1]
                data = data[(length + 3) & ~3:]


def send(dev, count, payload=b""):
    """Frames out of a device: into a wire they arrive at its port, out of a port they are sent."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sock:
        sock.bind((dev, 0))
        frame = (b"\xff" * 6 + b"\x02\0\0\0\0\x09" + ETH_P_TEST.to_bytes(2, "big") +
                 payload).ljust(60, b"\0")
        for _ in range(count):
            sock.send(frame)


def paths(family, block, dev, out, count=20):
    """Sends frames and tells which way they went.

    block: a function that asks the family for the block; dev: the port whose qdisc counts; out: the
    device to send from. Returns (packets that passed by, packets that the qdisc counted).
    """
    before = block(family)["packets"], qdisc_packets(dev)
    send(out, count)
    end = time.monotonic() + 10      # for a guest on a busy host
    while True:
        after = block(family)["packets"], qdisc_packets(dev)
        ret = after[0] - before[0], after[1] - before[1]
        if sum(ret) >= count or time.monotonic() > end:
            return ret
        time.sleep(0.01)
