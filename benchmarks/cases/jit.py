"""Compiled functions against the same functions in TorchScript: loops of small work, and what one call costs.

Ours run twice: as Python emitted from the optimised graph, and in the interpreter. PyTorch runs them with the executor that
specialises to the kind of arguments, as ours does, and one thread. The promises: emitted code is no slower than 0.8 of
TorchScript on a loop of tensor additions and 1.0 on a loop of ints; the interpreter 1.1 and 5.

The functions are scripted from source by both, so `loop_of_adds` and `loop_of_ints` below are all there is to compare.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import internals
from benchmarks.harness import Case
from internals import jit

TURNS = 1000
CALLS = range(200)


def loop_of_adds(x, n: int):  # type: ignore[no-untyped-def]
    y = x
    for i in range(n):  # noqa: B007
        y = y + x
    return y


def loop_of_ints(n: int) -> int:
    s = 0
    for i in range(n):
        if i % 3 == 0:
            s = s + i * 2
        else:
            s = s - 1
    return s


def one_add(x, y):  # type: ignore[no-untyped-def]
    return x + y


def cases() -> list[Case]:
    """Both loops with both executors, and a call of a function with one operator."""
    against, theirs = other_side()
    x = internals.from_numpy(np.ones(4, np.float32)).clone()
    adds, ints, add = [partial(jit.script(f), *args) for f, args in work(x)]
    note = "" if against == "torch" else "no TorchScript to compare with; the functions run as Python, on numpy arrays"
    found = []
    for name, ours, other, goals in (
        ("1,000 tensor adds, 4 floats", adds, theirs[0], (0.8, 1.1)),
        ("1,000 turns of int arithmetic", ints, theirs[1], (1.0, 5.0)),
    ):
        both: list[Callable[[], object]] = [ours, interpreting(ours)]
        for executor, call, goal in zip(("emitted", "interpreter"), both, goals):
            sides: dict[str, Callable[[], object]] = {"internals": call, against: other}
            found.append(Case(f"{name}, {executor}", sides, goals={"torch": goal}, note=note))
    calls: dict[str, Callable[[], object]] = {"internals": repeated(add), against: repeated(theirs[2])}
    return [*found, Case("a call of a scripted x + y", calls, note=note)]


def work(x: Any) -> list[tuple[Callable[..., Any], tuple[Any, ...]]]:
    """The functions and their arguments, `x` being four ones."""
    return [(loop_of_adds, (x, TURNS)), (loop_of_ints, (TURNS,)), (one_add, (x, x))]


def other_side() -> tuple[str, list[Callable[[], object]]]:
    """Whom we are compared with, and what to call: TorchScript, or Python where it is not installed."""
    if importlib.util.find_spec("torch") is None:
        return "numpy", [partial(f, *args) for f, args in work(np.ones(4, np.float32))]
    import torch

    torch.set_num_threads(1)
    before = torch._C._jit_set_profiling_executor(False)  # plans by dtype and rank as ours, and no profiling runs first
    found: list[Callable[[], object]] = []
    try:
        for f, args in work(torch.ones(4)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                found.append(partial(torch.jit.script(f), *args))
            found[-1]()
    finally:
        torch._C._jit_set_profiling_executor(before)
    return "torch", found


def repeated(f: Callable[[], object]) -> Callable[[], None]:
    def call() -> None:
        for _ in CALLS:
            f()

    return call


def interpreting(call: Callable[[], object]) -> Callable[[], None]:
    def run() -> None:
        with jit.executor("interpreter"):
            call()

    return run
