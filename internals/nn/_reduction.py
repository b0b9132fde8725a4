"""The reduction of a loss, `reduction="mean"`, and the booleans that it replaced
(`torch/nn/_reduction.py`).

Operators take a number of the C++ enum `Reduction`; Python takes a word. Before 1.0 Python took two
booleans, `size_average` and `reduce`, which still work, with a warning.

How the real one differs: it has each function twice, for the word and for its number.
"""

from __future__ import annotations

import warnings

from internals._tensor import Tensor


def get_enum(reduction: str) -> int:
    """The operator's number: "none" 0, "mean" 1, "sum" 2. Raises ValueError for another word."""
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
    """The mean of the losses, their sum, or for any other word the losses themselves."""
    if reduction == "mean":
        return losses.mean()
    if reduction == "sum":
        return losses.sum()
    return losses
