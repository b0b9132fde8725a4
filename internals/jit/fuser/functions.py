"""The functions that kernels of groups call, by the names they have there (`functions` of `expressions.py`).

On the CPU they are those of `vector_math`, which have no branches, so that a loop with them can do several elements at once; on a
GPU they are those of the eager CUDA kernels.

How the real one differs: 1.0.1 included `math.h` on the CPU, and on the GPU CUDA has them built in.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from internals.aten.compiled.pieces import identity, keys_for, row_largest, row_log_softmax, row_squared_distances
from internals.aten.compiled.pieces import row_mean as mean_of
from internals.aten.compiled.pieces import row_sum as sum_of
from internals.core.dtype import FLOATING, dtype
from internals.machine_code import inline, template
from internals.machine_code import vector_math as vector
from internals.machine_code.vector_math import exp, tanh

T = template("T")
W = template("W")


@inline
def lerp(start: Any, end: Any, weight: Any) -> Any:
    """From whichever end is nearer, so that both ends are met exactly."""
    from_end = end - (end - start) * (T(1) - weight)
    return start + weight * (end - start) if abs(weight) < T(0.5) else from_end


@inline
def gelu_tanh_backward(g: Any, x: Any) -> Any:
    """g times the slope of the gelu that is made with tanh."""
    square = x * x
    t = tanh(T(0.7978845608028654) * x * (T(1) + T(0.044715) * square))
    slope = (T(1) - t * t) * T(0.7978845608028654) * (T(1) + T(3) * T(0.044715) * square)
    return g * (T(0.5) * (T(1) + t + x * slope))


VECTOR = """
    exp expm1 log log1p log2 sin cos tan asin acos atan atan2 sinh cosh tanh erf sigmoid pow sqrt
    floor ceil trunc fmod remainder floor_divide maximum minimum sign
""".split()

ON_CPU: dict[str, Any] = {
    **{name: getattr(vector, name) for name in VECTOR},
    "round_even": vector.round,
    "lerp": lerp,
    "gelu_tanh_backward": gelu_tanh_backward,
}


@inline
def softmax(x: Any, start: Any, n: Any) -> None:
    """exp(x) divided by its sum, in the place of a row. The largest element is subtracted first, so nothing overflows."""
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
    **IN_PLACE, "row_sum": row_sum, "row_mean": row_mean, "row_variance": row_variance, "row_std": row_std, "row_rstd": row_rstd,
}  # fmt: skip
NAMES = frozenset([*ON_CPU, *OF_ROWS])


@cache
def on_cpu(name: str, d: dtype) -> Any:
    """The function called `name`, for elements of dtype `d`, or for rows of them: those of the eager kernels."""
    if name in OF_ROWS:
        known = {"T": d.np.type, "W": np.float64, "term": identity, **keys_for(d.np.type)}
        function = OF_ROWS[name]
        while wanted := {k: v for k, v in known.items() if k in function.open_parameters()}:
            function = function.bind(**wanted)
        return function
    function = ON_CPU[name]
    return function.bind(T=d.np.type) if "T" in function.open_parameters() else function


@cache
def on_gpu(name: str, d: dtype) -> Any:
    """Its twin for kernels of the GPU."""
    from internals.cuda.kernels import functors, functors_nn

    name = {"round_even": "rint"}.get(name, name)
    found = getattr(functors, name, None) or getattr(functors_nn, name)
    number = np.float64 if d.category < FLOATING and name != "sign" else d.np.type
    return found.bind(T=number) if "T" in found.open_parameters() else found
