"""Packs the arguments of a launch on a real GPU into one buffer, as the kernel's parameters
(`cuLaunchKernel`).

A kernel is machine code that numba has compiled for the types of its arguments (`cubins.py`). It
expects its parameters one after the other, each aligned as in a C struct. An array takes several of
them: two pointers that stay empty, the number of elements, the bytes of one, the address, then the
sizes, and the strides in bytes. A `Call` holds that layout for one kernel and one combination of
types. Each launch fills in the numbers; the driver copies them before it returns.

numba can launch its kernels itself, too. But `dispatcher[grid, block](...)` finds the type of each
argument anew and makes an array object of its own from it, which takes many times as long.

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
    # in the letters of `struct`: P is a pointer, q an int64. numba's names for these five are
    # meminfo, parent, nitems, itemsize, data; one q for each size and each stride follows
    "PPqqP"
)

_calls: dict[Any, Call] = {}  # by driver, device, kernel, and the types of the arguments


class Call:
    """A loaded kernel, `function` to the driver, and the memory where arguments of the types of
    `args` are packed.
    """

    def __init__(self, name: str, function: int, args: tuple[Any, ...]) -> None:
        self.name, self.function = name, function
        codes = "".join(map(_codes, args))
        self.layout = struct.Struct(codes)  # without a prefix "<" or "=", struct aligns as C does
        self.memory: Any = np.zeros(max(self.layout.size, 1), np.uint8)
        # cuLaunchKernel takes an array of pointers, one to each parameter; neither array moves
        self.addresses = self.memory.ctypes.data + np.array(_offsets(codes), np.uint64)
        self.pointer = int(self.addresses.ctypes.data)
        self.lock = threading.Lock()  # held from filling the memory to the end of the launch

    def fill(self, numbers: list[Any]) -> None:
        """Write the parameters into the memory. Raises OverflowError for an int of more than 64
        bits.
        """
        try:
            self.layout.pack_into(self.memory, 0, *numbers)
        except struct.error as error:
            raise OverflowError(
                f"kernel {self.name} has no room for an argument: {error}"
            ) from error


def load(driver: GpuDriver, device: int, kernel: Kernel, args: tuple[Any, ...]) -> int:
    """Load `kernel`, compiled for arguments like `args`, into the current context, which must be
    that of `device`. Returns the driver's handle of the function.
    """
    properties = driver.properties(device)
    try:
        name, code = cubin(kernel, args, (properties.major, properties.minor))
    except Exception as error:  # compiling may ask the driver, through numba or cuda.core
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
    signature: list[Any] = [driver, device, kernel]
    numbers: list[Any] = []
    _take(args, signature, numbers)
    key = tuple(signature)
    found = _calls.get(key)
    if found is None:
        check_numbers(args)
        found = _calls[key] = Call(kernel.name, load(driver, device, kernel, args), args)
    return found, numbers


class RepeatedCall(Call):
    """The call of one `Repeated` alone. All of its memory is filled in once; later launches fill in
    only the tensors' elements and the numbers, which come first.
    """

    def __init__(
        self, driver: GpuDriver, device: int, again: Repeated, first: tuple[Any, ...]
    ) -> None:
        args = (*first, *again.rest)
        found, values = call_for(driver, device, again.launch.kernel, args)
        super().__init__(found.name, found.function, args)
        self.fill(values)
        # from now on `fill` writes only this beginning: its offsets are those of the full layout
        self.layout = struct.Struct("".join(map(_codes, first)))
        self.driver = driver

    @staticmethod
    def changing(tensors: list[Any], numbers: tuple[Any, ...]) -> list[Any]:
        """The parameters for `flat` of each tensor and for `numbers`: what `_take` finds there, but
        without making a `DeviceArray`. Raises RuntimeError if a tensor's storage is too small.
        """
        found: list[Any] = []
        for t in tensors:
            storage, g, offset = t._storage, t._geometry, t._offset
            n = g.dtype.itemsize
            count = storage._nbytes // n - offset
            if g.span > count:  # the kernel would read past the end of the storage
                check_backed(storage, g, offset)
            # one dimension: its size is `count`, its stride one element of n bytes
            found += (0, 0, count, n, storage._data.pointer + offset * n, count, n)
        found += numbers
        return found


def _take(values: tuple[Any, ...], signature: list[Any], numbers: list[Any]) -> None:
    """Add the types of `values`, for which the kernel is compiled, to `signature`, and its
    parameters to `numbers`. Tuples are flattened.
    """
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
                # dense: from the last dimension on, each stride is the product of the sizes behind
                for size, stride in zip(reversed(sizes), reversed(strides)):
                    dense = dense and (stride == count or size == 1)
                    count *= size
                numbers += (0, 0, count, n, value.pointer, *sizes, *[s * n for s in strides])
            signature += (value.dtype, len(sizes), dense)
        elif isinstance(value, tuple):
            signature += (kind, len(value))
            _take(value, signature, numbers)
        else:
            signature.append(kind)
            numbers.append(value)


def _codes(value: Any) -> str:
    """The parameters of an argument, in the letters of `struct`: "?" for a bool, "d" for a float,
    "q" for an int, numpy's letter for one of its numbers.
    """
    if isinstance(value, DeviceArray):
        return ARRAY + "q" * 2 * len(value.sizes)
    if isinstance(value, tuple):
        return "".join(map(_codes, value))
    if isinstance(value, (bool, int, float)):
        return "?" if isinstance(value, bool) else "d" if isinstance(value, float) else "q"
    return str(value.dtype.char)


def _offsets(codes: str) -> list[int]:
    """Where each parameter begins, in bytes."""
    # calcsize up to and including a parameter, its padding included, less the parameter itself
    return [struct.calcsize(codes[: i + 1]) - struct.calcsize(codes[i]) for i in range(len(codes))]
