"""Takes kernels that were written for numba.cuda itself as kernels of this package.

    from numba import cuda

    @cuda.jit
    def add(out, a, b): ...

    record(add, grid, block, out, a, b)     # or the undecorated function

numba's decorator keeps the function it was applied to. A kernel here is nothing but such a function
with new globals: `cuda` is the executor that runs it.

How the real one differs: PyTorch takes no kernels in Python; `torch.utils.cpp_extension` compiles
C++ and CUDA sources.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from .language import DeviceFunction, Kernel


def as_kernel(kernel: Kernel) -> DeviceFunction:
    """`kernel` itself, or a new `Kernel` from a function, decorated by numba or not. Raises
    TypeError for anything else.
    """
    if isinstance(kernel, DeviceFunction):
        return kernel
    function = _source(kernel)
    if not inspect.isfunction(function):
        raise TypeError(
            "a kernel is a function, marked with @kernel or numba's @cuda.jit, not "
            f"{type(kernel).__name__}"
        )
    return Kernel(function, _called(function))


def _called(function: Callable[..., Any]) -> tuple[tuple[str, Any], ...]:
    """Bindings for the names of numba's device functions that `function` calls: (name,
    `DeviceFunction`), sorted by name.
    """
    plain = DeviceFunction(function)  # to find out which globals the function mentions
    found = {}
    for name in plain.names():
        value = plain.meaning(name)
        if (
            name != "cuda"
            and not inspect.isfunction(value)
            and inspect.isfunction(inner := _source(value))
        ):
            found[name] = DeviceFunction(inner, _called(inner))
    return tuple(sorted(found.items()))


def _source(value: object) -> Any:
    """The Python function of a dispatcher of numba, or of its simulator; any other value as it
    is.
    """
    if type(value).__module__.startswith("numba."):
        return getattr(value, "py_func", value)
    return value
