"""How arguments get to a kernel on a real GPU: packed into one piece of memory, as the kernel's parameters (`cuLaunchKernel`).

A kernel is machine code that numba has compiled for the types of its arguments; it finds its parameters one after the other, each
aligned as in a C struct. To numba an array is several of them: two that it leaves empty, then how many elements there are and
how large, the address, sizes, and strides in bytes. `Call` knows that layout for one kernel and one combination of types. For
each launch it fills in the numbers; the driver copies them before it returns.

numba launches its kernels itself, too: `dispatcher[grid, block](...)` looks at each argument anew to find its type, and makes an
array object of its own from it, which takes many times as long.

How the real one differs: nvcc writes the same packing into the program, as the host's half of `kernel<<<grid, block>>>(...)`.
"""

from __future__ import annotations

import struct
import threading
from typing import Any

import numpy as np

from .compiled import compiled
from .device_array import DeviceArray
from .language import Kernel
from .ptx import type_name
from .ptx_compiler import numba_type

ARRAY = (
    "PPqqP"  # what numba calls meminfo and parent, number of elements, bytes of one, address; then sizes and strides
)

_calls: dict[Any, Call] = {}


class Call:
    """A kernel on a device, compiled for one combination of types."""

    def __init__(self, kernel: Kernel, args: tuple[Any, ...]) -> None:
        types = tuple([numba_type(a if hasattr(a, "_fields") else type_name(a)) for a in args])
        self.function = load(kernel, types)
        self.name = kernel.name
        codes = "".join(map(_codes, args))
        self.layout = struct.Struct(codes)  # aligned as C does
        self.memory: Any = np.zeros(max(self.layout.size, 1), np.uint8)
        self.addresses = self.memory.ctypes.data + np.array(_offsets(codes), np.uint64)
        self.pointer = int(self.addresses.ctypes.data)
        self.lock = threading.Lock()  # held from filling the memory to the end of the launch

    def fill(self, numbers: list[Any]) -> None:
        """Raises OverflowError for an int of more than 64 bits."""
        try:
            self.layout.pack_into(self.memory, 0, *numbers)
        except struct.error as error:
            raise OverflowError(f"kernel {self.name} has no room for an argument: {error}") from error


def load(kernel: Kernel, types: tuple[Any, ...]) -> int:
    """Compile `kernel` for numba's `types` and load it where the current context is. Returns the driver's handle of it."""
    program = compiled(kernel).compile(types)
    program.bind()
    return int(program._codelibrary.get_cufunc().kernel.handle)


def call_for(kernel: Kernel, device: int, args: tuple[Any, ...]) -> tuple[Call, list[Any]]:
    """The compiled kernel for arguments like `args`, and the numbers to fill in. Compiles on first use."""
    kinds: list[Any] = [kernel, device]
    numbers: list[Any] = []
    for a in args:
        _take(a, kinds, numbers)
    key = tuple(kinds)
    found = _calls.get(key)
    if found is None:
        found = _calls[key] = Call(kernel, args)
    return found, numbers


def _take(value: Any, kinds: list[Any], numbers: list[Any]) -> None:
    """Add to `kinds` what the kernel is compiled for, to `numbers` what it is given."""
    kind = value.__class__
    if kind is DeviceArray:
        sizes, n = value.sizes, value.dtype.itemsize
        count = 1
        dense = True  # numba compiles better code for what it knows to be dense
        for size, stride in zip(reversed(sizes), reversed(value.strides)):
            dense = dense and (stride == count or size == 1)
            count *= size
        kinds += (value.dtype, len(sizes), dense)
        numbers += (0, 0, count, n, value.pointer, *sizes, *[s * n for s in value.strides])
    elif isinstance(value, tuple):
        kinds += (kind, len(value))
        for v in value:
            _take(v, kinds, numbers)
    else:
        kinds.append(kind)
        numbers.append(value)


def _codes(value: Any) -> str:
    """The parameters of an argument, in the letters of `struct`."""
    if isinstance(value, DeviceArray):
        return ARRAY + "q" * 2 * len(value.sizes)
    if isinstance(value, tuple):
        return "".join(map(_codes, value))
    if isinstance(value, (bool, int, float)):
        return "?" if isinstance(value, bool) else "d" if isinstance(value, float) else "q"
    return str(value.dtype.char)


def _offsets(codes: str) -> list[int]:
    """Where each parameter begins."""
    return [struct.calcsize(codes[: i + 1]) - struct.calcsize(codes[i]) for i in range(len(codes))]
