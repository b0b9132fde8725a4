"""Bilinear forms, x1ᵀ W x2, and the distance between two vectors
(`aten/src/ATen/native/Linear.cpp`, `Distance.cpp`).

How the real one differs: its operator `_trilinear` multiplies and sums three tensors without the
einsum notation.
"""

from __future__ import annotations

from typing import Any

from internals._generated import ops
from internals.core.tensor_impl import Tensor


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Any:
    """(*, O): element o is input1 @ weight[o] @ input2 + bias[o], for `input1` (*, I), `input2`
    (*, J), `weight` (O, I, J) and `bias` (O).

    Raises RuntimeError for sizes that do not fit.
    """
    if bias is not None and bias.size(0) != weight.size(0):
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias.shape[0]} but expected "
            f"{weight.shape[0]}"
        )
    if input1.dim() != input2.dim():
        raise RuntimeError(
            f"bilinear(): input dimensions do not match: got {input1.dim()} and {input2.dim()}"
        )
    for dim, (a, b) in enumerate(zip(input1.shape[:-1], input2.shape[:-1])):
        if a != b:
            raise RuntimeError(
                f"bilinear(): input batch dimensions do not match at dim {dim}: got {a} and {b}"
            )
    for name, got, expected in (
        ("input1", input1, weight.size(1)),
        ("input2", input2, weight.size(2)),
    ):
        if got.size(-1) != expected:
            raise RuntimeError(
                f"bilinear(): {name} size does not match weight size: got {got.shape[-1]} but "
                f"expected {expected}"
            )
    result = ops.einsum("...i,oij,...j->...o", [input1, weight, input2], None)
    return result if bias is None else result + bias


def pairwise_distance(x1: Tensor, x2: Tensor, p: float, eps: float, keepdim: bool) -> Any:
    """The p-norm of x1 - x2 + eps along the last dimension. `eps` keeps the derivative finite where
    x1 and x2 are equal.
    """
    difference = x1 - x2 + eps
    return difference.norm(p, difference.dim() - 1, keepdim)
