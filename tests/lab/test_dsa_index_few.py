# SPDX-License-Identifier: GPL-2.0-or-later
"""The port of a frame is found by index (kmod/patches, dsa-index): small trees of one switch, whose
tags name no switch (tagger rtl8_4). Each port has its own frames, and numbers of nobody have none.
"""
import pytest

from dsalab import SWITCH, Turned, lost, tag_rtl8_4, where
from frames import Wire, udp_frame
from swsimlab import DST, SRC, load, unload

LAB = {"variants": ["6.1-swd", "6.12-swd"], "all_variants": ["6.1-debug", "6.12-debug"],
       "mem": "512M", "timeout": 300}


@pytest.fixture(scope="module", params=[1, 2, 8, 11])
def ports(request):
    yield load(ports=request.param)
    unload()


@pytest.mark.parametrize("index", ["Y", "N"])
def test_every_number(ports, index):
    SWITCH.write_text(index)
    before = lost(["cpu0", *ports])
    with Turned("cpu0") as turned:
        assert where(turned, tag_rtl8_4, 1, 16) == {(0, i): name for i, name in enumerate(ports)}
    assert lost(["cpu0", *ports]) == before
    SWITCH.write_text("Y")


def test_both_ways(ports):
    """From the wire to the port of its name and back, which moved to another line in memory."""
    for number, name in enumerate(ports):
        frame = udp_frame(DST, SRC, "10.1.0.1", f"10.7.0.{number}")
        with Wire(f"{name}w") as wire, Wire(name) as port:
            wire.send(frame)
            assert port.drain() == [frame]
            port.send(frame)
            assert wire.drain() == [frame]
