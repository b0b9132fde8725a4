"""Loss functions, as `nn.functional` offers them (`torch/nn/functional.py`).

`reduction` is "none", "mean" or "sum"; `size_average` and `reduce` are its predecessors.

How the real one differs: see `internals.nn.functional`.
"""

from __future__ import annotations

import warnings

from internals._generated import functions as F, nn_functions as nn, ops
from internals._tensor import Tensor
from internals.functional import broadcast_shapes, broadcast_tensors
from internals.functional.scripting import is_scripting
from internals.nn._reduction import get_enum, reduced, resolve


def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """The negative log likelihood of the classes `target` (N, ...) under log-probabilities `input`
    (N, C, ...).
    """
    reduction = resolve(reduction, size_average, reduce)
    return nn.nll_loss_nd(input, target, weight, get_enum(reduction), ignore_index)


def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    """nll_loss of log_softmax(input), (N, C, ...).

    `target` holds class indices (N, ...), or probabilities if it has the shape of `input`.
    """
    reduction = resolve(reduction, size_average, reduce)
    if not is_scripting():
        both = input.__class__ is target.__class__ is Tensor
        if both and weight is None and ignore_index == -100 and label_smoothing == 0.0:
            # the usual case, without parsing of arguments
            return ops.cross_entropy_loss(input, target, None, get_enum(reduction), -100, 0.0)
    return nn.cross_entropy_loss(
        input, target, weight, get_enum(reduction), ignore_index, label_smoothing
    )


def kl_div(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", log_target: bool = False,
) -> Tensor:  # fmt: skip
    """The Kullback-Leibler divergence: target * (log(target) - input), where `input` holds
    log-probabilities. "batchmean" divides the sum by the batch size.
    """
    if size_average is None and reduce is None and reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math "
            "definition."
            "'mean' will be changed to behave the same as 'batchmean' in the next major release.",
            stacklevel=2,
        )
    word = resolve(reduction, size_average, reduce)
    loss = F.kl_div(
        input, target, get_enum("sum" if word == "batchmean" else word), log_target=log_target
    )
    if reduction == "batchmean" and input.dim() != 0:
        loss = loss / input.size(0)
    return loss


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """The cross entropy of probabilities `input` with `target`. Raises ValueError when their sizes
    differ.
    """
    number = get_enum(resolve(reduction, size_average, reduce))
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size "
            f"({input.size()}) is deprecated. "
            "Please ensure they have the same size."
        )
    if weight is not None:
        if not is_scripting():
            broadcast_shapes(target.size(), weight.size())  # for its error, which PyTorch has too
        weight = broadcast_tensors(weight, target)[0]
    return nn.binary_cross_entropy(input, target, weight, number)


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean", pos_weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """`binary_cross_entropy` of sigmoid(input). Raises ValueError when the sizes differ."""
    number = get_enum(resolve(reduction, size_average, reduce))
    if target.size() != input.size():
        raise ValueError(
            f"Target size ({target.size()}) must be the same as input size ({input.size()})"
        )
    return F.binary_cross_entropy_with_logits(input, target, weight, pos_weight, number)


def smooth_l1_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", beta: float = 1.0,
) -> Tensor:  # fmt: skip
    """For d = |input - target|: d² / (2 beta) below `beta`, d - beta / 2 above; `l1_loss` if beta
    is 0.
    """
    input, target = _broadcast(input, target)
    number = get_enum(resolve(reduction, size_average, reduce))
    if beta == 0.0:
        return nn.l1_loss(input, target, number)
    return nn.smooth_l1_loss(input, target, number, beta)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """For d = |input - target|: d² / 2 below `delta`, delta * (d - delta / 2) above."""
    a, b = _broadcast(input, target)
    if weight is None:
        return nn.huber_loss(a, b, get_enum(reduction), delta)
    _check_word(reduction)
    return reduced(
        _weighted(nn.huber_loss(a, b, get_enum("none"), delta), weight, input), reduction
    )


def l1_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """|input - target|."""
    a, b = _broadcast(input, target)
    reduction = resolve(reduction, size_average, reduce)
    if weight is None:
        return nn.l1_loss(a, b, get_enum(reduction))
    return _weighted_mean((a - b).abs(), weight, input, reduction)


def mse_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """(input - target)²."""
    a, b = _broadcast(input, target)
    reduction = resolve(reduction, size_average, reduce)
    if weight is None:
        return nn.mse_loss(a, b, get_enum(reduction))
    return _weighted_mean((a - b).pow(2), weight, input, reduction)


def _broadcast(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Both in their common shape, with a warning if they differed."""
    if target.size() != input.size():
        warnings.warn(
            f"Using a target size ({target.size()}) that is different to the input size "
            f"({input.size()}). This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size.",
            stacklevel=3,
        )
    a, b = broadcast_tensors(input, target)
    return a, b


def _weighted_mean(losses: Tensor, weight: Tensor, input: Tensor, reduction: str) -> Tensor:
    """The reduced weighted losses; a mean divides by the sum of the weights."""
    losses = _weighted(losses, weight, input)
    _check_word(reduction)
    if reduction == "mean":
        return losses.sum() / weight.sum()
    return reduced(losses, reduction)


def _weighted(losses: Tensor, weight: Tensor, input: Tensor) -> Tensor:
    """losses * weight. Raises ValueError unless `weight` has the shape of `input`."""
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    return losses * weight


def _check_word(reduction: str) -> None:
    """Raise ValueError for an unknown reduction."""
    if reduction != "none" and reduction != "mean" and reduction != "sum":
        raise ValueError(
            f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'."
        )
