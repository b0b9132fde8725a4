"""`reduction="mean"` and the booleans it replaced (`torch/nn/_reduction.py`).

Operators take the number of `Reduction` in C++; Python takes a word. Before 1.0 it took two
booleans, `size_average` and `reduce`, which still work and warn.

How the real one differs: it has each function twice, for the word and for its number.
"""

from __future__ import annotations

import warnings

from internals._tensor import Tensor


def get_enum(reduction: str) -> int:
    """The operator's number. Raises ValueError for another word."""
    if reduction == "none":
        ret = 0
    elif reduction == "mean":
        ret = 1
    elif reduction == "elementwise_mean":
        warnings.warn(
            "reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.",
            stacklevel=3,
        )
        ret = 1
    elif reduction == "sum":
        ret = 2
    else:
        ret = -1  # the compiler wants a value on every path
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return ret


def resolve(reduction: str, size_average: bool | None, reduce: bool | None) -> str:
    """`reduction`, unless the legacy booleans were given: they decide then, with a warning."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is not None and not reduce:
        word = "none"
    elif size_average is not None and not size_average:
        word = "sum"
    else:
        word = "mean"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{word}' instead.",
        stacklevel=3,
    )
    return word


def reduced(losses: Tensor, reduction: str) -> Tensor:
    """Their mean, their sum, or as they are."""
    if reduction == "mean":
        return losses.mean()
    if reduction == "sum":
        return losses.sum()
    return losses
