"""`Allocator` and `DataPtr`: who owns a piece of memory, and how it is freed
(`c10/core/Allocator.h`, `c10/util/UniqueVoidPtr.h`).

An `Allocator` returns `DataPtr`s. A `DataPtr` is a pointer *and* the way to free it: a `deleter`,
to be called exactly once with a `context`. Usually the context is the memory itself; for
`from_numpy` it is the numpy array, and the deleter only drops the reference to it. So a storage can
lie on memory that another object owns.

How the real one differs: a C++ `DataPtr` is move-only, so the compiler guarantees the single owner;
here `clear()` makes the second call harmless, and an allocator raises when a block comes back
twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .device import CPU, device

# The largest int64_t. PyTorch and machine code count elements, strides and bytes in this type.
LARGEST = (1 << 63) - 1


class DataPtr:
    """An address, and how to free the memory there.

    - `pointer`: the address as an int; 0 for no memory.
    - `deleter`, `context`: the function that frees the memory, and its argument.
    - `device`: where the memory is.
    - `recycle`: the free list to put this on instead of calling the deleter, or None.
    """

    __slots__ = ("pointer", "context", "deleter", "device", "recycle", "_memory")

    recycle: list[Any] | None
    _memory: Any

    def __init__(
        self, pointer: int, context: Any, deleter: Callable[[Any], None], device: device = CPU
    ) -> None:
        self.pointer, self.context, self.deleter, self.device = pointer, context, deleter, device
        self.recycle = self._memory = None

    def clear(self) -> None:
        """Calls the deleter with the context; afterwards this pointer owns nothing."""
        # first forget, then delete: so a second call does nothing, even one from inside the deleter
        deleter, context = self.deleter, self.context
        self.deleter, self.context, self.pointer = delete_nothing, None, 0
        self._memory = None
        if context is not None:
            deleter(context)

    def __repr__(self) -> str:
        return (
            f"DataPtr(context={type(self.context).__name__}, deleter={name_of(self.deleter)}, "
            f"device='{self.device}')"
        )


class Allocator:
    """The base class of objects that allocate memory on one `device`. Subclasses implement
    `allocate`; `name` is for pictures and reprs.
    """

    name = "Allocator"
    device = CPU

    def allocate(self, nbytes: int) -> DataPtr:
        """At least `nbytes` bytes of uninitialised memory; `nbytes` 0 gives the null pointer.

        Raises RuntimeError when `nbytes` is negative or the system has no memory left.
        """
        raise NotImplementedError(f"{type(self).__name__} must define allocate(nbytes) -> DataPtr")

    def __repr__(self) -> str:
        return f"{self.name}(device='{self.device}')"


def check_nbytes(nbytes: int) -> None:
    """Raises RuntimeError for a number of bytes that is negative or larger than an int64."""
    if nbytes < 0:
        raise RuntimeError(f"alloc_cpu() seems to have been called with negative number: {nbytes}")
    if nbytes > LARGEST:
        raise RuntimeError(
            f"can't allocate memory: {nbytes} bytes are more than an address can count"
        )


def int64(value: int) -> int:
    """`value`. Raises ValueError if it does not fit into an int64: Python's integers have no limit,
    C would use its lower 64 bits.
    """
    if not ~LARGEST <= value <= LARGEST:
        raise ValueError(f"Overflow when unpacking long long: {value} is no int64")
    return value


def delete_nothing(context: Any) -> None:
    """The deleter of memory that need not be freed."""


def drop_reference(context: object) -> None:
    """The deleter of memory that another object owns: the reference to `context` is dropped when
    this function returns. (PyTorch's deleter for `from_numpy` takes the GIL and calls `Py_DECREF`.)
    """


def name_of(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", repr(function))
