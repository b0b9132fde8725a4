"""The recorded arguments of a call: sizes and dtypes of tensors, other arguments as text
(`torch/csrc/profiler/util.cpp`).

How the real one differs: it also records strides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from internals.core.geometry import Geometry

LONGEST_TEXT = 64
# ints for a tensor, a list of such lists for a list of tensors, empty for anything else
Sizes = list[Any]


class Input(NamedTuple):
    """An argument of a call: `sizes` and `dtype` of a tensor, `text` of other values.

    `dtype` is "TensorList" for a list of tensors, "ScalarList" for another list, "Scalar" for a
    number, "" for anything else.
    """

    sizes: Sizes
    dtype: str
    text: str


def describe(args: Sequence[Any]) -> list[Input]:
    """The arguments of a call in the order of the schema. The inputs of a range are given as
    geometries instead of tensors.
    """
    return [_describe(a) for a in args]


def _describe(value: object) -> Input:
    """One argument; a tensor is described by its geometry, without keeping it alive."""
    if isinstance(value, Geometry):
        return Input(list(value.sizes), str(value.dtype).rpartition(".")[2], "")
    geometry = getattr(value, "_geometry", None)
    if geometry is not None:
        return _describe(geometry)
    if isinstance(value, (list, tuple)):
        if value and all(getattr(v, "_geometry", None) is not None for v in value):
            return Input([list(v._geometry.sizes) for v in value], "TensorList", "")
        return Input([], "ScalarList", _short(list(value)))
    if value is None:
        return Input([], "", "")
    return Input(
        [], "Scalar" if isinstance(value, (bool, int, float, complex)) else "", _short(value)
    )


def _short(value: object) -> str:
    """A number, string or list of numbers as text of limited length; "" for anything else."""
    if isinstance(value, (bool, int, float, complex, str)) or (
        isinstance(value, list) and all(isinstance(v, (bool, int, float)) for v in value)
    ):
        text = str(value)
        return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"
    return ""
