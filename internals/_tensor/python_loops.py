"""`apply_`, `map_` and `map2_`: calling a Python function for every element
(`torch/csrc/utils/tensor_apply.cpp`).

They are slow, and only for tensors on the CPU. The result of the function is converted to the dtype
of the tensor. Autograd cannot record such a function, so a tensor that requires a gradient is an
error.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from internals.core.arg_types import type_name
from internals.core.dtype import INTEGRAL, dtype
from internals.core.scalar import checked
from internals.core.tensor_impl import Tensor, TensorImpl, array


class PythonLoops:
    """The part of `Tensor` with these three methods."""

    __slots__ = ()

    def apply_(self: Any, callable: Callable[[Any], Any]) -> Any:
        """Replace every element by `callable(element)`. Raises RuntimeError for a tensor that
        requires a gradient.
        """
        return _loop(self, (), callable, "apply_")

    def map_(self: Any, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Any:
        """Replace every element by `callable(element, other)`, where `other` is the element at the
        same position of `tensor`, which is broadcast.

        Raises TypeError for a tensor of another type, RuntimeError for one that requires a gradient
        or cannot be broadcast.
        """
        return _loop(self, (tensor,), callable, "map_")

    def map2_(self: Any, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Any:
        """Replace every element by `callable(element, x_element, y_element)`; errors as for
        `map_`.
        """
        return _loop(self, (x, y), callable, "map2_")


def _loop(self: Tensor, others: tuple[Any, ...], function: Callable[..., Any], name: str) -> Any:
    """Replace every element of `self` by the result of `function`, which is called with it and the
    elements of `others`. `name` is the method, for errors. Returns `self`.
    """
    argument_names = ("other",) if len(others) == 1 else ("x", "y")
    for i, t in enumerate(others):
        if not isinstance(t, TensorImpl):
            given = type_name(t)
            raise TypeError(
                f"{name}(): argument '{argument_names[i]}' (position {i + 1}) must be Tensor, not "
                f"{given}"
            )
    if any(t.requires_grad for t in (self, *others)):
        raise RuntimeError(
            f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() "
            "instead."
        )
    if self.device.type != "cpu":
        raise TypeError(f"{name} is only implemented on CPU tensors")
    for t, argument in zip(others, argument_names):
        if t.type() != self.type():
            wanted, given = (x.type().replace("internals.", "torch.") for x in (self, t))
            raise TypeError(f"{name}: expected {wanted} for '{argument}' (got {given})")
    # the function may give a tensor other memory: keep the memory of these arrays until the end
    held = [t._storage.lend() for t in (self, *others)]
    columns = [array(t.expand(self.shape).detach()) for t in others]
    elements = array(self)
    for index in np.ndindex(*self.shape):
        value = function(elements[index].item(), *(c[index].item() for c in columns))
        elements[index] = checked(_number(value, self.dtype), self.dtype)
    del held
    return self


def _number(value: Any, kind: dtype) -> Any:
    """The result of the function as a Python number. Raises TypeError if it is not a number."""
    if isinstance(value, (int, float, complex)):
        return value
    return operator.index(value) if kind.category <= INTEGRAL else math.ldexp(value, 0)
