# SPDX-License-Identifier: GPL-2.0-or-later
"""swsim with two CPU ports: a tree of two switches, whose user ports choose their conduit and have
one or a bond of both.
"""
from pathlib import Path

import pytest

from frames import Wire, udp_frame
from swsimlab import DST, SRC, bring_up, load_anew, run, unload

LAB = {"variants": ["6.1", "6.12"], "dsa": "4,2,2", "mem": "512M", "timeout": 300}

LAN = ["lan1", "lan2", "lan3", "lan4"]
CONDUITS = ["cpu0", "cpu1"]
FRAME = udp_frame(DST, SRC, "10.1.0.1", "10.2.0.1")


def up():
    bring_up(CONDUITS + [f"{name}w" for name in LAN] + LAN)


@pytest.fixture(scope="module", autouse=True)
def tree():
    load_anew()
    up()
    yield
    unload()


def used(device):
    """Frames that came by a conduit and that went."""
    return [int(Path(f"/sys/class/net/{device}/statistics/{way}_packets").read_text())
            for way in ("rx", "tx")]


def both_ways(name, count=6):
    with Wire(f"{name}w") as wire, Wire(name) as port:
        wire.send(*[FRAME] * count)
        assert port.drain() == [FRAME] * count
        port.send(*[FRAME] * count)
        assert wire.drain() == [FRAME] * count


@pytest.mark.parametrize("name", LAN)
def test_each_port_chooses(name):
    for conduit, other in (CONDUITS, reversed(CONDUITS)):
        run("ip", "link", "set", name, "type", "dsa", "conduit", conduit)
        before = used(conduit), used(other)
        both_ways(name)
        assert [n - 6 for n in used(conduit)] == before[0] and used(other) == before[1]
    run("ip", "link", "set", name, "type", "dsa", "conduit", "cpu0")


def test_a_bond_of_both():
    lines = ["link add bond0 type bond mode balance-rr"]
    lines += [f"link set {conduit} down" for conduit in CONDUITS]
    lines += [f"link set {conduit} master bond0" for conduit in CONDUITS]
    run("ip", "-batch", "-", text="\n".join(lines + ["link set bond0 up"]))
    up()
    try:
        before = used("cpu0")[1], used("cpu1")[1]
        for name in LAN:
            both_ways(name)
        assert used("cpu0")[1] > before[0] and used("cpu1")[1] > before[1]
    finally:
        lines = [f"link set {conduit} nomaster" for conduit in CONDUITS] + ["link del bond0"]
        run("ip", "-batch", "-", text="\n".join(lines))
        up()
    for name in LAN:
        both_ways(name)
