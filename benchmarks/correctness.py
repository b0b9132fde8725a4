"""How far a result is from the right one: whatever is timed is checked first.

The right one is computed in float64. The error is the largest absolute difference over the largest
absolute value of the right result, so that it means the same for probabilities and for sums of a
million numbers. NaN and infinity must be in the same places.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


class WrongResult(Exception):
    """A side computes something else than the reference: its time would mean nothing."""


def error(found: object, right: object) -> float:
    """The largest difference relative to the largest value of `right`; infinity where shapes or
    special values differ.
    """
    a, b = as_array(found), as_array(right)
    if a.shape != b.shape:
        return float("inf")
    if a.size == 0:
        return 0.0
    finite = np.isfinite(b)
    if (
        not np.array_equal(a[~finite], b[~finite], equal_nan=True)
        or not np.isfinite(a[finite]).all()
    ):
        return float("inf")
    if not finite.any():
        return 0.0
    scale = float(np.abs(b[finite]).max()) or 1.0
    return float(np.abs(a[finite] - b[finite]).max()) / scale


def as_array(value: Any) -> np.ndarray:
    """A tensor of any library, an array, a number, or a sequence of these one after the other, as
    float64.
    """
    if isinstance(value, Sequence):
        return np.concatenate([as_array(v).ravel() for v in value]) if value else np.empty(0)
    if hasattr(value, "detach"):
        value = value.detach()
    if hasattr(value, "numpy"):
        value = value.numpy()
    return np.asarray(value, np.float64)
