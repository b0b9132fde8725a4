"""A kernel through `numba.cuda`: PTX for a real GPU, or numba's own simulator.

The source is compiled as it stands. `bound_function` gives it the globals it needs on this
executor: numba's `cuda` module, device functions that are compiled too, and what the template
parameters were bound to. What becomes of the PTX is told in `cubins.py`.

How the real one differs: nvcc compiles ahead of time, for each architecture, into the library's
fatbin; here NVVM compiles on first launch, as PyTorch's own jiterator and NNC do with NVRTC.
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

    They are handed over as arrays of the device: numba would copy numpy arrays, each for itself,
    and of two arguments that share memory the later copy would win.
    """
    from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray

    compiled(kernel)[grid, block](
        *[FakeCUDAArray(a) if isinstance(a, np.ndarray) else a for a in args]
    )


def compiled(kernel: Kernel) -> Any:
    """What numba's simulator runs for `kernel`."""
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
    """The PTX of `kernel` for numba's `types` and compute capability `cc`; no GPU is asked for
    anything.
    """
    from numba import cuda
    from numba.cuda import dispatcher
    from numba.cuda.core.compiler_lock import global_compiler_lock

    with global_compiler_lock:
        asked = dispatcher.get_current_device
        try:
            # For device functions numba asks the current device, even where it has been told what
            # to compile for.
            dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=cc)
            how: Any = {
                "fastmath": fastmath,
                "lineinfo": lineinfo,
                "launch_bounds": getattr(kernel, "launch_bounds", None),
            }
            text, _ = cuda.compile_ptx(bound_function(kernel, lineinfo), types, cc=cc, **how)
        finally:
            dispatcher.get_current_device = asked
    return str(text)


def bound_function(instance: DeviceFunction, lineinfo: bool = False) -> Any:
    """The Python function of `instance` with every name it mentions meaning what numba.cuda can
    compile.
    """
    from numba import cuda

    scope: dict[str, Any] = {"__builtins__": __builtins__, "__name__": instance.function.__module__}
    for name in instance.names():
        value = instance.meaning(name)
        if isinstance(value, Choice):
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
    cells = tuple(types.CellType(scope[n]) for n in function.__code__.co_freevars)
    return types.FunctionType(
        function.__code__, scope, function.__name__, function.__defaults__, cells
    )


def _device_function(instance: DeviceFunction, lineinfo: bool) -> Any:
    found = _functions.get((instance, lineinfo))
    if found is None:
        from numba import cuda

        function = bound_function(instance, lineinfo)
        early = lineinfo or _simulated() or _shares_memory(function)
        how = {"inline": "always"} if early else {"forceinline": True}
        found = _functions[instance, lineinfo] = cuda.jit(function, device=True, **how)
    return found


def _shares_memory(function: Any) -> bool:
    """Whether a device function has shared memory, itself or in what it calls.

    Such a function is put into its callers before types are inferred, and so is each that is to
    show its lines. Others are compiled once for all callers, which is quicker, and left to NVVM to
    inline. But numba counts the shared arrays of each function from 1 on, and NVVM refuses two of
    one name.
    """
    called = function.__globals__.values()
    return "shared" in function.__code__.co_names or any(
        getattr(value, "targetoptions", {}).get("inline") == "always" for value in called
    )


class _KernelContext:
    """`cuda` in a device function on numba's simulator: that of the kernel which runs.

    numba would exchange the function's global for the time of each call, and the first of several
    threads to leave the function would take it away from the others.
    """

    def __getattr__(self, name: str) -> Any:
        from numba.cuda.simulator.kernel import _get_kernel_context

        return getattr(_get_kernel_context(), name)


def _simulated() -> bool:
    from numba import config

    return bool(getattr(config, "ENABLE_CUDASIM", False))
