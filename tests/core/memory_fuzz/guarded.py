"""CPU memory of which every block has pages around it that no code may touch: it would crash.

A block ends where a page ends, or begins where one begins, so the first byte too far is one too
many. Memory that was given back stays forbidden for a while. What is new is full of a pattern: a
result that depends on it shows with another pattern.
"""

from __future__ import annotations

import ctypes
import mmap
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from internals.core import cpu_allocator
from internals.core.allocator import Allocator, DataPtr
from internals.core.cpu_allocator import SystemAllocator, caching_allocator, use_cpu_allocator

PAGE, NOTHING, EVERYTHING = mmap.PAGESIZE, 0, mmap.PROT_READ | mmap.PROT_WRITE
PATTERN, OTHER_PATTERN = 0xA5, 0x5B
MOST = 1 << 28  # bytes that a block may have; what a test needs is far less
KEPT = 256  # blocks that stay forbidden after they were given back

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


class GuardedAllocator(Allocator):
    """Every block is a run of pages, with a forbidden one on either side."""

    name = "GuardedAllocator"

    def __init__(self) -> None:
        self.at_the_end, self.pattern = True, ctypes.c_int(PATTERN)
        self.forbidden: deque[tuple[int, int]] = deque()

    def allocate(self, nbytes: int) -> DataPtr:
        if nbytes <= 0 or nbytes > MOST:
            return self.extraordinary(nbytes)
        inside = -(-nbytes // PAGE) * PAGE
        begin = libc.mmap(
            None, inside + 2 * PAGE, NOTHING, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0
        )
        if begin is None or begin == ctypes.c_void_p(-1).value:
            raise refusal(nbytes)
        if libc.mprotect(begin + PAGE, inside, EVERYTHING):
            libc.munmap(begin, inside + 2 * PAGE)
            raise refusal(nbytes)
        ctypes.memset(begin + PAGE, self.pattern.value, inside)
        pointer = begin + PAGE + (inside - nbytes if self.at_the_end else 0)
        return DataPtr(pointer, (begin, inside + 2 * PAGE), self.forbid)

    def extraordinary(self, nbytes: int) -> DataPtr:
        """The system allocator must refuse what is negative, and more than any machine has."""
        if nbytes <= 0:
            return SystemAllocator().allocate(nbytes)
        if nbytes >= 1 << 47:
            SystemAllocator().allocate(nbytes)
            raise AssertionError(f"the system allocator gave {nbytes} bytes")
        raise refusal(nbytes)

    def forbid(self, pages: tuple[int, int]) -> None:
        libc.mprotect(*pages, NOTHING)
        self.forbidden.append(pages)
        if len(self.forbidden) > KEPT:
            libc.munmap(*self.forbidden.popleft())


def refusal(nbytes: int) -> RuntimeError:
    return RuntimeError(
        f"DefaultCPUAllocator: can't allocate memory: you tried to allocate {nbytes} bytes."
    )


guarded = GuardedAllocator()


def under_the_cache() -> None:
    """From now on the caching allocator's blocks are guarded, and as large as asked for.

    The generated short ways run on them: nobody replaced the allocator, so they stay open.
    """
    caching_allocator.empty_cache()
    caching_allocator.upstream = guarded
    cpu_allocator.round_size = lambda nbytes: nbytes


@contextmanager
def filled_otherwise() -> Iterator[None]:
    """Inside, new memory is full of another pattern."""
    guarded.pattern.value = OTHER_PATTERN
    try:
        yield
    finally:
        guarded.pattern.value = PATTERN


@contextmanager
def memory(short_ways: bool, at_the_end: bool) -> Iterator[None]:
    """Inside, tensors are guarded: through the cache, with the short ways, or without both."""
    guarded.at_the_end = at_the_end
    try:
        if short_ways:
            yield
        else:
            with use_cpu_allocator(guarded):
                yield
    finally:
        caching_allocator.empty_cache()
