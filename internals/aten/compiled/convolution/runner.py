"""All layers of a network in one call of machine code.

Handing out work from Python costs some ten microseconds a layer, as long as a small layer takes. So
the steps are given to machine code as a table, with (function, arguments, items of work, items to
take at a time) in each row. Every thread goes through the table: it takes items of a step, by
adding to the step's first counter, until there are none left, and goes on when the second counter
says that all are done. A thread that comes late finds the first steps done and helps with the
others. To the pool of threads this is a job of as many parts as there are threads, and each part
goes through the whole table.

A thread that waits reads the counter again and again, since waking up takes longer than a layer.
Every 4096 times it lets others run (`sched_yield`), in case there are fewer processors than
threads.

How the real one differs: PyTorch goes back to the interpreter after every operator; its threads are
OpenMP's, which wait the same way.
"""

from __future__ import annotations

import ctypes
import struct
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from internals.machine_code.entry import Entry
from internals.machine_code.llvm import entry_from_ir
from internals.machine_code.pool import TAKE_PARTS

from .buffers import address_of

# In C, with `next` and `done` the two counters of step i:
#     for (i = 0; i < steps; i++) {
#         take_parts(&next, &done, items, size, function, arguments);
#         for (looks = 1; done < items; looks++)                   the blocks look, again, leave
#             if (looks % 4096 == 0 && let_others) let_others();
#     }
# `done` is read with an atomic load: else LLVM could read it once and wait forever.
TEXT = """
define void @run_steps(i64 %begin_of_range, i64 %end_of_range, ptr %slots) {
entry:
  %slot1 = getelementptr i64, ptr %slots, i64 1
  %slot2 = getelementptr i64, ptr %slots, i64 2
  %slot3 = getelementptr i64, ptr %slots, i64 3
  %table = load ptr, ptr %slots
  %steps = load i64, ptr %slot1
  %counters = load ptr, ptr %slot2
  %let_others = load ptr, ptr %slot3
  %cannot = icmp eq ptr %let_others, null
  br label %step
step:
  %i = phi i64 [ 0, %entry ], [ %following, %finished ]
  %row = mul i64 %i, 4
  %place0 = getelementptr i64, ptr %table, i64 %row
  %place1 = getelementptr i64, ptr %place0, i64 1
  %place2 = getelementptr i64, ptr %place0, i64 2
  %place3 = getelementptr i64, ptr %place0, i64 3
  %function = load ptr, ptr %place0
  %arguments = load ptr, ptr %place1
  %items = load i64, ptr %place2
  %size = load i64, ptr %place3
  %pair = mul i64 %i, 2
  %next = getelementptr i64, ptr %counters, i64 %pair
  %done = getelementptr i64, ptr %next, i64 1
  call void @take_parts(ptr %next, ptr %done, i64 %items, i64 %size, ptr %function, ptr %arguments)
  br label %look
look:
  %looks = phi i64 [ 0, %step ], [ %more_looks, %again ], [ %more_looks, %leave ]
  %seen = load atomic i64, ptr %done seq_cst, align 8
  %missing = icmp slt i64 %seen, %items
  br i1 %missing, label %again, label %finished
again:
  %more_looks = add i64 %looks, 1
  %some = and i64 %more_looks, 4095
  %not_tired = icmp ne i64 %some, 0
  %stay = or i1 %not_tired, %cannot
  br i1 %stay, label %look, label %leave
leave:
  %ignored = call i32 %let_others()
  br label %look
finished:
  %following = add i64 %i, 1
  %more = icmp slt i64 %following, %steps
  br i1 %more, label %step, label %return
return:
  ret void
}
"""


class Step(NamedTuple):
    """A kernel with its arguments, the number of items, and how many of them a thread takes at a
    time.
    """

    entry: Entry
    arguments: tuple[Any, ...]
    items: int
    at_a_time: int = 1

    def packed(self) -> bytes:
        """The arguments in slots of 8 bytes, as `Entry` passes them: "d" packs a double, "q" an
        integer or address."""
        slots = "".join("d" if word[0] == "f" else "q" for word in self.entry.signature.split())
        return struct.pack(f"={slots}", *self.arguments)


class Program:
    """Steps, one after the other, each on all of `threads` threads. The memory that they work on
    must outlive it.
    """

    def __init__(self, steps: list[Step], threads: int) -> None:
        self.steps, self.threads = steps, threads
        self._arguments = [
            ctypes.create_string_buffer(p, len(p)) for p in (s.packed() for s in steps)
        ]
        rows = [
            (s.entry.address, ctypes.addressof(a), s.items, s.at_a_time)
            for s, a in zip(steps, self._arguments)
        ]
        self._table = np.array(rows, np.int64)
        self._counters = (ctypes.c_int64 * (2 * len(steps)))()
        self._slots = (
            address_of(self._table),
            len(steps),
            ctypes.addressof(self._counters),
            sched_yield(),
        )

    def set_argument(self, step: int, i: int, address: int) -> None:
        """Make argument `i` of step number `step` this address from now on."""
        struct.pack_into("=q", self._arguments[step], 8 * i, address)

    def run(self) -> None:
        """Do all steps, and return when all are done."""
        # the counters of (items taken, items done) start from zero in each run
        ctypes.memset(self._counters, 0, ctypes.sizeof(self._counters))
        _run_steps().parallel(self.threads, 1, *self._slots)


@cache
def _run_steps() -> Entry:
    text = TAKE_PARTS + TEXT
    return entry_from_ir(text, "run_steps", text, "*i8 i8 *i8 *i8", optimize=False)


@cache
def sched_yield() -> int:
    """The address of the C library's `sched_yield`; 0 on systems that have none."""
    try:
        return ctypes.cast(ctypes.CDLL(None).sched_yield, ctypes.c_void_p).value or 0
    except (AttributeError, OSError, TypeError):
        return 0
