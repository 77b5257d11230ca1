# SPDX-License-Identifier: GPL-2.0-or-later
"""Terminals that pass every byte: the user's while a guest's shell has it, and the guest's."""
import contextlib
import termios
import tty


def make_raw(fd: int):
    tty.setraw(fd, termios.TCSANOW)


@contextlib.contextmanager
def raw(fd: int):
    """The terminal FD is raw while this holds, and as before afterwards."""
    before = termios.tcgetattr(fd)
    try:
        make_raw(fd)
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)
