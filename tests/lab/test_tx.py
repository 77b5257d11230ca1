# SPDX-License-Identifier: GPL-2.0-or-later
"""How ports send, on real devices: netdevsim has a ring and coalescing, veth has neither, and byte queue
limits are where the kernel keeps such. What is so is judged by strangers: ethtool and sysfs."""
import json
import os
import re
import signal
import time
from pathlib import Path

import pytest

from swdlab import Swd
from swsimlab import knob, load, run, unload, wait

LAB = {"variants": ["6.1-swd"], "all_variants": ["6.1", "6.12"], "mem": "512M", "timeout": 300}

NET = Path("/sys/class/net")
BUS = Path("/sys/bus/netdevsim")
DOORBELL = "tx_doorbell_frames"
TX = "{ ring: 512, coalesce: { tx-usecs: 50, adaptive-tx: true } }"


def file(nsim=TX, audit="1h", more=""):
    """The audit, which looks at everything, is too far away to be of help unless a test says so."""
    return (f"version: 1\ndaemon: {{ audit: {audit}, port-wait: 0ms }}\nports:\n"
            f"  nsim0: {{ tx: {nsim} }}\n{more}")


# ---- the devices, and what they are ----

def make_nsim():
    before = set(os.listdir(NET))
    (BUS / "new_device").write_text("1 1 4")
    wait(lambda: set(os.listdir(NET)) - before, "the device of netdevsim")
    (name,) = set(os.listdir(NET)) - before
    run("ip", "link", "set", name, "name", "nsim0")


def drop_nsim():
    if (NET / "nsim0").exists():
        (BUS / "del_device").write_text("1")


def tx_of(dev="nsim0"):
    """What ethtool tells of what the file speaks of."""
    ring = run("ethtool", "-g", dev).stdout.split("Current")[1]
    coalesce = run("ethtool", "-c", dev).stdout
    number = [int(re.search(rf"^{name}:\s*(\d+)", text, re.M)[1])
              for name, text in (("TX", ring), ("tx-usecs", coalesce), ("tx-frames", coalesce))]
    return *number, re.search(r"^Adaptive RX: \S+\s+TX: (\S+)", coalesce, re.M)[1] == "on"


def limits(dev, which="limit_max"):
    return [int(p.read_text()) for p in sorted(NET.glob(f"{dev}/queues/tx-*/byte_queue_limits/{which}"))]


def with_limits():
    """A device that has byte queue limits; since 6.9 those without a queue have none."""
    names = [dev for dev in ("nsim0", "v0") if limits(dev)]
    if not names:
        pytest.skip("no device of the lab has byte queue limits on this kernel")
    return names[0]


@pytest.fixture(autouse=True)
def devices():
    run("modprobe", "netdevsim", check=False)
    make_nsim()
    run("ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1")
    run("ethtool", "-G", "nsim0", "tx", "256")
    run("ethtool", "-C", "nsim0", "tx-usecs", "3", "tx-frames", "7", "adaptive-tx", "off")
    yield
    run("ip", "link", "del", "v0", check=False)
    drop_nsim()


BEFORE = (256, 3, 7, False)
WANTED = (512, 50, 7, True)


@pytest.fixture
def swd(tmp_path):
    swd = Swd(tmp_path, "version: 1\nports: {}\n")
    yield swd
    if swd.process.poll() is None:
        assert swd.stop() == 0, swd.log.read_text()


# ---- all of it ----

def test_what_the_file_says_is_so_and_what_it_does_not_say_stays(swd):
    assert tx_of() == BEFORE
    swd.apply(file())
    assert tx_of() == WANTED
    assert swd.cli("plan", check=False)[0] == 0
    swd.apply(file("{}"))
    assert tx_of() == WANTED


def test_all_queues_get_their_limits_and_each_its_own_back(swd):
    dev = with_limits()
    queues = sorted(NET.glob(f"{dev}/queues/tx-*/byte_queue_limits/limit_max"))
    (queues[-1]).write_text("7777")
    before = limits(dev)
    text = ("version: 1\ndaemon: { audit: 1h, port-wait: 0ms }\n"
            f"ports: {{ {dev}: {{ tx: {{ bql: {{ limit-min: 1500, limit-max: 64k }} }} }} }}\n")
    swd.file.write_text(text)
    swd.cli("apply", "--confirm", "1s")
    assert limits(dev) == [65536] * len(queues)
    assert limits(dev, "limit_min") == [1500] * len(queues)
    wait(lambda: limits(dev) == before, "the limits of before, at the deadline")
    assert limits(dev, "limit_min") == [0] * len(queues)


def test_drift_that_ethtool_tells_of_is_mended_at_once(swd):
    swd.apply(file())
    swd.settle()
    took = []
    for words in (("-G", "nsim0", "tx", "64"), ("-C", "nsim0", "adaptive-tx", "off"), ("-C", "nsim0", "tx-usecs", "1")):
        run("ethtool", *words)
        start = time.monotonic()
        wait(lambda: tx_of() == WANTED, f"what {words} broke")
        took.append(round(1000 * (time.monotonic() - start)))
    print(f"mended, ms, seen by a process of ethtool's: {took}")
    assert swd.status()["repairs"] >= 3


def test_drift_that_nobody_tells_of_is_mended_by_the_audit(swd):
    dev = with_limits()
    port = f"  {dev}: {{ tx: {{ bql: {{ limit-max: 64k }} }} }}\n"
    swd.apply(f"version: 1\ndaemon: {{ audit: 1s, port-wait: 0ms }}\nports:\n{port}")
    next(NET.glob(f"{dev}/queues/tx-0/byte_queue_limits/limit_max")).write_text("5")
    wait(lambda: set(limits(dev)) == {65536}, "the limit that was changed")


def test_an_unsettled_trial_goes_back(swd):
    swd.apply(file("{}"))
    swd.file.write_text(file())
    swd.cli("apply", "--confirm", "1s")
    assert tx_of() == WANTED
    wait(lambda: tx_of() == BEFORE, "the deadline")


def test_a_killed_swd_finds_what_it_set(swd):
    swd.apply(file())
    swd.stop(signal.SIGKILL)
    swd.start()
    swd.until(lambda: swd.status()["generation"], "a generation")
    swd.settle()
    assert tx_of() == WANTED
    assert swd.status()["repairs"] == 0
    # What drifted meanwhile is put right by the start.
    swd.stop(signal.SIGKILL)
    run("ethtool", "-G", "nsim0", "tx", "64")
    swd.start()
    wait(lambda: tx_of() == WANTED, "the start to mend it")


def test_a_device_made_anew_is_set_again(swd):
    swd.apply(file())
    drop_nsim()
    swd.until(lambda: not (NET / "nsim0").exists(), "the device to go")
    make_nsim()
    wait(lambda: tx_of()[:2] == WANTED[:2] and tx_of()[3], "the new device to be set")


# ---- what can't be ----

def refused(swd, text):
    """The words of a refusal; nothing may be changed."""
    swd.file.write_text(text)
    code, out, err = swd.cli("apply", check=False)
    assert code == 1, out + err
    assert tx_of() == BEFORE
    return out + err


def test_more_than_the_device_has_is_told_with_its_place(swd):
    words = refused(swd, file("{ ring: 9999, coalesce: { tx-usecs: 9 } }"))
    assert "swd.yaml:4:24: error: port nsim0 tx ring: 9999 is more than nsim0 has, expected at most 4096" in words, words


def test_a_device_without_a_ring_is_told(swd):
    words = refused(swd, file(more="  v0:\n    tx: { ring: 512 }\n"))
    assert "swd.yaml:6:17: error: port v0 tx ring: v0 has no transmit ring whose size can be set (veth)" in words, words


def test_what_the_kernel_refuses_takes_all_back(swd):
    """A VLAN id that is taken by others is refused behind the steps for tx."""
    run("ip", "link", "add", "link", "v0", "name", "theirs", "type", "vlan", "id", "7")
    run("ip", "link", "set", "v0", "mtu", "1400")
    words = refused(swd, file(more="  v0: {}\nvlans: { ours: { link: v0, id: 7 } }\n"))
    assert "ours" in words, words


# ---- the doorbell ----

def test_the_doorbell(swd):
    text = file("{ flush: 8, ring: 512 }")
    swd.file.write_text(text)
    code, out, err = swd.cli("apply")
    assert tx_of()[0] == 512
    if (NET / "nsim0" / DOORBELL).exists():
        assert (NET / "nsim0" / DOORBELL).read_text() == "8\n"
        swd.apply(file("{ flush: off, ring: 512 }"))
        assert (NET / "nsim0" / DOORBELL).read_text() == "1\n"
        return
    print("this kernel has no doorbell for several frames")
    (alert,) = [a for a in swd.status()["alerts"] if a["about"] == "port nsim0 tx flush"]
    assert "lacks swd's patches" in alert["text"]
    assert [p["state"] for p in swd.call("Ports")["ports"] if p["name"] == "nsim0"] == ["differs"]
    assert "warning: port nsim0 tx flush: this kernel can't collect frames" in out + err
    swd.apply(file("{ flush: off, ring: 512 }"))
    assert not [a for a in swd.status()["alerts"] if a["about"] == "port nsim0 tx flush"]


# ---- as many frames as were measured ----

@pytest.fixture
def sim0():
    load(nics=1)
    knob("sim0", "tx_doorbell_ns", 5000)
    yield NET / "sim0" / DOORBELL
    unload()


AUTO = """version: 1
daemon: { audit: 1h, port-wait: 0ms }
ports: { sim0: { up: true, tx: { flush: auto } } }
"""


def shown(swd):
    (port,) = json.loads(swd.cli("--json", "tx")[1])["ports"]
    return port, next(v for v in port["values"] if v["name"] == "flush")


def test_a_kernel_that_rings_for_each_frame_measures_nothing(swd, sim0):
    if sim0.exists():
        pytest.skip("this kernel lets frames share a doorbell")
    swd.apply(AUTO)
    port, flush = shown(swd)
    assert port["state"] == "lacks" and flush["found"] is None and port["measured"] is None
    code, out, err = swd.cli("tx", "measure", "sim0", check=False)
    assert code == 1 and "sim0: " in err, out + err
    assert swd.cli("tx", "measure", "nothing", check=False)[2] == "sw-cli: nothing: there is no such port\n"


def test_auto_is_measured_set_and_remembered(swd, sim0):
    if not sim0.exists():
        pytest.skip("this kernel rings for each frame: nothing to measure")
    swd.apply(AUTO)
    swd.until(lambda: shown(swd)[0]["measured"], "swd to measure by itself", 60)
    swd.settle()
    port, flush = shown(swd)
    frames = port["measured"]["frames"]
    print(port["measured"])
    # 5 us a doorbell is no noise, be the machine as busy as it likes.
    assert frames > 1 and port["measured"]["doorbell_ps"] > 1_000_000
    assert int(sim0.read_text()) == frames == flush["found"] == flush["wanted"]
    # The next swd knows it.
    swd.stop(signal.SIGKILL)
    sim0.write_text("1")
    swd.start()
    wait(lambda: int(sim0.read_text()) == frames, "the start to set it")
    at = shown(swd)[0]["measured"]["at_ms"]
    # On demand it is measured again: a doorbell that costs nothing is worth no waiting.
    knob("sim0", "tx_doorbell_ns", 0)
    words = swd.cli("tx", "measure", "sim0")[1]
    print(words)
    port, flush = shown(swd)
    assert port["measured"]["at_ms"] > at
    wait(lambda: int(sim0.read_text()) == port["measured"]["frames"], "the new number")
