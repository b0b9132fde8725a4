"""Polynomials by Horner's scheme: ((a x + b) x + c) x + d, a multiplication and an addition for
each coefficient.

A kernel cannot loop over a table of coefficients: LLVM does not unroll a long loop, and does not
vectorise the loop around one that is not unrolled. So `polynomial` takes the table and generates a
line for each coefficient, `p = p * x + T(c)`.

How the real one differs: SLEEF's `POLY` macros group the terms in pairs (Estrin's scheme), which
takes more multiplications and fewer steps that wait for each other.
"""

from __future__ import annotations

from typing import Any

from numpy import float32

from ..language import Inline, inline, template

T = template("T")


def polynomial(coefficients: tuple[float, ...], single: tuple[float, ...] = ()) -> Inline:
    """The polynomial of x with these coefficients, that of the highest power first. `single`:
    others for float32, which needs fewer.

    A multiplication and the addition after it may become one instruction (`contract`).
    """
    lines = _horner(coefficients)
    if single:
        lines = ["if T is float32:", *_indented(_horner(single)), "else:", *_indented(lines)]
    source = "\n".join(["def polynomial(x):", *_indented([*lines, "return p"])])
    scope: dict[str, Any] = {"__name__": __name__, "T": T, "float32": float32}
    exec(source, scope)
    scope["polynomial"].__source__ = source  # for the key of its machine code in the cache
    return inline(scope["polynomial"], fastmath=("contract",))


def _horner(coefficients: tuple[float, ...]) -> list[str]:
    """The lines that compute p."""
    return [f"p = T({coefficients[0]!r})", *[f"p = p * x + T({c!r})" for c in coefficients[1:]]]


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]
