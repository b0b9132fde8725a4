"""What one small operation costs: four float32 elements, so that everything but the arithmetic
counts.

Each side repeats the operation in a loop of its own, so the harness's own call is shared by many,
and returns the last result. The goal is the project's promise: `a + b` is no slower than PyTorch's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

import internals
from benchmarks import peers
from benchmarks.harness import OURS, Absent, Call, Case

TITLE = "Small operations"
ABOUT = "Four float32 numbers: what is timed is everything around the arithmetic. One thread."
TURNS = range(500)
A, B = np.array([1, 2, 3, 4], np.float32), np.array([5, 6, 7, 8], np.float32)

Loop = Callable[..., Call]


def cases() -> list[Case]:
    """`a + b` and its neighbours: the operator, the function with its argument parser, a scalar, a
    view, an index.
    """
    return [
        case("a + b, 4 floats", lambda T, a, b: plus(a, b), A + B, {"torch": 1.0}, rounds=200),
        case("a * 2.0, 4 floats", lambda T, a, b: times_two(a), A * 2),
        case("add(a, b), 4 floats", lambda T, a, b: add(T.add, a, b), A + B),
        case("exp(a), 4 floats", lambda T, a, b: exp(T.exp, a), np.exp(A.astype(np.float64))),
        case("a.sum(), 4 floats", lambda T, a, b: sum_method(a), A.sum()),
        case("a.reshape(2, 2), 4 floats", lambda T, a, b: reshape(a), A.reshape(2, 2)),
        case("a[1], 4 floats", lambda T, a, b: first(a), A[1]),
    ]


def case(
    name: str, loop: Loop, right: Any, goals: Mapping[str, float] | None = None, rounds: int = 40
) -> Case:
    return Case(
        name, partial(sides_of, loop), reference=lambda: right, goals=goals or {}, rounds=rounds
    )


def sides_of(loop: Loop) -> dict[str, Call | Absent]:
    made: dict[str, Call | Absent] = {"numpy": loop(np, A.copy(), B.copy())}
    for name, T in ((OURS, internals), ("torch", peers.library("torch"))):
        made[name] = loop(T, *peers.tensors(T, [A, B])) if T else peers.not_installed(name)
    return {name: made[name] for name in (OURS, "torch", "numpy")}


def plus(a: Any, b: Any) -> Call:
    def loop() -> object:
        for _ in TURNS:
            result = a + b
        return result

    return loop


def times_two(a: Any) -> Call:
    def loop() -> object:
        for _ in TURNS:
            result = a * 2.0
        return result

    return loop


def add(function: Callable[..., Any], a: Any, b: Any) -> Call:
    def loop() -> object:
        for _ in TURNS:
            result = function(a, b)
        return result

    return loop


def exp(function: Callable[..., Any], a: Any) -> Call:
    def loop() -> object:
        for _ in TURNS:
            result = function(a)
        return result

    return loop


def sum_method(a: Any) -> Call:
    def loop() -> object:
        for _ in TURNS:
            result = a.sum()
        return result

    return loop


def reshape(a: Any) -> Call:
    def loop() -> object:
        for _ in TURNS:
            result = a.reshape(2, 2)
        return result

    return loop


def first(a: Any) -> Call:
    def loop() -> object:
        for _ in TURNS:
            result = a[1]
        return result

    return loop
