# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest's half of test_strangers.py: runs swd over swsim in a Debian 13 tree, lets varlinkctl and
python3-varlink ask it, and prints what they heard as JSON. Knows nothing of our own clients."""
import json
import pathlib
import subprocess
import sys
import time

import varlink

FILE = """version: 1
daemon: { port-wait: 1s }
ports:
  sim0: { up: true, tc-offload: true }
blocks:
  edge:
    id: 10
    bind: [sim0]
    tagging: none
    rules:
"""
COUNT = 400     # enough for several pieces


def text():
    return FILE + "".join(f"      - {{ name: rule-{i}, match: {{ dst: 198.18.{i % 256}.{i // 256} }}, "
                          "action: drop }\n" for i in range(COUNT))


def varlinkctl(*words):
    done = subprocess.run(["varlinkctl", *words], capture_output=True, text=True, check=False)
    return {"code": done.returncode, "out": done.stdout, "err": done.stderr}


def ask_varlinkctl(path):
    return {
        "info": varlinkctl("info", path),
        "interfaces": varlinkctl("list-interfaces", path),
        "introspect": varlinkctl("introspect", path, "io.swd.Switch"),
        "service": varlinkctl("introspect", path, "org.varlink.service"),
        "status": varlinkctl("call", "--json=short", path, "io.swd.Switch.Status", "{}"),
        "bypass": varlinkctl("call", "--json=short", path, "io.swd.Switch.Bypass", '{"block":"edge"}'),
        "rules": varlinkctl("call", "--json=short", "--more", path, "io.swd.Switch.Rules", "{}"),
        "measure": varlinkctl("call", "--json=short", "--more", path, "io.swd.Switch.MeasureTx", '{"port":"sim0"}'),
        "no block": varlinkctl("call", path, "io.swd.Switch.Rules", '{"block":"none"}'),
        "no method": varlinkctl("call", path, "io.swd.Switch.Nothing", "{}"),
    }


def ask_python(path):
    heard = {}
    with varlink.Client(f"unix:{path}") as client:
        heard["interfaces"] = client.get_interfaces()
        interface = client.get_interface("io.swd.Switch")
        heard["members"] = sorted(str(name) for name in interface.members)
        with client.open("io.swd.Switch") as swd:
            heard["status"] = swd.Status()
            heard["blocks"] = swd.Blocks()["blocks"]
            heard["rules"] = [r["name"] for piece in swd.Rules(_more=True) for r in piece["rules"]]
            try:
                swd.Bypass("none")
                heard["error"] = None
            except varlink.VarlinkError as error:
                heard["error"] = [error.error(), error.parameters()]
            heard["measure"] = list(swd.MeasureTx("sim0", _more=True))
            heard["apply"] = swd.Apply(text())
        with client.open("io.swd.Switch") as swd:
            heard["event"] = next(iter(swd.Monitor(_more=True)))
    return heard


def main():
    binary, folder = sys.argv[1], pathlib.Path("/run/swd-test")
    folder.mkdir()
    subprocess.run(["modprobe", "swsim", "nics=1"], check=True)
    subprocess.run(["ip", "link", "set", "sim0w", "up"], check=True)
    (folder / "swd.yaml").write_text(text())
    path = str(folder / "s")
    with open(folder / "log", "wb") as log:
        daemon = subprocess.Popen([binary, "--config", folder / "swd.yaml", "--socket", path, "--state",
                                   folder / "state"], stderr=log)
    end, ready = time.monotonic() + 60, False
    while not ready and time.monotonic() < end and daemon.poll() is None:
        time.sleep(0.1)
        status = varlinkctl("call", "--json=short", path, "io.swd.Switch.Status", "{}")
        ready = status["code"] == 0 and json.loads(status["out"])["settled"]
    heard = {"ready": ready}
    if ready:
        heard["varlinkctl"] = ask_varlinkctl(path)
        heard["python"] = ask_python(path)
        daemon.terminate()
        heard["code"] = daemon.wait(20)
    heard["log"] = (folder / "log").read_text()
    print("HEARD " + json.dumps(heard))


if __name__ == "__main__":
    main()
