# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames for the lab's tests: built by hand, sent and received on raw sockets, and judged.

Builders return bytes and compute every checksum here, by the definition in RFC 1071, so that
nothing the kernel or swsim computes is compared with itself. `Wire` is a packet socket that gives
back a frame as it was on the wire: the kernel keeps the outer VLAN tag beside the data, and we put
it back. `bad_checksums` names what is wrong in a frame.
"""
import ctypes
import ipaddress
import os
import select
import socket
import struct
import time

ETH_P_ALL, ETH_P_IP, ETH_P_IPV6, ETH_P_ARP = 0x0003, 0x0800, 0x86dd, 0x0806
ETH_P_8021Q, ETH_P_8021AD = 0x8100, 0x88a8
ICMP, TCP, UDP, ICMPV6, SCTP = 1, 6, 17, 58, 132

_SOL_PACKET, _PACKET_AUXDATA, _PACKET_OUTGOING = 263, 8, 4
_VLAN_VALID, _VLAN_TPID_VALID = 1 << 4, 1 << 6


def checksum(data):
    """The ones' complement sum of RFC 1071, complemented."""
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def mac(text):
    return bytes.fromhex(text.replace(":", ""))


def ip(text):
    return ipaddress.ip_address(text).packed


def eth(dst, src, ethertype, payload, vlans=()):
    """A frame. vlans: from the outer tag on, each a VLAN id or (id, prio[, tpid[, dei]])."""
    tags = b""
    for tag in vlans:
        tag = (tag, 0) if isinstance(tag, int) else tuple(tag)
        vid, prio, tpid, dei = tag + (ETH_P_8021Q, 0)[len(tag) - 2:]
        tags += struct.pack("!HH", tpid, prio << 13 | dei << 12 | vid)
    frame = mac(dst) + mac(src) + tags + struct.pack("!H", ethertype) + payload
    return frame.ljust(60, b"\0")


def ipv4(src, dst, proto, payload, ttl=64, tos=0, ident=0, frag=0, options=b""):
    """frag: the flags and the offset, as they are in the header (0x2000 is "more fragments")."""
    words = 5 + len(options) // 4
    head = struct.pack("!BBHHHBBH", 0x40 | words, tos, words * 4 + len(payload), ident, frag, ttl,
                       proto, 0) + ip(src) + ip(dst) + options
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + payload


def ipv6(src, dst, proto, payload, hops=64, tos=0, label=0):
    return struct.pack("!IHBB", 6 << 28 | tos << 20 | label, len(payload), proto, hops) + \
        ip(src) + ip(dst) + payload


def _pseudo(src, dst, proto, length):
    if ipaddress.ip_address(src).version == 4:
        return ip(src) + ip(dst) + struct.pack("!BBH", 0, proto, length)
    return ip(src) + ip(dst) + struct.pack("!IHBB", length, 0, 0, proto)


def udp(src, dst, sport, dport, data=bytes(range(32))):
    """A UDP datagram between two addresses of one family."""
    length = 8 + len(data)
    head = struct.pack("!HHHH", sport, dport, length, 0)
    check = checksum(_pseudo(src, dst, UDP, length) + head + data) or 0xffff
    return head[:6] + struct.pack("!H", check) + data


def tcp(src, dst, sport, dport, flags=0x02, data=b""):
    head = struct.pack("!HHIIBBHHH", sport, dport, 1, 0, 5 << 4, flags & 0xff, 8192, 0, 0)
    if flags > 0xff:
        head = head[:12] + bytes([head[12] | flags >> 8]) + head[13:]
    check = checksum(_pseudo(src, dst, TCP, len(head + data)) + head + data)
    return head[:16] + struct.pack("!H", check) + head[18:] + data


def icmp(kind=8, code=0, data=b"\0\1\0\1swd"):
    head = struct.pack("!BBH", kind, code, 0)
    return head[:2] + struct.pack("!H", checksum(head + data)) + data


def icmpv6(src, dst, kind=128, code=0, data=b"\0\1\0\1swd"):
    head = struct.pack("!BBH", kind, code, 0)
    check = checksum(_pseudo(src, dst, ICMPV6, len(head + data)) + head + data)
    return head[:2] + struct.pack("!H", check) + data


def arp(op, sha, sip, tha, tip):
    return struct.pack("!HHBBH", 1, ETH_P_IP, 6, 4, op) + mac(sha) + ip(sip) + mac(tha) + ip(tip)


def packet(src, dst, proto, payload, **ip_args):
    """(ethertype, packet) in the family of the addresses; ttl and hops are one argument, ttl."""
    if ipaddress.ip_address(src).version == 4:
        return ETH_P_IP, ipv4(src, dst, proto, payload, **ip_args)
    if "ttl" in ip_args:
        ip_args["hops"] = ip_args.pop("ttl")
    return ETH_P_IPV6, ipv6(src, dst, proto, payload, **ip_args)


def udp_frame(dst_mac, src_mac, src, dst, sport=1024, dport=9, vlans=(), data=bytes(range(32)),
              **ip_args):
    """The frame that most tests want: UDP over IPv4 or IPv6, tagged or not, and without padding."""
    ethertype, payload = packet(src, dst, UDP, udp(src, dst, sport, dport, data), **ip_args)
    return eth(dst_mac, src_mac, ethertype, payload, vlans)


def untag(frame):
    """(tags as (id, prio, tpid, dei), ethertype, what follows)."""
    tags, at = [], 12
    ethertype, = struct.unpack_from("!H", frame, at)
    while ethertype in (ETH_P_8021Q, ETH_P_8021AD):
        tci, inner = struct.unpack_from("!HH", frame, at + 2)
        tags.append((tci & 0xfff, tci >> 13, ethertype, tci >> 12 & 1))
        ethertype, at = inner, at + 4
    return tags, ethertype, frame[at + 2:]


def bad_checksums(frame):
    """The names of the checksums that are wrong: "ipv4", "tcp", "udp", "icmp", "icmpv6"."""
    _, ethertype, data = untag(frame)
    bad = []
    if ethertype == ETH_P_IP:
        words = (data[0] & 0xf) * 4
        if checksum(data[:words]):
            bad.append("ipv4")
        if struct.unpack_from("!H", data, 6)[0] & 0x3fff:
            return bad # a fragment's L4 checksum is not for us to judge
        proto, src, dst = data[9], data[12:16], data[16:20]
        l4 = data[words:struct.unpack_from("!H", data, 2)[0]]
    elif ethertype == ETH_P_IPV6:
        proto, src, dst = data[6], data[8:24], data[24:40]
        l4 = data[40:40 + struct.unpack_from("!H", data, 4)[0]]
    else:
        return bad
    names = {TCP: "tcp", UDP: "udp", ICMP: "icmp", ICMPV6: "icmpv6"}
    pseudo = b"" if proto == ICMP else _pseudo(str(ipaddress.ip_address(src)),
                                                str(ipaddress.ip_address(dst)), proto, len(l4))
    unset = proto == UDP and ethertype == ETH_P_IP and l4[6:8] == b"\0\0"
    if proto in names and not unset and checksum(pseudo + l4):
        bad.append(names[proto])
    return bad


class Wire:
    """A packet socket on one device, for sending and for what arrives there.

    netns: the name of a namespace made by `ip netns add`, when the device is in one."""

    def __init__(self, device, netns=None):
        self.device = device
        self.socket = socket_in(netns, socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self.socket.setsockopt(_SOL_PACKET, _PACKET_AUXDATA, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self.socket.bind((device, ETH_P_ALL))
        self.socket.setblocking(False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, *frames):
        for frame in frames:
            self.socket.send(frame)

    def take(self):
        """The next frame that arrived, or None. What this device sent itself is passed over."""
        while True:
            try:
                frame, control, _, address = self.socket.recvmsg(65536, 256)
            except BlockingIOError:
                return None
            if address[2] == _PACKET_OUTGOING:
                continue
            for level, kind, data in control:
                if level == _SOL_PACKET and kind == _PACKET_AUXDATA:
                    status, _, _, _, _, tci, tpid = struct.unpack("IIIHHHH", data[:20])
                    if status & _VLAN_VALID:
                        tpid = tpid if status & _VLAN_TPID_VALID else ETH_P_8021Q
                        frame = frame[:12] + struct.pack("!HH", tpid, tci) + frame[12:]
            return frame

    def receive(self, timeout=1.0):
        """The next frame, waited for; None when none comes in time."""
        end = time.monotonic() + timeout
        while True:
            frame = self.take()
            if frame is not None:
                return frame
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.socket], [], [], left)[0]:
                return self.take()

    def drain(self, quiet=0.05):
        """All frames, until none has come for a while."""
        frames = []
        while True:
            frame = self.receive(quiet)
            if frame is None:
                return frames
            frames.append(frame)


def socket_in(netns, family, kind, proto):
    """A socket in a namespace made by `ip netns add`, or here when netns is None."""
    if netns is None:
        return socket.socket(family, kind, proto)
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/self/ns/net") as ours, open(f"/run/netns/{netns}") as theirs:
        if libc.setns(theirs.fileno(), 0x40000000):
            raise OSError(ctypes.get_errno(), f"netns {netns}: {os.strerror(ctypes.get_errno())}")
        try:
            return socket.socket(family, kind, proto)
        finally:
            libc.setns(ours.fileno(), 0x40000000)
