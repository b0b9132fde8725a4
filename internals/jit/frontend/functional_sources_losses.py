"""The losses of `nn.functional` that have no operator of their own, as the compiler reads them (`functional_sources.py`).

The formulas are those of `internals/nn/_margin_losses.py`, written in the typed language: one type for each name, reductions as
words.

How the real one differs: most of these are operators there (`aten/src/ATen/native/Loss.cpp`), with the same formulas.
"""

# ruff: noqa: UP045  # `Optional` around a list of given length is what the compiler reads
# mypy: disable-error-code="valid-type,arg-type,misc,operator"
from __future__ import annotations

import math
from typing import Optional

import internals as torch
from internals import Tensor

from .functional_sources import _get_enum, _legacy_reduction
from .functional_sources_layers import interpolate, pairwise_distance

aten = torch.ops.aten
BroadcastingList2 = list  # one T, or a list of two


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    a, b = torch.broadcast_tensors([input, target])
    if weight is None:
        return aten.huber_loss(a, b, _get_enum(reduction), delta)
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    return _reduced(aten.huber_loss(a, b, 0, delta) * weight, reduction)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    word = _legacy_reduction(reduction, size_average, reduce)
    number = _get_enum("sum") if word == "batchmean" else _get_enum(word)
    loss = torch.kl_div(input, target, number, log_target=log_target)
    if reduction == "batchmean" and input.dim() != 0:
        loss = loss / input.size(0)
    return loss


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(
            f"margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "  # noqa: E501
        )
    loss = (-target * (input1 - input2) + margin).clamp_min(0)
    return _reduced(loss, _legacy_reduction(reduction, size_average, reduce))


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    apart = (margin - input).clamp_min(0).masked_fill(target == 1, 0)
    loss = apart + input.masked_fill(target == -1, 0)
    return _reduced(loss, _legacy_reduction(reduction, size_average, reduce))


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    return _reduced((-target * input).exp().log1p(), _legacy_reduction(reduction, size_average, reduce))


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    if target.dim() != 0 and target.dim() != 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if input1.dim() != target.dim() + 1 or input2.dim() != target.dim() + 1:
        which = "1D target tensor expects 2D" if target.dim() == 1 else "0D target tensor expects 1D"
        raise RuntimeError(f"{which} input tensors, but found inputs with sizes {input1.size()} and {input2.size()}.")
    squares1 = input1.square().sum([-1]) + 1e-12
    squares2 = input2.square().sum([-1]) + 1e-12
    cosine = (input1 * input2).sum([-1]) / (squares1 * squares2).sqrt()
    alike = (1 - cosine).masked_fill(target != 1, 0)
    loss = alike + (cosine - margin).clamp_min(0).masked_fill(target != -1, 0)
    return _reduced(loss, _legacy_reduction(reduction, size_average, reduce))


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if anchor.dim() != positive.dim() or anchor.dim() != negative.dim():
        raise RuntimeError(
            f"The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor {anchor.dim()}D, positive {positive.dim()}D, and negative {negative.dim()}D inputs"  # noqa: E501
        )
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = torch.minimum(far, pairwise_distance(positive, negative, p, eps))
    return _reduced((near - far + margin).clamp_min(0), _legacy_reduction(reduction, size_average, reduce))


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    if log_input:
        loss = input.exp() - target * input
    else:
        loss = input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return _reduced(loss, _legacy_reduction(reduction, size_average, reduce))


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    if bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    if var.size() != input.size():
        var = _fitted(var, input)
    floored = var + (var.detach().clamp_min(eps) - var.detach())  # clamped for the value, not for the derivative
    loss = 0.5 * (floored.log() + (input - target).square() / floored)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return _reduced(loss, reduction)


def _fitted(var: Tensor, input: Tensor) -> Tensor:
    if input.size()[:-1] == var.size():
        return var.unsqueeze(-1)
    product = 1
    if input.dim() == var.dim():
        product = 0
        for a, b in zip(input.size(), var.size()):
            if a != b:
                product += b
    if input.dim() != var.dim() or product != 1:
        raise ValueError("var is of incorrect size")
    return var


def _reduced(loss: Tensor, reduction: str) -> Tensor:
    number = _get_enum(reduction)
    if number == 1:
        return loss.mean()
    if number == 2:
        return loss.sum()
    return loss


def upsample(
    input: Tensor,
    size: Optional[BroadcastingList2[int]] = None,
    scale_factor: Optional[BroadcastingList2[float]] = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    return interpolate(input, size, scale_factor, mode, align_corners)
