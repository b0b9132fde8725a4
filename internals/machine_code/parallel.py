"""`parallel_for`: a range of work split over threads (`aten/src/ATen/Parallel.h`).

The calling thread does the first part itself. Threads of a pool, which wait on a queue, do one of
the other parts each, and report when it is done. Machine code runs without the GIL, so they really
run at once. Handing the work out costs some ten microseconds, so a part should be worth more than
that: `grain` is its least size. For kernels there is a quicker way (`pool.py`).

A `parallel_for` inside a part is not split: a thread of the pool that waited for the pool could
wait forever.

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
    """Run `call(begin, end, args)` for parts that together make up 0..n, and wait for all of them.

    No more parts than threads, nor than n / grain. Raises what any of the parts raised."""
    if not may_split(n, grain):
        if n > 0:
            call(0, n, args)
        return
    from queue import SimpleQueue  # here and below: a millisecond that few programs' imports need

    size = -(-n // min(_threads.number, n // max(grain, 1)))
    begins = range(size, n, size)
    done: SimpleQueue[BaseException | None] = SimpleQueue()
    work = _threads.at_least(len(begins))
    for begin in begins:
        work.put((call, (begin, min(begin + size, n), args), done))
    error: BaseException | None = None
    try:
        call(0, size, args)
    except BaseException as raised:
        error = raised
    for _ in begins:
        # even after an error, or Ctrl-C: the other threads still write to the caller's memory, so
        # it must not be freed before they are done
        while True:
            try:
                error = done.get() or error
                break
            except KeyboardInterrupt as interrupt:
                error = interrupt
    if error is not None:
        raise error


def may_split(n: int, grain: int) -> bool:
    """Whether n makes at least two parts of `grain`, there is more than one thread, and the caller
    is not itself inside a part.
    """
    return _threads.number > 1 and n >= 2 * max(grain, 1) and not getattr(_inside, "part", False)


def get_num_threads() -> int:
    """How many threads an operator may use. The default is OMP_NUM_THREADS, else the number of CPUs
    that this process may run on.
    """
    return _threads.number


def set_num_threads(num_threads: int) -> None:
    """Set the number of threads for operators, and for the BLAS library behind matrix products.

    Raises RuntimeError unless it is a positive int."""
    if isinstance(num_threads, bool) or not isinstance(num_threads, int):
        raise RuntimeError(f"set_num_threads expects an int, but got {type(num_threads).__name__}")
    if num_threads < 1:
        raise RuntimeError("set_num_threads expects a positive integer")
    if num_threads >= 1 << 31:
        raise ValueError("Overflow when unpacking long")
    _threads.number = num_threads
    _limit_blas(num_threads)


class _Threads:
    """The pool. Its threads start when they are first needed, and end with the process."""

    def __init__(self) -> None:
        self.number = _default_number()
        self.forget()

    def forget(self) -> None:
        """Begin without threads: at the start, and in a forked process, which has only the thread
        that forked it.
        """
        self.work: SimpleQueue[Any] | None = None
        self.started = 0
        self.lock = threading.Lock()

    def at_least(self, number: int) -> SimpleQueue[Any]:
        """The queue of work, with at least `number` threads waiting on it."""
        if self.work is None or self.started < number:
            from queue import SimpleQueue

            with self.lock:
                self.work = self.work or SimpleQueue()
                while self.started < number:
                    threading.Thread(
                        target=_serve, args=(self.work,), daemon=True, name="internals worker"
                    ).start()
                    self.started += 1
        return self.work


_inside = threading.local()


def _serve(work: SimpleQueue[Any]) -> None:
    """The loop of a thread of the pool: take a part, run it, put its error (or None) in `done`."""
    _inside.part = True
    while True:
        call, arguments, done = work.get()
        error = None
        try:
            call(*arguments)
        except BaseException as raised:
            error = raised
        done.put(error)
        del call, arguments, done, error  # else they would stay alive until the next part comes


def _default_number() -> int:
    """OMP_NUM_THREADS if it is a positive integer, else the number of usable CPUs."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


def _limit_blas(number: int) -> None:
    """Let the BLAS library behind numpy use `number` threads."""
    import threadpoolctl

    global _blas_limit  # kept, since threadpoolctl's limit ends with its object
    _blas_limit = threadpoolctl.threadpool_limits(number, user_api="blas")


_blas_limit: Any = None
_threads = _Threads()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.forget)
