"""Memory that kernels use beside tensors: scratch memory, freed when the operator returns, and
tables of constants, which are kept.

Intermediate values, such as images with a border, have an allocator of their own, so that the
counters of `internals.cpu` show tensors only. It caches: the next operator writes to memory that
the process already has. The system takes longer to hand out a few megabytes than a kernel takes to
fill them.

How the real one differs: oneDNN keeps such memory in a scratchpad for each thread, or lets the
caller provide it.
"""

from __future__ import annotations

from internals.core.cpu_allocator import CachingAllocator
from internals.core.dtype import dtype
from internals.core.tensor_impl import Array

_arena = CachingAllocator()


class Scratch:
    """Uninitialised memory for `numel` elements, for as long as this object lives. `address` is
    that of the first; 0 if there are none.
    """

    __slots__ = ("_data", "address")

    def __init__(self, numel: int, dtype: dtype) -> None:
        self._data = _arena.allocate(numel * dtype.itemsize)
        self.address: int = self._data.pointer

    def __del__(self) -> None:
        if hasattr(self, "_data"):  # it is missing if `allocate` raised an error
            self._data.clear()


class Table:
    """An array of constants with its address and size. To ask numpy for the address in each call
    would take longer than a small kernel runs.
    """

    __slots__ = ("array", "address", "size")

    def __init__(self, array: Array) -> None:
        self.array, self.address, self.size = array, array.ctypes.data, array.size
