# SPDX-License-Identifier: GPL-2.0-or-later
"""virtio-net devices of a guest under QEMU, on cables that lead nowhere else.

A device is CABLE[,KEY=VALUE]...: those of the same cable hear each other, one alone hears nobody. The first
is eth0 in the guest. Keys are QEMU's properties of virtio-net-pci (event_idx=off), and two of our own:

    sink=on     takes and drops what it has been given before the doorbell returns, and so never asks the
                driver to leave the bell alone, as QEMU does while it is at work
    queues=N    has N pairs of queues; nobody is at the other end of its cable

With a directory to write in, QEMU leaves there each doorbell (`doorbells`) and each frame that passes
between ethI and its cable (`ethI.pcap`; not of a device with several queues)."""
import json
from collections import Counter
from dataclasses import dataclass, field

from .paths import LabError

DOORBELLS = "doorbells"


@dataclass
class Nic:
    cable: str
    sink: bool = False
    queues: int = 1
    properties: list = field(default_factory=list)      # as QEMU takes them


def parse(text: str) -> Nic:
    cable, *words = text.split(",")
    nic = Nic(cable)
    for word in words:
        key, _, value = word.partition("=")
        if not (key and value) or (key == "sink" and value not in ("on", "off")):
            raise LabError(f"--nic wants CABLE[,KEY=VALUE]..., not {text!r}")
        if key == "sink":
            nic.sink = value == "on"
        elif key != "queues":
            nic.properties.append(word)
        elif value.isdecimal() and int(value) > 0:
            nic.queues = int(value)
        else:
            raise LabError(f"--nic: no number of queues: {value!r}")
    return nic


def forget(out):
    """QEMU adds to its trace of an earlier run."""
    (out / DOORBELLS).unlink(missing_ok=True)


def own_network(nics: list) -> bool:
    """Whether QEMU wants a network namespace of its own: it has several queues with a tap only."""
    return any(nic.queues > 1 for nic in nics)


def commands(nics: list) -> bytes:
    """What QEMU's monitor (QMP) is to be told at the start. A device whose link is down drops what it has
    been given when it is told of it, by the doorbell; without `status` the driver does not learn of this."""
    sinks = [f"nic{i}" for i, nic in enumerate(nics) if nic.sink]
    asked = [{"execute": "set_link", "arguments": {"name": name, "up": False}} for name in sinks]
    return "".join(map(json.dumps, [{"execute": "qmp_capabilities"}, *asked] if asked else [])).encode()


def words(nics: list, out) -> list:
    """QEMU's options. OUT: a directory of the host, or None."""
    ends = Counter(nic.cable for nic in nics)
    hubs = {cable: hub for hub, cable in enumerate(ends)}
    line = []
    for cable, hub in hubs.items():
        if ends[cable] == 1:    # it would wait for another port; one without a device takes all
            line += ["-netdev", f"hubport,id=open{hub},hubid={hub}"]
    for i, nic in enumerate(nics):
        own = [f"mac=02:00:00:00:01:{i:02x}", *nic.properties]
        if nic.sink:
            own.append("status=off")
        if nic.queues > 1:
            own += ["mq=on", f"vectors={2 * nic.queues + 2}"]
            port = f"tap,id=port{i},queues={nic.queues},script=no,downscript=no,vhost=off"
        else:
            port = f"hubport,id=port{i},hubid={hubs[nic.cable]}"
            if out:
                line += ["-object", f"filter-dump,id=dump{i},netdev=port{i},file={out}/eth{i}.pcap"]
        line += ["-netdev", port,
                 "-device", ",".join([f"virtio-net-pci,id=nic{i},netdev=port{i}", *own])]
    if nics and out:
        line += ["-trace", f"enable=virtio_queue_notify,file={out}/{DOORBELLS}"]
    return line
