"""A kernel through `numba.cuda`: machine code for a real GPU, or numba's own simulator.

The source is compiled as it stands. `bound_function` gives it the globals it needs on this executor: numba's `cuda` module,
device functions that are compiled too, and what the template parameters were bound to. numba compiles once for each combination
of argument types and keeps the result; how that is launched is told in `gpu_launch.py`.

How the real one differs: nvcc compiles ahead of time, for each architecture, into the library's fatbin; here NVVM compiles on
first launch, as PyTorch's own jiterator and NNC do with NVRTC.
"""

from __future__ import annotations

import math
import types
from typing import Any

import numpy as np

from .language import Choice, DeviceFunction, Intrinsic, Kernel

_functions: dict[DeviceFunction, Any] = {}
_kernels: dict[DeviceFunction, Any] = {}


def launch_on_numba_simulator(kernel: Kernel, grid: Any, block: Any, args: tuple[Any, ...]) -> None:
    """Run `kernel` to its end on numba's simulator; arrays are numpy arrays over the simulated memory.

    They are handed over as arrays of the device: numba would copy numpy arrays, each for itself, and of two arguments that share
    memory the later copy would win.
    """
    from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray

    compiled(kernel)[grid, block](*[FakeCUDAArray(a) if isinstance(a, np.ndarray) else a for a in args])


def compiled(kernel: Kernel) -> Any:
    """The numba dispatcher of `kernel`."""
    found = _kernels.get(kernel)
    if found is None:
        from numba import cuda

        bounds = {} if kernel.launch_bounds is None or _simulated() else {"launch_bounds": kernel.launch_bounds}
        found = _kernels[kernel] = cuda.jit(bound_function(kernel), **bounds)
    return found


def bound_function(instance: DeviceFunction) -> Any:
    """The Python function of `instance` with every name it mentions meaning what numba.cuda can compile."""
    from numba import cuda

    scope: dict[str, Any] = {"__builtins__": __builtins__, "__name__": instance.function.__module__}
    for name in instance.names():
        value = instance.meaning(name)
        if isinstance(value, Choice):
            value = value.elsewhere if _simulated() else value.gpu
        if isinstance(value, DeviceFunction):
            value = _device_function(value)
        if isinstance(value, Intrinsic):
            value = value.elsewhere if _simulated() else value.load()
        scope[name] = value
    scope["cuda"] = _KernelContext() if _simulated() and not isinstance(instance, Kernel) else cuda
    if _simulated() and scope.get("math") is math:
        from .registers import DeviceMath

        scope["math"] = DeviceMath()
    function: Any = instance.function
    cells = tuple(types.CellType(scope[n]) for n in function.__code__.co_freevars)
    return types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__, cells)


def _device_function(instance: DeviceFunction) -> Any:
    found = _functions.get(instance)
    if found is None:
        from numba import cuda

        found = _functions[instance] = cuda.jit(bound_function(instance), device=True, inline="always")
    return found


class _KernelContext:
    """`cuda` in a device function on numba's simulator: that of the kernel which runs.

    numba would exchange the function's global for the time of each call, and the first of several threads to leave the function
    would take it away from the others.
    """

    def __getattr__(self, name: str) -> Any:
        from numba.cuda.simulator.kernel import _get_kernel_context

        return getattr(_get_kernel_context(), name)


def _simulated() -> bool:
    from numba import config

    return bool(getattr(config, "ENABLE_CUDASIM", False))
