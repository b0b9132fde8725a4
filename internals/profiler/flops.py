"""The number of floating-point operations of a call (`torch/csrc/profiler/util.cpp`,
`computeFlops`).

It is estimated from the arguments alone, for the most expensive operators: a multiplication and an
addition count as two. Operators that only call these count nothing themselves.

How the real one differs: it knows three more operators.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from math import prod
from typing import Any

from .inputs import Input


def flops_of(name: str, inputs: list[Input]) -> int:
    """The operations of one call; 0 for an operator that is not known."""
    formula = _FORMULAS.get(name)
    if formula is None:
        return 0
    try:
        return formula(inputs)
    except (IndexError, ValueError, SyntaxError, ZeroDivisionError, TypeError):
        # arguments of an unusual form
        return 0


def _mm(inputs: list[Input]) -> int:
    """(m, k) @ (k, n): k multiplications and additions for each element."""
    (m, k), (_, n) = inputs[0].sizes, inputs[1].sizes
    return 2 * m * k * n


def _bmm(inputs: list[Input]) -> int:
    """(b, m, k) @ (b, k, n): b products of matrices."""
    return int(inputs[0].sizes[0]) * _mm([Input(i.sizes[1:], i.dtype, i.text) for i in inputs[:2]])


def _convolution(inputs: list[Input]) -> int:
    """2 * batch * output positions * output channels * (input channels of a group * kernel).

    The last two factors are the number of elements of the weight.
    """
    x, weight = inputs[0].sizes, inputs[1].sizes
    stride, padding, dilation = (_ints(inputs[i].text, len(x) - 2) for i in (3, 4, 5))
    positions = prod(
        (size + 2 * p - d * (kernel - 1) - 1) // s + 1
        for size, kernel, s, p, d in zip(x[2:], weight[2:], stride, padding, dilation)
    )
    return int(2 * x[0] * positions * prod(weight))


def _ints(text: str, count: int) -> list[int]:
    """A recorded argument, "1" or "[1, 1]", as one number for each of `count` dimensions."""
    value: Any = ast.literal_eval(text)
    values = value if isinstance(value, list) else [value]
    return values * count if len(values) == 1 else values


def _elements(inputs: list[Input]) -> int:
    """One operation for each element of the first tensor, before broadcasting."""
    return prod(inputs[0].sizes)


_FORMULAS: dict[str, Callable[[list[Input]], int]] = {
    "aten::mm": _mm,
    "aten::addmm": lambda inputs: _mm(inputs[1:]),
    "aten::bmm": _bmm,
    "aten::baddbmm": lambda inputs: _bmm(inputs[1:]),
    "aten::conv2d": _convolution,
    "aten::mul": _elements,
    "aten::add": _elements,
}
