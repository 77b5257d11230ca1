# SPDX-License-Identifier: GPL-2.0-or-later
"""A ring of daemon/tx in a guest, driven through tests/lab/ringtool.c, and the ear at the other end that
says which of its numbered frames have arrived."""
import json
import socket
import struct
import subprocess
import threading
from pathlib import Path

from swdlab import BUILD
from swsimlab import run, wait

TOOL = BUILD / "tests/lab/ringtool"
ETH_P_TEST, SO_RCVBUFFORCE = 0x88b5, 33


class Ring:
    """What do() returns is a dict: result, words, ms, cpu_ms, state, and all counts."""

    def __init__(self, device, slots=0, bypass=False, tries=0, pause_us=0):
        command = [TOOL, device, slots, int(bypass), tries, pause_us]
        self.process = subprocess.Popen([str(word) for word in command], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.opened = self.answer()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()

    def begin(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def answer(self):
        return json.loads(self.process.stdout.readline())

    def do(self, command):
        self.begin(command)
        said = self.answer()
        adds_up(said)
        return said


def adds_up(said):
    """Each frame that was put is in one place."""
    assert said["put"] == sum(said[place] for place in ("handed", "dropped", "wrong", "unsent",
                                                        "waiting")), said


class Ear:
    """Hears the numbered frames that arrive on a device."""

    def __init__(self, device):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        self.socket.bind((device, ETH_P_TEST))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def numbers(self, quiet=0.2):
        """All that have arrived, until none has for a while."""
        self.socket.settimeout(quiet)
        self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) # that the device was down
        found = []
        try:
            while True:
                frame = self.socket.recv(65536)
                found.append(struct.unpack_from("!I", frame, 14)[0])
        except TimeoutError:
            return found


def veth(**words):
    """v0 and its peer v1, up, quiet; words such as index=77 are for v0."""
    more = [str(word) for pair in words.items() for word in pair]
    run("ip", "link", "add", "v0", *more, "type", "veth", "peer", "name", "v1")
    for name in ("v0", "v1"):
        Path(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6").write_text("1")
        run("ip", "link", "set", name, "up")
    wait(lambda: Path("/sys/class/net/v0/carrier").read_text() == "1\n", "carrier of v0")


def no_veth():
    run("ip", "link", "del", "v0", check=False)


def counter(device, name):
    return int(Path(f"/sys/class/net/{device}/statistics/{name}").read_text())


class Chatter:
    """Sends on a device until it is left: hundreds of frames a second even where little time is given to it."""

    def __init__(self, device):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.socket.bind((device, 0))
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.talk)

    def talk(self):
        frame = bytes.fromhex("020000000001020000000002") + ETH_P_TEST.to_bytes(2, "big") + bytes(46)
        while not self.done.wait(0.001):
            for _ in range(20):
                self.socket.send(frame)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.thread.join()
        self.socket.close()
