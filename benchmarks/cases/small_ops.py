"""What one small operation costs: four float32 elements, so that everything but the arithmetic counts.

Each side repeats the operation in a loop of its own, so the harness's own call is shared by many. The goal is the
project's promise: `a + b` is no slower than PyTorch's.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np

import internals
from benchmarks.harness import Case

TURNS = range(500)


def cases() -> list[Case]:
    """`a + b` and its neighbours: the operator, the function with its argument parser, a scalar, a view, an index."""
    ours = internals.from_numpy(np.ones(4, np.float32)).clone(), internals.from_numpy(np.ones(4, np.float32)).clone()
    libraries: dict[str, Any] = {"internals": internals, "numpy": np}
    sides: dict[str, Any] = {"internals": ours, "numpy": (np.ones(4, np.float32), np.ones(4, np.float32))}
    if importlib.util.find_spec("torch"):
        import torch

        torch.set_num_threads(1)
        libraries["torch"] = torch
        sides["torch"] = torch.ones(4), torch.ones(4)
    return [
        Case("a + b, 4 floats", {n: plus(*s) for n, s in sides.items()}, goals={"torch": 1.0}, rounds=200),
        Case("a * 2.0, 4 floats", {n: times_two(s[0]) for n, s in sides.items()}),
        Case("add(a, b), 4 floats", {n: add(libraries[n].add, *s) for n, s in sides.items()}),
        Case("exp(a), 4 floats", {n: exp(libraries[n].exp, s[0]) for n, s in sides.items()}),
        Case("a.sum(), 4 floats", {n: sum_method(s[0]) for n, s in sides.items()}),
        Case("a.reshape(2, 2), 4 floats", {n: reshape(s[0]) for n, s in sides.items()}),
        Case("a[1], 4 floats", {n: first(s[0]) for n, s in sides.items()}),
    ]


def plus(a: Any, b: Any) -> Callable[[], None]:
    def loop() -> None:
        for _ in TURNS:
            a + b

    return loop


def times_two(a: Any) -> Callable[[], None]:
    def loop() -> None:
        for _ in TURNS:
            a * 2.0

    return loop


def add(function: Callable[..., Any], a: Any, b: Any) -> Callable[[], None]:
    def loop() -> None:
        for _ in TURNS:
            function(a, b)

    return loop


def exp(function: Callable[..., Any], a: Any) -> Callable[[], None]:
    def loop() -> None:
        for _ in TURNS:
            function(a)

    return loop


def sum_method(a: Any) -> Callable[[], None]:
    def loop() -> None:
        for _ in TURNS:
            a.sum()

    return loop


def reshape(a: Any) -> Callable[[], None]:
    def loop() -> None:
        for _ in TURNS:
            a.reshape(2, 2)

    return loop


def first(a: Any) -> Callable[[], None]:
    def loop() -> None:
        for _ in TURNS:
            a[1]

    return loop
