"""Calls the part of an operator that each device has its own version of
(`aten/src/ATen/native/DispatchStub.h`).

An operator is one function for all devices. It checks its arguments, makes its result by geometry
alone, and computes it if it is stored in this process (`Geometry.stored`). If not, `on_device`
hands the result to its device:

    if not self._geometry.stored:
        return on_device("pooling.avg_pool2d", out, self, ...)

calls `avg_pool2d` of `internals.cuda.native.pooling`, which fills it. On "meta" there is nothing to
fill.

How the real one differs: a `DispatchStub` is a table of function pointers, in which each device
registers its own (the CPU one for each of its instruction sets); where there is no stub, a
structured operator has a function for each device.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from internals.core.device import CPU, META


def on_device(name: str, result: object, *args: Any) -> Any:
    """`result`, a tensor or a tuple of tensors, filled by its device's function `name`. On the CPU,
    on "meta", and without elements it is returned as it is.
    """
    # the first tensor that needs memory decides: one call fills all of them
    for t in result if isinstance(result, tuple) else (result,):
        if t is not None:
            g = t._geometry
            if g.device is CPU:
                break
            if g.numel and g.device is not META:
                _function(g.device.type, name)(result, *args)
                break
    return result


@cache
def _function(device_type: str, name: str) -> Callable[..., None]:
    """The function "module.function" of `internals.{device_type}.native`."""
    module, _, function = name.rpartition(".")
    found: Callable[..., None] = getattr(
        import_module(f"internals.{device_type}.native.{module}"), function
    )
    return found
