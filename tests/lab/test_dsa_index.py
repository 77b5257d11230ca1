# SPDX-License-Identifier: GPL-2.0-or-later
"""The port of a frame is found by index (kmod/patches, dsa-index): a tree of two switches, 52 user
ports and two CPU ports, tagger dsa. All that a tag can name is tried, and it comes out as by the
walk over the list that the index stands for; also while the index, ports and the tree come and go.
"""
import errno
import multiprocessing
from collections import Counter
from pathlib import Path

import pytest

from dsalab import SWITCH, Heard, Turned, lost, tag_dsa, tagged, where
from swsimlab import bring_up, load_anew, run, unload

LAB = {"variants": ["6.1-swd", "6.12-swd"], "all_variants": ["6.1-debug", "6.12-debug"],
       "dsa": "52,2,2", "mem": "512M", "timeout": 600}

LAN = [f"lan{i + 1}" for i in range(52)]
CONDUITS = ["cpu0", "cpu1"]
NAMED = {(i // 26, i % 26): name for i, name in enumerate(LAN)}
NAMES = [*NAMED, (0, 26), (0, 28), (1, 26), (1, 27), (2, 0), (31, 31)]  # and some of nobody
DRIVER = Path("/sys/bus/platform/drivers/swsim-switch")


def up():
    bring_up(CONDUITS + LAN)


@pytest.fixture(scope="module", autouse=True)
def tree():
    load_anew()
    up()
    yield
    unload()


@pytest.fixture
def turned():
    with Turned("cpu0") as first, Turned("cpu1") as second:
        yield first, second


@pytest.fixture(params=["Y", "N"])
def index(request):
    SWITCH.write_text(request.param)
    yield request.param
    SWITCH.write_text("Y")


def flood(turned, rounds, refused=0):
    """A process that sends `rounds` times a frame for each of NAMES, if it is not refused."""
    def send():
        for word in range(rounds):
            for name in NAMES:
                try:
                    turned.send(tagged(tag_dsa(*name), word))
                except OSError as error:
                    if error.errno != refused:
                        raise

    process = multiprocessing.get_context("fork").Process(target=send)
    process.start()
    return process


def end(process):
    process.join(300)
    assert process.exitcode == 0


def all_of(rounds):
    return Counter((port, word) for port in LAN for word in range(rounds))


def test_the_switch():
    """It is on, can be read, and refuses what is neither."""
    assert SWITCH.read_text() == "Y\n"
    with pytest.raises(OSError):
        SWITCH.write_text("perhaps")
    assert SWITCH.read_text() == "Y\n"
    SWITCH.write_text("0")
    assert SWITCH.read_text() == "N\n"
    SWITCH.write_text("1")


@pytest.mark.parametrize("conduit", [0, 1])
def test_every_name(index, turned, conduit):
    """All 32 ports of 32 switches, on either conduit: user ports have their frames, CPU ports,
    links, what no switch has and switches that are not there have none, and nobody counts them."""
    before = lost(CONDUITS + LAN)
    assert where(turned[conduit], tag_dsa, 32, 32) == NAMED
    assert lost(CONDUITS + LAN) == before


def test_on_and_off_under_traffic(turned):
    """No frame is lost or goes elsewhere."""
    with Heard() as heard:
        process = flood(turned[0], 40)
        turns = 0
        while process.is_alive() or turns < 20:
            SWITCH.write_text("YN"[turns % 2])
            turns += 1
        SWITCH.write_text("Y")
        end(process)
        assert Counter(heard.take()) == all_of(40)


@pytest.mark.parametrize("switch", ["switch0", "switch1"])
def test_the_tree_goes_and_comes_under_traffic(index, turned, switch):
    """A tree lives and dies whole. What comes out at all comes out of the right port, and no frame
    finds its port when the tree has gone."""
    with Heard() as heard:
        process = flood(turned[0], 60)
        (DRIVER / "unbind").write_text(switch)
        assert not Path("/sys/class/net/lan1").exists()
        heard.take()
        gone = where(turned[0], tag_dsa, 2, 32)
        (DRIVER / "bind").write_text(switch)
        up()
        end(process)
        assert not Counter(heard.take()) - all_of(60)
    assert gone == {}
    assert where(turned[0], tag_dsa, 32, 32) == NAMED


def test_the_module_goes_and_comes_under_traffic(index):
    """The conduits go as well; who turned frames to them has nobody to turn them to."""
    with Turned("cpu1") as turned:
        process = flood(turned, 60, errno.ENOBUFS)
        unload()
        run("modprobe", "swsim")
        up()
        end(process)
    with Turned("cpu1") as again:
        assert where(again, tag_dsa, 32, 32) == NAMED


def test_a_port_changes_its_conduit(index):
    """By which conduit a frame comes does not matter, to whom its port belongs neither."""
    with Turned("cpu0") as first, Turned("cpu1") as second:
        run("ip", "link", "set", "lan1", "type", "dsa", "conduit", "cpu1")
        run("ip", "link", "set", "lan52", "type", "dsa", "conduit", "cpu1")
        assert where(first, tag_dsa, 2, 32) == NAMED
        assert where(second, tag_dsa, 2, 32) == NAMED
        run("ip", "link", "set", "lan1", "type", "dsa", "conduit", "cpu0")
        run("ip", "link", "set", "lan52", "type", "dsa", "conduit", "cpu0")
        assert where(first, tag_dsa, 2, 32) == NAMED


def test_conduits_in_a_lag(index):
    """A bond of conduits is a conduit; in, under traffic, and out again."""
    def enter():
        lines = ["link add bond0 type bond mode balance-rr"]
        lines += [f"link set {conduit} down" for conduit in CONDUITS]
        lines += [f"link set {conduit} master bond0" for conduit in CONDUITS]
        run("ip", "-batch", "-", text="\n".join(lines + ["link set bond0 up"]))
        up()

    def leave():
        lines = [f"link set {conduit} nomaster" for conduit in CONDUITS] + ["link del bond0"]
        run("ip", "-batch", "-", text="\n".join(lines))
        up()

    with Turned("cpu0") as first, Turned("cpu1") as second, Heard() as heard:
        process = flood(first, 40, errno.ENOBUFS)   # what is turned to a conduit that is down
        enter()
        try:
            end(process)
            assert not Counter(heard.take()) - all_of(40)
            assert Path("/sys/class/net/bond0/dsa/tagging").exists()
            assert where(first, tag_dsa, 32, 32) == NAMED
            assert where(second, tag_dsa, 32, 32) == NAMED
            heard.take()
            process = flood(second, 20)
            for turns in range(20):
                SWITCH.write_text("NY"[turns % 2])
            end(process)
            assert Counter(heard.take()) == all_of(20)
        finally:
            leave()
        assert where(first, tag_dsa, 32, 32) == NAMED
