# SPDX-License-Identifier: GPL-2.0-or-later
"""Steps through calls of a function of a process, a kernel that is a program (User-mode Linux), by ptrace: how
many instructions a call is, and which cache lines they read or write outside of the stack. What an instruction
touches is told by objdump. For x86-64.
"""
import ctypes
import functools
import os
import re
import signal
import subprocess

LINE = 64
STACK = 4096    # below the caller's place: the function's own
MOST = 100000   # instructions of a call
WALL = 0x40000000
PEEK, POKE, CONT, STEP, GETREGS, SETREGS, ATTACH, DETACH = 1, 4, 7, 9, 12, 13, 16, 17
INT3 = 0xcc
# In the order of user_regs_struct (sys/user.h).
REGISTERS = ("r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base "
             "gs_base ds es fs gs").split()
OPERAND = re.compile(r"(?:%\ws:)?(-?0x[0-9a-f]+)?\((%\w+)?(?:,(%\w+)(?:,(\d))?)?\)")
TOUCHES_NOTHING = ("lea", "nop")
INTERRUPTS = (signal.SIGALRM, signal.SIGIO)     # a step should not be one into their handlers

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p
libc.ptrace.restype = ctypes.c_long


@functools.cache
def code(program):
    """({name: address of a function}, {address: (operand, the address it names by itself)}) of all that touches
    memory."""
    shown = subprocess.run(["objdump", "-d", "--no-show-raw-insn", program], capture_output=True, text=True,
                           check=True).stdout
    functions = {name: int(place, 16) for place, name in re.findall(r"^([0-9a-f]+) <(\S+)>:$", shown, re.M)}
    operands = {}
    for line in shown.splitlines():
        place, _, text = line.partition(":\t")
        found = OPERAND.search(text)
        if found and not text.startswith(TOUCHES_NOTHING):
            named = re.search(r"# ([0-9a-f]+)", text)
            operands[int(place, 16)] = found, named and int(named[1], 16)
    return functions, operands


class Traced:
    """Process PID, which stands still but for what is asked of it."""

    def __init__(self, pid, program):
        self.pid = pid
        self.functions, self.operands = code(program)

    def __enter__(self):
        self._ask(ATTACH)
        os.waitpid(self.pid, WALL)
        return self

    def __exit__(self, *_):
        self._ask(DETACH)

    def _ask(self, request, where=0, what=0):
        ctypes.set_errno(0)
        found = libc.ptrace(request, self.pid, where, what)
        if ctypes.get_errno():
            raise OSError(ctypes.get_errno(), f"ptrace {request}: {os.strerror(ctypes.get_errno())}")
        return found

    def _registers(self):
        found = (ctypes.c_ulong * len(REGISTERS))()
        self._ask(GETREGS, 0, ctypes.addressof(found))
        return dict(zip(REGISTERS, found, strict=True))

    def _go(self, request, held=()):
        """Until it stops for a trap; its signals reach it, but for those HELD."""
        what = 0
        while True:
            self._ask(request, 0, what)
            _, status = os.waitpid(self.pid, WALL)
            if not os.WIFSTOPPED(status):
                raise ProcessLookupError(f"{self.pid} has ended")
            what = os.WSTOPSIG(status)
            if what == signal.SIGTRAP:
                return
            what = 0 if what in held else what

    def _run_to(self, place):
        """Stands before the instruction there when it is about to be run."""
        was = self._ask(PEEK, place)
        self._ask(POKE, place, (was & ~0xff | INT3) & (1 << 64) - 1)
        try:
            self._go(CONT)
        finally:
            self._ask(POKE, place, was & (1 << 64) - 1)
        found = self._registers()
        found["rip"] = place
        regs = (ctypes.c_ulong * len(REGISTERS))(*found.values())
        self._ask(SETREGS, 0, ctypes.addressof(regs))

    def _line(self, regs, stack):
        """The cache line that the next instruction touches outside of the stack, or None."""
        operand, place = self.operands.get(regs["rip"], (None, None))
        if operand is None:
            return None
        if place is None:
            offset, base, index, scale = operand.groups()
            place = int(offset or "0", 16)
            place += regs[base[1:]] if base else 0
            place += regs[index[1:]] * int(scale or 1) if index else 0
            place %= 1 << 64
        return None if stack - STACK <= place < stack + LINE else place // LINE

    def call(self, function):
        """{"instr", "lines"} of the next call of FUNCTION."""
        self._run_to(self.functions[function])
        regs = self._registers()
        stack, back = regs["rsp"], self._ask(PEEK, regs["rsp"]) % (1 << 64)
        instructions, lines = 0, set()
        while regs["rip"] != back and instructions < MOST:
            lines.add(self._line(regs, stack))
            self._go(STEP, held=INTERRUPTS)
            regs = self._registers()
            instructions += 1
        return {"instr": instructions, "lines": len(lines - {None})}
