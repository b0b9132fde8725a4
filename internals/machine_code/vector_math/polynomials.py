"""Polynomials, by Horner's scheme: ((a x + b) x + c) x + d, a multiplication and an addition for
each coefficient.

A kernel cannot loop over a table of coefficients: LLVM unrolls a long one no more, and what is not
unrolled is not vectorised either. So the lines are written out, `p = p * x + T(c)`, by
`polynomial`, whose argument is the table.

How the real one differs: SLEEF's `POLY` macros group the terms in pairs (Estrin's scheme), which
takes more multiplications and fewer steps that wait for each other.
"""

from __future__ import annotations

from typing import Any

from numpy import float32

from ..language import Inline, inline, template

T = template("T")


def polynomial(coefficients: tuple[float, ...], single: tuple[float, ...] = ()) -> Inline:
    """The function of x with these coefficients, of the highest power first; `single`: others for
    float32.

    A multiplication and the addition after it may become one instruction (`contract`).
    """
    lines = _horner(coefficients)
    if single:
        lines = ["if T is float32:", *_indented(_horner(single)), "else:", *_indented(lines)]
    source = "\n".join(["def polynomial(x):", *_indented([*lines, "return p"])])
    scope: dict[str, Any] = {"__name__": __name__, "T": T, "float32": float32}
    exec(source, scope)
    scope["polynomial"].__source__ = source  # by which its machine code is found again
    return inline(scope["polynomial"], fastmath=("contract",))


def _horner(coefficients: tuple[float, ...]) -> list[str]:
    return [f"p = T({coefficients[0]!r})", *[f"p = p * x + T({c!r})" for c in coefficients[1:]]]


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]
