#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The part of the demo that runs in the guest: hardware (swsim), swd with the example file, traffic, rates."""
import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
REPO = HERE.parent.parent
sys.path.insert(0, str(REPO / "tests/bench"))

from benchkit.pktgen import Injector        # noqa: E402

SIZES = (0, 1, 5, 10, 25, 50)
RUN_NS = 100e6
SOCKET = "/run/swd/swd.sock"
LOG = "/run/swd.log"
EXAMPLE = REPO / "config/examples/demo.yaml"


def sh(command, check=True):
    return subprocess.run(command, shell=True, check=check).returncode


class Swd:
    """The daemon and its CLI, as a user has them."""

    def __init__(self, build, config):
        self.cli = [build / "cli/sw-cli", "--socket", SOCKET]
        os.makedirs("/run/swd", exist_ok=True)
        os.makedirs("/run/swd-state", exist_ok=True)
        self.log = open(LOG, "wb")
        self.process = subprocess.Popen([build / "daemon/swd", "--config", config, "--socket", SOCKET,
                                         "--state", "/run/swd-state"], stderr=self.log)
        end = time.monotonic() + 30
        while self.call("status", quiet=True):
            if self.process.poll() is not None or time.monotonic() > end:
                sys.exit("swd did not come up:\n" + Path(LOG).read_text())
            time.sleep(0.05)

    def call(self, *words, quiet=False):
        out = subprocess.DEVNULL if quiet else None
        return subprocess.run([*self.cli, *words], stdout=out, stderr=out, check=False).returncode

    def show(self, *words):
        print(f"\n$ sw-cli {' '.join(words)}", flush=True)
        if self.call(*words):
            sys.exit(f"sw-cli {' '.join(words)} failed:\n" + Path(LOG).read_text())

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


def hosts():
    """The wires, and a host behind each leg of the stick, in a namespace of its own."""
    sh("for w in sim0w lan1w lan2w lan3w lan4w; do ip link set $w up; done")
    for leg, net in ((10, 1), (20, 2)):
        sh(f"ip netns add leg{leg}; ip link add link sim0w name leg{leg} type vlan id {leg};"
           f"ip link set leg{leg} netns leg{leg}; ip -n leg{leg} addr add 10.{net}.0.80/24 dev leg{leg};"
           f"ip -n leg{leg} link set leg{leg} address 02:00:00:00:00:{'80' if leg == 20 else '10'} up;"
           f"ip -n leg{leg} link set lo up; ip -n leg{leg} route add default via 10.{net}.0.1")


def traffic():
    print("\n$ ping across the stick, leg 10 to a host on leg 20", flush=True)
    sh("ip netns exec leg10 ping -q -c 3 -i 0.2 -W 2 10.2.0.80", check=False)


def config(n, bypass):
    """n rules that match nothing, on the stick."""
    lines = ["version: 1", "ports:", "  sim0: { up: true, tc-offload: true }", "vlans:",
             "  sim0.10: { link: sim0, id: 10, up: true, addresses: [10.1.0.1/24] }",
             "  sim0.20: { link: sim0, id: 20, up: true, addresses: [10.2.0.1/24] }",
             "blocks:", "  stick:", "    id: 10", f"    bypass: {bypass}", "    bind: [sim0]"]
    lines.append("    rules:" if n else "    rules: []")
    lines += [f"      - {{ name: r{i}, match: {{ vlan: 10, dst: 10.99.{i}.0/24 }}, action: drop }}"
              for i in range(n)]
    path = Path(f"/run/rate-{bypass}-{n}.yaml")
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def tc(batch):
    if subprocess.run(["tc", "-batch", "-"], input=batch, text=True, check=False).returncode:
        sys.exit("tc failed")


def by_tc(n):
    """The same rules as people put them in with tc, a pref each, in the block that swd bound."""
    return "".join(f"filter add block 10 pref {i + 1} protocol 802.1q flower skip_sw vlan_id 10 "
                   f"vlan_ethtype ip dst_ip 10.99.{i}.0/24 action drop\n" for i in range(n))


def put_rules(swd, bypass, n):
    if swd.call("apply", config(0 if bypass == "off" else n, bypass), quiet=True):
        sys.exit("sw-cli apply failed:\n" + Path(LOG).read_text())
    if bypass == "off" and n:
        tc(by_tc(n))


def rates(swd, args):
    mac = Path("/sys/class/net/sim0/address").read_text().strip()
    injector = Injector("sim0", ["pkt_size 60", "dst 10.2.0.9", "src_min 10.1.0.9", "src_max 10.1.0.9",
                                 f"dst_mac {mac}", "vlan_id 10"])
    sh("ip neigh replace 10.2.0.9 lladdr 02:00:00:00:00:09 dev sim0.20 nud permanent;"
       "echo 1 > /proc/sys/net/ipv4/ip_forward")
    # What the file says of the bypass, and the rules: all take turns.
    samples = {bypass: {n: [] for n in SIZES} for bypass in args.bypass}
    for turn in range(args.runs + 1):
        for bypass, by_size in samples.items():
            for n, kpps in by_size.items():
                put_rules(swd, bypass, n)
                frames = int(RUN_NS / 1e6 * kpps[-1]) if kpps else 20000
                kpps.append(round(injector.run(frames)[0], 2))
                if bypass == "off" and n:
                    tc("filter del block 10\n")
    # The first turn only found out how many frames a run needs.
    return {bypass: {n: kpps[1:] for n, kpps in by_size.items()} for bypass, by_size in samples.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--bypass", nargs="+", default=["preferred"])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--tour", action="store_true")
    parser.add_argument("--shell", action="store_true")
    args = parser.parse_args()
    sh("modprobe swsim nics=1 ports=4; modprobe pktgen 2>/dev/null; echo 1 > /proc/sys/net/ipv4/ip_forward",
       check=False)
    hosts()
    swd = Swd(args.build, EXAMPLE)
    if args.tour or args.shell:
        traffic()
        for words in (("status",), ("ports",), ("blocks",), ("rules", "stick"), ("bypass",)):
            swd.show(*words)
    if args.shell:
        print("\nsw-cli and tc are yours, on the hardware of swsim; swd's log is " + LOG + ". Break something:\n"
              "  tc filter add block 10 pref 5 protocol ip flower dst_ip 10.99.99.99 skip_hw action drop\n"
              "  sw-cli bypass stick; sw-cli status\n"
              "man -l cli/sw-cli.8 and cli/swd.yaml.5 tell more. exit ends the guest.", flush=True)
        os.environ["PATH"] = f"{args.build / 'cli'}:{os.environ['PATH']}"
        os.execvp("bash", ["bash", "-i"])
    result = rates(swd, args)
    Path(os.environ["LAB_OUT"], "rates.json").write_text(json.dumps(result))
    swd.show("bypass", "stick")
    swd.stop()


if __name__ == "__main__":
    main()
