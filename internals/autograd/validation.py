"""Fits gradients to their tensors: shape, dtype and device (`validate_outputs` in
`torch/csrc/autograd/engine.cpp`).

Formulas need not care about broadcasting or dtypes. A gradient of the broadcast shape is summed to
the shape of the input, one of another dtype is cast, and a complex gradient of a real input is
replaced by its real part (`autograd/formulas/complex.py`). A gradient that cannot be made to fit is
an error that names the node.

How the real one differs: it also takes sparse and nested gradients.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from internals._generated import ops
from internals.aten.broadcasting import broadcast_shapes
from internals.core import dtype as dt
from internals.core.geometry import Geometry
from internals.core.grad_mode import is_grad_enabled
from internals.core.tensor_impl import Tensor


def validated(grad: Tensor, expected: Geometry | None, index: int, node: Any) -> Any:
    """`grad`, made to fit a tensor of geometry `expected`. `node` returned it as result `index`, or
    the user gave it (None).

    Raises RuntimeError when the shapes, devices or kinds of dtype do not allow it.
    """
    if expected is None:
        return grad
    g = grad._geometry
    if g.sizes != expected.sizes:
        grad = _sum_to(grad, expected, index, node)
    if g.dtype is not expected.dtype:
        if g.dtype.category < dt.FLOATING:
            raise RuntimeError(
                f"{_who(node)}invalid gradient at index {index} - expected dtype {expected.dtype} "
                f"but got {g.dtype}"
            )
        if g.dtype.category > expected.dtype.category:  # complex, for a real input
            grad = ops.real(grad)
        grad = grad.to(expected.dtype)
    if g.device is not expected.device:
        if g.sizes:  # a number, in a 0-d tensor, may come from another device
            raise RuntimeError(
                f"{_who(node)}invalid gradient at index {index} - expected device "
                f"{expected.device} but got {g.device}"
            )
        grad = grad.to(expected.device)
    return grad


def sum_to(grad: Tensor, sizes: tuple[int, ...]) -> Any:
    """The sum over all dimensions in which `sizes` was broadcast to the shape of `grad`
    (`at::sum_to`).
    """
    lead, inner = _broadcast_dims(grad._geometry.sizes, sizes)
    if not inner and lead and not is_grad_enabled():
        # a bias, (N, C) -> (C,): without `keepdim` one operation instead of PyTorch's two
        return ops.sum_dim_IntList(grad, list(range(lead)), False, None)
    if lead or inner:
        grad = ops.sum_dim_IntList(grad, [*range(lead), *inner], True, None)
    return ops.view(grad, sizes) if lead else grad


def _sum_to(grad: Tensor, expected: Geometry, index: int, node: object) -> Any:
    """`sum_to` the expected sizes. Raises RuntimeError if they do not broadcast to `grad`'s."""
    if not _fits(grad._geometry.sizes, expected.sizes):
        raise RuntimeError(
            f"{_who(node)}invalid gradient at index {index} - got {list(grad.shape)} but expected "
            f"shape compatible with {list(expected.sizes)}"
        )
    return sum_to(grad, expected.sizes)


@lru_cache(maxsize=1 << 12)
def _fits(shape: tuple[int, ...], sizes: tuple[int, ...]) -> bool:
    """Whether `sizes` can be broadcast to `shape`."""
    try:
        return tuple(broadcast_shapes(shape, sizes)) == shape
    except RuntimeError:
        return False


@lru_cache(maxsize=1 << 12)
def _broadcast_dims(shape: tuple[int, ...], sizes: tuple[int, ...]) -> tuple[int, list[int]]:
    """The number of leading dimensions that `sizes` lacks, and those of the others, as dimensions
    of `shape`, in which a 1 was broadcast.

    For `shape` (5, 2, 3) and `sizes` (1, 3) they are 1 and [1].
    """
    lead = len(shape) - len(sizes)
    return lead, [d + lead for d, n in enumerate(sizes) if n == 1 and shape[d + lead] != 1]


def _who(node: Any) -> str:
    """The beginning of an error about a gradient that `node` returned."""
    return "" if node is None else f"Function {node.name()} returned an "
