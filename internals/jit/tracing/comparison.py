"""Comparing two tensors: whether they are close, and if not, where and by how much they differ
(`torch/testing/_comparison.py`).

How the real one differs: `torch.testing.assert_close` also takes numbers, sequences and mappings,
which the check of traces does not need.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals.core import dtype as dt
from internals.core.dtype import FLOATING
from internals.core.tensor_impl import Array, Tensor, host_array

# dtype: (relative, absolute) tolerance
TOLERANCES = {
    dt.float16: (1e-3, 1e-5), dt.float32: (1.3e-6, 1e-5), dt.float64: (1e-7, 1e-7),
    dt.complex64: (1.3e-6, 1e-5), dt.complex128: (1e-7, 1e-7),
}  # fmt: skip


def default_tolerances(*tensors: Any) -> tuple[float, float]:
    """The relative and the absolute tolerance for these tensors, the largest of their dtypes;
    integers and bools have 0.
    """
    tolerances = [TOLERANCES.get(t.dtype, (0.0, 0.0)) for t in tensors]
    return max(p[0] for p in tolerances), max(p[1] for p in tolerances)


def assert_close(
    actual: Tensor, expected: Tensor, rtol: float | None = None, atol: float | None = None
) -> None:
    """Raises AssertionError unless shapes and dtypes are equal and |actual - expected| <= atol +
    rtol * |expected|.

    NaN equals NaN.
    """
    for name in ("shape", "device", "dtype"):
        a, b = getattr(actual, name), getattr(expected, name)
        if a != b:
            raise AssertionError(f"The values for attribute '{name}' do not match: {a} != {b}.")
    if rtol is None or atol is None:
        rtol, atol = default_tolerances(actual, expected)
    matches = actual.isclose(expected, rtol, atol, equal_nan=True)
    if not bool(matches.all()):
        describe = _scalars if not actual.shape else _tensors
        raise AssertionError(describe(actual, expected, matches, rtol, atol))


def _scalars(actual: Tensor, expected: Tensor, matches: Tensor, rtol: float, atol: float) -> str:
    """The error message for two tensors without dimensions."""
    a, b = actual.item(), expected.item()
    absolute = abs(a - b)
    relative = float("inf") if b == 0 else absolute / abs(b)
    text = f"{_head('Scalars', rtol, atol)}Expected {b} but got {a}.\n"
    return text + "\n".join(
        f"{name} difference: {d}{_allowed(t, rtol, atol)}"
        for name, d, t in (("Absolute", absolute, atol), ("Relative", relative, rtol))
    )


def _tensors(actual: Any, expected: Any, matches: Any, rtol: float, atol: float) -> str:
    """The error message for two tensors, with the greatest differences among the elements that do
    not match.
    """
    n = matches.numel()
    wrong = n - int(matches.sum())
    if actual.dtype.category < FLOATING:
        actual, expected = actual.long(), expected.long()
    a, b, equal = host_array(actual), host_array(expected), host_array(matches)
    with np.errstate(all="ignore"):
        absolute = np.where(equal, 0, abs(a - b))
        relative = np.where(
            equal, 0, (absolute / abs(b)).astype(a.dtype if a.dtype.kind in "fc" else np.float32)
        )
    text = (
        f"{_head('Tensor-likes', rtol, atol)}Mismatched elements: {wrong} / {n} ({wrong / n:.1%})\n"
    )
    return text + "\n".join(
        f"Greatest {name} difference: {_greatest(d)}{_allowed(t, rtol, atol)}"
        for name, d, t in (("absolute", absolute, atol), ("relative", relative, rtol))
    )


def _greatest(difference: Array) -> str:
    """The greatest difference and its index."""
    index = tuple(map(int, np.unravel_index(difference.argmax(), difference.shape)))
    return f"{difference[index].item()} at index {index}"


def _head(what: str, rtol: float, atol: float) -> str:
    return f"{what} are not {'equal' if rtol == atol == 0 else 'close'}!\n\n"


def _allowed(tolerance: float, rtol: float, atol: float) -> str:
    return "" if rtol == atol == 0 else f" (up to {tolerance} allowed)"
