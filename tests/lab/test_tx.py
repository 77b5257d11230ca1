# SPDX-License-Identifier: GPL-2.0-or-later
"""How ports send, on real devices: netdevsim has a ring and coalescing, veth has neither, and byte queue
limits are where the kernel keeps such. What is so is judged by strangers: ethtool and sysfs."""
import json
import os
import re
import select
import signal
import sys
import time
from pathlib import Path

import pytest

from ringlab import Chatter
from swdlab import BUILD, REPO, Swd
from swsimlab import knob, load, run, tx_queues, unload, wait
from thiskernel import SLOW

sys.path.insert(0, str(REPO / "tests/golden/codec"))
import tx_capture  # noqa: E402

LAB = {"variants": ["6.1-swd"], "all_variants": ["6.1", "6.12"], "mem": "512M", "timeout": 600}

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
    swd.cli("apply", "--confirm", f"{SLOW}s")
    assert tx_of() == WANTED
    wait(lambda: tx_of() == BEFORE, "the deadline", 10 * SLOW)


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


# ---- what ethtool asks ----

def test_ethtool_asks_as_the_golden_file_has_it(tmp_path):
    """tests/golden/codec/tx.txt judges what swd asks by what ethtool asked when it was written: it does so still, and
    what this kernel answers reads as what it is."""
    golden, here = REPO / "tests/golden/codec/tx.txt", tmp_path / "tx.txt"
    run("ip", "link", "set", "nsim0", "name", tx_capture.DEVICE)
    try:
        here.write_text(tx_capture.captured(golden.read_text(), tmp_path))
    finally:
        run("ip", "link", "set", tx_capture.DEVICE, "name", "nsim0")
    asked = [[line for line in path.read_text().splitlines() if line.startswith("asked")] for path in (golden, here)]
    assert asked[0] == asked[1]
    print(run(str(BUILD / "tests/golden/codec/golden_tx"), str(here)).stdout)


# ---- as many frames as were measured ----

DOORBELL_NS = 1000
HAS = (NET / "lo" / DOORBELL).exists()
patched = pytest.mark.skipif(not HAS, reason="this kernel rings for each frame: nothing to measure")


@pytest.fixture
def sim0():
    load_sim0()
    yield NET / "sim0" / DOORBELL
    unload()


def load_sim0():
    load(nics=1)
    knob("sim0", "tx_doorbell_ns", DOORBELL_NS)


AUTO = """version: 1
daemon: { audit: 1h, port-wait: 0ms }
ports:
  sim0: { up: true, tx: { flush: auto } }
"""


def shown(swd):
    (port,) = json.loads(swd.cli("--json", "tx")[1])["ports"]
    return port, next(v for v in port["values"] if v["name"] == "flush")


def figures(swd):
    return shown(swd)[0]["measured"]


def until_measured(swd, timeout=60):
    """Its figures, once swd has them by itself."""
    swd.until(lambda: figures(swd), "swd to measure by itself", timeout)
    swd.settle()
    print(figures(swd))
    return figures(swd)


def sent():
    return tx_queues("sim0")[0]["frames"]


def measures_nothing(since=None):
    """Longer than it waits for a port that has no figures, and than it listens."""
    before = sent() if since is None else since
    time.sleep(4)
    assert sent() == before


def test_a_kernel_that_rings_for_each_frame_measures_nothing(swd, sim0):
    if HAS:
        pytest.skip("this kernel lets frames share a doorbell")
    swd.apply(AUTO)
    port, flush = shown(swd)
    assert port["state"] == "lacks" and flush["found"] is None and port["measured"] is None and port["waits"] is None
    code, out, err = swd.cli("tx", "measure", "sim0", check=False)
    assert code == 1 and "sim0: " in err, out + err
    assert swd.cli("tx", "measure", "nothing", check=False)[2] == "sw-cli: nothing: there is no such port\n"


@patched
def test_auto_is_measured_and_set(swd, sim0):
    swd.apply(AUTO)
    first = until_measured(swd)
    port, flush = shown(swd)
    assert first["noisy"] or (first["frames"] > 1 and 500_000 < first["doorbell_ps"] < 2_500_000), first
    assert int(sim0.read_text()) == first["frames"] == flush["found"] == flush["wanted"]
    assert bool(port["waits"]) == first["noisy"]
    # On demand it is measured again: a doorbell that costs nothing is worth no waiting.
    knob("sim0", "tx_doorbell_ns", 0)
    said = swd.call("MeasureTx", port="sim0")
    print(said["text"], said["measured"])
    if said["measured"]["noisy"] and not first["noisy"]:
        assert said["text"].endswith(f"the machine was busy, and the {first['frames']} of before stay")
        assert figures(swd) == first
    else:
        assert figures(swd) == said["measured"] and figures(swd)["at_ms"] > first["at_ms"]
    wait(lambda: int(sim0.read_text()) == figures(swd)["frames"], "the new number")


@patched
def test_auto_survives_a_reload(swd, sim0):
    swd.apply(AUTO)
    first, before = until_measured(swd), sent()
    assert swd.apply(AUTO)["steps"] == 0
    assert swd.apply(AUTO + "  v0: { up: true, mtu: 1400 }\n")["steps"] == 1
    swd.process.send_signal(signal.SIGHUP)
    swd.settle()
    assert int(sim0.read_text()) == first["frames"] and figures(swd) == first
    # A file that says nothing of it leaves it; and one that does knows it again.
    swd.apply(AUTO.replace("auto", "off"))
    assert sim0.read_text() == "1\n"
    assert swd.apply(AUTO)["steps"] == (first["frames"] != 1)
    assert int(sim0.read_text()) == first["frames"]
    measures_nothing(before)


@patched
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_auto_survives_a_restart(swd, sim0, how):
    """It stands while swd is away; and what changes meanwhile is put right at the start, as anything is."""
    swd.apply(AUTO)
    first = until_measured(swd)
    swd.stop(how)
    assert int(sim0.read_text()) == first["frames"]
    swd.start()
    swd.settle()
    assert swd.status()["repairs"] == 0 and figures(swd) == first
    swd.stop(how)
    sim0.write_text("1")
    swd.start()
    wait(lambda: int(sim0.read_text()) == first["frames"], "the start to set it")
    measures_nothing()
    assert figures(swd) == first


@patched
def test_auto_survives_a_device_made_anew(swd, sim0):
    swd.apply(AUTO)
    first = until_measured(swd)
    load_sim0()
    wait(lambda: int(sim0.read_text()) == first["frames"], "the number on the new device")
    assert sent() == 0
    measures_nothing()
    # Likewise one that was not there when swd started.
    swd.stop(signal.SIGKILL)
    unload()
    swd.start()
    swd.until(lambda: shown(swd)[0]["state"] == "waiting", "swd to miss it")
    load_sim0()
    wait(lambda: int(sim0.read_text()) == first["frames"], "the number on the device that came late")
    assert sent() == 0
    assert figures(swd) == first


@patched
def test_a_device_of_another_driver_is_measured_anew(swd, sim0):
    """What swsim's doorbell costs says nothing of a veth of that name: it is left as it is until it is measured."""
    swd.apply(AUTO)
    first = until_measured(swd)
    unload()
    run("ip", "link", "add", "sim0", "type", "veth", "peer", "name", "sim0w")
    try:
        run("ip", "link", "set", "sim0w", "up")
        swd.until(lambda: shown(swd)[1]["found"] == 1 and not figures(swd), "swd to find it")
        swd.settle()
        assert sim0.read_text() == "1\n"
        assert until_measured(swd)["driver"] == "veth" != first["driver"]
        assert int(sim0.read_text()) == figures(swd)["frames"]
    finally:
        run("ip", "link", "del", "sim0")


@patched
def test_a_link_that_comes_up_is_measured_soon(swd, sim0):
    """The audit is an hour away."""
    knob("sim0", "ports/sim0/carrier", "0")
    swd.apply(AUTO)
    swd.until(lambda: shown(swd)[0]["waits"], "swd to say what it waits for")
    assert shown(swd)[0]["waits"] == {"text": "no carrier", "left_ms": None}
    assert "sim0: to be measured: no carrier\n" in swd.cli("tx")[1]
    measures_nothing()
    knob("sim0", "ports/sim0/carrier", "1")
    until_measured(swd, 30)


@patched
def test_a_port_with_traffic_is_left_alone_until_it_is_quiet(swd, sim0):
    with Chatter("sim0w"):      # what comes in counts as well, and swd's own would be all that goes out
        swd.apply(AUTO)
        swd.until(lambda: shown(swd)[0]["waits"], "swd to find it in use", 20)
        waits = shown(swd)[0]["waits"]
        assert waits["text"].startswith("others use it: ") and 20_000 < waits["left_ms"] <= 30_000, waits
        assert [a["text"] for a in swd.status()["alerts"] if a["id"] == "unmeasured"] == \
            ["flush: auto waits: " + waits["text"]]
        assert sent() == 0 and sim0.read_text() == "1\n"
        assert swd.cli("tx", "measure", "sim0", check=False)[0] == 1
        assert sent() == 0
    until_measured(swd, 60)
    assert not [a for a in swd.status()["alerts"] if a["id"] == "unmeasured"]


@patched
def test_a_measurement_tells_how_far_it_is(swd, sim0):
    *news, last = swd.connect().stream("MeasureTx", port="sim0")
    done = [piece["progress"]["done"] for piece in news]
    frames = {piece["progress"]["frames"] for piece in news}
    assert len(done) > 10 and done == sorted(done) and done[-1] < news[-1]["progress"]["total"]
    assert frames <= {None, 1, 2, 4, 8, 16, 32, 64} and len(frames) > 3, frames
    assert not any(piece["measured"] for piece in news) and last["progress"] is None
    assert last["measured"]["frames"] > 1 or last["measured"]["noisy"], last
    # Without more it is one answer; and who goes away harms nobody, for the sending ends.
    measured = swd.log.read_text().count("port sim0: ")
    gone = [swd.connect() for _ in range(100)]
    for client in gone:
        client.send("MeasureTx", more=True, port="sim0")
    select.select([client.sock for client in gone], [], [])
    for client in gone:
        client.sock.close()
    time.sleep(1)               # the slice that runs, and that swd hears of it
    measures_nothing()
    assert swd.log.read_text().count("port sim0: ") == measured
    assert swd.call("MeasureTx", port="sim0")["measured"]["port"] == "sim0"


@patched
def test_what_is_on_trial_is_not_measured_for(swd, sim0):
    """What a trial changes is recorded before it begins, and can be put back."""
    swd.apply(AUTO.replace("tx: { flush: auto }", "mtu: 1500"))
    swd.file.write_text(AUTO)
    swd.cli("apply", "--confirm", "1h")
    assert shown(swd)[0]["waits"]["text"] == "a generation waits for its confirmation"
    measures_nothing()
    swd.cli("confirm")
    assert until_measured(swd)["frames"] == int(sim0.read_text())
