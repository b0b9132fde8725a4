"""A large result in few numbers, every element of which counts: a recorded answer (tests/answers)
has to be small.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

SAMPLE = 500


def few_numbers(T: Any, result: Any) -> Any:
    """Of each large tensor in a result: its strides, some 500 elements, and the sums of the rows
    and columns of a matrix of it.

    A wrong element shows in its row and its column. The sums are divided by the root of the number
    of elements, so that errors of rounding stay as large as those of one element.
    """
    if isinstance(result, (tuple, list)):
        return [few_numbers(T, part) for part in result]
    if result is None or result.numel() <= SAMPLE:
        return result
    a = result.detach().numpy()
    matrix = a.astype(np.float64).reshape(np.prod(a.shape[: (a.ndim + 1) // 2], dtype=int), -1)
    if a.ndim == 1:
        matrix = np.pad(a.astype(np.float64), (0, -a.size % 250)).reshape(-1, 250)
    sums = [matrix.sum(d) / matrix.shape[d] ** 0.5 for d in (0, 1)]
    parts = [a.reshape(-1)[:: a.size // SAMPLE], *(part.astype(a.dtype) for part in sums)]
    return [tuple(result.stride()), *(T.from_numpy(np.array(part)) for part in parts)]


def fingerprint(t: Any) -> tuple[str, tuple[int, ...], str]:
    """Of a tensor that is equal in both libraries, bit by bit, but for the signs of zeros and
    NaNs.
    """
    a = t.detach().numpy()
    if a.dtype.kind == "f":
        a = np.where(a != a, np.asarray(np.nan, a.dtype), a) + np.zeros((), a.dtype)
    return str(a.dtype), a.shape, hashlib.sha1(np.ascontiguousarray(a).tobytes()).hexdigest()
