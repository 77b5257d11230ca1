#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""sw-cli against the real service over an engine of paper: every command is understood, --json is what the
socket says, and exit codes are right. live_cli.py SW_CLI PAPER_SWD"""
import json
import subprocess
import sys

SW_CLI, PAPER = sys.argv[1:]
FAILED = []


def check(what, good, seen=""):
    if not good:
        FAILED.append(what)
        print(f"{what}: {seen}")


def cli(path, *words, text=None):
    return subprocess.run([SW_CLI, "--socket", path, *words], input=text, capture_output=True, text=True,
                          timeout=60, check=False)


def without_moment(value):
    """Times and the like differ from call to call."""
    for name in ("snapshot_ms", "counters_age_ms", "clients", "left_ms"):
        value.pop(name, None)
    return value


def test_commands(path):
    for words, code, out in ((["status"], 0, "generation 7"), (["ports"], 0, "lan9"),
                             (["blocks"], 0, "edge"), (["rules"], 0, "no-bogons"),
                             (["rules", "edge"], 0, "matchall"), (["bypass"], 0, "bypass OFF"),
                             (["bypass", "edge"], 0, "mend"), (["plan"], 10, "+ x"),
                             (["apply"], 0, "generation 8"), (["rules", "none"], 1, ""),
                             (["confirm"], 1, ""), (["apply", "--confirm", "60s"], 0, "comes back in"),
                             (["revert"], 0, "generation 8"), (["revert", "99"], 1, ""),
                             (["history"], 0, " 7*  "), (["history", "show", "8"], 0, "- y: leftover"),
                             (["call", "GetInfo"], 1, "MethodNotFound"),
                             (["call", "org.varlink.service.GetInfo"], 0, "io.swd.Switch")):
        done = cli(path, *words)
        check(words, done.returncode == code and out in done.stdout, done)
    done = cli(path, "apply", "-", text="bad\n")
    check("bad file", done.returncode == 1 and "standard input:3:7: error" in done.stderr, done)
    done = cli(path, "apply", "-", text="refuse\n")
    check("refused", done.returncode == 1 and "table full" in done.stderr, done)


def test_json(path):
    for command, method in (("status", "Status"), ("ports", "Ports"), ("tx", "Tx"), ("blocks", "Blocks"),
                            ("rules", "Rules"), ("bypass", "Bypass"), ("history", "History"),
                            ("export", "Export")):
        shown, said = cli(path, "--json", command), cli(path, "call", method)
        check(f"--json {command}", shown.returncode == said.returncode == 0
              and without_moment(json.loads(shown.stdout)) == without_moment(json.loads(said.stdout)),
              shown.stdout)


def test_measure(path):
    """News of how far it is come to who asks for more, and not into the answer of sw-cli."""
    done = cli(path, "tx", "measure", "lan2")
    check("measure", done.returncode == 0 and done.stdout.startswith("lan2: 8 frames") and not done.stderr, done)
    news = cli(path, "--more", "call", "MeasureTx", '{"port":"lan2"}').stdout
    check("news of it", news.count('"total": 219') == 3 and news.count('"progress": null') == 1, news)


def test_export(path):
    """Byte for byte: no byte more, none less, none other."""
    done = subprocess.run([SW_CLI, "--socket", path, "export"], capture_output=True, timeout=60, check=False)
    check("export", done.returncode == 0 and done.stdout == 'version: 1 # \u20ac\r\n\t"\\\n'.encode(), done)


def test_many_rules():
    """Two thousand rules come in pieces and leave as one list, all of them, in order."""
    with subprocess.Popen([PAPER, "2000"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as paper:
        path = paper.stdout.readline().strip()
        rules = json.loads(cli(path, "--json", "rules").stdout)["rules"]
        check("many rules", [r["position"] for r in rules] == list(range(2003)), len(rules))
        lines = cli(path, "rules").stdout.splitlines()
        check("many lines", sum(" rule-" in line for line in lines) == 2000, len(lines))
        check("without more", cli(path, "call", "Rules").returncode == 1)
        done = cli(path, "--more", "call", "Rules")
        check("with more", done.returncode == 0 and '"rule-1999"' in done.stdout)
        paper.stdin.close()


def test_monitor(path, paper):
    with subprocess.Popen([SW_CLI, "--socket", path, "--json", "monitor"], stdout=subprocess.PIPE,
                          text=True) as monitor:
        check("listening", json.loads(monitor.stdout.readline())["type"] == "listening")
        paper.stdin.write("e")
        paper.stdin.flush()
        check("event", json.loads(monitor.stdout.readline())["about"] == "block edge")
        paper.stdin.close()
        check("monitor ends with the daemon", monitor.wait(20) == 3, monitor.returncode)


def main():
    with subprocess.Popen([PAPER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as paper:
        path = paper.stdout.readline().strip()
        test_commands(path)
        test_json(path)
        test_measure(path)
        test_export(path)
        test_monitor(path, paper)
    test_many_rules()
    print(f"{len(FAILED)} failed")
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
