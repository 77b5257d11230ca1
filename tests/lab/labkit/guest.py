# SPDX-License-Identifier: GPL-2.0-or-later
"""Boots a guest, carries its output, and says how it ended."""
import contextlib
import os
import select
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from . import cache, job as jobs, machine, modules, programs, progress, reports, terminal, virtionet
from .kernel import Kernel, build
from .paths import LabError
from .variants import Variant

KERNEL_REPORT, TIMED_OUT, DIED, STOPPED = 99, 124, 98, 130
GRACE = 15          # seconds from the command's end to the guest's


@dataclass
class Run:
    variant: Variant
    job: jobs.Job
    memory: str = None
    timeout: float = 600
    dtb: Path = None
    keep_log: Path = None       # where the kernel's log is left, if anywhere
    verbose: bool = False
    swsim: bool = True
    modules: list = field(default_factory=list)     # directories of further modules to build
    nics: list = field(default_factory=list)        # virtionet.Nic, in the guest's order
    # The one it stays on: a guest of one CPU loses time where it moves to and fro. QEMU's have two, and do not.
    cpu: int = None


@dataclass
class _Outcome:
    code: int = None            # the command's, once the guest has told it
    booted: float = None        # seconds until the command started
    leaks: list = field(default_factory=list)
    timed_out: bool = False
    stopped: int = None         # the signal that ended us


class _Stop(Exception):
    def __init__(self, number):
        super().__init__(number)
        self.number = number


def _raise_stop(number, _frame):
    raise _Stop(number)


class _Control:
    """What init says, line by line."""

    def __init__(self, outcome, start):
        self.outcome = outcome
        self.start = start
        self.rest = b""

    def feed(self, data):
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            word, _, value = line.decode(errors="replace").partition(" ")
            if word == "up":
                self.outcome.booted = time.monotonic() - self.start
            elif word == "exit":
                self.outcome.code = int(value)
            elif word == "leak":
                self.outcome.leaks.append(value)


def _write_all(fd, data):
    while data:
        data = data[os.write(fd, data):]


def _carry(process, readers: dict, outcome: _Outcome, control: _Control, deadline: float):
    """Copies until the guest is gone, and sets outcome.timed_out when it had to be ended."""
    selector = selectors.DefaultSelector()
    for name, fd in readers.items():
        selector.register(fd, selectors.EVENT_READ, name)
    while True:
        for key, _ in selector.select(0.05):
            data = os.read(key.fd, 65536)
            if not data:
                selector.unregister(key.fd)
            elif key.data == "ctl":
                control.feed(data)
            else:
                _write_all({"out": 1, "err": 2}[key.data], data)
        if outcome.code is not None:
            deadline = min(deadline, time.monotonic() + GRACE)
        gone = process.poll() is not None
        if gone and not any(k for k, _ in selector.select(0)):
            return
        if not selector.get_map():
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                pass
        if not gone and time.monotonic() > deadline:
            outcome.timed_out = outcome.code is None
            return


def _end(process):
    """The cage dies with its namespace; its group is for hosts where it could make none."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


@contextlib.contextmanager
def _monitor(run: Run):
    """{"monitor": descriptor}, from which QEMU reads what it is to do first, or {} if that is nothing."""
    said = virtionet.commands(run.nics)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(said)
        yield {"monitor": theirs.fileno()} if said else {}


def _start(run: Run, kernel: Kernel, private: Path, fds: dict, log) -> subprocess.Popen:
    tools = programs.build()
    (private / "mem").mkdir()
    run_kind = kernel.variant.machine
    devices = dict(machine.DEVICES[run_kind])
    if "tty" in fds:
        devices["out"] = "/dev/hvc0" if run_kind == "x86" else devices["out"]
        devices.pop("err")
    jobs.write(run.job, devices, machine.SHARE_FS[run_kind], private / "job")
    command = [str(tools / "cage"), "--tmpfs", str(private / "mem")]
    for path in run.job.share:
        command += ["--rw", str(path)]
    init = [f"init={tools / 'init'}", f"lab.job={private / 'job'}"]
    env = dict(os.environ, TMPDIR=str(private / "mem"))
    for path in run.job.share if run.nics else ():
        virtionet.forget(path)
    command += ["--", *machine.command(kernel, run.memory or kernel.variant.memory, fds, private,
                                       init, run.dtb, run.job.share, run.nics)]
    stays = run.cpu is not None and kernel.variant.machine == "um"
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env,
                            pass_fds=list(fds.values()), start_new_session=True,
                            preexec_fn=lambda: stays and os.sched_setaffinity(0, {run.cpu}))


def _carry_terminal(process, ours: int, outcome: _Outcome, control: _Control, ctl: int):
    """Connects the user's terminal, made raw, to the guest's until the guest is gone."""
    fds = {0: ours, ours: 1, ctl: None}
    with terminal.raw(0):
        while process.poll() is None and outcome.code is None:
            ready, _, _ = select.select(list(fds), [], [], 0.2)
            for fd in ready:
                try:
                    data = os.read(fd, 65536)
                except OSError:         # the guest closed its side of the terminal
                    data = b""
                if not data:
                    del fds[fd]
                elif fd == ctl:
                    control.feed(data)
                else:
                    _write_all(fds[fd], data)
        try:
            process.wait(GRACE)
        except subprocess.TimeoutExpired:
            pass


def _shell_in(run: Run, kernel: Kernel, private: Path) -> tuple:
    """Like _run_in(), for a guest with a terminal."""
    outcome = _Outcome()
    ours, theirs = os.openpty()
    terminal.make_raw(theirs)
    reader, writer = os.pipe()
    log_path = private / "console"
    with open(log_path, "wb") as log, _monitor(run) as monitor:
        start = time.monotonic()
        process = _start(run, kernel, private, {"tty": theirs, "ctl": writer, **monitor}, log)
        os.close(writer)
        try:
            _carry_terminal(process, ours, outcome, _Control(outcome, start), reader)
        except _Stop as stop:
            outcome.stopped = stop.number
        finally:
            _end(process)
            for fd in (ours, theirs, reader):
                os.close(fd)
    return outcome, log_path.read_text(errors="replace")


def _run_in(run: Run, kernel: Kernel, private: Path) -> tuple:
    """Returns the outcome and the kernel's log."""
    outcome = _Outcome()
    pipes = {name: os.pipe() for name in ("out", "err", "ctl")}
    log_path = private / "console"
    with open(log_path, "wb") as log, _monitor(run) as monitor:
        start = time.monotonic()
        process = _start(run, kernel, private, {n: w for n, (_, w) in pipes.items()} | monitor, log)
        for _, writer in pipes.values():
            os.close(writer)
        readers = {name: reader for name, (reader, _) in pipes.items()}
        try:
            _carry(process, readers, outcome, _Control(outcome, start), start + run.timeout)
        except _Stop as stop:
            outcome.stopped = stop.number
        except BrokenPipeError:
            outcome.stopped = signal.SIGPIPE
        finally:
            _end(process)
            for reader in readers.values():
                os.close(reader)
    return outcome, log_path.read_text(errors="replace")


def _judge(run: Run, outcome: _Outcome, log: str) -> int:
    """Prints what went wrong beside the command, and returns the lab's exit code."""
    bad, met = reports.find(log, run.variant.name, outcome.leaks)
    for report in bad:
        print(f"\nlab: the kernel reports:\n{report.text}", file=sys.stderr)
    if run.verbose:
        for name in sorted(set(met)):
            progress.say(f"tolerated: {name}, {met.count(name)} times")
        if outcome.booted is not None:
            progress.say(f"{run.variant.name}: the command started after {outcome.booted:.2f} s")
    if outcome.stopped:
        return 128 + outcome.stopped
    if outcome.timed_out:
        progress.say(f"the guest was ended after {run.timeout:g} s")
        return KERNEL_REPORT if bad else TIMED_OUT
    if bad:
        progress.say("the run fails because of what the kernel reports")
        return KERNEL_REPORT
    if outcome.code is None:
        tail = "\n".join(log.splitlines()[-25:])
        print(f"\nlab: the guest ended without an exit code; its last words:\n{tail}",
              file=sys.stderr)
        return DIED
    return outcome.code


def prepare(variant: Variant, swsim=True, further=()) -> tuple:
    """What a guest of VARIANT needs, from the cache: its kernel and the entry of its modules."""
    kernel = build(variant)
    programs.build()
    return kernel, modules.build(kernel, swsim, further)


def run(run: Run) -> int:
    """Runs the job in a guest; returns the exit code of the lab."""
    kernel, entry = prepare(run.variant, run.swsim, run.modules)
    run.job.modules = entry / "lib/modules" / kernel.release
    run.job.leaks = run.variant.leaks
    old = {s: signal.signal(s, _raise_stop) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    private = Path(tempfile.mkdtemp(prefix="swd-lab-"))
    try:
        with cache.in_use(kernel.entry, entry, programs.build()):
            carry = _shell_in if run.job.mode == "shell" else _run_in
            outcome, log = carry(run, kernel, private)
        if run.keep_log:
            shutil.copy(private / "console", run.keep_log)
        return _judge(run, outcome, log)
    except _Stop as stop:
        return 128 + stop.number
    finally:
        shutil.rmtree(private, ignore_errors=True)
        for number, handler in old.items():
            signal.signal(number, handler)
