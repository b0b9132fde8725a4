"""Threads that take parts of a job until none are left, for `Entry.parallel`.

Handing work to a thread that sleeps takes 10 to 50 microseconds, as long as some million additions.
So, first, no thread is *given* a part. The job is cut into several parts for each thread, and a
thread that is awake takes the next one by an atomic addition to a counter. The caller begins at
once, and a thread that comes late finds fewer parts left, or none. And second, a thread that finds
nothing more to do looks for the next job for some 300 microseconds before it goes to sleep.

A job is written to one place in memory, the board:

    number     odd while a job is open; each job adds two
    next       the first element that is not taken yet
    done       how many elements are done
    active     how many threads work on it, besides the caller
    kernel, n, size, args: the job

The job is finished when all its elements are done and no other thread is active: only then may the
board be written again. All of this is below in LLVM's language, because it runs without the GIL.
Only one job runs at a time: a second caller does its own job alone.

How the real one differs: OpenMP's threads spin and sleep in the same way; ATen gives each of them
one equal part.
"""

from __future__ import annotations

import ctypes
import os
import threading
from functools import cache as once
from typing import Any

PARTS_A_THREAD = 4  # more parts share out work more evenly, fewer need fewer atomic additions
SPINS = 20_000  # looks at the board before a thread goes to sleep, with a pause after each

# In C, with atomic additions that return the value before:
#     while ((begin = add(next, size)) < n) {
#         end = min(begin + size, n);
#         kernel(begin, end, args);
#         add(done, end - begin);
#     }
TAKE_PARTS = """
; Take parts of a job, `size` of its `n` elements at a time, until none are left.
define internal void @take_parts(ptr %next, ptr %done, i64 %n, i64 %size, ptr %kernel, ptr %args) {
start:
  br label %claim
claim:
  %begin = atomicrmw add ptr %next, i64 %size seq_cst
  %any = icmp slt i64 %begin, %n
  br i1 %any, label %work, label %return
work:
  %full = add i64 %begin, %size
  %fits = icmp slt i64 %full, %n
  %end = select i1 %fits, i64 %full, i64 %n
  call void %kernel(i64 %begin, i64 %end, ptr %args)
  %count = sub i64 %end, %begin
  %before = atomicrmw add ptr %done, i64 %count seq_cst
  br label %claim
return:
  ret void
}
"""

# Four of the board's fields are 64 bytes each: threads write to them at the same time, and a cache
# line that two CPUs write to would travel between them. `serve` looks at the number again after it
# became active, since the job may have been closed just before. PAUSE stands for an instruction by
# which a thread tells the CPU that it waits.
CODE = """
%board = type { [8 x i64], [8 x i64], [8 x i64], [8 x i64], ptr, i64, i64, ptr }

; Take parts of the job on the board.
define internal void @take(ptr %board) {
start:
  %next = getelementptr %board, ptr %board, i32 0, i32 1
  %done = getelementptr %board, ptr %board, i32 0, i32 2
  %kernel.at = getelementptr %board, ptr %board, i32 0, i32 4
  %n.at = getelementptr %board, ptr %board, i32 0, i32 5
  %size.at = getelementptr %board, ptr %board, i32 0, i32 6
  %args.at = getelementptr %board, ptr %board, i32 0, i32 7
  %kernel = load ptr, ptr %kernel.at
  %n = load i64, ptr %n.at
  %size = load i64, ptr %size.at
  %args = load ptr, ptr %args.at
  call void @take_parts(ptr %next, ptr %done, i64 %n, i64 %size, ptr %kernel, ptr %args)
  ret void
}

; What the caller does: put the job on the board, take parts, wait until all are done and no thread
; looks at the board any more.
define void @run_job(ptr %board, ptr %kernel, i64 %n, i64 %size, ptr %args) {
start:
  %next = getelementptr %board, ptr %board, i32 0, i32 1
  %done = getelementptr %board, ptr %board, i32 0, i32 2
  %active = getelementptr %board, ptr %board, i32 0, i32 3
  %kernel.at = getelementptr %board, ptr %board, i32 0, i32 4
  %n.at = getelementptr %board, ptr %board, i32 0, i32 5
  %size.at = getelementptr %board, ptr %board, i32 0, i32 6
  %args.at = getelementptr %board, ptr %board, i32 0, i32 7
  store ptr %kernel, ptr %kernel.at
  store i64 %n, ptr %n.at
  store i64 %size, ptr %size.at
  store ptr %args, ptr %args.at
  store i64 0, ptr %next
  store i64 0, ptr %done
  %opened = atomicrmw add ptr %board, i64 1 seq_cst
  call void @take(ptr %board)
  br label %wait
wait:
  call void PAUSE
  %finished = load atomic i64, ptr %done seq_cst, align 8
  %all = icmp sge i64 %finished, %n
  br i1 %all, label %close, label %wait
close:
  %closed = atomicrmw add ptr %board, i64 1 seq_cst
  br label %leave
leave:
  %others = load atomic i64, ptr %active seq_cst, align 8
  %alone = icmp eq i64 %others, 0
  br i1 %alone, label %return, label %leave
return:
  ret void
}

; What the other threads do: look for a job that is open and new to them, `spins` times in vain.
define void @serve(ptr %board, i64 %spins) {
start:
  %active = getelementptr %board, ptr %board, i32 0, i32 3
  br label %look
look:
  %left = phi i64 [ %spins, %start ], [ %fewer, %pause ], [ %spins, %done ]
  %last = phi i64 [ 0, %start ], [ %last, %pause ], [ %number, %done ]
  %number = load atomic i64, ptr %board seq_cst, align 8
  %odd = trunc i64 %number to i1
  %new = icmp ne i64 %number, %last
  %go = and i1 %odd, %new
  br i1 %go, label %join, label %pause
pause:
  call void PAUSE
  %fewer = sub i64 %left, 1
  %enough = icmp sle i64 %fewer, 0
  br i1 %enough, label %return, label %look
join:
  %were = atomicrmw add ptr %active, i64 1 seq_cst
  %now = load atomic i64, ptr %board seq_cst, align 8
  %still = icmp eq i64 %now, %number
  br i1 %still, label %work, label %done
work:
  call void @take(ptr %board)
  br label %done
done:
  %are = atomicrmw sub ptr %active, i64 1 seq_cst
  br label %look
return:
  ret void
}
"""


def run_in_parts(kernel: int, n: int, grain: int, packed: bytes, threads: int) -> bool:
    """Call the machine code at address `kernel` for parts that together make up 0..n, each of at
    least `grain`, on `threads` threads. `packed` are the arguments in slots.

    False, with nothing done, if another job is running.
    """
    pool = _pool
    if not pool.free.acquire(blocking=False):
        return False
    try:
        size = max(grain, -(-n // (PARTS_A_THREAD * threads)))
        pool.wake(min(threads, -(-n // size)) - 1)
        _functions()[0](pool.board, kernel, n, size, packed)
    finally:
        pool.free.release()
    return True


class Pool:
    """The board and its threads, which start when first needed and end with the process."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin without threads: at the start, and in a forked process, which has only the thread
        that forked it.
        """
        self.board = (ctypes.c_int64 * 64)()
        self.free = threading.Lock()  # held while a job runs
        self.asleep: list[threading.Lock] = []  # a thread sleeps by waiting for its lock
        self.started = 0

    def wake(self, number: int) -> None:
        """Start and wake threads, so that at least `number` are awake soon."""
        while self.started < number:
            threading.Thread(target=self.serve, daemon=True, name="internals worker").start()
            self.started += 1
        for _ in range(min(number, len(self.asleep))):
            self.asleep.pop().release()

    def serve(self) -> None:
        """The loop of a thread: take parts of jobs, then sleep until `wake`."""
        bed, serve = threading.Lock(), _functions()[1]
        bed.acquire()
        while True:
            serve(self.board, SPINS)
            self.asleep.append(bed)
            bed.acquire()  # sleeps: the lock is held already, until `wake` releases it


@once
def _functions() -> tuple[Any, Any]:
    """`run_job` and `serve`, compiled; ctypes releases the GIL while they run."""
    from .llvm import functions_from_ir, host

    pause = {"x86_64": '"pause"', "aarch64": '"yield"', "arm64": '"yield"'}.get(
        host().partition("-")[0], '""'
    )
    code = (TAKE_PARTS + CODE).replace("PAUSE", f'asm sideeffect {pause}, ""()')
    run_job, serve = functions_from_ir(code, ("run_job", "serve"), code)
    word, pointer = ctypes.c_int64, ctypes.c_void_p
    return (
        ctypes.CFUNCTYPE(None, pointer, pointer, word, word, ctypes.c_char_p)(run_job),
        ctypes.CFUNCTYPE(None, pointer, word)(serve),
    )


_pool = Pool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.forget)
