# SPDX-License-Identifier: GPL-2.0-or-later
"""Tagged frames at a conduit, whatever they name, and which port they come out of. In a guest only.

A frame that a dummy sends with the protocol of tagged frames is turned round to the conduit, so that
it comes in there as if its driver had received it: also with numbers that no switch would use.
"""
import contextlib
import socket
import struct
from pathlib import Path

from frames import eth
from swsimlab import DST, SRC, run, tc

ETH_P_XDSA, ETH_P_TEST, ETH_P_REALTEK = 0x00f8, 0x88b5, 0x8899
DSA_FORWARD, RTL8365MB = 3, 4
SO_RCVBUFFORCE = 33
SWITCH = Path("/sys/module/dsa_core/parameters/port_index")


def tag_dsa(switch, port):
    return bytes((DSA_FORWARD << 6 | switch, port << 3, 0, 0))


def tag_rtl8_4(switch, port):
    assert switch == 0, "this tag names one switch only"
    return struct.pack("!HBBHH", ETH_P_REALTEK, RTL8365MB, 0, 0, port)


def tagged(tag, word):
    """A frame with this tag, and a word by which it is known."""
    frame = eth(DST, SRC, ETH_P_TEST, struct.pack("!I", word))
    return frame[:12] + tag + frame[12:]


class Turned:
    """Frames sent on it come in at `conduit`."""

    def __init__(self, conduit):
        self.name = f"to-{conduit}"
        run("ip", "link", "add", self.name, "mtu", "2000", "up", "type", "dummy")
        tc(f"qdisc add dev {self.name} clsact",
           f"filter add dev {self.name} egress protocol all matchall action mirred ingress redirect "
           f"dev {conduit}")
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)

    def send(self, frame):
        self.socket.sendto(frame, (self.name, ETH_P_XDSA))

    def close(self):
        self.socket.close()
        run("ip", "link", "del", self.name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Heard:
    """What came out of ports: (port, word) of each of our frames, in their order."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_TEST))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)

    def take(self, quiet=0.1):
        found = []
        self.socket.settimeout(quiet)
        with contextlib.suppress(TimeoutError):
            while True:
                frame, (port, *_) = self.socket.recvfrom(2048)
                found.append((port, struct.unpack("!I", frame[14:18])[0]))
        return found

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


def where(turned, tag, switches, ports):
    """{(switch, port): the device that a frame of that name comes out of}, for all names; what is
    dropped is not in it."""
    names = [(switch, port) for switch in range(switches) for port in range(ports)]
    with Heard() as heard:
        for word, name in enumerate(names):
            turned.send(tagged(tag(*name), word))
        found = heard.take()
    assert len({word for _, word in found}) == len(found), "a frame came out twice"
    return {names[word]: port for port, word in found}


def lost(devices):
    """What the devices count of frames that nobody got."""
    return [Path(f"/sys/class/net/{device}/statistics/{name}").read_text()
            for device in devices for name in ("rx_dropped", "rx_errors", "rx_nohandler")]
