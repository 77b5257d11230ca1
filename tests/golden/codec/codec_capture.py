#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the bytes into filters.txt, from three sources:

    codec_capture.py guest filters.txt OUT     in a lab guest (6.1): what tc sends and Linux tells
    codec_capture.py merge filters.txt OUT BIN on the host: puts OUT, and what BIN --print says, in

OUT is a folder: tests/lab/lab run 6.1 --no-swsim --out OUT -- codec_capture.py guest FILE OUT
"""
import os
import pathlib
import socket
import struct
import subprocess
import sys

BLOCK = 10
DEVICE, NUMBER = "dev7", 7      # as test_names.h has it
RTM_NEWTFILTER, RTM_GETTFILTER, NLMSG_DONE = 44, 46, 3
PRELOAD = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	ssize_t (*real)(int, const struct msghdr *, int) = dlsym(RTLD_NEXT, "sendmsg");
	const struct nlmsghdr *h = m->msg_iovlen ? m->msg_iov[0].iov_base : NULL;
	FILE *out;

	if (h && m->msg_iov[0].iov_len >= sizeof(*h) && h->nlmsg_type == RTM_NEWTFILTER) {
		out = fopen(getenv("SWD_CAPTURE"), "w");
		for (size_t i = 0; i < m->msg_iovlen; i++)
			for (size_t j = 0; j < m->msg_iov[i].iov_len; j++)
				fprintf(out, "%02x", ((unsigned char *)m->msg_iov[i].iov_base)[j]);
		fclose(out);
	}
	return real(fd, m, flags);
}
"""


def entries(path):
    """The file's head and its entries, each a list of lines."""
    head, *rest = path.read_text().split("\n\n")
    return head, [entry.splitlines() for entry in rest if entry.strip()]


def run(*words, **more):
    subprocess.run(words, check=True, **more)


def told():
    """What a dump of the block tells, by pref; without the numbers of our own socket."""
    found = {}
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as s:
        body = struct.pack("=BxxxIIII", 0, 0xffffffff, 0, BLOCK, 0)
        s.send(struct.pack("=IHHII", 16 + len(body), RTM_GETTFILTER, 0x301, 1, 0) + body)
        while True:
            data = s.recv(1 << 18)
            while data:
                size, kind = struct.unpack_from("=IH", data)
                if kind == NLMSG_DONE:
                    return found
                handle, _, info = struct.unpack_from("=III", data, 16 + 8)
                if kind == RTM_NEWTFILTER and handle:
                    message = bytearray(data[:size])
                    message[8:16] = bytes(8)
                    found[info >> 16] = message.hex()
                data = data[(size + 3) & ~3:]


def guest(path, out):
    source, library, bytes_of = out / "preload.c", out / "preload.so", out / "bytes"
    source.write_text(PRELOAD)
    run("gcc", "-shared", "-fPIC", "-o", library, source)
    run("ip", "link", "add", DEVICE, "index", str(NUMBER), "type", "dummy")
    run("ip", "link", "add", "bound", "type", "dummy")
    run("tc", "qdisc", "add", "dev", "bound", "ingress_block", str(BLOCK), "clsact")
    sent = {}
    for number, entry in enumerate(entries(path)[1], 1):
        words = [line[3:] for line in entry if line.startswith("tc ")]
        if not words:
            continue
        protocol, kind, *rest = words[0].split()[1:]
        handle = [] if kind == "u32" else ["handle", hex(number)]
        run("tc", "filter", "add", "block", str(BLOCK), "protocol", protocol, "pref", str(number),
            *handle, kind, *rest,
            env={**os.environ, "LD_PRELOAD": str(library), "SWD_CAPTURE": str(bytes_of)})
        message = bytearray.fromhex(bytes_of.read_text())
        message[8:16] = bytes(8)
        sent[number] = message.hex()
    heard = told()
    with open(out / "captured", "w", encoding="ascii") as file:
        for number, text in sent.items():
            file.write(f"{number} {text} {heard[number]}\n")


def merge(path, out, binary):
    captured = {}
    for line in (out / "captured").read_text().splitlines():
        number, sent, heard = line.split()
        captured[int(number)] = (sent, heard)
    add = subprocess.run([binary, path, "--print"], check=True, capture_output=True,
                         text=True).stdout.splitlines()
    head, list_of = entries(path)
    texts = [head]
    for number, entry in enumerate(list_of, 1):
        lines = [line for line in entry if line.split()[0] not in ("add", "sent", "told")]
        if add[number - 1]:
            lines.append("add " + add[number - 1])
        if number in captured:
            lines += ["sent " + captured[number][0], "told " + captured[number][1]]
        texts.append("\n".join(lines))
    path.write_text("\n\n".join(texts) + "\n")


if __name__ == "__main__":
    if sys.argv[1] == "guest":
        guest(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
    else:
        merge(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]), sys.argv[4])
