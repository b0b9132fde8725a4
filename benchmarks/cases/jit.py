"""Compiled functions against the same functions in TorchScript: loops of small work, and what one
call costs.

Ours run twice: as Python emitted from the optimised graph, and in the interpreter. PyTorch runs
them with the executor that specialises to the kind of arguments, as ours does, and one thread. The
promises: emitted code is no slower than 0.8 of TorchScript on a loop of tensor additions and 1.0 on
a loop of ints; the interpreter 1.1 and 5.

The functions are scripted from source by both, so `loop_of_adds` and `loop_of_ints` below are all
there is to compare.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import internals
from benchmarks import peers
from benchmarks.harness import OURS, Absent, Call, Case
from internals import jit

TITLE = "Compiled functions"
ABOUT = (
    "Loops of small work, scripted by both, on one thread: ours as Python emitted from the graph, "
    "and in the interpreter."
)
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


class Work(NamedTuple):
    """A function, its arguments given a tensor of four ones, and what was promised: emitted, and in
    the interpreter.
    """

    name: str
    function: Callable[..., Any]
    arguments: Callable[[Any], tuple[Any, ...]]
    goals: tuple[float, float] | None = None


WORKS = (
    Work("1,000 tensor adds, 4 floats", loop_of_adds, lambda x: (x, TURNS), (0.8, 1.1)),
    Work("1,000 turns of int arithmetic", loop_of_ints, lambda x: (TURNS,), (1.0, 5.0)),
    Work("a call of a scripted x + y", one_add, lambda x: (x, x)),
)


def cases() -> list[Case]:
    """Both loops with both executors, and a call of a function with one operator."""
    note = (
        ""
        if peers.installed("torch")
        else "no TorchScript to compare with; the functions run as Python, on numpy arrays"
    )
    found = []
    for work in WORKS:
        executors = ("emitted", "interpreter") if work.goals else ("emitted",)
        for executor, goal in zip(executors, work.goals or (None,), strict=True):
            found.append(
                Case(
                    f"{work.name}, {executor}" if work.goals else work.name,
                    partial(sides_of, work, executor),
                    reference=partial(reference_of, work),
                    goals={} if goal is None else {"TorchScript": goal},
                    note=note,
                )
            )
    return found


def sides_of(work: Work, executor: str) -> dict[str, Call | Absent]:
    compiled = partial(jit.script(work.function), *work.arguments(internals.ones(4)))
    ours = interpreting(compiled) if executor == "interpreter" else compiled
    torch = peers.library("torch")
    theirs = in_torchscript(torch, work) if torch else in_python(work)
    if work.goals is None:
        ours, theirs = repeated(ours), repeated(theirs)
    missing = {} if torch else {"TorchScript": peers.not_installed("torch")}
    return {OURS: ours, "TorchScript" if torch else "numpy": theirs, **missing}


def in_torchscript(torch: Any, work: Work) -> Call:
    # plans by dtype and rank as ours, and no profiling runs first
    before = torch._C._jit_set_profiling_executor(False)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            call = partial(torch.jit.script(work.function), *work.arguments(torch.ones(4)))
        call()
    finally:
        torch._C._jit_set_profiling_executor(before)
    return call


def in_python(work: Work) -> Call:
    return partial(work.function, *work.arguments(np.ones(4, np.float32)))


def reference_of(work: Work) -> Any:
    return work.function(*work.arguments(np.ones(4)))


def repeated(f: Call) -> Call:
    def call() -> object:
        for _ in CALLS:
            result = f()
        return result

    return call


def interpreting(call: Call) -> Call:
    def run() -> object:
        with jit.executor("interpreter"):
            return call()

    return run
