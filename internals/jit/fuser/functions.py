"""The functions that the kernels of groups call: those of single elements are the eager kernels',
those of rows are here.

A row is x[start : start + n]. T is the dtype of its elements, W the one that sums are taken in,
float64.

How the real one differs: PyTorch 1.0.1 includes `math.h` on the CPU, and CUDA has them built in.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from internals.aten.compiled import loops
from internals.aten.compiled.row_functions import (
    identity,
    keys_for,
    row_largest,
    row_log_softmax,
    row_mean as mean_of,
    row_squared_distances,
    row_sum as sum_of,
)
from internals.aten.scalar_functions import entries, get
from internals.core.dtype import dtype
from internals.machine_code import inline, template
from internals.machine_code.vector_math import exp

from .expressions import is_called

T = template("T")  # the dtype of the elements
W = template("W")  # the dtype of sums: float64


@inline
def softmax(x: Any, start: Any, n: Any) -> None:
    """Replaces a row by exp(x) divided by its sum. The largest element is subtracted first, so that
    nothing overflows.
    """
    largest = row_largest(x, start, n, 1)
    for i in range(n):
        x[start + i] = exp(x[start + i] - largest)
    factor = T(W(1) / sum_of(x, start, n, 1))
    for i in range(n):
        x[start + i] *= factor


@inline
def log_softmax(x: Any, start: Any, n: Any) -> None:
    """Replaces a row by the logarithm of its softmax."""
    row_log_softmax(x, x, start, n, 1)


@inline
def row_sum(x: Any, start: Any, n: Any) -> Any:
    """The sum of a row. This and the following are computed in double precision."""
    return sum_of(x, start, n, 1)


@inline
def row_mean(x: Any, start: Any, n: Any) -> Any:
    """The mean of a row."""
    return mean_of(x, start, n, 1)


@inline
def row_variance(x: Any, start: Any, n: Any, center: Any, correction: Any) -> Any:
    """The variance of a row: the sum of squared distances from the mean `center`, divided by
    n - correction.
    """
    return row_squared_distances(x, start, n, 1, center) / (W(n) - correction)


@inline
def row_std(x: Any, start: Any, n: Any, center: Any, correction: Any) -> Any:
    """The standard deviation of a row."""
    return math.sqrt(row_squared_distances(x, start, n, 1, center) / (W(n) - correction))


@inline
def row_rstd(x: Any, start: Any, n: Any, center: Any, eps: Any) -> Any:
    """1 / sqrt(variance + eps) of a row, with the biased variance, as layer norm needs it."""
    return W(1) / math.sqrt(row_squared_distances(x, start, n, 1, center) / W(n) + eps)


IN_PLACE = {"softmax": softmax, "log_softmax": log_softmax}
ROW_FUNCTIONS = {
    **IN_PLACE, "row_sum": row_sum, "row_mean": row_mean, "row_variance": row_variance,
    "row_std": row_std, "row_rstd": row_rstd,
}  # fmt: skip
NAMES = frozenset([*(entry.name for entry in entries() if is_called(entry)), *ROW_FUNCTIONS])


@cache
def on_cpu(name: str, d: dtype) -> Any:
    """The function called `name` for elements of dtype `d`, or for rows of them, with its template
    parameters filled in.
    """
    if name in ROW_FUNCTIONS:
        known = {"T": d.np.type, "W": np.float64, "term": identity, **keys_for(d.np.type)}
        function = ROW_FUNCTIONS[name]
        # again and again: a parameter that is filled in may be a template with parameters itself
        while wanted := {k: v for k, v in known.items() if k in function.open_parameters()}:
            function = function.bind(**wanted)
        return function
    return _bound(loops.on_cpu(get(name)), d)


@cache
def on_gpu(name: str, d: dtype) -> Any:
    """The device function called `name` for elements of dtype `d`, for kernels on a GPU."""
    from internals.cuda.kernels import functors

    return _bound(functors.on_gpu(get(name)), d)


def _bound(function: Any, d: dtype) -> Any:
    """`function` with T filled in, if it has that parameter."""
    return function.bind(T=d.np.type) if "T" in function.open_parameters() else function
