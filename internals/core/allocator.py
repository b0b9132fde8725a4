"""Who owns a piece of memory and how it is given back (`c10/core/Allocator.h`,
`c10/util/UniqueVoidPtr.h`).

An `Allocator` hands out `DataPtr`s. A `DataPtr` is a pointer *and* the recipe for giving it back: a
`deleter` to be called exactly once on a `context`. Usually the context is the memory itself; for
`from_numpy` it is the numpy array, and the deleter just drops the reference to it. That one
indirection is how a storage can sit on memory that another object owns.

How the real one differs: a C++ `DataPtr` is move-only, so the compiler guarantees the single owner;
here `clear()` makes the second call harmless, and an allocator raises when a block comes back
twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .device import CPU, device

# int64_t: numbers of elements, strides and bytes, in PyTorch and in machine code
LARGEST = (1 << 63) - 1


class DataPtr:
    """An address, and how to give it back.

    Attributes: `pointer`, the address as an int (0 for no memory); `context`, what the deleter is
    called with; `deleter`; `device`. `recycle` is the free list a dying storage may put it on
    directly; None means: call the deleter.
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
        """Call the deleter on the context, once; afterwards this pointer owns nothing."""
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
    """Hands out memory on one device. Subclasses implement `allocate`; `name` is what pictures and
    reprs call it.
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
    """Raises RuntimeError for a number of bytes that C's functions would take for another one."""
    if nbytes < 0:
        raise RuntimeError(f"alloc_cpu() seems to have been called with negative number: {nbytes}")
    if nbytes > LARGEST:
        raise RuntimeError(
            f"can't allocate memory: {nbytes} bytes are more than an address can count"
        )


def int64(value: int) -> int:
    """`value`. Raises ValueError for a number that is no int64: what is written in C would take it
    for another one.
    """
    if not ~LARGEST <= value <= LARGEST:
        raise ValueError(f"Overflow when unpacking long long: {value} is no int64")
    return value


def delete_nothing(context: Any) -> None:
    """The deleter of memory that need not be given back."""


def drop_reference(context: object) -> None:
    """The deleter of borrowed memory: the owner lives as long as there are references to it, and
    the last one just went.

    PyTorch's deleter for `from_numpy` takes the GIL and calls `Py_DECREF`; here returning does it.
    """


def name_of(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", repr(function))
