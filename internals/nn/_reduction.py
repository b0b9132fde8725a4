"""`reduction="mean"` and the booleans it replaced (`torch/nn/_reduction.py`).

Operators take the number of `Reduction` in C++; Python takes a word. Before 1.0 it took two booleans, `size_average` and
`reduce`, which still work and warn.

How the real one differs: its functions are also compiled by the JIT, hence more of them.
"""

from __future__ import annotations

import warnings

NUMBER = {"none": 0, "mean": 1, "sum": 2}


def get_enum(reduction: str) -> int:
    """The operator's number. Raises ValueError for another word."""
    if reduction == "elementwise_mean":
        warnings.warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.", stacklevel=3)
        reduction = "mean"
    if reduction not in NUMBER:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return NUMBER[reduction]


def resolve(reduction: str, size_average: bool | None, reduce: bool | None) -> str:
    """`reduction`, unless the legacy booleans were given: they decide then, with a warning."""
    if size_average is None and reduce is None:
        return reduction
    word = "none" if reduce is False else "sum" if size_average is False else "mean"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{word}' instead.", stacklevel=3
    )
    return word
