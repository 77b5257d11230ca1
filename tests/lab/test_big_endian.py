# SPDX-License-Identifier: GPL-2.0-or-later
"""NL-05: a big-endian machine, as the CPUs of many switches are. What the codecs write and read there means the same
as here, by two judges: the golden bytes turned by a table of their own (tests/golden/codec/turn.py), and the tc of
that machine. All of it with UBSan, which tells of reads at odd places."""
import os
import subprocess
from pathlib import Path

import pytest

from labkit import bigendian
from labkit.paths import REPO, LabError

LAB = {"host": True, "timeout": 1800, "all_only": True}

GOLDEN = REPO / "tests/golden/codec"
# What speaks to the kernel or keeps something, and what that stands on.
TESTS = ("base", "match", "state", "yaml_tree", "yaml_schema", "yaml_load", "yaml_golden", "kernel_exchange",
         "kernel_silent", "kernel_codec", "golden_codec", "golden_tx", "policy-compile", "policy-place", "engine_store",
         "engine_ownership", "engine_repair")
SHOW = r"""
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
/* In the place of what tc calls: "dev7" is number 7, and what it would send is printed. */
unsigned int if_nametoindex(const char *name) { return strncmp(name, "dev", 3) ? 0 : atoi(name + 3); }
ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	const struct nlmsghdr *h = m->msg_iov[0].iov_base;

	if (h->nlmsg_type != RTM_NEWTFILTER)
		return -1;
	for (size_t i = 0; i < m->msg_iovlen; i++)
		for (size_t j = 0; j < m->msg_iov[i].iov_len; j++)
			printf("%02x", ((unsigned char *)m->msg_iov[i].iov_base)[j]);
	fflush(stdout);
	_exit(0);
}
"""


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **more)
    assert done.returncode == 0, f"{command}: {done.stdout[-4000:]}{done.stderr[-4000:]}"
    return done.stdout


@pytest.fixture(name="machine", scope="module")
def fixture_machine():
    try:
        return bigendian.machine()
    except LabError as error:
        pytest.skip(f"no s390x machine: {error}")


@pytest.fixture(name="build", scope="module")
def fixture_build(machine, tmp_path_factory):
    build = Path(os.environ.get("SWD_BIG_ENDIAN", tmp_path_factory.mktemp("build") / "s390x"))
    if not build.exists():
        run("meson", "setup", build, REPO, "--cross-file", machine / "cross.ini", "-Dwerror=true", "-Dwarning_level=3",
            "-Db_sanitize=undefined", "-Db_lundef=false")
    run("ninja", "-C", build, *[f"tests/golden/codec/{name}" for name in ("golden_codec", "filters.txt", "foreign.txt")])
    return build


def test_nl_05_it_is_big_endian(machine, tmp_path):
    (tmp_path / "one.c").write_text("int main(void) { int one = 1; return *(char *)&one ? 1 : 0; }\n")
    run(machine / "cc", "-o", tmp_path / "one", tmp_path / "one.c")
    run(machine / "run", tmp_path / "one")


def test_nl_05_ubsan_sees_an_odd_place(machine, tmp_path):
    """The compiler refuses the cast, and the sanitizer the read."""
    (tmp_path / "odd.c").write_text(
        "#include <stdint.h>\n#include <string.h>\nint main(int n, char **v) {\n"
        "char text[32] = { 0 }; return (int)*(const uint64_t *)(text + 3 + n); }\n")
    strict = subprocess.run([machine / "cc", "-Wcast-align=strict", "-Werror", "-o", tmp_path / "odd", tmp_path / "odd.c"],
                            capture_output=True, text=True, check=False)
    assert strict.returncode and "cast-align" in strict.stderr
    run(machine / "cc", "-fsanitize=undefined", "-o", tmp_path / "odd", tmp_path / "odd.c")
    odd = subprocess.run([machine / "run", tmp_path / "odd"], capture_output=True, text=True, check=False)
    assert "misaligned address" in odd.stderr


@pytest.mark.parametrize("name", TESTS)
def test_nl_05_tests_on_a_big_endian_machine(build, name):
    env = {**os.environ, "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}
    said = run("meson", "test", "-C", build, "--print-errorlogs", "-t", "10", name, env=env)
    assert "Ok:                 1" in said, said


def test_nl_05_the_bytes_of_this_machine_are_refused_there(machine, build):
    """So the comparison is one."""
    done = subprocess.run([machine / "run", build / "tests/golden/codec/golden_codec", GOLDEN / "filters.txt"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stdout.count("FAIL") > 40, done.stdout


def entries(path):
    return [entry.splitlines() for entry in path.read_text().split("\n\n")[1:] if entry.strip()]


def without_rates(data):
    """A rate's table ends in times of more than 32 bits, which each machine cuts in its own way."""
    at = data.find(bytes.fromhex("04040002"))
    return data if at < 0 else data[:at + 4] + data[at + 4 + 1024:]


@pytest.mark.parametrize("name", ["filters", "foreign"])
def test_nl_05_tc_of_a_big_endian_machine_sends_the_same(machine, build, name, tmp_path):
    """What tc sends there is what was turned of what tc sends here: so the turned bytes are right."""
    (tmp_path / "show.c").write_text(SHOW)
    run(machine / "cc", "-shared", "-fPIC", "-o", tmp_path / "show.so", tmp_path / "show.c")
    compared = 0
    for number, entry in enumerate(entries(build / f"tests/golden/codec/{name}.txt"), 1):
        words = [line.split()[1:] for line in entry if line.startswith("tc ")]
        sent = [bytes.fromhex(line[5:]) for line in entry if line.startswith("sent ")]
        if not words:
            continue
        protocol, kind, *rest = words[0][1:] if words[0][0] == "protocol" else words[0]
        handle = [] if kind == "u32" else ["handle", hex(number)]
        said = run(machine / "run", "-E", f"LD_PRELOAD={tmp_path}/show.so", machine / "sysroot/sbin/tc", "filter", "add",
                   "block", "10", "protocol", protocol, "pref", number, *handle, kind, *rest)
        message = bytearray.fromhex(said)
        message[8:16] = bytes(8)        # sequence and port
        assert without_rates(bytes(message)) == without_rates(sent[0]), " ".join(words[0])
        compared += 1
    assert compared == {"filters": 47, "foreign": 13}[name]
