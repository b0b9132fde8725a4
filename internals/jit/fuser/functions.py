"""The functions that kernels of groups call: the eager kernels' of one element, and those of rows.

How the real one differs: 1.0.1 included `math.h` on the CPU, and on the GPU CUDA has them built in.
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

T = template("T")
W = template("W")


@inline
def softmax(x: Any, start: Any, n: Any) -> None:
    """exp(x) divided by its sum, in the place of a row. The largest element is subtracted first, so
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
    """The logarithm of softmax, in the place of a row."""
    row_log_softmax(x, x, start, n, 1)


@inline
def row_sum(x: Any, start: Any, n: Any) -> Any:
    """The sum of a row. These and the following are in double precision."""
    return sum_of(x, start, n, 1)


@inline
def row_mean(x: Any, start: Any, n: Any) -> Any:
    return mean_of(x, start, n, 1)


@inline
def row_variance(x: Any, start: Any, n: Any, center: Any, correction: Any) -> Any:
    """The squared distances from the mean, added up and divided by n - correction."""
    return row_squared_distances(x, start, n, 1, center) / (W(n) - correction)


@inline
def row_std(x: Any, start: Any, n: Any, center: Any, correction: Any) -> Any:
    return math.sqrt(row_squared_distances(x, start, n, 1, center) / (W(n) - correction))


@inline
def row_rstd(x: Any, start: Any, n: Any, center: Any, eps: Any) -> Any:
    """One divided by the standard deviation, which is never less than the root of eps."""
    return W(1) / math.sqrt(row_squared_distances(x, start, n, 1, center) / W(n) + eps)


IN_PLACE = {"softmax": softmax, "log_softmax": log_softmax}
OF_ROWS = {
    **IN_PLACE, "row_sum": row_sum, "row_mean": row_mean, "row_variance": row_variance,
    "row_std": row_std, "row_rstd": row_rstd,
}  # fmt: skip
NAMES = frozenset([*(entry.name for entry in entries() if is_called(entry)), *OF_ROWS])


@cache
def on_cpu(name: str, d: dtype) -> Any:
    """The function called `name`, for elements of dtype `d`, or for rows of them: those of the
    eager kernels.
    """
    if name in OF_ROWS:
        known = {"T": d.np.type, "W": np.float64, "term": identity, **keys_for(d.np.type)}
        function = OF_ROWS[name]
        while wanted := {k: v for k, v in known.items() if k in function.open_parameters()}:
            function = function.bind(**wanted)
        return function
    return _bound(loops.on_cpu(get(name)), d)


@cache
def on_gpu(name: str, d: dtype) -> Any:
    """Its twin for kernels of the GPU."""
    from internals.cuda.kernels import functors

    return _bound(functors.on_gpu(get(name)), d)


def _bound(function: Any, d: dtype) -> Any:
    return function.bind(T=d.np.type) if "T" in function.open_parameters() else function
