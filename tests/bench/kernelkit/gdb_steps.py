# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs inside gdb, on a kernel that is a program (User-mode Linux): steps through calls of one function, and
prints for each a JSON line with the instructions and with the cache lines that they read or wrote outside
of the stack. STEPS_FUNCTION and STEPS_CALLS name it and say how many; without STEPS_LINES no lines are
looked for, which makes it several times faster.
"""
import json
import os
import re

import gdb      # pylint: disable=import-error

LINE = 64
STACK = 4096    # below the caller's place: the function's own
MOST = 20000    # instructions of a call
OPERAND = re.compile(r"(?:%\ws:)?(-?0x[0-9a-f]+)?\((%\w+)?(?:,(%\w+)(?:,(\d))?)?\)")
TOUCHES_NOTHING = ("lea", "nop")
INTERRUPTS = ("SIGALRM", "SIGIO")


def register(name):
    return int(gdb.parse_and_eval(f"(unsigned long) ${name.lstrip('%')}"))


def address(operand):
    offset, base, index, scale = operand.groups()
    found = int(offset or "0", 16)
    found += register(base) if base else 0
    found += register(index) * int(scale or 1) if index else 0
    return found % (1 << 64)


def interrupts(how):
    for name in INTERRUPTS:
        gdb.execute(f"handle {name} nostop noprint {how}", to_string=True)


def line_touched(stack):
    """The cache line that the next instruction touches outside of the stack, or None."""
    text = gdb.execute("x/i $pc", to_string=True).split(":", 1)[1].strip()
    operand = OPERAND.search(text)
    if not operand or text.startswith(TOUCHES_NOTHING):
        return None
    place = address(operand)
    return None if stack - STACK <= place < stack + LINE else place // LINE


def call(with_lines):
    """Stands at the function's first instruction, and goes to its last."""
    stack = register("rsp")
    back = int(gdb.parse_and_eval("*(unsigned long *) $rsp"))
    instructions, lines = 0, set()
    while register("rip") != back and instructions < MOST:
        if with_lines:
            lines.add(line_touched(stack))
        gdb.execute("stepi", to_string=True)
        instructions += 1
    return {"instr": instructions, **({"lines": len(lines - {None})} if with_lines else {})}


def main():
    gdb.execute("set pagination off")
    gdb.execute("set confirm off")
    for name in ("SIGVTALRM", "SIGWINCH", "SIGUSR1", "SIGUSR2", "SIGCHLD", "SIGSEGV"):
        gdb.execute(f"handle {name} nostop noprint pass", to_string=True)
    gdb.Breakpoint(f"*{os.environ['STEPS_FUNCTION']}")
    for _ in range(int(os.environ["STEPS_CALLS"])):
        interrupts("pass")
        gdb.execute("continue", to_string=True)
        interrupts("nopass")        # a step should not be one into their handlers
        print("STEPS " + json.dumps(call("STEPS_LINES" in os.environ)))
    interrupts("pass")
    gdb.execute("delete")
    gdb.execute("detach")
    gdb.execute("quit")


main()
