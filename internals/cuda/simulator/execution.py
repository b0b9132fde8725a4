"""Runs the kernels of a simulated device, and gives their errors CUDA's names.

The interpreter of this package runs a kernel's source thread by thread. With
INTERNALS_CUDA=numba-simulator numba's own simulator does it instead, with one thread of the
operating system for each thread of a block. That is slower, but a second, independent check.

Mirrors nothing in PyTorch: it stands for the multiprocessors.

How the real one differs: a kernel is machine code. Its errors do not name the kernel, block and
thread, unless compute-sanitizer runs the program.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..backend import explain
from ..device_array import DeviceArray
from ..driver import CudaError, Dim3, IllegalMemoryAccess
from .memory import AddressSpace

if TYPE_CHECKING:
    from internals.cuda.language import Kernel

Runner = Callable[[Any, Dim3, Dim3, tuple[Any, ...], AddressSpace], None]
CUDASIM = "NUMBA_ENABLE_CUDASIM"

ASYNCHRONOUS = (
    "\nCUDA kernel errors might be asynchronously reported at some other API call, so the "
    "stacktrace below might be incorrect."
    "\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1"
)


def runner(numba: bool) -> Runner:
    """The function that runs a kernel: in the interpreter, or on numba's simulator."""
    if numba:
        enable_numba_simulator()
        return run_on_numba
    return interpret


def interpret(
    kernel: Kernel, grid: Dim3, block: Dim3, args: tuple[Any, ...], memory: AddressSpace
) -> None:
    """Run a launch in the interpreter."""
    from ..interpreter import run

    run(kernel, grid, block, args, memory=memory)


def run_on_numba(
    kernel: Any, grid: Dim3, block: Dim3, args: tuple[Any, ...], memory: AddressSpace
) -> None:
    """Run a launch on numba's simulator."""
    from ..compiled import launch_on_numba_simulator

    arrays = tuple(_array(a, memory) if isinstance(a, DeviceArray) else a for a in args)
    launch_on_numba_simulator(kernel, grid, block, arrays)


def enable_numba_simulator() -> None:
    """Make `numba.cuda` the simulator. Raises RuntimeError if it was imported without it before.

    Both the `numba.cuda` of numba itself and that of the package numba-cuda have the simulator.
    """
    numba, numba_cuda = sys.modules.get("numba"), sys.modules.get("numba.cuda")
    if numba_cuda is not None and not numba_cuda.config.ENABLE_CUDASIM:
        raise RuntimeError(
            f"numba.cuda was imported before, without its simulator: set {CUDASIM}=1 in the "
            "environment, or use CUDA before anything imports numba.cuda"
        )
    os.environ[CUDASIM] = "1"
    if numba is not None:
        numba.config.ENABLE_CUDASIM = 1  # it has read the environment already


def as_cuda_error(error: Exception, asynchronous: bool) -> CudaError:
    """CUDA's error for an exception that a kernel raised. `asynchronous` adds the remark that the
    kernel may have been launched by an earlier call.
    """
    suffix = ASYNCHRONOUS if asynchronous else ""
    if isinstance(error, CudaError):
        return type(error)(f"{error}{suffix}")
    if isinstance(error, IndexError):
        name = explain(
            "an illegal memory access was encountered", "cudaErrorIllegalAddress", str(error)
        )
        return IllegalMemoryAccess(name + suffix)
    if isinstance(error, AssertionError):
        return CudaError(
            explain("device-side assert triggered", "cudaErrorAssert", str(error)) + suffix
        )
    detail = f"{type(error).__name__}: {error}"
    return CudaError(
        explain("unspecified launch failure", "cudaErrorLaunchFailure", detail) + suffix
    )


def _array(a: DeviceArray, memory: AddressSpace) -> Any:
    """A numpy array that shares the simulated memory of `a`."""
    strides = [s * a.dtype.itemsize for s in a.strides]
    return np.ndarray(a.sizes, a.dtype.np, memory.view(a.pointer, a.nbytes), 0, strides)
