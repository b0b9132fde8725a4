"""Type promotion: the dtype in which an operation on mixed operands computes
(`c10/core/ScalarType.cpp`, `aten/src/ATen/native/TypeProperties.cpp`).

There are two rules. `promote_types` joins two dtypes: the higher category wins, and within a
category the wider type (uint8 with int8 needs int16 to hold both). `result_type` also looks at
*what* has the dtype: tensors with dimensions count first, 0-dim tensors second, Python numbers
last, and a later kind counts only if its category is higher. That is why `int32_tensor + 1` stays
int32 but `int32_tensor + 1.5` becomes float32.

How the real one differs: `promote_types` is a lookup table over all scalar types. PyTorch 1.0.1 did
not promote two tensors with dimensions at all, it raised an error.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import dtype as dt
from .dtype import BOOL, COMPLEX, FLOATING, INTEGRAL, dtype


def promote_types(a: dtype, b: dtype) -> dtype:
    """The smallest dtype that both `a` and `b` convert to by PyTorch's rules."""
    if a is b:
        return a
    low, high = (a, b) if a.category <= b.category else (b, a)
    if low.category == high.category:
        if INTEGRAL == low.category and dt.uint8 in (a, b):
            other = b if a is dt.uint8 else a
            return dt.int16 if other is dt.int8 else other
        return low if low.itemsize > high.itemsize else high
    if high.category == COMPLEX and low is dt.float64:
        return dt.complex128  # complex64 has parts of single precision only
    return high


def result_type(operands: Iterable[Any]) -> dtype:
    """The dtype in which an operation on `operands`, tensors and Python numbers, computes. Raises
    TypeError for an operand that is neither.
    """
    with_dims: dtype | None = None
    zero_dim: dtype | None = None
    numbers: dtype | None = None
    for x in operands:
        geometry = getattr(x, "_geometry", None)
        if geometry is None:
            numbers = _join(numbers, dt.of_number(x))
        elif geometry.sizes:
            with_dims = _join(with_dims, geometry.dtype)
        else:
            zero_dim = _join(zero_dim, geometry.dtype)
    result = _lift(with_dims, _lift(zero_dim, numbers))
    assert result is not None, "result_type needs at least one operand"
    return result


def can_cast(source: dtype, target: dtype) -> bool:
    """Whether a result of dtype `source` may be stored in a given tensor of dtype `target`,
    in-place or by `out=`: not if the category of `target` is lower. (Integers of any size may.)
    """
    if source.category == COMPLEX and target.category != COMPLEX:
        return False
    if source.category == FLOATING and target.category < FLOATING:
        return False
    return source.category == BOOL or target.category != BOOL


def _join(a: dtype | None, b: dtype) -> dtype:
    """`promote_types`, where None stands for no dtype yet."""
    return b if a is None else promote_types(a, b)


def _lift(strong: dtype | None, weak: dtype | None) -> dtype | None:
    """The dtype of operands of two kinds, where `strong` decides unless `weak` is of a higher
    category. Then the result is as small as `strong` allows: a float32 tensor and a complex number
    give complex64.
    """
    if strong is None or weak is None:
        return strong or weak
    if strong.category == COMPLEX:
        return strong
    if strong.category == FLOATING:
        return strong.to_complex() if weak.category == COMPLEX else strong
    return (
        promote_types(strong, weak)
        if strong.category == BOOL or weak.category >= FLOATING
        else strong
    )
