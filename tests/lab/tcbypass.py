# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's tc_bypass family as Python values.

Numbers are those of kmod/uapi/linux/tc_bypass.h, written down again by hand, so that a header
that changes by mistake fails the tests. genl.py carries the messages.
"""

import struct

import genl

CMD_GET = 1
CMD_CHANGED = 2
CMD_GONE = 3

A_IFINDEX = 4
A_PARENT = 5
A_MEMBER = 8

FORMATS = {
    2: ("id", "=Q"),
    3: ("block", "=I"),
    A_IFINDEX: ("ifindex", "=I"),
    A_PARENT: ("parent", "=I"),
    6: ("direction", "=B"),
    7: ("members", "=I"),
    9: ("filters", "=I"),
    10: ("sw", "=I"),
    11: ("dead", "=I"),
    12: ("bypassed", "=B"),
    13: ("packets", "=Q"),
    14: ("generation", "=I"),
}

INGRESS = 0xFFFFFFF2
EGRESS = 0xFFFFFFF3


def decode(pairs):
    """The attributes of a block, or of a member, as a dictionary; members in "member"."""
    ret = {"member": []}
    for kind, payload in pairs:
        if kind == A_MEMBER:
            ret["member"].append(decode(genl.attrs(payload)))
        elif kind in FORMATS:
            name, layout = FORMATS[kind]
            ret[name] = struct.unpack(layout, payload)[0]
        elif kind != 1:
            raise ValueError(f"attribute {kind} is not one of tc_bypass")
    return ret


class TcBypass(genl.Genl):
    """Ask the kernel of this network namespace."""

    def __init__(self):
        super().__init__("tc_bypass")

    def block(self, index):
        """The shared block of that index."""
        return decode(self.get(CMD_GET, genl.attr(3, struct.pack("=I", index))))

    def at(self, ifindex, parent):
        """The block that is bound there."""
        return decode(self.get(CMD_GET, genl.attr(A_IFINDEX, struct.pack("=I", ifindex)) +
                               genl.attr(A_PARENT, struct.pack("=I", parent))))

    def blocks(self):
        """All blocks."""
        return [decode(pairs) for pairs in self.dump(CMD_GET)]

    def changes(self, wait=0.05):
        """What was told since: a list of (cmd, block)."""
        return [(cmd, decode(pairs)) for cmd, pairs in self.events(wait)]
