# SPDX-License-Identifier: GPL-2.0-or-later
"""The lab keeps what its README says: exit codes, output, walls, kernel reports, ends."""
import fcntl
import os
import resource
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from labkit import cache, kernel, paths, reports, series, testfile, variants    # noqa: E402
from labkit.paths import LabError                       # noqa: E402

LAB = {"host": True, "builds": ["6.1"], "timeout": 900}
LAB_KERNEL = "6.1"

PROGRAM = str(HERE / "lab")
REPORTED, TIMED_OUT, USAGE, FAILED = 99, 124, 2, 97


# Every process of a guest inherits this, so ours are told from those of other labs on this host.
MARK = f"LAB_TEST={os.getpid()}-{time.monotonic_ns()}"
MARKED = dict([MARK.split("=")], **os.environ)


def lab(*args):
    return subprocess.run([PROGRAM, *map(str, args)], stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=300, check=False, env=MARKED)


def guest(*command, options=()):
    return lab("run", LAB_KERNEL, "--no-swsim", *options, "--", *command)


def complain(how, *options):
    return guest("modprobe", "complain", f"how={how}",
                 options=("--module", HERE / "modules/complain", *options))


def processes():
    """The processes that our guests consist of."""
    found = []
    for proc in Path("/proc").glob("[0-9]*"):
        try:
            if MARK.encode() in (proc / "environ").read_bytes().split(b"\0"):
                found.append(int(proc.name))
        except OSError:
            continue
    return found


def wait_until(condition, seconds=15):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("code", [0, 1, 7, 99, 124, 255])
def test_exit_code_of_the_command(code):
    done = guest("sh", "-c", f"exit {code}")
    assert done.returncode == code, done.stderr


def test_exit_code_after_a_signal():
    assert guest("sh", "-c", "kill -TERM $$").returncode == 128 + signal.SIGTERM


def test_command_that_is_not_there():
    done = guest("no-such-command")
    assert done.returncode == 127
    assert b"no-such-command" in done.stderr


def test_usage_and_unknown_variant():
    assert lab("run", LAB_KERNEL).returncode == USAGE
    done = lab("build", "5.10")
    assert done.returncode == FAILED
    assert b"6.1-swd" in done.stderr


def test_output_is_carried_byte_for_byte():
    """Every byte value, more than any buffer, standard output and standard error apart."""
    done = guest("/usr/bin/python3", "-c",
                 "import sys; d = bytes(range(256)) * 4096\n"
                 "sys.stdout.buffer.write(d); sys.stderr.buffer.write(d[::-1])")
    want = bytes(range(256)) * 4096
    assert done.returncode == 0
    assert done.stdout == want
    assert done.stderr == want[::-1]


def test_output_comes_while_the_command_runs():
    with subprocess.Popen([PROGRAM, "run", LAB_KERNEL, "--no-swsim", "--", "sh", "-c",
                           "echo early; sleep 3"], stdout=subprocess.PIPE) as process:
        line = process.stdout.readline()
        came = time.monotonic()
        process.wait(60)
        assert line == b"early\n"
        assert time.monotonic() - came > 2


def test_the_guest_that_a_command_finds():
    done = guest("sh", "-c", "id -u; uname -r; cat /sys/class/net/lo/flags; ls /tmp /run; echo .;"
                 " stat -f -c %T /tmp /run /sys/kernel/debug; pwd; echo $LAB $GREETING;"
                 " wc -c < /dev/stdin; ls /lib/modules/$(uname -r)/modules.dep",
                 options=("--env", "GREETING=hello"))
    lines = done.stdout.decode().split("\n")
    assert done.returncode == 0, done.stderr
    assert lines[0] == "0"
    assert lines[1].startswith("6.1.")
    assert int(lines[2], 16) & 1        # IFF_UP
    assert lines[3:5] == ["/run:", ""] or lines[3] == "/run:"
    assert "tmpfs\ntmpfs\ndebugfs" in done.stdout.decode()
    assert f"{os.getcwd()}\n{LAB_KERNEL} hello\n0\n" in done.stdout.decode()


def test_the_host_cannot_be_written(tmp_path):
    victim = HERE / "README.md"
    before = victim.read_bytes()
    name = f"lab-was-here-{os.getpid()}"
    done = guest("sh", "-c", f"echo x > {victim}; cat {victim}; touch /etc/{name} {HERE}/{name};"
                 f" ls -U /etc/{name} {HERE}/{name}; mkdir /mnt2; mount -t hostfs -o / none /mnt2;"
                 f" touch /mnt2/{tmp_path}/{name} && echo wrote")
    assert done.stdout.decode() == f"x\n/etc/{name}\n{HERE}/{name}\n"
    assert victim.read_bytes() == before
    assert not (Path("/etc") / name).exists()
    assert not (HERE / name).exists()
    assert list(tmp_path.iterdir()) == []


def test_out_can_be_written(tmp_path):
    (tmp_path / "from-host").write_text("host\n")
    done = guest("sh", "-c", f'cat "$LAB_OUT/from-host"; echo guest > {tmp_path}/from-guest;'
                 ' rm "$LAB_OUT/from-host"', options=("--out", tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout == b"host\n"
    assert [p.name for p in tmp_path.iterdir()] == ["from-guest"]
    assert (tmp_path / "from-guest").read_text() == "guest\n"


def test_a_directory_of_the_hosts_tmp_is_seen_when_named(tmp_path):
    (tmp_path / "there").write_text("yes")
    assert guest("cat", tmp_path / "there").returncode == 1
    done = guest("sh", "-c", f"cat {tmp_path}/there; echo no > {tmp_path}/there",
                 options=("--see", tmp_path))
    assert done.stdout == b"yes", done.stderr
    assert (tmp_path / "there").read_text() == "yes"


@pytest.mark.parametrize("how, words", [
    ("warn", b"complain: asked for it"),
    ("oops", b"Kernel panic - not syncing"),
    ("panic", b"complain: asked for it"),
])
def test_a_kernel_report_fails_the_run(how, words):
    done = complain(how)
    assert done.returncode == REPORTED
    assert words in done.stderr
    assert b"complain_init" in done.stderr


def test_a_refusal_is_no_report():
    done = complain("nothing")
    assert done.returncode == 1, done.stderr


def test_a_hanging_command_is_ended_without_orphans():
    start = time.monotonic()
    done = guest("sleep", "1000", options=("--timeout", "4"))
    assert done.returncode == TIMED_OUT
    assert time.monotonic() - start < 20
    assert b"ended after 4 s" in done.stderr
    assert processes() == []


def test_a_hanging_kernel_is_ended():
    done = complain("spin", "--timeout", "6")
    assert done.returncode == TIMED_OUT
    assert processes() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_orphans_when_the_lab_is_killed(number):
    process = subprocess.Popen([PROGRAM, "run", LAB_KERNEL, "--no-swsim", "--", "sh", "-c",
                                "echo up; sleep 1000"], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, env=MARKED)
    assert process.stdout.readline() == b"up\n"
    assert processes()
    process.send_signal(number)
    code = process.wait(20)
    assert code == (-number if number == signal.SIGKILL else 128 + number)
    assert wait_until(lambda: not processes())


def test_a_warm_build_takes_less_than_a_second():
    """Of CPU, since others may have the machine: it waits for nothing else."""
    assert lab("build", LAB_KERNEL).returncode == 0
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert lab("build", LAB_KERNEL).returncode == 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1


def test_options_that_kconfig_drops_are_named():
    want = {"CONFIG_A": "y", "CONFIG_B": None, "CONFIG_C": '"x"', "CONFIG_D": "y"}
    have = "CONFIG_A=y\nCONFIG_B=y\nCONFIG_C=\"x\"\n# CONFIG_D is not set\n"
    assert kernel.lost_options(want, have) == ["CONFIG_B=n (is y)", "CONFIG_D=y (is n)"]


MAPLE = """[    0.100000] =============================
[    0.100000] WARNING: suspicious RCU usage
[    0.100000] 6.1.0 Not tainted
[    0.100000] -----------------------------
[    0.100000] lib/maple_tree.c:856 suspicious rcu_dereference_check() usage!
"""
OTHER = """[    0.200000] WARNING: possible circular locking dependency detected
[    0.200000] swsim/1 is trying to acquire lock:
"""


def test_only_the_named_report_is_tolerated_and_it_hides_no_other():
    bad, met = reports.find(MAPLE + OTHER, "6.1-debug")
    assert [r.lines[0][-8:] for r in bad] == ["detected"]
    assert met == ["uml-maple-tree-rcu"]
    assert len(reports.find(MAPLE, "6.1")[0]) == 1
    assert len(reports.find(MAPLE.replace("maple_tree", "other"), "6.1-debug")[0]) == 1


def leak(size, comm):
    return [f"unreferenced object 0x73ec8540 (size {size}):", f'  comm "{comm}", pid 1, jiffies 4294937314',
            "  hex dump (first 16 bytes):", "    66 69 78 65 64 2d 6c 69 6e 6b 00 73 00 00 00 00  fixed-link.s....",
            "  backtrace:"]


def test_each_leak_is_a_report_and_names_of_a_device_tree_are_tolerated():
    log = "[    9.000000] kmemleak: 513 new suspected memory leaks (see /sys/kernel/debug/kmemleak)\n"
    name = leak(16, "swapper")
    assert reports.find(log, "6.1-debug+bypass-1", name * 2) == ([], ["device-tree-names"] * 2)
    for found in (leak(4096, "swapper"), leak(16, "modprobe")):
        bad, met = reports.find(log, "6.1-debug", name + found)
        assert [r.lines for r in bad] == [found] and len(met) == 1
    assert len(reports.find(log, "6.1-debug", ["kmemleak did not scan: Device or resource busy"])[0]) == 1


def test_shell_gives_a_terminal():
    """Its size carries over, what is typed arrives, and the exit code comes back."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 111, 0, 0))
    with subprocess.Popen([PROGRAM, "shell", LAB_KERNEL, "--no-swsim", "--", "sh", "-c",
                           "stty size; test -t 0 && read word && echo got-$word; exit 5"],
                          stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL,
                          env=MARKED) as process:
        os.close(theirs)
        seen = b""
        while b"33 111" not in seen:
            seen += os.read(ours, 1000)
        os.write(ours, b"hello\r")
        while b"got-hello" not in seen:
            seen += os.read(ours, 1000)
        assert process.wait(30) == 5
    os.close(ours)


def test_cache_holds_only_what_was_finished_and_keeps_what_is_used(tmp_path, monkeypatch):
    monkeypatch.setenv("SWD_LAB_CACHE", str(tmp_path))

    def broken(work):
        (work / "half").touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.get("kernel", "k", "1", broken)
    assert list((tmp_path / "kernel").iterdir()) == []
    killed, other = tmp_path / "kernel/tmp.k-9.1", tmp_path / "kernel/tmp.k-b-9.1"
    killed.mkdir()
    other.mkdir()           # of the name k-b, and so not ours
    first = cache.get("kernel", "k", "1", lambda work: (work / "whole").touch())
    assert [p.name for p in first.iterdir()] == ["whole"]
    assert not killed.exists()
    assert other.exists()
    assert cache.get("kernel", "k", "1", broken) == first
    with cache.in_use(first):
        time.sleep(0.02)
        second = cache.get("kernel", "k", "2", lambda work: None)
        assert cache.prune(0) == [second]
    assert cache.prune(0) == [first]


def test_one_builder_at_a_time(tmp_path, monkeypatch):
    """A second one waits for the first, and takes what that made."""
    monkeypatch.setenv("SWD_LAB_CACHE", str(tmp_path))
    made = []

    def make(work):
        time.sleep(0.5)
        made.append(work)

    threads = [threading.Thread(target=cache.get, args=("kernel", "k", "1", make)) for _ in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1


def test_what_a_test_file_asks_for(tmp_path):
    path = tmp_path / "test_x.py"
    path.write_text('LAB = {"variants": ["6.1", "6.1-smp"], "all_variants": ["6.1-debug"]}')
    assert testfile.read(path).boots(False) == ["6.1"]
    assert testfile.read(path).boots(True) == ["6.1", "6.1-smp", "6.1-debug"]
    assert testfile.read(path).can_run_on("6.1-debug") and not testfile.read(path).can_run_on("6.12-debug")
    path.write_text('LAB = {"variants": ["6.12"], "dsa": "4"}')
    assert testfile.read(path).can_run_on("6.12-debug") and not testfile.read(path).can_run_on("6.12-smp")
    path.write_text('LAB = {"variants": ["6.12-smp"], "nics": ["cable,queues=2"]}')
    assert testfile.read(path).can_run_on("6.12-smp") and not testfile.read(path).can_run_on("6.12-debug")
    for nic in ("cable,queues", "cable,queues=0", "cable,queues=two", "cable,sink=yes", "cable,=on"):
        path.write_text(f'LAB = {{"variants": ["6.12-smp"], "nics": ["{nic}"]}}')
        with pytest.raises(LabError, match="--nic"):
            testfile.read(path)
    for wrong in ('LAB = {"variants": ["5.10"]}', 'LAB = {}', 'LAB = {"variant": ["6.1"]}', "",
                  'LAB = {"host": True, "variants": ["6.1"]}', "X = 1; LAB = {'mem': X}"):
        path.write_text(wrong)
        with pytest.raises(LabError):
            testfile.read(path)


@pytest.fixture
def two_ideas(tmp_path, monkeypatch):
    """A series of a kernel with two groups, whose patches are not all in one piece."""
    monkeypatch.setattr(paths, "PATCHES", tmp_path)
    monkeypatch.setattr(paths, "REPO", tmp_path)
    names = ["bypass-1-count.patch", "dsa-index-1-x.patch", "bypass-2-cls_u32-go.patch"]
    for name in names:
        (tmp_path / "6.1").mkdir(exist_ok=True)
        (tmp_path / "6.1" / name).write_text(f"about {name}\n\ndiff --git a b\n+config {name[0]}\n")
    (tmp_path / "6.1/series").write_text("# a word\n" + "\n".join(names) + "\n")
    (tmp_path / "6.1/kconfig").write_text("CONFIG_b=y\nCONFIG_d=y\nCONFIG_STOCK=y\n")
    return tmp_path / "6.1"


@pytest.mark.parametrize("name, kept, options", [
    ("6.1", [], set()),
    ("6.1-swd", ["bypass-1", "dsa-index-1", "bypass-2"], {"b", "d", "STOCK"}),
    ("6.1+bypass", ["bypass-1", "bypass-2"], {"b", "STOCK"}),
    ("6.1+bypass-1", ["bypass-1"], {"b", "STOCK"}),
    ("6.1+dsa-index", ["dsa-index-1"], {"d", "STOCK"}),
    ("6.1-debug+dsa-index-1+bypass-1", ["bypass-1", "dsa-index-1"], {"b", "d", "STOCK"})])
def test_a_kernel_with_a_part_of_the_patches(two_ideas, name, kept, options):
    variant = variants.find(name)
    assert variant.name == name
    assert [p.name.rsplit("-", 1)[0].removesuffix("-cls_u32")
            for p in kernel.patches(variant)] == kept
    assert {o[7:] for o in kernel.options(variant)} & {"b", "d", "STOCK"} == options


@pytest.mark.parametrize("name, base", [
    ("6.1-swd", "6.1"), ("6.1-debug", None), ("6.1+bypass", "6.1"), ("6.1+bypass-1", "6.1"), ("6.1+bypass-2", "6.1+bypass-1"),
    ("6.1-debug+bypass-2", "6.1-debug+bypass-1"), ("6.1-smp+dsa-index+bypass-2", "6.1-smp-stock")])
def test_a_part_starts_from_the_one_before_it(two_ideas, name, base):
    assert variants.find(name).base == base


def test_each_part_is_named(two_ideas):
    assert variants.spread("6.1-debug+each") == ["6.1-debug+bypass-1", "6.1-debug+dsa-index-1", "6.1-debug+bypass-2"]
    assert variants.spread("6.1-swd") == ["6.1-swd"]


@pytest.mark.parametrize("name", ["6.1+bypas", "6.1+bypass-3", "6.1+bypass-0", "6.1+", "6.1+dsa",
                                  "6.1-swd+bypass", "6.12+bypass"])
def test_a_part_that_is_not_there(two_ideas, name):
    with pytest.raises(LabError):
        variants.find(name)


@pytest.mark.parametrize("line", ["0001-x.patch", "bypass-4-x.patch", "bypass-3-gone.patch"])
def test_a_series_that_is_not_in_order(two_ideas, line):
    (two_ideas / "0001-x.patch").touch()
    (two_ideas / "bypass-4-x.patch").touch()
    with open(two_ideas / "series", "a") as out:
        out.write(line + "\n")
    with pytest.raises(LabError):
        series.patches("6.1")


@pytest.mark.parametrize("directory", sorted(paths.PATCHES.iterdir()), ids=lambda d: d.name)
def test_each_patch_is_in_its_series(directory):
    assert sorted(series.patches(directory.name)) == sorted(directory.glob("*.patch"))
