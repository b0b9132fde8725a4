"""Losses with a margin: pairs and classes only need to be far enough apart
(`torch/nn/functional.py`).

The operators are in `internals/aten/native/margin_losses.py` and its neighbours.

How the real one differs: see `internals.nn.functional`.
"""

from __future__ import annotations

from collections.abc import Callable

from internals._generated import functions as F, nn_functions as nn
from internals._tensor import Tensor
from internals.nn._reduction import get_enum, reduced, resolve


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0,
    size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """max(0, -target * (input1 - input2) + margin). Raises RuntimeError unless all have the same
    number of dimensions.
    """
    number = get_enum(resolve(reduction, size_average, reduce))
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return F.margin_ranking_loss(input1, input2, target, margin, number)


def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """`input` where `target` is 1, max(0, margin - input) where it is -1."""
    return F.hinge_embedding_loss(
        input, target, margin, get_enum(resolve(reduction, size_average, reduce))
    )


def soft_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """log(1 + exp(-target * input))."""
    return nn.soft_margin_loss(input, target, get_enum(resolve(reduction, size_average, reduce)))


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0,
    size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """1 - cosine similarity where `target` is 1, max(0, similarity - margin) where it is -1.

    The inputs are (N, D) or (D). Raises RuntimeError for other shapes.
    """
    number = get_enum(resolve(reduction, size_average, reduce))
    return F.cosine_embedding_loss(input1, input2, target, margin, number)


def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2,
    eps: float = 1e-6, swap: bool = False, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """max(0, |anchor - positive| - |anchor - negative| + margin), with p-norms over the last
    dimension. With `swap`, |positive - negative| is the second distance where it is smaller.

    Raises ValueError unless margin > 0, RuntimeError when the numbers of dimensions differ.
    """
    number = get_enum(resolve(reduction, size_average, reduce))
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return F.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, number)


def triplet_margin_with_distance_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None, margin: float = 1.0,
    swap: bool = False, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """`triplet_margin_loss` with your own distance, or `pairwise_distance` without one.

    Raises ValueError unless margin > 0 and for an unknown reduction, RuntimeError when the numbers
    of dimensions differ.
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    dims = anchor.dim(), positive.dim(), negative.dim()
    if len(set(dims)) > 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            "dimensions, but got: "
            f"anchor {dims[0]}D, positive {dims[1]}D, and negative {dims[2]}D inputs"
        )
    distance = distance_function or F.pairwise_distance
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = F.minimum(far, distance(positive, negative))
    loss = F.clamp_min(margin + near - far, 0)
    return reduced(loss, reduction)


def multi_margin_loss(
    input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Tensor | None = None,
    size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """max(0, margin - input[target] + input[other])ᵖ / C, summed over the other classes.

    `input` is (N, C) or (C). Raises ValueError for a `p` other than 1 and 2, and for a `weight`
    that is not (C).
    """
    number = get_enum(resolve(reduction, size_average, reduce))
    if p != 1 and p != 2:
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    return nn.multi_margin_loss(input, target, p, margin, weight, number)


def multilabel_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """max(0, 1 - input[label] + input[other]) / C, summed over all pairs of a label and another
    class. The labels of a row of `target` end at its first -1.
    """
    return nn.multilabel_margin_loss(
        input, target, get_enum(resolve(reduction, size_average, reduce))
    )


def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """The mean over the classes (..., C) of the binary cross entropies with logits.

    `target` holds 0 and 1. Raises ValueError for an unknown reduction.
    """
    word = resolve(reduction, size_average, reduce)
    loss = -(target * nn.log_sigmoid(input) + (1 - target) * nn.log_sigmoid(-input))
    if weight is not None:
        loss = loss * weight
    loss = loss.sum(-1) / input.size(input.dim() - 1)
    if word != "none" and word != "mean" and word != "sum":
        raise ValueError(word + " is not valid")
    return reduced(loss, word)
