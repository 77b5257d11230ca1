# SPDX-License-Identifier: GPL-2.0-or-later
"""The port of a DSA frame that has no tag: the card in front of the switch took it off and says the port in
metadata beside the frame (since Linux 6.2). It is found by the index too, for every number, and what is
nobody's is dropped.
"""
import pytest

from dsalab import SWITCH, ETH_P_TEST, Heard, lost
from frames import eth
from inject import Injector
from swsimlab import DST, SRC, load, run, unload

LAB = {"variants": ["6.12-swd"], "all_variants": ["6.12-debug", "6.12"],
       "modules": ["inject"], "mem": "512M", "timeout": 300}

NOBODY = (12, 31, 32, 255, 65536, 2**31, 2**32 - 1)


@pytest.fixture(scope="module", params=[1, 2, 11])
def ports(request):
    run("modprobe", "inject")
    yield load(ports=request.param)
    unload()


def found(number):
    """The ports that a frame of this number comes out of."""
    with Heard() as heard:
        Injector("cpu0", eth(DST, SRC, ETH_P_TEST, bytes(50))).run(3, "port", number)
        return [port for port, _ in heard.take()]


@pytest.mark.parametrize("index", ["Y", "N"])
def test_every_number(ports, index):
    if SWITCH.exists():
        SWITCH.write_text(index)
    before = lost(["cpu0", *ports])
    for number, name in enumerate(ports):
        assert found(number) == [name] * 3
    assert lost(["cpu0", *ports]) == before
    for number in (len(ports), len(ports) + 1, *NOBODY):
        assert found(number) == [], number
    if SWITCH.exists():
        SWITCH.write_text("Y")
