#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Pins what sw-cli prints, and what it says to the daemon, for canned answers.

Each cases/*.case has sections, begun by a line "== NAME":
    args     the command line, as in a shell
    input    its standard input
    replies  one JSON message a line, sent in order, one after each call, or after the one before while
             it says "continues"; without the section nobody listens at the socket
    calls    what sw-cli must have sent, one JSON message a line
    stdout, stderr, code
    terminal if the case has it, standard error is one; what came there, \\r and \\e spelt out

run_cli.py SW_CLI [--update] [CASE...]; --update writes what came instead of comparing it.
"""
import difflib
import json
import os
import pathlib
import pty
import shlex
import socket
import subprocess
import sys
import tempfile
import threading

CASES = pathlib.Path(__file__).resolve().parent / "cases"
WRITTEN = ("calls", "stdout", "stderr", "terminal", "code")


def read_case(path):
    sections, name = {}, None
    for line in path.read_text().splitlines(keepends=True):
        if line.startswith("== "):
            name = line[3:].strip()
            sections[name] = ""
        elif name:
            sections[name] += line
    return sections


def write_case(path, sections):
    order = ("args", "input", "replies") + WRITTEN
    path.write_text("".join(f"== {n}\n{sections[n]}" for n in order if n in sections))


class Daemon(threading.Thread):
    """Answers one connection with canned replies, and keeps what it heard."""

    def __init__(self, path, replies):
        super().__init__(daemon=True)
        self.heard, self.replies = [], replies
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(1)
        self.start()

    def run(self):
        try:
            connection = self.listener.accept()[0]
        except OSError:
            return
        with connection:
            buffer = b""
            replies = iter(self.replies)
            while True:
                while b"\0" not in buffer:
                    data = connection.recv(65536)
                    if not data:
                        return
                    buffer += data
                message, buffer = buffer.split(b"\0", 1)
                self.heard.append(message.decode())
                for reply in replies:
                    connection.sendall(reply.encode() + b"\0")
                    if '"continues":true' not in reply:
                        break
                else:
                    return


def run_case(program, case, folder):
    path = os.path.join(folder, "s")
    daemon = None
    if "replies" in case:
        daemon = Daemon(path, case["replies"].splitlines())
    env = dict(os.environ, TZ="UTC", LC_ALL="C.UTF-8")
    seen, terminal = pty.openpty() if "terminal" in case else (None, subprocess.PIPE)
    done = subprocess.run([program, "--socket", path, *shlex.split(case["args"])], env=env, text=True,
                          input=case.get("input", ""), stdout=subprocess.PIPE, stderr=terminal, cwd=folder,
                          timeout=30, check=False)
    if daemon:
        daemon.listener.close()
        daemon.join(0.2)
    tidy = lambda text: text.replace(path, "SOCKET")
    return {"calls": "".join(line + "\n" for line in (daemon.heard if daemon else [])),
            "stdout": tidy(done.stdout), "stderr": tidy(done.stderr or ""),
            "terminal": on_terminal(seen, terminal) if seen else "", "code": f"{done.returncode}\n"}


def on_terminal(seen, terminal):
    """What waits there, a line for each time that it began a line anew."""
    end, text = b"<end>", b""
    os.write(terminal, end)
    while not text.endswith(end):
        text += os.read(seen, 1 << 16)
    os.close(seen)
    os.close(terminal)
    text = text.removesuffix(end).decode().replace("\r\n", "\n")
    return text.replace("\r", "\n\\r").replace("\x1b", "\\e").strip("\n") + "\n"


def compare(name, case, got):
    good = True
    for section in WRITTEN:
        wanted = case.get(section, "")
        if wanted != got[section]:
            good = False
            print(f"{name}: {section} differs")
            sys.stdout.writelines(line + "\n" for line in difflib.unified_diff(
                wanted.splitlines(), got[section].splitlines(), "wanted", "got", lineterm=""))
    return good


def main():
    arguments = sys.argv[1:]
    update = "--update" in arguments
    program, *names = [os.path.abspath(a) if i == 0 else a
                       for i, a in enumerate(a for a in arguments if a != "--update")]
    paths = [CASES / f"{n}.case" for n in names] or sorted(CASES.glob("*.case"))
    failed = 0
    for path in paths:
        case = read_case(path)
        for line in case.get("replies", "").splitlines():
            json.loads(line)
        with tempfile.TemporaryDirectory(prefix="swd-test-") as folder:
            got = run_case(program, case, folder)
        if update:
            case.update(got)
            write_case(path, {n: t for n, t in case.items() if t or n in ("code", "replies")})
        elif not compare(path.stem, case, got):
            failed += 1
    print(f"{len(paths)} cases, {failed} failed")
    return 1 if failed or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
