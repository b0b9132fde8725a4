"""How arguments get to a kernel on a real GPU: packed into one piece of memory, as the kernel's
parameters (`cuLaunchKernel`).

A kernel is machine code that numba has compiled for the types of its arguments (`cubins.py`); it
finds its parameters one after the other, each aligned as in a C struct. To numba an array is
several of them: two that it leaves empty, then how many elements there are and how large, the
address, sizes, and strides in bytes. `Call` knows that layout for one kernel and one combination of
types. For each launch it fills in the numbers; the driver copies them before it returns.

numba launches its kernels itself, too: `dispatcher[grid, block](...)` looks at each argument anew
to find its type, and makes an array object of its own from it, which takes many times as long.

How the real one differs: nvcc writes the same packing into the program, as the host's half of
`kernel<<<grid, block>>>(...)`.
"""

from __future__ import annotations

import struct
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from internals.core.tensor_impl import check_backed

from .cubins import cubin
from .device_array import DeviceArray
from .driver import CudaError
from .launch import Repeated, check_numbers

if TYPE_CHECKING:
    from .gpu_driver import GpuDriver
    from .language import Kernel

ARRAY = (
    # what numba calls meminfo and parent, number of elements, bytes of one, address; then sizes and
    # strides
    "PPqqP"
)

_calls: dict[Any, Call] = {}


class Call:
    """A loaded kernel, `function` to the driver, and the memory where arguments of the types of
    `args` are packed.
    """

    def __init__(self, name: str, function: int, args: tuple[Any, ...]) -> None:
        self.name, self.function = name, function
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
            raise OverflowError(
                f"kernel {self.name} has no room for an argument: {error}"
            ) from error


def load(driver: GpuDriver, device: int, kernel: Kernel, args: tuple[Any, ...]) -> int:
    """Load `kernel` for arguments like `args` where the current context is, that of `device`.
    Returns the driver's handle.
    """
    properties = driver.properties(device)
    try:
        name, code = cubin(kernel, args, (properties.major, properties.minor))
    except Exception as error:  # numba's own, and that of cuda.core, which may ask the driver
        if "CUDA_ERROR_" not in str(error):
            raise
        raise CudaError(f"CUDA error: {error}") from error
    return int(
        driver.call("cuModuleGetFunction", driver.call("cuModuleLoadData", code), name.encode())
    )


def call_for(
    driver: GpuDriver, device: int, kernel: Kernel, args: tuple[Any, ...]
) -> tuple[Call, list[Any]]:
    """The compiled kernel for arguments like `args`, and the numbers to fill in. Compiles on first
    use.
    """
    kinds: list[Any] = [driver, device, kernel]
    numbers: list[Any] = []
    _take(args, kinds, numbers)
    key = tuple(kinds)
    found = _calls.get(key)
    if found is None:
        check_numbers(args)
        found = _calls[key] = Call(kernel.name, load(driver, device, kernel, args), args)
    return found, numbers


class RepeatedCall(Call):
    """The call of one `Repeated` alone: in its memory all but the tensors' elements and the numbers
    is filled in already.
    """

    def __init__(
        self, driver: GpuDriver, device: int, again: Repeated, first: tuple[Any, ...]
    ) -> None:
        args = (*first, *again.rest)
        found, values = call_for(driver, device, again.launch.kernel, args)
        super().__init__(found.name, found.function, args)
        self.fill(values)
        self.layout = struct.Struct("".join(map(_codes, first)))
        self.driver = driver

    @staticmethod
    def changing(tensors: list[Any], numbers: tuple[Any, ...]) -> list[Any]:
        """What `_take` finds in `flat` of the tensors, and in `numbers`."""
        found: list[Any] = []
        for t in tensors:
            storage, g, offset = t._storage, t._geometry, t._offset
            n = g.dtype.itemsize
            count = storage._nbytes // n - offset
            if g.span > count:
                check_backed(storage, g, offset)
            found += (0, 0, count, n, storage._data.pointer + offset * n, count, n)
        found += numbers
        return found


def _take(values: tuple[Any, ...], kinds: list[Any], numbers: list[Any]) -> None:
    """Add to `kinds` what the kernel is compiled for, to `numbers` what it is given."""
    for value in values:
        kind = value.__class__
        if kind is DeviceArray:
            sizes, strides, n = value.sizes, value.strides, value.dtype.itemsize
            count, dense = 1, True  # numba compiles better code for what it knows to be dense
            if len(sizes) == 1:
                (count,), (stride,) = sizes, strides
                dense = stride == 1 or count == 1
                numbers += (0, 0, count, n, value.pointer, count, stride * n)
            else:
                for size, stride in zip(reversed(sizes), reversed(strides)):
                    dense = dense and (stride == count or size == 1)
                    count *= size
                numbers += (0, 0, count, n, value.pointer, *sizes, *[s * n for s in strides])
            kinds += (value.dtype, len(sizes), dense)
        elif isinstance(value, tuple):
            kinds += (kind, len(value))
            _take(value, kinds, numbers)
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
