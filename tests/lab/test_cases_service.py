# SPDX-License-Identifier: GPL-2.0-or-later
"""Field cases of the daemon's own files: its socket (SV-01) and its store (SV-11), with the real daemon on real
disks that are full, read-only, broken, locked, or of another version."""
import json
import os
import signal
import socket
import sqlite3
import stat
import subprocess
import time
from pathlib import Path

import pytest

from swdlab import Client, Refusal, Swd
from swsimlab import load, run, tc, unload

LAB = {"variants": ["6.1-swd"], "mem": "512M", "timeout": 1200}

FILE = """version: 1
daemon: { audit: 1s }
ports:
  cpu0: { up: true }
  lan1: { up: true, addresses: [192.0.2.1/24] }
  lan2: { up: true }
vlans:
  lan2.30: { link: lan2, id: 30, addresses: [10.30.0.1/24] }
blocks:
  edge:
    id: 10
    bind: [lan1, lan2]
    tagging: none
    rules:
      - { name: one, match: { dst: 10.10.0.0/16 }, action: drop }
"""
MORE = "      - { name: two, match: { dst: 10.11.0.0/16 }, action: drop }\n"
LEFT = ("lan1", "lan2")


@pytest.fixture(scope="module", autouse=True)
def fixture_hardware():
    load(ports=2)
    yield
    unload()


def shown():
    done = run("tc", "-j", "filter", "show", "block", "10", check=False)
    said = json.loads(done.stdout.strip() or "[]") if done.returncode == 0 else []
    return sorted(json.dumps([f["pref"], f["options"]["handle"], f["options"]["keys"], f["options"].get("in_hw")])
                  for f in said if {"in_hw", "not_in_hw"} & set(f.get("options", {})) and f["kind"] == "flower")


def clean():
    tc(*[f"qdisc del dev {name} clsact" for name in LEFT], force=True)
    run("ip", "-force", "-batch", "-", check=False,
        text="".join(f"addr flush dev {name}\n" for name in LEFT) + "link del lan2.30\n")


class Disk:
    """A small disk of its own for the state."""

    def __init__(self, place, size="2m"):
        self.place = place
        place.mkdir()
        run("mount", "-t", "tmpfs", "-o", f"size={size}", "swd", str(place))

    def fill(self, leave=0):
        """Until nothing fits, but for so many pages."""
        with open(self.place / "fill", "ab", buffering=0) as out:
            try:
                while True:
                    out.write(b"x" * 4096)
            except OSError:
                pass
        size = (self.place / "fill").stat().st_size
        os.truncate(self.place / "fill", max(0, size - 4096 * leave))

    def drain(self):
        (self.place / "fill").unlink()


@pytest.fixture(name="disk")
def fixture_disk(tmp_path):
    clean()
    disk = Disk(tmp_path / "disk")
    yield disk
    clean()
    while run("umount", "-l", str(disk.place), check=False).returncode == 0:
        pass


@pytest.fixture(name="swd")
def fixture_swd(disk):
    swd = Swd(disk.place, FILE)
    swd.until(lambda: swd.status()["generation"] == 1, "the first apply", 20)
    swd.settle(20)
    yield swd
    if swd.process.poll() is None:
        assert swd.stop() == 0, swd.log.read_text()[-4000:]


def db(swd):
    return swd.folder / "state/swd.db"


def aside(swd):
    return sorted(p.name for p in db(swd).parent.glob("swd.db.*") if not p.name.endswith(("-wal", "-shm")))


def alert(swd, name="store"):
    found = [a["text"] for a in swd.status()["alerts"] if a["id"] == name]
    return found[0] if found else None


def sent(swd):
    """Changes sent to the kernel since the start."""
    return swd.status()["counts"]["messages"]


def kill_and(swd, change=lambda: None):
    """kill -9, a change of the files, and a start. Returns how many changes it sent to the kernel."""
    swd.stop(signal.SIGKILL)
    change()
    swd.start()
    swd.settle(20)
    return sent(swd)


def refused(swd, text, words, **more):
    """The apply is refused, and nothing of it was sent."""
    count, before = sent(swd), shown()
    with pytest.raises(Refusal) as caught:
        swd.call("Apply", text=text, **more)
    said = caught.value.parameters
    assert words in said["diags"][0]["text"], said
    assert swd.status()["last_outcome"] == "refused" and sent(swd) == count and shown() == before
    return said


def applied(swd, text):
    """The apply is done, and nothing is wrong with the store."""
    generation = swd.call("Apply", text=text)["generation"]
    return generation == swd.status()["generation"] and swd.status()["last_outcome"] == "done" and not alert(swd)


def flip(path, offset, count=64):
    """Other bytes than were there."""
    with open(path, "r+b") as file:
        file.seek(offset)
        was = file.read(count)
        assert len(was) == count
        file.seek(offset)
        file.write(bytes(b ^ 0xff for b in was))


def at_rest(swd, seconds=2.5):
    """Over some audits nothing is tried again and again: no file made, no change sent, little said."""
    files, counts, log = aside(swd), swd.status()["counts"]["messages"], swd.log.stat().st_size
    time.sleep(seconds)
    assert aside(swd) == files and swd.status()["counts"]["messages"] == counts
    assert swd.log.stat().st_size - log < 300, swd.log.read_text()[-1000:]


# ---- SV-11: full ----

def test_sv_11_full_in_mid_transaction(disk, swd):
    """The text alone is more than there is room for: the transaction has begun, and can't end."""
    disk.fill(leave=20)
    said = refused(swd, FILE + MORE + "#" * 900000 + "\n", "can't be written")
    assert "No space left" in said["diags"][0]["text"] and "No space left" in alert(swd)
    at_rest(swd)
    disk.drain()
    assert swd.call("Apply", text=FILE + MORE)["generation"] == 2
    assert not alert(swd) and len(shown()) == 2
    assert not kill_and(swd, lambda: swd.file.write_text(FILE + MORE)) and swd.status()["generation"] == 2
    assert not aside(swd)


def test_sv_11_full_at_any_page(disk, swd):
    """With room for no page, one, two, and so on: each apply is refused before the first change, or done and told;
    what was told as done is there after kill -9."""
    outcomes, unnoted, texts = [], 0, [FILE + MORE, FILE]
    for leave in range(0, 40, 2):
        disk.fill(leave)
        text = texts[0] + f"# {leave}" + "x" * 20000 + "\n"
        count, before = sent(swd), shown()
        try:
            generation = swd.call("Apply", text=text)["generation"]
            outcomes.append(True)
            texts.reverse()
            assert sent(swd) > count and shown() != before
            # It may be done and there is no room to note that: then the next start calls it by another number.
            unnoted += bool(alert(swd))
            generation += bool(alert(swd))
        except Refusal:
            outcomes.append(False)
            assert swd.status()["last_outcome"] == "refused"
            assert sent(swd) == count and shown() == before and alert(swd)
            generation = swd.status()["generation"]
        disk.drain()
        if outcomes[-1]:
            swd.file.write_text(text)
            assert not kill_and(swd) and swd.status()["generation"] == generation, f"{leave} pages"
    print(f"refused with less than {2 * outcomes.index(True)} pages; {unnoted} were done and could not be noted")
    assert True in outcomes and outcomes[0] is False, outcomes
    assert not aside(swd)


def test_sv_11_full_at_the_start(disk, swd):
    """The file comes into force; applies are refused until there is room, and then are not."""
    assert swd.stop() == 0
    assert not list(db(swd).parent.glob("swd.db-*")), "SQLite has a log to make"
    disk.fill()
    before = shown()
    swd.start()
    swd.settle(20)
    assert shown() == before and swd.status()["last_outcome"] == "done"
    assert alert(swd), swd.status()["alerts"]
    refused(swd, FILE + MORE, "can't be written")
    at_rest(swd)
    disk.drain()
    assert applied(swd, FILE + MORE) and len(shown()) == 2
    assert not aside(swd)
    # What was swd's before is swd's still.
    swd.apply("version: 1\n")
    swd.settle()
    assert not shown() and "192.0.2.1" not in run("ip", "addr", "show", "lan1").stdout
    assert "lan2.30" not in run("ip", "link").stdout


# ---- SV-11: broken ----

@pytest.mark.parametrize("where", ["header", "page 1", "middle", "end"])
def test_sv_11_flipped_bytes(swd, where):
    """The file is moved aside once, as it is and with the time in its name, and another begun, of what the kernel
    holds; the alert says it."""
    swd.apply(FILE + MORE + "#" * 60000 + "\n")
    assert swd.stop() == 0
    size = db(swd).stat().st_size
    assert size > 60000
    flip(db(swd), {"header": 0, "page 1": 100, "middle": size // 2 // 4096 * 4096, "end": size - 4096}[where], 400)
    broken, before, start = db(swd).read_bytes(), shown(), int(time.time())
    swd.start()
    swd.settle(20)
    if where == "end" and not aside(swd):
        pytest.fail("the last page is one of the text, and nobody saw that it is broken")
    assert len(aside(swd)) == 1 and start <= int(aside(swd)[0].split("corrupt-")[1]) <= time.time()
    moved = db(swd).parent / aside(swd)[0]
    assert moved.read_bytes() == broken
    assert moved.name in alert(swd, "store-rebuilt") and "corrupt" in alert(swd, "store-rebuilt")
    assert sent(swd) == 0 and shown() == before, "what is in the kernel was as the file says"
    at_rest(swd)
    assert swd.status()["generation"] == 1 and not alert(swd)
    # Again: it is a good one now.
    assert not kill_and(swd) and not alert(swd, "store-rebuilt")
    assert len(aside(swd)) == 1 and moved.read_bytes() == broken
    # And swd knows for its own what the kernel and the file both had.
    swd.apply("version: 1\n")
    swd.settle()
    assert not shown() and "192.0.2.1" not in run("ip", "addr", "show", "lan1").stdout
    assert "lan2.30" not in run("ip", "link").stdout
    assert "clsact" not in run("tc", "qdisc", "show").stdout


def test_sv_11_broken_while_it_runs(swd):
    """An apply that meets the damage is refused; the next start begins anew, once."""
    swd.apply(FILE + MORE + "#" * 60000 + "\n")
    swd.call("Apply", text=FILE)
    with sqlite3.connect(db(swd)) as other:
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    other.close()
    flip(db(swd), 4096, db(swd).stat().st_size - 4096)
    before = shown()
    try:
        swd.call("Apply", text=FILE + MORE)
        met = False
    except Refusal as refusal:
        met = True
        assert swd.status()["last_outcome"] == "refused" and shown() == before, refusal
        assert alert(swd)
    at_rest(swd)
    assert not aside(swd), "nothing is moved under a running daemon"
    swd.file.write_text(FILE)
    kill_and(swd)
    assert len(shown()) == 1 and len(aside(swd)) == 1
    kill_and(swd)
    assert len(aside(swd)) == 1
    print("the apply met the damage" if met else "the apply did not meet the damage")


def test_sv_11_wal_deleted_while_swd_is_away(swd):
    """What was in it is lost; what the file has is whole, or is begun anew, and the kernel as the file says."""
    swd.apply(FILE + MORE)
    count = kill_and(swd, (db(swd).parent / "swd.db-wal").unlink)
    assert count == 0 and len(shown()) == 2 and swd.status()["last_outcome"] == "done"
    assert len(aside(swd)) <= 1
    at_rest(swd)
    kept = aside(swd)
    assert not kill_and(swd) and aside(swd) == kept and not alert(swd) and not alert(swd, "store-rebuilt")


def test_sv_11_wal_deleted_under_a_running_swd(swd):
    """What is answered is on the disk all the same: here a deadline, which a start has to keep."""
    for name in ("swd.db-wal", "swd.db-shm"):
        (db(swd).parent / name).unlink()
    before = shown()
    assert swd.call("Apply", text=FILE + MORE, confirm_ms=60000)["generation"] == 2
    assert len(shown()) == 2
    kill_and(swd)
    assert swd.status()["deadline"] and swd.status()["deadline"]["generation"] == 2, swd.status()
    assert len(shown()) == 2
    swd.call("Revert")
    swd.settle()
    assert shown() == before
    assert not aside(swd)


def test_sv_11_file_deleted_under_a_running_swd(swd):
    """Nothing is written into a file that has no name."""
    db(swd).unlink()
    refused(swd, FILE + MORE, "can't be written")
    assert alert(swd)
    at_rest(swd)
    kill_and(swd)
    assert applied(swd, FILE + MORE) and len(shown()) == 2


# ---- SV-11: not to be written ----

def test_sv_11_mode_444(swd):
    """root writes what it likes, so here it may not: without the capability that makes it so."""
    assert swd.stop() == 0
    db(swd).chmod(0o444)
    was = db(swd).read_bytes()
    out = open(swd.log, "ab")
    swd.process = subprocess.Popen(
        ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search",
         swd.program, "--config", swd.file, "--socket", swd.socket, "--state", db(swd).parent], stdout=out, stderr=out)
    swd.client = swd.connect()
    swd.until(lambda: swd.status()["snapshot"] > 0 and swd.status()["last_outcome"] == "done", "a start", 20)
    assert "ead-only" in alert(swd) or "ermission" in alert(swd), alert(swd)
    refused(swd, FILE + MORE, "can't be written")
    at_rest(swd)
    assert db(swd).read_bytes() == was and not aside(swd)
    # Mended, without a restart.
    db(swd).chmod(0o600)
    assert applied(swd, FILE + MORE)


def test_sv_11_read_only_disk(swd):
    assert swd.stop() == 0
    was = db(swd).read_bytes()
    state = str(db(swd).parent)
    run("mount", "--bind", state, state)
    run("mount", "-o", "remount,bind,ro", state)
    try:
        swd.start()
        swd.until(lambda: swd.status()["last_outcome"] == "done", "a start", 20)
        assert alert(swd)
        refused(swd, FILE + MORE, "can't be written")
        at_rest(swd)
        assert db(swd).read_bytes() == was and not aside(swd)
        swd.stop()
    finally:
        run("umount", "-l", state)
    swd.start()
    assert applied(swd, FILE + MORE)


def test_sv_11_of_a_newer_version(swd):
    """It is left as it is, byte for byte."""
    assert swd.stop() == 0
    with sqlite3.connect(db(swd)) as other:
        version = other.execute("PRAGMA user_version").fetchone()[0]
        other.execute(f"PRAGMA user_version = {version + 1}")
    other.close()
    was, before = db(swd).read_bytes(), shown()
    for _ in range(3):
        swd.start()
        swd.settle(20)
        assert "newer" in alert(swd) and swd.status()["last_outcome"] == "done" and shown() == before
        refused(swd, FILE + MORE, "can't be written")
        at_rest(swd)
        assert swd.stop() == 0
        assert db(swd).read_bytes() == was and not aside(swd)


def test_sv_11_locked_by_another(swd):
    """Refused after a second; and fine when the other has ended. The same at the start."""
    other = sqlite3.connect(db(swd), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    start = time.monotonic()
    refused(swd, FILE + MORE, "can't be written")
    assert time.monotonic() - start < 3 and alert(swd)
    at_rest(swd)
    other.execute("ROLLBACK")
    assert applied(swd, FILE + MORE)
    other.close()
    swd.file.write_text(FILE + MORE)
    swd.stop()

    other = sqlite3.connect(db(swd), isolation_level=None)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    before = shown()
    swd.start()
    swd.settle(30)
    assert swd.status()["last_outcome"] == "done" and alert(swd) and shown() == before
    refused(swd, FILE, "can't be written")
    other.execute("ROLLBACK")
    other.close()
    assert applied(swd, FILE) and len(shown()) == 1
    assert not aside(swd)


# ---- SV-01 ----

def start_another(swd, **more):
    words = {"config": swd.file, "socket": swd.socket, "state": db(swd).parent, **more}
    return subprocess.Popen([swd.program, *[w for k, v in words.items() for w in (f"--{k}", str(v))]],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def ends_with(process, words):
    out, _ = process.communicate(timeout=20)
    assert process.returncode == 1 and words in out, out


def test_sv_01_killed_and_started(swd):
    """What a dead one left is cleared away."""
    for _ in range(5):
        swd.stop(signal.SIGKILL)
        assert stat.S_ISSOCK(swd.socket.lstat().st_mode)
        with pytest.raises(ConnectionRefusedError):
            Client(swd.socket)
        swd.start()
        assert swd.status()["generation"] == 1


def test_sv_01_a_stopped_owner_is_an_owner(swd):
    """It does not answer, and is not dead: neither its socket nor its state is taken."""
    inode = swd.socket.lstat().st_ino
    swd.process.send_signal(signal.SIGSTOP)
    try:
        ends_with(start_another(swd), "held by another swd")
        ends_with(start_another(swd, state=swd.folder / "other"), "another swd owns it")
        # And with its lock's file gone, for whoever can make such a mess: somebody listens, so it stays.
        swd.socket.with_name(swd.socket.name + ".lock").unlink()
        ends_with(start_another(swd, state=swd.folder / "other"), "someone else listens on it")
        # Its backlog runs full.
        waiting = []
        while True:
            one = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            one.setblocking(False)
            try:
                one.connect(str(swd.socket))
            except BlockingIOError:
                break
            finally:
                waiting.append(one)
        ends_with(start_another(swd, state=swd.folder / "other"), "someone else listens on it")
        for one in waiting:
            one.close()
    finally:
        swd.process.send_signal(signal.SIGCONT)
    assert swd.socket.lstat().st_ino == inode

    def answers():
        try:
            return Client(swd.socket).call("Status")["generation"] == 1
        except BlockingIOError:     # its backlog is full for a moment still
            return False
    swd.until(answers, "an answer", 20)


def test_sv_01_what_is_no_socket_stays(swd):
    swd.stop()
    for make in (lambda p: p.write_text("kept"), Path.mkdir, lambda p: p.symlink_to(swd.file), os.mkfifo,
                 lambda p: p.symlink_to("/nowhere")):
        make(swd.socket)
        before = swd.socket.lstat()
        ends_with(start_another(swd), "no socket, and stays")
        after = swd.socket.lstat()
        assert (after.st_ino, after.st_mode, after.st_size) == (before.st_ino, before.st_mode, before.st_size)
        swd.socket.rmdir() if stat.S_ISDIR(after.st_mode) else swd.socket.unlink()
    assert swd.file.read_text() == FILE
    swd.start()


def test_sv_01_two_at_once(swd):
    """100 times two daemons over one state and one socket: one runs, the other says why it does not, and the
    socket is the one's that runs. Every other time the last owner was killed."""
    for i in range(100):
        swd.stop(signal.SIGKILL if i % 2 else signal.SIGTERM)
        pair = [start_another(swd), start_another(swd)]
        end = time.monotonic() + 20
        while all(p.poll() is None for p in pair):
            assert time.monotonic() < end, "both run"
            time.sleep(0.005)
        loser = pair[0] if pair[0].poll() is not None else pair[1]
        winner = pair[0] if loser is pair[1] else pair[1]
        ends_with(loser, "another swd")
        assert winner.poll() is None, winner.communicate()
        swd.process = winner
        swd.client = swd.connect()
        credentials = swd.client.sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        assert int.from_bytes(credentials[:4], "little") == winner.pid
        mode = swd.socket.lstat()
        assert stat.S_IMODE(mode.st_mode) == 0o666 and mode.st_uid == 0
        winner.stdout.close()
    swd.stop(signal.SIGKILL)
    swd.start()
    swd.settle(20)
