"""Hands a kernel to `numba.cuda`, which compiles it to PTX for a real GPU, or runs it on its own
simulator.

The source is compiled as it stands. `bound_function` gives it the globals that it needs there:
numba's `cuda` module, compiled device functions, and the values of template parameters. `cubins.py`
makes machine code of the PTX.

How the real one differs: nvcc compiles ahead of time, for each architecture, into the library's
fatbin. Here NVVM compiles on first launch, as PyTorch's own jiterator and NNC do with NVRTC.
"""

from __future__ import annotations

import math
import types
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from internals.machine_code.templates import Choice, DeviceFunction, Intrinsic

if TYPE_CHECKING:
    from .language import Kernel

_functions: dict[tuple[DeviceFunction, bool], Any] = {}
_kernels: dict[DeviceFunction, Any] = {}


def launch_on_numba_simulator(kernel: Kernel, grid: Any, block: Any, args: tuple[Any, ...]) -> None:
    """Run `kernel` to its end on numba's simulator; arrays are numpy arrays over the simulated
    memory.

    They are wrapped as arrays of the device. numba would copy plain numpy arrays to its device and
    back, each separately: of two arguments that share memory, the last copied back would win.
    """
    from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray

    compiled(kernel)[grid, block](
        *[FakeCUDAArray(a) if isinstance(a, np.ndarray) else a for a in args]
    )


def compiled(kernel: Kernel) -> Any:
    """The object of numba's simulator that runs `kernel`, made on first use."""
    found = _kernels.get(kernel)
    if found is None:
        from numba import cuda

        found = _kernels[kernel] = cuda.jit(bound_function(kernel))
    return found


def compile_ptx(
    kernel: Any,
    types: tuple[Any, ...],
    cc: tuple[int, int],
    fastmath: bool = False,
    lineinfo: bool = False,
) -> str:
    """The PTX of `kernel` for arguments of numba's `types` and compute capability `cc`. Needs no
    GPU.
    """
    from numba import cuda
    from numba.cuda import dispatcher
    from numba.cuda.core.compiler_lock import global_compiler_lock

    with global_compiler_lock:
        original = dispatcher.get_current_device
        try:
            # for device functions numba asks the current device for its compute capability, though
            # `cc` is given
            dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=cc)
            options: Any = {
                "fastmath": fastmath,
                "lineinfo": lineinfo,
                "launch_bounds": getattr(kernel, "launch_bounds", None),
            }
            text, _ = cuda.compile_ptx(bound_function(kernel, lineinfo), types, cc=cc, **options)
        finally:
            dispatcher.get_current_device = original
    return str(text)


def bound_function(instance: DeviceFunction, lineinfo: bool = False) -> Any:
    """The Python function of `instance`, with new globals: every name in it stands for an object
    that numba.cuda can compile or simulate.
    """
    from numba import cuda

    scope: dict[str, Any] = {"__builtins__": __builtins__, "__name__": instance.function.__module__}
    for name in instance.names():
        value = instance.meaning(name)
        if isinstance(value, Choice):  # first: it may choose a device function or an intrinsic
            value = value.elsewhere if _simulated() else value.gpu
        if isinstance(value, DeviceFunction):
            value = _device_function(value, lineinfo)
        if isinstance(value, Intrinsic):
            value = value.elsewhere if _simulated() else value.load()
        scope[name] = value
    is_kernel = hasattr(instance, "launch_bounds")
    scope["cuda"] = cuda if is_kernel or not _simulated() else _KernelContext()
    if _simulated() and scope.get("math") is math:
        from .registers import DeviceMath

        scope["math"] = DeviceMath()
    function: Any = instance.function
    # names that the function has from an enclosing function come as cells, not from its globals
    cells = tuple(types.CellType(scope[n]) for n in function.__code__.co_freevars)
    return types.FunctionType(
        function.__code__, scope, function.__name__, function.__defaults__, cells
    )


def _device_function(instance: DeviceFunction, lineinfo: bool) -> Any:
    """`instance` as a device function of numba, made once for all kernels that call it."""
    found = _functions.get((instance, lineinfo))
    if found is None:
        from numba import cuda

        function = bound_function(instance, lineinfo)
        inline = lineinfo or _simulated() or _shares_memory(function)
        options = {"inline": "always"} if inline else {"forceinline": True}
        found = _functions[instance, lineinfo] = cuda.jit(function, device=True, **options)
    return found


def _shares_memory(function: Any) -> bool:
    """Whether a device function has shared memory, itself or in a function that it calls.

    numba itself inlines such a function into its callers, before it infers types: it numbers the
    shared arrays of each function from 1 on, and NVVM refuses two arrays of one name. The same goes
    for functions whose lines are wanted (`lineinfo`). All others are compiled once for all callers,
    which is faster, and NVVM inlines them.
    """
    called = function.__globals__.values()
    return "shared" in function.__code__.co_names or any(
        getattr(value, "targetoptions", {}).get("inline") == "always" for value in called
    )


class _KernelContext:
    """`cuda` in a device function on numba's simulator: it stands for that of the running kernel.

    numba itself would set the function's global `cuda` for the time of each call. Then the first of
    several threads to return from the function would take it away from the others.
    """

    def __getattr__(self, name: str) -> Any:
        from numba.cuda.simulator.kernel import _get_kernel_context

        return getattr(_get_kernel_context(), name)


def _simulated() -> bool:
    """Whether numba in this process is its own simulator."""
    from numba import config

    return bool(getattr(config, "ENABLE_CUDASIM", False))
