"""Launches a kernel: so many threads, on a stream, with arguments (`<<<grid, block, 0, stream>>>`,
`cudaLaunchKernel`).

`kernel[grid, block](...)` turns tensors into the arrays that a kernel takes, checks that they live
on one device, and hands the launch to the driver. It returns at once: the work is queued on the
stream.

How the real one differs: a launch also carries the size of dynamic shared memory, and checks
cudaGetLastError afterwards (`C10_CUDA_KERNEL_LAUNCH_CHECK`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from internals.core.corrected import corrected
from internals.core.tensor_impl import TensorImpl

from . import backend
from .device_array import DeviceArray, flat, whole
from .language import Kernel

Dim3 = tuple[int, int, int]
THREADS = 256  # in a block, by default
INDEX_LIMIT = 1 << 31  # smaller indices are divided in 32 bits, which is faster on a GPU


class Launch:
    """A kernel with its configuration, to be called with the kernel's arguments.

    Raises ValueError for a configuration no device takes, TypeError for too few or too many
    arguments, RuntimeError for tensors that are not all on one CUDA device.
    """

    __slots__ = ("kernel", "grid", "block", "stream")

    def __init__(self, kernel: Kernel, configuration: Any) -> None:
        if not isinstance(configuration, tuple) or not 2 <= len(configuration) <= 3:
            call = kernel.call_text()
            raise ValueError(
                corrected(
                    "a launch says how many blocks, of how many threads, and perhaps the stream",
                    f"{kernel.name}[{configuration!r}]{call}",
                    f"{kernel.name}[grid, block]{call}",
                )
            )
        self.kernel = kernel
        self.grid, self.block = shape_of(*configuration[:2])
        self.stream = configuration[2] if len(configuration) == 3 else None

    def __call__(self, *args: Any) -> None:
        code = self.kernel.function.__code__
        if len(args) != code.co_argcount:
            raise TypeError(
                f"kernel {self.kernel.name} takes {code.co_argcount} arguments "
                f"{self.kernel.call_text()}, got {len(args)}"
            )
        driver = backend.driver()
        index, arguments = _on_one_device(args)
        if driver.simulated:  # a real driver checks only when it compiles (`gpu_launch.call_for`)
            check_numbers(arguments)
        if index is None:  # no array says where: the stream's device, else the current one
            index = getattr(getattr(self.stream, "device", None), "index", None)
        device = backend.current_device() if index is None else int(index)
        stream = backend.current_stream(device) if self.stream is None else _handle(self.stream)
        driver.launch(device, stream, self.kernel, self.grid, self.block, arguments)


class Repeated:
    """A launch that is repeated with other tensors and numbers of the same dtypes; `rest` stays the
    same.

    The kernel's arguments are the elements of the tensors (`flat`), the tuple of numbers, and the
    rest. `Driver.launch_repeated` starts it, and keeps in `call` what it can prepare for the next
    time.
    """

    __slots__ = ("launch", "rest", "call")

    def __init__(self, launch: Launch, *rest: Any) -> None:
        self.launch, self.rest = launch, rest
        self.call: Any = None

    def in_full(self, tensors: list[Any], numbers: tuple[Any, ...]) -> None:
        """Launch without using `call`: every argument is looked at."""
        self.launch(*map(flat, tensors), numbers, *self.rest)


@lru_cache(maxsize=1 << 12)
def shape_of(grid: int | Sequence[int], block: int | Sequence[int]) -> tuple[Dim3, Dim3]:
    """The grid and the block, each as three sizes. Raises ValueError for what no device takes."""
    blocks, threads = dim3("grid", grid), dim3("block", block)
    if prod(threads) > 1024:
        raise ValueError(
            corrected(
                f"a block has at most 1024 threads, got {prod(threads)} = {threads}: take more "
                "blocks",
                f"kernel[{grid}, {block}]",
                # -(-a // b) rounds up: at least as many threads, in blocks of 1024
                f"kernel[{prod(blocks) * -(-prod(threads) // 1024)}, 1024]",
            )
        )
    return blocks, threads


def dim3(what: str, value: Any) -> Dim3:
    """`value`, an int or a tuple of up to three, as three sizes; those not given are 1. Raises
    ValueError for more than three, or one below 1.
    """
    given = value if isinstance(value, tuple) else (value,)
    sizes = tuple(int(n) for n in given) + (1,) * (3 - len(given))
    if len(sizes) != 3 or min(sizes) < 1:
        raise ValueError(f"{what} must be one to three positive ints, got {value!r}")
    return sizes


def threads_for(n: int, most: int = THREADS) -> int:
    """Threads in a block for `n` items: `most`, or just enough whole warps of 32 if `n` is
    smaller.
    """
    return min(most, max(32, (n + 31) // 32 * 32))


def blocks_for(n: int, threads: int = THREADS, most: int = 1 << 16) -> int:
    """The number of blocks of `threads` threads so that each of `n` items has a thread. At most
    `most`: then each thread of a grid-stride loop does several items.
    """
    return max(1, min(most, (n + threads - 1) // threads))


def launch_1d(kernel: Kernel, n: int, *args: Any) -> None:
    """Launch a grid-stride kernel over `n` items. Does nothing if `n` is 0."""
    if n:
        threads = threads_for(n)
        counted(kernel, n)[blocks_for(n, threads), threads](*args)


def counted(kernel: Kernel, n: int) -> Kernel:
    """`kernel`, or its variant that divides in 64 bits if `n` (elements, rows or windows) reaches
    `INDEX_LIMIT` (`kernels.copy.split`).
    """
    return (
        kernel.bind(INDEX=np.int64)
        if n >= INDEX_LIMIT and "INDEX" in kernel.open_parameters()
        else kernel
    )


def _on_one_device(args: tuple[Any, ...]) -> tuple[int | None, tuple[Any, ...]]:
    """The index of the device of the arrays among `args`, None if there are none; and `args` with
    each tensor replaced by an array. Raises RuntimeError for arrays on several devices.
    """
    if any(isinstance(value, TensorImpl) for value in args):
        args = tuple([whole(value) if isinstance(value, TensorImpl) else value for value in args])
    devices = {value.device for value in args if value.__class__ is DeviceArray}
    if len(devices) > 1:
        first, second = sorted(devices)[:2]
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, "
            f"cuda:{first} and cuda:{second}!"
        )
    return devices.pop() if devices else None, args


def check_numbers(args: Iterable[Any]) -> None:
    """Raises TypeError for an argument that is not an array, a number or a tuple of numbers."""
    for value in args:
        if not isinstance(value, DeviceArray) and not is_numbers(value):
            raise TypeError(
                corrected(
                    "a kernel takes CUDA tensors, numbers and tuples of numbers, not "
                    f"{type(value).__name__}",
                    "kernel[grid, block]([1, 2])",
                    "kernel[grid, block](torch.tensor([1, 2]).cuda())",
                )
            )


def is_numbers(value: object) -> bool:
    """Whether it is a number or a tuple of such values, nested or not. A NamedTuple of ints gives a
    kernel many sizes under names.
    """
    return (
        isinstance(value, (int, float, np.generic))
        or isinstance(value, tuple)
        and all(map(is_numbers, value))
    )


def _handle(stream: Any) -> int:
    """The driver's handle of a `Stream`; a number is one already."""
    return int(getattr(stream, "cuda_stream", stream))
