#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Turns the bytes of filters.txt, or of tx.txt, into those of a big-endian machine:

    turn.py filters.txt TURNED

What a number's order is, is written down here once more, from the kernel's headers and apart from the
codecs, so that the two judge each other (NL-05). An attribute that is not listed is an error, and so is
one of another size: nothing goes through as it is by mistake.
"""
import struct
import sys
from pathlib import Path

# A place's form: H, I, Q are numbers in host order; b a byte that stays; * all the rest, which stays.
# A dict is a nest of attributes by type, "acts" a list of actions, by each's kind.
STAYS, TIMES = "*", "QQQQ"
GEN = "IIIII"       # tc_gen, which most actions begin with
FLOWER = {t: STAYS for t in [*range(4, 22), *range(25, 27), *range(29, 31), *range(35, 43), *range(47, 53),
                             *range(55, 67), *range(71, 77), 24, 78, 79, *range(87, 91)]}
FLOWER |= {1: "I", 3: "acts", 22: "I", 23: "H", 77: "H", 86: "I"}
OPTIONS = {
    "flower": FLOWER,
    "matchall": {1: "I", 2: "acts", 3: "I", 4: "Q"},
    # tc_u32_sel: the first offmask and hmask are of the network, as are each key's mask and value.
    "u32": {2: "I", 5: "bbbbbbHHHbbbb" + "bbbbbbbbII", 7: "acts", 9: "QQQ", 11: "I", 12: STAYS},
}
ACTIONS = {
    "gact": {1: TIMES, 2: GEN, 3: "HHI", 4: STAYS},
    "mirred": {1: TIMES, 2: GEN + "II", 3: STAYS},
    "vlan": {1: TIMES, 2: GEN + "I", 3: "H", 4: STAYS, 6: "b"},
    "pedit": {1: TIMES, 3: STAYS, 4: "keys", 5: {6: {1: "H", 2: "H"}}},
    "csum": {1: GEN + "I", 2: TIMES},
    "police": {1: "IIIII" + 2 * "bbHHHI" + "III", 2: 256 * "I", 5: "I", 6: TIMES, 7: STAYS, 8: "Q", 10: "Q", 11: "Q"},
    "sample": {1: TIMES, 2: GEN, 3: "I", 4: "I", 5: "I", 6: STAYS},
    "skbedit": {1: TIMES, 2: GEN, 5: "I", 6: STAYS},
}
STATS = {1: "QIbbbb", 3: "IIIII", 6: STAYS, 7: "QIbbbb", 8: "Q"}
ACTION = {1: STAYS, 3: "I", 4: STATS, 5: STAYS, 6: STAYS, 7: "II", 8: "II", 10: "I"}
# ethtool's family, by command: what is set or asked of rings and of coalescing, and the answers.
HEADER = {1: "I", 2: STAYS, 3: "I"}
RINGS = {1: HEADER} | {t: "I" for t in (*range(2, 11), 12)} | {t: "b" for t in (11, 13, 14)}
COALESCE = {1: HEADER} | {t: "I" for t in (*range(2, 11), *range(13, 24))} | {t: "b" for t in (11, 12, 24, 25)}
COMMANDS = {0x0f: RINGS, 0x10: RINGS, 0x13: COALESCE, 0x14: COALESCE}
SIZES = {"b": 1, "H": 2, "I": 4, "Q": 8}


def plain(form, data):
    if form == STAYS:
        return data
    if sum(SIZES[c] for c in form) != len(data):
        raise ValueError(f"{len(data)} bytes for {form!r}")
    form = form.replace("b", "c")
    return struct.pack(">" + form, *struct.unpack("<" + form, data))


def pedit_keys(data):
    """tc_pedit_sel: a mask and a value of the network, and four numbers, for each key."""
    return plain(GEN + "bbbb" + (len(data) - 24) // 24 * ("bbbbbbbb" + "IIII"), data)


def attributes(data):
    while data:
        size, kind = struct.unpack_from("<HH", data)
        if not 4 <= size <= len(data):
            raise ValueError(f"an attribute of {size} bytes in {len(data)}")
        yield kind, data[4:size]
        data = data[size + 3 & ~3:]


def attribute(kind, data):
    return struct.pack(">HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


def kind_in(data, what):
    return next(value for kind, value in attributes(data) if kind & 0x3fff == what).rstrip(b"\0").decode()


def action(data):
    return nest(ACTION | {2: ACTIONS[kind_in(data, 1)]}, data)


def nest(forms, data):
    turned = b""
    for kind, value in attributes(data):
        form = forms[kind & 0x3fff]
        if isinstance(form, dict):
            value = nest(form, value)
        elif form == "acts":
            value = b"".join(attribute(n, action(one)) for n, one in attributes(value))
        else:
            value = pedit_keys(value) if form == "keys" else plain(form, value)
        turned += attribute(kind, value)
    return turned


def message(data):
    """nlmsghdr, tcmsg, attributes. tcm_info is a pref in the high half and a protocol of the network in the low."""
    head = plain("IHHII" + "bbbb" + "IIIbbbb", data[:36])
    protocol, pref = data[32:34], data[34:36]
    options = OPTIONS[kind_in(data[36:], 1)]
    return head[:32] + pref[::-1] + protocol + nest({1: STAYS, 2: options, 11: "I"}, data[36:])


def generic(data):
    """genlmsghdr, attributes. An answer has the number of what was asked."""
    return plain("bbH", data[:4]) + nest(COMMANDS[data[0]], data[4:])


def line(text):
    what, _, rest = text.partition(" ")
    if what in ("asked", "answer"):
        return f"{what} {generic(bytes.fromhex(rest)).hex()}"
    return f"{what} {message(bytes.fromhex(rest)).hex()}" if what in ("add", "sent", "told") else text


if __name__ == "__main__":
    Path(sys.argv[2]).write_text("\n".join(map(line, Path(sys.argv[1]).read_text().splitlines())) + "\n")
