"""A lock around an allocator that finalizers may enter (`std::recursive_mutex` in
`CUDACachingAllocator.cpp`).

A tensor that dies gives its memory back, and in Python it may die at any moment: the garbage
collector may run whenever an object is made, also by the allocator itself. A plain lock would then
wait for itself forever; a recursive one would let `free` change the pools in the middle of
`malloc`. So the thread that holds the lock also sets `busy`, and a `free` that finds its own thread
busy appends the block to `deferred`, for the next call to free.

How the real one differs: C++ destructors run where the compiler put them, never inside the
allocator.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Any


class Guard:
    """`with guard:` keeps other threads out of the allocator. Entering it twice from one thread
    raises RuntimeError.
    """

    __slots__ = ("lock", "busy", "deferred")

    def __init__(self) -> None:
        self.lock = threading.RLock()  # recursive, so that the same thread gets to look at `busy`
        self.busy = False
        self.deferred: deque[Any] = deque()

    def __enter__(self) -> Guard:
        self.lock.acquire()
        if self.busy:
            self.lock.release()
            raise reentered()
        self.busy = True
        return self

    def __exit__(self, *error: object) -> None:
        self.busy = False
        self.lock.release()


def reentered() -> RuntimeError:
    """The error for a call that cannot be deferred, inside another one of the same thread."""
    return RuntimeError(
        "the CUDA allocator was entered while it was working: a finalizer (__del__, a weakref "
        "callback) that ran inside it tried to allocate or to look at memory"
    )
