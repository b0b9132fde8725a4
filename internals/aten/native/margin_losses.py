"""Losses with a margin, and the loss for counts of a Poisson distribution
(`aten/src/ATen/native/Loss.cpp`).

A margin is the distance by which a right answer should be ahead: a loss is 0 from there on. All are
written with operators. Only `soft_margin_loss` has a formula for its gradient, as in PyTorch; of
the others autograd records the steps.

How the real one differs: it clamps its own intermediate results in place.
"""

from __future__ import annotations

from math import pi
from typing import Any

from internals._generated import ops
from internals.core.dtype import SCALAR_TYPE_NAME
from internals.core.tensor_impl import Tensor

from .losses import MEAN, _reduced

_EPSILON = 1e-12  # keeps the cosine of a zero vector from being 0 / 0


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = MEAN
) -> Any:
    """max(0, -target * (input1 - input2) + margin). Raises RuntimeError unless all have the same
    number of dimensions.
    """
    if not input1.dim() == input2.dim() == target.dim():
        sizes = (
            f"input1: {list(input1.shape)}, input2: {list(input2.shape)}, target: "
            f"{list(target.shape)} "
        )
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"{sizes}"
        )
    return _reduced((-target * (input1 - input2) + margin).clamp_min(0), reduction)


def hinge_embedding_loss(
    self: Tensor, target: Tensor, margin: float = 1.0, reduction: int = MEAN
) -> Any:
    """`self` where `target` is 1, max(0, margin - self) where it is -1, and their sum elsewhere."""
    zeros = ops.zeros_like(self, None, None, None, None, None)
    apart = ops.where_self(target != 1, (margin - self).clamp_min(0), zeros)
    return _reduced(apart + ops.where_self(target != -1, self, zeros), reduction)


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = MEAN
) -> Any:
    """1 - cosine similarity where `target` is 1, max(0, similarity - margin) where it is -1. Inputs
    (N, D) or (D).

    Raises RuntimeError for other shapes.
    """
    dim = target.dim()
    if dim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if input1.dim() != dim + 1 or input2.dim() != dim + 1:
        raise RuntimeError(
            f"{dim}D target tensor expects {dim + 1}D input tensors, but found inputs with sizes "
            f"{list(input1.shape)} and {list(input2.shape)}."
        )
    # (N, D), or (D), summed over D
    products = (input1 * input2).sum(dim)
    squares1, squares2 = ((x * x).sum(dim) + _EPSILON for x in (input1, input2))
    cosine = products / (squares1 * squares2).sqrt()
    zeros = ops.zeros_like(cosine, None, None, None, None, None)
    alike = ops.where_self(target == 1, 1 - cosine, zeros)
    return _reduced(
        alike + ops.where_self(target == -1, (cosine - margin).clamp_min(0), zeros), reduction
    )


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = MEAN,
) -> Any:
    """max(0, |anchor - positive| - |anchor - negative| + margin), in p-norms over the last
    dimension; with `swap` |positive - negative| is taken where it is smaller than the second.

    Raises RuntimeError when the numbers of dimensions differ.
    """
    dims = anchor.dim(), positive.dim(), negative.dim()
    if len(set(dims)) > 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            "dimensions, but got: "
            f"anchor {dims[0]}D, positive {dims[1]}D, and negative {dims[2]}D inputs"
        )
    near = ops.pairwise_distance(anchor, positive, p, eps, False)
    far = ops.pairwise_distance(anchor, negative, p, eps, False)
    if swap:
        far = ops.minimum(far, ops.pairwise_distance(positive, negative, p, eps, False))
    return _reduced((margin + near - far).clamp_min(0), reduction)


def soft_margin_loss(self: Tensor, target: Tensor, reduction: int = MEAN) -> Any:
    """log(1 + exp(-target * self)), in the dtype of `self`. Raises RuntimeError when the result's
    kind of number does not fit in it, as a floating one in integers.
    """
    return _reduced(_as(self, (-self * target).exp().log1p()), reduction)


def soft_margin_loss_backward(
    grad_output: Tensor, self: Tensor, target: Tensor, reduction: int
) -> Any:
    """-target * z / (1 + z) * grad_output with z = exp(-target * self), divided by the number of
    elements for a mean.
    """
    z = (-self * target).exp()
    scale = -1 / max(self.numel(), 1) if reduction == MEAN else -1
    return _as(self, scale * target * z / (z + 1) * grad_output)


def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int
) -> Any:
    """exp(input) - target * input, or input - target * log(input + eps); `full` adds Stirling's
    approximation of log(target!).
    """
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        # the approximation is for large targets; log(0!) and log(1!) are 0
        stirling = target * target.log() - target + 0.5 * (2 * pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return _reduced(loss, reduction)


def _as(self: Tensor, result: Tensor) -> Any:
    """`result` in the dtype of `self`, as an operator in place would store it."""
    if result.dtype.category > self.dtype.category:
        found, wanted = SCALAR_TYPE_NAME[result.dtype], SCALAR_TYPE_NAME[self.dtype]
        raise RuntimeError(f"result type {found} can't be cast to the desired output type {wanted}")
    return result.to(self.dtype)
