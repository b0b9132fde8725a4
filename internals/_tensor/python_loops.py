"""A Python function for every element: `apply_`, `map_`, `map2_`
(`torch/csrc/utils/tensor_apply.cpp`).

These are as slow as they look, and exist on the CPU only. Whatever the function gives back is
converted as an element of the tensor; autograd never hears of it, so a tensor that requires a
gradient is refused.

How the real one differs: not at all.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from internals.core.arg_types import type_name
from internals.core.dtype import INTEGRAL, dtype
from internals.core.scalar import checked
from internals.core.tensor_impl import TensorImpl, array

if TYPE_CHECKING:
    from internals._tensor import Tensor


class PythonLoops:
    """The three methods of `Tensor`."""

    __slots__ = ()

    def apply_(self: Any, callable: Callable[[Any], Any]) -> Any:
        """Replace every element by `callable(element)`. Raises RuntimeError for a tensor that
        requires a gradient.
        """
        return _loop(self, (), callable, "apply_")

    def map_(self: Any, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Any:
        """Replace every element by `callable(element, other)`, with the other tensor's, broadcast,
        beside it.

        Raises TypeError for another type of tensor, RuntimeError for one that requires a gradient
        or does not broadcast.
        """
        return _loop(self, (tensor,), callable, "map_")

    def map2_(self: Any, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Any:
        """Replace every element by `callable(element, one, other)`; errors as for `map_`."""
        return _loop(self, (x, y), callable, "map2_")


def _loop(self: Tensor, others: tuple[Any, ...], function: Callable[..., Any], name: str) -> Any:
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
    # the function may give a tensor other memory
    held = [t._storage.lend() for t in (self, *others)]
    columns = [array(t.expand(self.shape).detach()) for t in others]
    elements = array(self)
    for place in np.ndindex(*self.shape):
        value = function(elements[place].item(), *(c[place].item() for c in columns))
        elements[place] = checked(_number(value, self.dtype), self.dtype)
    del held
    return self


def _number(value: Any, kind: dtype) -> Any:
    """What the function gave back as a Python number. Raises Python's TypeError for what is
    none.
    """
    if isinstance(value, (int, float, complex)):
        return value
    return operator.index(value) if kind.category <= INTEGRAL else math.ldexp(value, 0)
