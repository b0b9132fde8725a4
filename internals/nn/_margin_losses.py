"""Losses with a margin, and those of Poisson and normal distributions (`aten/src/ATen/native/Loss.cpp`).

All of them are made of differentiable operators, in PyTorch too (`soft_margin_loss` and `poisson_nll_loss` are one operator
each there, of the same formula).

How the real one differs: it also has multi-label margins, and triplets with any distance.
"""

from __future__ import annotations

import math
from typing import Any

from internals._generated import functions as F
from internals.nn._reduction import get_enum, resolve


def pairwise_distance(x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Any:
    """The p-norm of x1 - x2 + eps along the last dimension; `eps` keeps the derivative finite where they are equal."""
    return (x1 - x2 + eps).norm(p, max(x1.dim(), x2.dim()) - 1, keepdim)


def margin_ranking_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """max(0, -target * (input1 - input2) + margin). Raises RuntimeError unless all have the same number of dimensions."""
    word = resolve(reduction, size_average, reduce)
    if not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return _reduce((-target * (input1 - input2) + margin).clamp_min(0), word)


def hinge_embedding_loss(
    input: Any, target: Any, margin: float = 1.0, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """`input` where `target` is 1, max(0, margin - input) where it is -1."""
    word = resolve(reduction, size_average, reduce)
    apart = (margin - input).clamp_min(0).masked_fill(target == 1, 0)
    return _reduce(apart + input.masked_fill(target == -1, 0), word)


def soft_margin_loss(
    input: Any, target: Any, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Any:
    """log(1 + exp(-target * input))."""
    word = resolve(reduction, size_average, reduce)
    return _reduce((-target * input).exp().log1p(), word)


def cosine_embedding_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """1 - cosine similarity where `target` is 1, max(0, similarity - margin) where it is -1. Inputs (N, D) or (D).

    Raises RuntimeError for other shapes.
    """
    word = resolve(reduction, size_average, reduce)
    _check_cosine(input1, input2, target)
    eps = 1e-12  # PyTorch's EPSILON, under the root of the norms
    squares1, squares2 = (x.square().sum(-1) + eps for x in (input1, input2))
    cosine = (input1 * input2).sum(-1) / (squares1 * squares2).sqrt()
    alike = (1 - cosine).masked_fill(target != 1, 0)
    return _reduce(alike + (cosine - margin).clamp_min(0).masked_fill(target != -1, 0), word)


def triplet_margin_loss(
    anchor: Any, positive: Any, negative: Any, margin: float = 1.0, p: float = 2, eps: float = 1e-6, swap: bool = False,
    size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """max(0, |anchor - positive| - |anchor - negative| + margin); `swap` measures from the positive where that is nearer.

    Raises ValueError unless margin > 0, RuntimeError when the numbers of dimensions differ.
    """
    word = resolve(reduction, size_average, reduce)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    dims = anchor.dim(), positive.dim(), negative.dim()
    if len(set(dims)) > 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {dims[0]}D, positive {dims[1]}D, and negative {dims[2]}D inputs"
        )
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = F.minimum(far, pairwise_distance(positive, negative, p, eps))
    return _reduce((near - far + margin).clamp_min(0), word)


def poisson_nll_loss(
    input: Any, target: Any, log_input: bool = True, full: bool = False, size_average: bool | None = None, eps: float = 1e-8,
    reduce: bool | None = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """exp(input) - target * input, or input - target * log(input + eps); `full` adds Stirling's approximation of log(target!)."""
    word = resolve(reduction, size_average, reduce)
    if word not in ("none", "mean", "sum"):
        raise ValueError(word + " is not a valid value for reduction")
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return _reduce(loss, word)


def gaussian_nll_loss(
    input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    """(log(var) + (input - target)² / var) / 2, `var` counting as at least `eps`; `full` adds the constant log(2π) / 2.

    Raises ValueError for a variance that is negative or does not fit.
    """
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = F.full_like(input, var)
    elif bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    if var.size() != input.size():
        if input.size()[:-1] == var.size():
            var = var.unsqueeze(-1)
        elif input.dim() != var.dim() or sum(b for a, b in zip(input.shape, var.shape) if a != b) != 1:
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    var = var + (var.detach().clamp_min(eps) - var.detach())  # clamped for the value, not for the derivative
    loss = 0.5 * (var.log() + (input - target).square() / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return _reduce(loss, reduction)


def _reduce(loss: Any, reduction: str) -> Any:
    number = get_enum(reduction)
    return loss.mean() if number == 1 else loss.sum() if number == 2 else loss


def _check_cosine(input1: Any, input2: Any, target: Any) -> None:
    if target.dim() not in (0, 1):
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    expected = target.dim() + 1
    if input1.dim() != expected or input2.dim() != expected:
        which = (
            "1D target tensor expects 2D input tensors"
            if expected == 2
            else "0D target tensor expects 1D input tensors"
        )
        raise RuntimeError(f"{which}, but found inputs with sizes {list(input1.shape)} and {list(input2.shape)}.")
