# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs swd in a guest and asks it over its socket, without a process a question."""
import ctypes
import json
import os
import signal
import socket
import struct
import subprocess
import time
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("SWD_BUILD", REPO / "build/plain"))
INTERFACE = "io.swd.Switch"


class Refusal(AssertionError):
    """A Varlink error: .error is its name, .parameters what came with it."""

    def __init__(self, error, parameters):
        super().__init__(f"{error}: {parameters}")
        self.error, self.parameters = error, parameters


class Client:
    """One connection; calls come one after the other."""

    def __init__(self, path, timeout=60):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(timeout)
        self.sock.connect(str(path))
        self.left = b""

    def message(self):
        while b"\0" not in self.left:
            data = self.sock.recv(1 << 20)
            assert data, "swd closed the connection"
            self.left += data
        text, self.left = self.left.split(b"\0", 1)
        answer = json.loads(text)
        if "error" in answer:
            raise Refusal(answer["error"].removeprefix(INTERFACE + "."), answer.get("parameters", {}))
        return answer

    def send(self, method, more=False, **parameters):
        call = {"method": f"{INTERFACE}.{method}", "parameters": parameters}
        if more:
            call["more"] = True
        self.sock.sendall(json.dumps(call).encode() + b"\0")

    def call(self, method, **parameters):
        self.send(method, **parameters)
        return self.message()["parameters"]

    def stream(self, method, **parameters):
        """The answers to a call with more, until there is none."""
        self.send(method, more=True, **parameters)
        while True:
            answer = self.message()
            yield answer["parameters"]
            if not answer.get("continues"):
                return


class Swd:
    """The daemon over a folder of its own; wait=False returns before it answers."""
    program = BUILD / "daemon/swd"

    def __init__(self, folder, text=None, wait=True):
        self.folder = Path(folder)
        self.folder.mkdir(exist_ok=True)
        self.file, self.socket = self.folder / "swd.yaml", self.folder / "swd.sock"
        self.log, self.process = self.folder / "log", None
        if text is not None:
            self.file.write_text(text)
        self.start(wait)

    def start(self, wait=True):
        out = open(self.log, "ab")
        self.process = subprocess.Popen(
            [self.program, "--config", self.file, "--socket", self.socket, "--state",
             self.folder / "state"], stderr=out, stdout=out)
        if wait:
            self.client = self.connect()
            self.until(lambda: self.status()["snapshot"] > 0, "the first snapshot", 30)

    def connect(self):
        end = time.monotonic() + 30
        while True:
            try:
                return Client(self.socket)
            except (FileNotFoundError, ConnectionRefusedError):
                assert self.process.poll() is None, "swd ended:\n" + self.log.read_text()
                assert time.monotonic() < end, "swd does not listen:\n" + self.log.read_text()
                time.sleep(0.01)

    def call(self, method, **parameters):
        return self.client.call(method, **parameters)

    def status(self):
        return self.call("Status")

    def apply(self, text):
        self.file.write_text(text)
        return self.call("Apply")

    def bypass(self, block):
        return self.call("Bypass", block=block)["blocks"][0]

    def rules(self, block=None):
        """(rules, others) of all pieces."""
        rules, others = [], []
        for piece in self.connect().stream("Rules", **({"block": block} if block else {})):
            rules += piece["rules"]
            others += piece["others"]
        return rules, others

    def until(self, condition, what, timeout=5.0):
        """Waits until condition() is true; returns how long it took."""
        start = time.monotonic()
        while not condition():
            assert time.monotonic() - start < timeout, \
                f"waited in vain for {what}; the log:\n" + self.log.read_text()[-4000:]
            time.sleep(0.002)
        return time.monotonic() - start

    def settle(self, timeout=5.0):
        return self.until(lambda: self.status()["settled"], "rest", timeout)

    def deafen(self, deaf=True):
        """Whether its sockets for events get any: a filter on a socket drops without a word of loss."""
        libc, attach, detach = ctypes.CDLL(None, use_errno=True), 26, 27
        pidfd = os.pidfd_open(self.process.pid)
        done = 0
        for name in os.listdir(f"/proc/{self.process.pid}/fd"):
            link = os.readlink(f"/proc/{self.process.pid}/fd/{name}")
            if not link.startswith("socket:"):
                continue
            fd = libc.syscall(438, pidfd, int(name), 0)     # pidfd_getfd
            assert fd >= 0, os.strerror(ctypes.get_errno())
            with socket.socket(fileno=fd) as s:
                if s.family != socket.AF_NETLINK or s.getsockname()[1] == 0:
                    continue
                if deaf:
                    code = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0))     # ret 0
                    s.setsockopt(socket.SOL_SOCKET, attach, struct.pack("HxxxxxxP", 1, ctypes.addressof(code)))
                else:
                    s.setsockopt(socket.SOL_SOCKET, detach, struct.pack("i", 0))
                done += 1
        os.close(pidfd)
        assert done

    def cli(self, *words, check=True):
        """sw-cli, as people call it: (exit code, output, errors)."""
        done = subprocess.run([BUILD / "cli/sw-cli", "--socket", self.socket, *words],
                              capture_output=True, text=True)
        if check:
            assert done.returncode == 0, f"sw-cli {words}: {done.returncode} {done.stderr}"
        return done.returncode, done.stdout, done.stderr

    def teardown(self, state="state"):
        """swd --teardown: (exit code, output, errors)."""
        done = subprocess.run([self.program, "--config", self.file, "--socket", self.socket, "--state",
                               self.folder / state, "--teardown"], capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(30)
