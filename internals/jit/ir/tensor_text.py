"""The text of a tensor as C++ prints it, which graphs use for small constants
(`aten/src/ATen/core/Formatting.cpp`).

     1.0000  2.5000
     3.0000  4.0000
    [ CPUFloatType{2,2} ]

How the real one differs: it also prints quantized and sparse tensors.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from internals.core.dtype import SCALAR_TYPE_NAME
from internals.core.tensor_impl import host_array

LINE = 80  # characters; a wider matrix is printed as several groups of columns


def tensor_text(t: Any) -> str:
    """The elements in columns, then the type and the sizes."""
    a = np.asarray(host_array(t))
    sizes = tuple(int(s) for s in t.size())
    kind = (
        f"[ {t.device.type.upper()}{SCALAR_TYPE_NAME[t.dtype]}Type{{{','.join(map(str, sizes))}}} ]"
    )
    if not sizes:
        return f"{_general(float(a))}\n{kind}"
    if not a.size:
        return kind
    if len(sizes) == 1:
        scale, width, show = _format(a)
        head = _scale_line(scale)
        return head + "".join(show(v / scale).rjust(width) + "\n" for v in a.astype(float)) + kind
    if len(sizes) == 2:
        return _matrix(a, 0) + kind
    text = ""
    # A tensor (..., rows, columns) is printed as matrices under headings like `(1,2,.,.) =`.
    for n, backwards in enumerate(np.ndindex(*sizes[-3::-1])):  # the first index runs fastest
        index = backwards[::-1]
        text += "\n" if n else ""
        text += f"({','.join(str(i + 1) for i in index)},.,.) =\n" + _matrix(a[index], 1)
    return text + kind


def _format(a: np.ndarray[Any, Any]) -> tuple[float, int, Any]:
    """The scale that all numbers are divided by, the width of a column, and the function that
    prints a number.

    `low` and `high` are the digits before the decimal point, of the smallest and the largest
    absolute value. The thresholds are those of `__printFormat` in C++.
    """
    values = a.astype(float).ravel()
    whole = all(not math.isfinite(v) or v == math.ceil(v) for v in values)
    sizes = [abs(v) for v in values if math.isfinite(v)] or [0.0]
    low, high = ((math.floor(math.log10(v)) + 1 if v else 1) for v in (min(sizes), max(sizes)))
    if whole:
        return (1.0, 11, _scientific) if high > 9 else (1.0, high + 1, _general)
    if high - low > 4:  # no one scale shows both the smallest and the largest
        return 1.0, 12 if abs(high) > 99 or abs(low) > 99 else 11, _scientific
    if high > 5 or high < 0:
        return 10.0 ** (high - 1), 7, _fixed
    return 1.0, 7 if high == 0 else high + 6, _fixed


def _matrix(a: np.ndarray[Any, Any], indent: int) -> str:
    """The rows of a matrix (rows, columns), with as many columns side by side as fit the line."""
    scale, width, show = _format(a)
    per_line = max((LINE - indent) // (width + 1), 1)
    columns, text = a.shape[1], " " * indent
    for first in range(0, columns, per_line):
        last = min(first + per_line, columns)
        if per_line < columns:
            text += ("\n" if first else "") + f"Columns {first + 1} to {last}" + " " * indent
        if scale != 1:
            text += _scale_line(scale) + " " * indent
        rows = [
            " ".join(show(v / scale).rjust(width) for v in row)
            for row in a[:, first:last].astype(float)
        ]
        text += ("\n" + " " * (indent + (scale != 1))).join(rows) + "\n"
    return text


def _scale_line(scale: float) -> str:
    return "" if scale == 1 else f"{repr(scale).removesuffix('.0')} *\n"


def _general(v: float) -> str:
    return f"{v:.6g}"


def _fixed(v: float) -> str:
    return f"{v:.4f}"


def _scientific(v: float) -> str:
    return f"{v:.4e}"
