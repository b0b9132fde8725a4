"""The rarer losses of `nn.functional` as the compiler reads them (`functional_sources.py`).

How the real one differs: see there.
"""

# mypy: disable-error-code="valid-type,arg-type,misc,operator"
from __future__ import annotations

import math

import internals as torch
from internals import Tensor

from .functional_sources import _get_enum, _legacy_reduction

aten = torch.ops.aten


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
    number = _get_enum(_legacy_reduction(reduction, size_average, reduce))
    return torch.margin_ranking_loss(input1, input2, target, margin, number)


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    number = _get_enum(_legacy_reduction(reduction, size_average, reduce))
    return torch.hinge_embedding_loss(input, target, margin, number)


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    return aten.soft_margin_loss(input, target, _get_enum(_legacy_reduction(reduction, size_average, reduce)))


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    number = _get_enum(_legacy_reduction(reduction, size_average, reduce))
    return torch.cosine_embedding_loss(input1, input2, target, margin, number)


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
    number = _get_enum(_legacy_reduction(reduction, size_average, reduce))
    return torch.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, number)


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    number = _get_enum(_legacy_reduction(reduction, size_average, reduce))
    if p != 1 and p != 2:
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None:
        if weight.dim() != 1:
            raise ValueError("weight must be one-dimensional")
    return aten.multi_margin_loss(input, target, p, margin, weight, number)


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    return aten.multilabel_margin_loss(input, target, _get_enum(_legacy_reduction(reduction, size_average, reduce)))


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    loss = -(target * aten.log_sigmoid(input) + (1 - target) * aten.log_sigmoid(-input))
    if weight is not None:
        loss = loss * weight
    loss = loss.sum([-1]) / input.size(input.dim() - 1)
    return _reduced(loss, _legacy_reduction(reduction, size_average, reduce))


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    number = _get_enum(reduction)
    return torch.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, number, zero_infinity)


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
    number = _get_enum(_legacy_reduction(reduction, size_average, reduce))
    return torch.poisson_nll_loss(input, target, log_input, full, eps, number)


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
