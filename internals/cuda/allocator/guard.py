"""One lock around an allocator that finalizers may enter (`std::recursive_mutex` in
`CUDACachingAllocator.cpp`).

A tensor that dies gives its memory back, and in Python it may die at any moment: the garbage
collector runs when some list or dict is made, and that may be one the allocator itself is just
making. A plain lock would then wait for itself; a recursive one would let `free` change the pools
in the middle of `malloc`. So whoever holds the lock is also `busy`, and a `free` that finds its own
thread busy leaves the block in `deferred`, for the next call to finish.

How the real one differs: C++ destructors run where the compiler put them, and never inside the
allocator.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Any


class Guard:
    """`with guard:` is alone with the allocator. Entering it twice from one thread raises
    RuntimeError.
    """

    __slots__ = ("lock", "busy", "deferred")

    def __init__(self) -> None:
        self.lock = threading.RLock()
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
    return RuntimeError(
        "the CUDA allocator was entered while it was working: a finalizer (__del__, a weakref "
        "callback) that ran inside it tried to allocate or to look at memory"
    )
