"""Order and distances: functions of the top-level namespace that choose their operator in Python (`torch/functional.py`).

How the real one differs: each first asks its arguments for a `__torch_function__`.
"""

from __future__ import annotations

from typing import Any

from internals._generated import ops
from internals.core.tensor_impl import TensorImpl

_COMPUTE_MODES = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")


def unique(
    input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The different elements of `input`, in order; with `dim` the different slices along it.

    With `return_inverse` also, for each element, its place among them; with `return_counts` also how often each occurs. NaN
    equals nothing, so each NaN is there. Raises NotImplementedError for complex numbers.
    """
    if dim is not None:
        three = ops.unique_dim(_tensor(input, "unique_dim"), dim, sorted, return_inverse, return_counts)
    else:
        three = ops._unique2(_tensor(input, "_unique2"), sorted, return_inverse, return_counts)
    return _wanted(three, return_inverse, return_counts)


def unique_consecutive(
    input: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """`input` without the elements, or slices along `dim`, that equal the one before; further results as of `unique`."""
    three = ops.unique_consecutive(_tensor(input, "unique_consecutive"), return_inverse, return_counts, dim)
    return _wanted(three, return_inverse, return_counts)


def cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: str = _COMPUTE_MODES[0]) -> Any:
    """The p-norm distances of all rows of `x1` (*, P, M) from all rows of `x2` (*, R, M), as (*, P, R).

    Dimensions before these broadcast. `compute_mode` says whether Euclidean distances are taken from a matrix product, which is
    faster and less exact: for more than 25 rows, always, or never. Raises ValueError for another word.
    """
    if compute_mode not in _COMPUTE_MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    return ops.cdist(x1, x2, p, _COMPUTE_MODES.index(compute_mode) or None)


def _wanted(three: Any, return_inverse: bool, return_counts: bool) -> Any:
    """Of (values, inverse, counts) those that were asked for; the values alone are no tuple."""
    values, inverse, counts = three
    more = [t for t, wanted in ((inverse, return_inverse), (counts, return_counts)) if wanted]
    return (values, *more) if more else values


def _tensor(value: Any, function: str) -> Any:
    if not isinstance(value, TensorImpl):
        raise TypeError(f"{function}(): argument 'input' (position 1) must be Tensor, not {type(value).__name__}")
    return value
