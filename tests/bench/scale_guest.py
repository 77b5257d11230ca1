#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The part of `scale` that runs in the guest: prints one JSON line for each thing that was measured.

One way of looking a call (--how): plain (time, memory, swd's own counts), strace (system calls) or
callgrind (instructions in user mode). swd starts with a block without rules; then its file is loaded, read
again unchanged, and changed three times; then it is killed and adopts what is there. tc gets the same rules
as a batch; for it, "unchanged" means to replace them all, since it does not know what is there.
"""
import argparse
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "lab")]

from swdlab import BUILD, Client        # noqa: E402
from swsimlab import DEBUGFS, load, run     # noqa: E402

BLOCK = 10
RUN = 100           # neighbours with one mask, where there are several
TABLE = 1 << 20     # rules the virtual hardware takes
TC_LINES = 10000    # of one tc -batch
WAIT = 3600


# ---- the rules ----

class Rules:
    """n rules, all disjoint; mask i says the first i bits of the source."""

    def __init__(self, n, masks):
        self.list = [(f"r{i}", f"10.{i >> 16}.{i >> 8 & 255}.{i & 255}", i // RUN % masks, "drop")
                     for i in range(n)]

    def change(self):
        i = len(self.list) // 2
        name, dst, mask, _ = self.list[i]
        self.list[i] = (name, dst, mask, "trap")
        return i

    def insert(self):
        i = len(self.list) // 2
        self.list.insert(i, ("beside", "11.0.0.1", self.list[i][2], "drop"))
        return i

    def split(self):
        i = len(self.list) // 2 + RUN // 3
        self.list.insert(i, ("between", "11.0.0.2", 31, "drop"))
        return i

    def yaml(self):
        head = ("version: 1\ndaemon: { settle: 5ms }\nports:\n  sim0: { up: true }\nblocks:\n  big:\n"
                f"    id: {BLOCK}\n    bind: [sim0]\n    tagging: none\n    rules:")
        lines = [head if self.list else head + " []"]
        for name, dst, mask, action in self.list:
            src = f", src: 128.0.0.0/{mask}" if mask else ""
            lines.append(f"      - {{ name: {name}, match: {{ dst: {dst}{src} }}, action: {action} }}")
        return "\n".join(lines) + "\n"

    def batch(self, verb, only=None):
        lines, pref, handle, last = [], 0, 0, None
        for i, (_, dst, mask, action) in enumerate(self.list):
            if mask != last:
                pref, handle, last = pref + 1, 0, mask
            handle += 1
            if only is not None and i != only:
                continue
            src = f" src_ip 128.0.0.0/{mask}" if mask else ""
            lines.append(f"filter {verb} block {BLOCK} pref {pref} protocol ip handle {handle} flower "
                         f"skip_sw dst_ip {dst}{src} action {action}")
        return "\n".join(lines) + "\n"


# ---- one process, looked at ----

def cpu_seconds(pid):
    return time.clock_gettime(~pid << 3 | 2)


def memory(pid, what):
    return int(re.search(rf"{what}:\s+(\d+)", Path(f"/proc/{pid}/status").read_text()).group(1))


def strace_total(path):
    """All system calls, and those that send."""
    total = sends = 0
    for line in Path(path).read_text().splitlines():
        columns = line.split()
        if len(columns) >= 5 and columns[0].replace(".", "").isdigit() and columns[-1] != "total":
            total += int(columns[3])
            sends += int(columns[3]) if columns[-1] == "sendmsg" else 0
    return total, sends


class Daemon:
    """swd, by itself or below strace or callgrind."""

    def __init__(self, folder, how):
        self.folder, self.how, self.start_s, self.start_cpu_s = folder, how, 0, 0
        self.file, self.socket = folder / "swd.yaml", folder / "swd.sock"
        self.trace = folder / "strace"

    def start(self):
        command = [str(BUILD / "daemon/swd"), "--config", str(self.file), "--socket", str(self.socket),
                   "--state", str(self.folder / "state")]
        if self.how == "callgrind":
            command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={self.folder}/callgrind",
                       "--combine-dumps=no", "--max-stackframe=4000000", *command]
        begin = time.monotonic()
        self.socket.unlink(missing_ok=True)
        self.process = subprocess.Popen(command, stdout=open(self.folder / "log", "ab"),
                                        stderr=subprocess.STDOUT)
        self.client = self.connect()
        self.settle()
        self.start_s = time.monotonic() - begin

    def connect(self):
        end = time.monotonic() + WAIT
        while time.monotonic() < end:
            try:
                return Client(self.socket, WAIT)
            except (FileNotFoundError, ConnectionRefusedError):
                if self.process.poll() is not None:
                    break
                time.sleep(0.01)
        sys.exit("swd did not start: " + (self.folder / "log").read_text()[-2000:])

    def status(self):
        return self.client.call("Status")

    def settle(self):
        end = time.monotonic() + WAIT
        while True:
            s = self.status()
            if s["snapshot"] and s["settled"]:
                return s
            if time.monotonic() > end:
                sys.exit(f"swd does not settle: {s}")
            time.sleep(0.05)

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        self.process.wait(WAIT)

    # What one operation costs, between begin() and end().

    def begin(self):
        self.before = self.status()["counts"]
        if self.how == "strace":
            self.trace.unlink(missing_ok=True)
            self.tracer = subprocess.Popen(["strace", "-f", "-c", "-o", str(self.trace), "-p",
                                            str(self.process.pid)], stderr=subprocess.DEVNULL)
            while not self.is_traced():
                time.sleep(0.05)
        elif self.how == "callgrind":
            self.dump()
        self.cpu, self.wall = cpu_seconds(self.process.pid), time.monotonic()

    def is_traced(self):
        return not any("TracerPid:\t0\n" in path.read_text()
                       for path in Path(f"/proc/{self.process.pid}/task").glob("*/status"))

    def dump(self):
        """Instructions since the dump before."""
        for path in self.folder.glob("callgrind.*"):
            path.unlink()
        subprocess.run(["callgrind_control", "--dump", str(self.process.pid)], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        total = 0
        for path in self.folder.glob("callgrind.*"):
            keep = os.environ.get("LAB_OUT")
            if keep and path.stat().st_size > 20000:
                self.kept = getattr(self, "kept", 0) + 1
                (Path(keep) / f"callgrind.{self.kept}").write_bytes(path.read_bytes())
            total += sum(int(m) for m in re.findall(r"^(?:summary|totals): (\d+)$", path.read_text(),
                                                    re.M)[:1])
        return total

    def end(self, changes):
        row = {"wall_s": time.monotonic() - self.wall, "changes": changes}
        self.settle()
        time.sleep(4)       # memory that is no longer needed goes back after three seconds
        row["cpu_s"] = cpu_seconds(self.process.pid) - self.cpu
        if self.how == "strace":
            self.tracer.send_signal(signal.SIGINT)
            self.tracer.wait()
            row["syscalls"], row["sendmsg"] = strace_total(self.trace)
        elif self.how == "callgrind":
            row["user_instructions"] = self.dump()
        after = self.status()["counts"]
        row |= {key: after[key] - self.before[key] for key in ("sends", "messages")}
        row |= {"rss_kib": memory(self.process.pid, "VmRSS"), "peak_kib": memory(self.process.pid, "VmHWM")}
        return row


def say(tool, op, n, masks, row):
    print(json.dumps({"tool": tool, "op": op, "rules": n, "masks": masks, "how": args.how, **row}),
          flush=True)


def swd_ops(folder, n, masks):
    rules, daemon = Rules(n, masks), Daemon(folder, args.how)
    daemon.file.write_text(Rules(0, 1).yaml())
    daemon.start()
    for op in ("load", "noop", "change", "insert", "split"):
        if op not in ("load", "noop"):
            getattr(rules, op)()
        daemon.file.write_text(rules.yaml())
        daemon.begin()
        changes = daemon.client.call("Apply")["steps"]
        say("swd", op, n, masks, daemon.end(changes))
    daemon.stop(signal.SIGKILL)
    how, daemon.how = daemon.how, daemon.how if daemon.how == "callgrind" else "plain"
    daemon.start()
    counts = daemon.status()["counts"]
    row = {"wall_s": daemon.start_s, "cpu_s": cpu_seconds(daemon.process.pid),
           "sends": counts["sends"], "messages": counts["messages"], "changes": counts["messages"],
           "rss_kib": memory(daemon.process.pid, "VmRSS"), "peak_kib": memory(daemon.process.pid, "VmHWM")}
    if how == "callgrind":
        row["user_instructions"] = daemon.dump()
    say("swd", "adopt", n, masks, row)
    if args.how == "plain":
        time.sleep(1)
        shown = run("tc", "-j", "filter", "show", "block", str(BLOCK)).stdout.count('"in_hw":true')
        if shown != len(rules.list):
            sys.exit(f"{shown} filters in hardware, expected {len(rules.list)}")
    daemon.stop()


def tc_batch(folder, text):
    """tc -batch in pieces: tc keeps some 4 KiB for each line to its end, and User-mode Linux can't map a
    process of more than 256 MiB (vm.max_map_count of the host)."""
    lines, total = text.splitlines(keepends=True), {}
    for at in range(0, len(lines), TC_LINES):
        row = tc_piece(folder, "".join(lines[at:at + TC_LINES]))
        for name, value in row.items():
            most = name in ("rss_kib", "peak_kib")
            total[name] = max(total.get(name, 0), value) if most else total.get(name, 0) + value
    return total


def tc_piece(folder, text):
    """One tc -batch: what it cost."""
    batch, trace, out = folder / "batch", folder / "strace.tc", folder / "callgrind.tc"
    batch.write_text(text)
    command = ["tc", "-batch", str(batch)]
    if args.how == "strace":
        command = ["strace", "-f", "-c", "-o", str(trace), *command]
    elif args.how == "callgrind":
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *command]
    begin = time.monotonic()
    child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    words = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"tc ended with {status:#x}: {words[-2000:]}")
    n = text.count("\n")
    row = {"wall_s": time.monotonic() - begin, "cpu_s": usage.ru_utime + usage.ru_stime, "messages": n,
           "changes": n, "rss_kib": usage.ru_maxrss, "peak_kib": usage.ru_maxrss}
    if args.how == "strace":
        row["syscalls"], row["sends"] = strace_total(trace)
    elif args.how == "callgrind":
        row["user_instructions"] = int(re.search(r"Collected : (\d+)", words).group(1))
    return row


def tc_ops(folder, n, masks):
    rules = Rules(n, masks)
    run("tc", "qdisc", "add", "dev", "sim0", "ingress_block", str(BLOCK), "clsact")
    say("tc", "load", n, masks, tc_batch(folder, rules.batch("add")))
    say("tc", "noop", n, masks, tc_batch(folder, rules.batch("replace")))
    say("tc", "change", n, masks, tc_batch(folder, rules.batch("replace", rules.change())))


def clear():
    subprocess.run(["tc", "qdisc", "del", "dev", "sim0", "clsact"], capture_output=True, check=False)


def main():
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    load(nics=1)
    (DEBUGFS / "sim0/table_size").write_text(str(TABLE))
    for _ in range(args.runs):
        for n in map(int, args.sizes.split(",")):
            for masks in map(int, args.masks.split(",")):
                for tool, ops in (("swd", swd_ops), ("tc", tc_ops)):
                    if tool not in args.tools.split(","):
                        continue
                    with tempfile.TemporaryDirectory() as folder:
                        ops(Path(folder), n, masks)
                    clear()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--sizes", default="10000,100000")
    parser.add_argument("--masks", default="1,20")
    parser.add_argument("--tools", default="swd,tc")
    parser.add_argument("--how", choices=("plain", "strace", "callgrind"), default="plain")
    args = parser.parse_args()
    main()
