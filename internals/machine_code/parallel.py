"""`parallel_for`: a range of work split over threads (`aten/src/ATen/Parallel.h`).

The thread that calls it does the first part itself. The others are done by threads of a pool that
wait on a queue, one part each, and tell when they are through. Machine code runs without the GIL,
so they really run at once; handing the work out costs some ten microseconds, so a part should be
worth more than that: `grain` is the least it may be. For kernels there is a quicker way
(`pool.py`).

Work that is split inside a part runs where it is: a thread of the pool never waits for the pool.

How the real one differs: the pool is OpenMP's; the parts are the same.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from queue import SimpleQueue


def parallel_for(call: Callable[[int, int, Any], Any], n: int, grain: int, args: Any) -> None:
    """`call(begin, end, args)` for parts that make up 0..n, each of at least `grain` unless n is
    less.
    """
    if not may_split(n, grain):
        if n > 0:
            call(0, n, args)
        return
    from queue import SimpleQueue  # here and below: a millisecond that few programs' imports need

    size = -(-n // min(_threads.number, n // max(grain, 1)))
    others = range(size, n, size)
    done: SimpleQueue[BaseException | None] = SimpleQueue()
    work = _threads.at_least(len(others))
    for begin in others:
        work.put((call, (begin, min(begin + size, n), args), done))
    error: BaseException | None = None
    try:
        call(0, size, args)
    except BaseException as raised:
        error = raised
    for _ in others:
        # whatever happened here, the memory they write to must stay until they are through
        while True:
            try:
                error = done.get() or error
                break
            except KeyboardInterrupt as interrupt:
                error = interrupt
    if error is not None:
        raise error


def may_split(n: int, grain: int) -> bool:
    """Whether there are two parts of at least `grain` in n, a thread for each, and this is not
    itself inside a part.
    """
    return _threads.number > 1 and n >= 2 * max(grain, 1) and not getattr(_inside, "part", False)


def get_num_threads() -> int:
    """How many threads an operator may use. At the start: OMP_NUM_THREADS, else the CPUs that this
    process may run on.
    """
    return _threads.number


def set_num_threads(num_threads: int) -> None:
    """Let operators use so many threads, and the BLAS library behind matrix products too.

    Raises RuntimeError if that is no positive int."""
    if isinstance(num_threads, bool) or not isinstance(num_threads, int):
        raise RuntimeError(f"set_num_threads expects an int, but got {type(num_threads).__name__}")
    if num_threads < 1:
        raise RuntimeError("set_num_threads expects a positive integer")
    if num_threads >= 1 << 31:
        raise ValueError("Overflow when unpacking long")
    _threads.number = num_threads
    _limit_blas(num_threads)


class _Threads:
    """The pool. Its threads are made when they are first needed, and end with the process."""

    def __init__(self) -> None:
        self.number = _default_number()
        self.forget()

    def forget(self) -> None:
        """No threads yet. So it is at the start, and in a process that was forked off: threads do
        not come along.
        """
        self.work: SimpleQueue[Any] | None = None
        self.made = 0
        self.lock = threading.Lock()

    def at_least(self, number: int) -> SimpleQueue[Any]:
        """The queue that work is put in, with at least `number` threads behind it."""
        if self.work is None or self.made < number:
            from queue import SimpleQueue

            with self.lock:
                self.work = self.work or SimpleQueue()
                while self.made < number:
                    threading.Thread(
                        target=_serve, args=(self.work,), daemon=True, name="internals worker"
                    ).start()
                    self.made += 1
        return self.work


_inside = threading.local()


def _serve(work: SimpleQueue[Any]) -> None:
    _inside.part = True
    while True:
        call, arguments, done = work.get()
        error = None
        try:
            call(*arguments)
        except BaseException as raised:
            error = raised
        done.put(error)
        del call, arguments, done, error  # nothing is kept alive while waiting


def _default_number() -> int:
    asked = os.environ.get("OMP_NUM_THREADS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


def _limit_blas(number: int) -> None:
    import threadpoolctl

    global _blas_limit
    _blas_limit = threadpoolctl.threadpool_limits(number, user_api="blas")


_blas_limit: Any = None
_threads = _Threads()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.forget)
