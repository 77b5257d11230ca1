#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the bytes into tx.txt: what ethtool asks, and Linux answers, for a netdevsim in a lab guest. An answer that
the file has not yet, since this kernel says more than others, is put behind those:

    tests/lab/lab run 6.1 --no-swsim --out OUT -- tests/golden/codec/tx_capture.py tx.txt OUT
"""
import os
import pathlib
import struct
import subprocess
import sys

DEVICE, NUMBER = "dev3", 3
PRELOAD = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
static void keep(const char *what, const void *bytes, ssize_t size)
{
	const struct nlmsghdr *h = bytes;
	FILE *out;

	/* The first type is of the family that knows all others. */
	if (size < (ssize_t)sizeof(*h) || h->nlmsg_type <= NLMSG_MIN_TYPE)
		return;
	out = fopen(getenv("SWD_CAPTURE"), "a");
	fprintf(out, "%s ", what);
	for (size_t i = sizeof(*h); i < h->nlmsg_len; i++)
		fprintf(out, "%02x", ((const unsigned char *)bytes)[i]);
	fprintf(out, "\n");
	fclose(out);
}
ssize_t sendto(int fd, const void *b, size_t n, int flags, const struct sockaddr *to, socklen_t size)
{
	ssize_t (*real)(int, const void *, size_t, int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "sendto");

	keep("asked", b, (ssize_t)n);
	return real(fd, b, n, flags, to, size);
}
ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
	ssize_t (*real)(int, struct msghdr *, int) = dlsym(RTLD_NEXT, "recvmsg");
	ssize_t n = real(fd, m, flags);

	keep("answer", m->msg_iov[0].iov_base, n);
	return n;
}
"""


def run(*words, **more):
    return subprocess.run(words, check=True, capture_output=True, text=True, **more)


def library(folder):
    """For LD_PRELOAD: keeps what goes to generic netlink families, and comes back."""
    source, made = folder / "preload.c", folder / "preload.so"
    source.write_text(PRELOAD)
    run("gcc", "-shared", "-fPIC", "-o", made, source)
    return made


def with_number(answer):
    """The kernel's answer with NUMBER in the place of the device's: the first attribute's first."""
    body = bytearray.fromhex(answer)
    kind, = struct.unpack_from("=H", body, 10)
    if kind & 0x3fff == 1:
        struct.pack_into("=I", body, 12, NUMBER)
    return body.hex()


def tidy(message):
    """What stands between attributes nobody reads, and ethtool leaves there what was: it becomes zero."""
    body, at = bytearray.fromhex(message), 4
    while at < len(body):
        size, = struct.unpack_from("=H", body, at)
        end = at + (size + 3 & ~3)
        body[at + size:end] = bytes(end - at - size)
        at = end
    return body.hex()


def ask(words, preload, kept):
    """(asked, answer or None) of a command of ethtool."""
    kept.unlink(missing_ok=True)
    run("ethtool", *words.split(), env={**os.environ, "LD_PRELOAD": str(preload), "SWD_CAPTURE": str(kept)})
    lines = [line.split() for line in kept.read_text().splitlines()]
    asked, = [tidy(line[1]) for line in lines if line[0] == "asked"]
    answers = [with_number(line[1]) for line in lines if line[0] == "answer"]
    return asked, answers[0] if answers else None


def entries(text):
    head, *rest = text.split("\n\n")
    return head, [entry.splitlines() for entry in rest if entry.strip()]


def entry_with(lines, asked, answer):
    answers = [line for line in lines if line.startswith("answer ")]
    if answer and f"answer {answer}" not in answers:
        answers.append(f"answer {answer}")
    words = [line for line in lines if line.split()[0] not in ("asked", "answer")]
    return "\n".join(words + [f"asked {asked}"] + answers)


def captured(text, folder):
    """The file's text with what is said here."""
    preload, kept = library(folder), folder / "kept"
    head, list_of = entries(text)
    return "\n\n".join([head] + [entry_with(lines, *ask(lines[0], preload, kept)) for lines in list_of]) + "\n"


def make_device():
    before = set(os.listdir("/sys/class/net"))
    run("modprobe", "netdevsim")
    pathlib.Path("/sys/bus/netdevsim/new_device").write_text("3 1 1")
    name, = set(os.listdir("/sys/class/net")) - before
    run("ip", "link", "set", name, "name", DEVICE)


if __name__ == "__main__":
    make_device()
    PATH = pathlib.Path(sys.argv[1])
    (pathlib.Path(sys.argv[2]) / PATH.name).write_text(captured(PATH.read_text(), pathlib.Path("/tmp")))
