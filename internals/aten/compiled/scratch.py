"""Memory of kernels that is no tensor: scratch memory, gone when the operator returns, and tables,
which are kept.

What is computed on the way, such as images with a border, comes from an allocator of its own, so
that who watches `internals.cpu` sees tensors only; and as that one caches, the next operator writes
to memory that is already there. The system takes longer to hand out a few megabytes than a kernel
to fill them.

How the real one differs: oneDNN keeps such memory in a scratchpad for each thread, or lets the
caller bring it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from internals.core.cpu_allocator import CachingAllocator
from internals.core.dtype import dtype

if TYPE_CHECKING:
    from internals.core.tensor_impl import Array

_arena = CachingAllocator()


class Scratch:
    """Uninitialised memory for `numel` elements, for as long as this object lives. `address` is
    that of the first; 0 when there are none.
    """

    __slots__ = ("_data", "address")

    def __init__(self, numel: int, dtype: dtype) -> None:
        self._data = _arena.allocate(numel * dtype.itemsize)
        self.address: int = self._data.pointer

    def __del__(self) -> None:
        if hasattr(self, "_data"):  # not where there was no memory
            self._data.clear()


class Table:
    """An array of constants and its address, for which numpy would take longer to tell than a small
    kernel runs.
    """

    __slots__ = ("array", "address", "size")

    def __init__(self, array: Array) -> None:
        self.array, self.address, self.size = array, array.ctypes.data, array.size
