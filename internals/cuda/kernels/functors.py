"""The operations on single elements, as device functions (`aten/src/ATen/native/cuda/*Kernel.cu`).

`kernels/elementwise.py` walks over memory, and one of these is its `op`. The formulas are those of
`internals/aten/scalar_functions/table.py`, under the same names. This file has the functions that
the formulas call: those of `math`, which NVIDIA's libdevice implements. They take numbers of the
dtype `T` that is computed in and may return any number: the kernel converts the result.

How the real one differs: it has C++ lambdas in `gpu_kernel(iter, [=] GPU_LAMBDA (scalar_t a,
scalar_t b) {...})`; `exp` and its like are the same functions of libdevice.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

from internals.aten.scalar_functions import ScalarFunction, get, kind_of, name_of, of_loop
from internals.core.dtype import dtype

from ..language import DeviceFunction, device_function

# fmt: off
exp      = device_function(lambda a:    math.exp(a))
expm1    = device_function(lambda a:    math.expm1(a))
log      = device_function(lambda a:    math.log(a))
log1p    = device_function(lambda a:    math.log1p(a))
log2     = device_function(lambda a:    math.log2(a))
log10    = device_function(lambda a:    math.log10(a))
sqrt     = device_function(lambda a:    math.sqrt(a))
sin      = device_function(lambda a:    math.sin(a))
cos      = device_function(lambda a:    math.cos(a))
tan      = device_function(lambda a:    math.tan(a))
asin     = device_function(lambda a:    math.asin(a))
acos     = device_function(lambda a:    math.acos(a))
atan     = device_function(lambda a:    math.atan(a))
atan2    = device_function(lambda a, b: math.atan2(a, b))
sinh     = device_function(lambda a:    math.sinh(a))
cosh     = device_function(lambda a:    math.cosh(a))
tanh     = device_function(lambda a:    math.tanh(a))
asinh    = device_function(lambda a:    math.asinh(a))
acosh    = device_function(lambda a:    math.acosh(a))
atanh    = device_function(lambda a:    math.atanh(a))
hypot    = device_function(lambda a, b: math.hypot(a, b))
copysign = device_function(lambda a, b: math.copysign(a, b))
erf      = device_function(lambda a:    math.erf(a))
erfc     = device_function(lambda a:    math.erfc(a))
lgamma   = device_function(lambda a:    math.lgamma(a))
pow      = device_function(lambda a, exponent: math.pow(a, exponent))
fmod     = device_function(lambda a, b: math.fmod(a, b))
floor    = device_function(lambda a:    math.floor(a))
ceil     = device_function(lambda a:    math.ceil(a))
trunc    = device_function(lambda a:    math.trunc(a))
# fmt: on


def functor(loop: Callable[..., Any], common: dtype) -> DeviceFunction:
    """The device function that does what a loop of the CPU does, computing in the dtype `common`.

    Raises NotImplementedError if there is none.
    """
    entry = of_loop(loop)
    found = None if entry is None else on_gpu(entry.on(kind_of(common)))
    if found is None:
        raise NotImplementedError(
            f"the loop '{name_of(loop)}' has no CUDA kernel;"
            " internals/aten/scalar_functions/table.py lists those that do"
        )
    return found


@cache
def on_gpu(entry: ScalarFunction) -> DeviceFunction | None:
    """The function of that name in this file, or else the formula, with the functions that it calls
    filled in. None if one of them is missing on the GPU.
    """
    if entry.formula is None:
        return _OWN.get(entry.name)
    # "T" is left open: it is the kernel's, not a function
    called = {name: on_gpu(get(name)) for name in entry.formula.open_parameters() - {"T"}}
    return None if None in called.values() else entry.formula.bind(**called)


_OWN = {n: value for n, value in globals().items() if isinstance(value, DeviceFunction)}
for _name, _value in _OWN.items():  # a lambda has no name: let it have that of its line
    _value.name = _value.function.__name__ = _name


def __getattr__(name: str) -> Any:
    """A formula of the table, as a device function."""
    try:
        return on_gpu(get(name))
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
