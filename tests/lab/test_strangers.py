# SPDX-License-Identifier: GPL-2.0-or-later
"""Two strangers read the interface and call it: varlinkctl and python3-varlink, both from Debian 13, in a
guest whose root is a debootstrap tree of it. A guest's boot and its questions happen once."""
import json
import os
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
KERNEL = "6.12-swd"
LAB = {"host": True, "builds": ["6.12-swd"], "timeout": 1800}
BUILD = Path(os.environ.get("SWD_BUILD", HERE.parents[1] / "build/plain"))
# What swd links, as Debian 13 calls it, and what the guest's half needs.
WITH = ("libev4t64,libnl-3-200,libnl-genl-3-200,libsqlite3-0,libcjson1,libyaml-0-2,iproute2,kmod,"
        "python3-varlink")
METHODS = {"Status", "Ports", "Blocks", "Rules", "Bypass", "Check", "Plan", "Apply", "Monitor"}


def lab(*args):
    return subprocess.run([str(HERE / "lab"), *map(str, args)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=1500, check=False)


@pytest.fixture(name="heard", scope="module")
def fixture_heard():
    root = lab("root", "trixie", "--with", WITH)
    assert root.returncode == 0, root.stderr
    done = lab("run", KERNEL, "--root", root.stdout.strip(), "--see", BUILD, "--timeout", "300", "--",
               "/usr/bin/python3", "-B", HERE / "strangers_guest.py", BUILD / "daemon/swd")
    assert done.returncode == 0, done.stdout + done.stderr
    line = next(line for line in done.stdout.splitlines() if line.startswith("HEARD "))
    heard = json.loads(line.removeprefix("HEARD "))
    assert heard["ready"], heard["log"]
    return heard


def good(answer):
    assert answer["code"] == 0, answer
    return answer["out"]


def test_varlinkctl_introspects(heard):
    said = heard["varlinkctl"]
    assert "switch management daemon" in good(said["info"])
    assert {"io.swd.Switch", "org.varlink.service"} <= set(good(said["interfaces"]).split())
    for method in METHODS:
        assert f"method {method}(" in good(said["introspect"])
    assert "error BadConfig" in said["introspect"]["out"]
    assert "method GetInfo(" in good(said["service"])


def test_varlinkctl_calls(heard):
    said = heard["varlinkctl"]
    status = json.loads(good(said["status"]))
    assert (status["generation"], status["rules"], status["in_hw"]) == (1, 400, 400)
    bypass = json.loads(good(said["bypass"]))["blocks"][0]
    assert (bypass["state"], bypass["strategy"]) == ("on", "kernel")
    assert "io.swd.Switch.NoSuchBlock" in said["no block"]["err"] and said["no block"]["code"] != 0
    assert said["no method"]["code"] != 0


def test_varlinkctl_takes_pieces(heard):
    pieces = [json.loads(line) for line in good(heard["varlinkctl"]["rules"]).splitlines() if line]
    assert len(pieces) > 1
    names = [rule["name"] for piece in pieces for rule in piece["rules"]]
    assert names == [f"rule-{i}" for i in range(400)]


def judge_measured(pieces):
    """News of how far it is, and then the figures. python3-varlink leaves out what is null."""
    *news, last = pieces
    assert len(news) > 1 and not any(piece.get("measured") for piece in news)
    done = [piece["progress"]["done"] for piece in news]
    assert done == sorted(done) and done[-1] < news[-1]["progress"]["total"]
    assert not last.get("progress") and last["measured"]["port"] == "sim0"
    assert last["measured"]["frames"] in [row["frames"] for row in last["measured"]["tries"]]


def test_varlinkctl_measures(heard):
    judge_measured([json.loads(line) for line in good(heard["varlinkctl"]["measure"]).splitlines() if line])


def test_python_measures(heard):
    judge_measured(heard["python"]["measure"])


def test_python_introspects(heard):
    said = heard["python"]
    assert "io.swd.Switch" in said["interfaces"]
    assert METHODS <= set(said["members"])
    assert {"Rule", "Filter", "Block", "Port", "NoSuchBlock"} <= set(said["members"])


def test_python_calls(heard):
    said = heard["python"]
    assert said["status"]["generation"] == 1
    assert said["blocks"][0]["name"] == "edge" and said["blocks"][0]["in_hw"] == 400
    assert said["rules"] == [f"rule-{i}" for i in range(400)]
    assert said["error"] == ["io.swd.Switch.NoSuchBlock", {"block": "none"}]
    assert said["apply"]["steps"] == 0      # the same file again changes nothing
    assert said["event"]["event"]["type"] == "listening"


def test_daemon_came_to_no_harm(heard):
    assert heard["code"] == 0, heard["log"]
