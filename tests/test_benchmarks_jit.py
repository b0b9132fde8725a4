"""The benchmark of compiled functions: every side does the same work."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import internals
from benchmarks import harness
from benchmarks import jit as benchmark
from internals import jit


@pytest.mark.parametrize("executor", ["emitted", "interpreter"])
def test_compiled_functions_compute_what_python_does(executor: str) -> None:
    ours = internals.ones(4)
    for (f, args), (_, plain) in zip(benchmark.work(ours), benchmark.work(np.ones(4, np.float32))):
        with jit.executor(executor):
            result = jit.script(f)(*args)
        assert np.array_equal(np.asarray(result), f(*plain)), f.__name__


def test_cases_have_goals_and_sides_that_run(monkeypatch: Any) -> None:
    cases = benchmark.cases()
    assert [case.goals for case in cases] == [{"torch": g} for g in (0.8, 1.1, 1.0, 5.0)] + [None]
    monkeypatch.setattr(harness, "ROUND_SECONDS", 1e-4)
    for case in cases:
        for side in case.sides.values():
            side()


def test_without_pytorch_python_stands_in(monkeypatch: Any) -> None:
    monkeypatch.setattr(benchmark.importlib.util, "find_spec", lambda name: None)
    against, theirs = benchmark.other_side()
    assert against == "numpy" and np.array_equal(theirs[2](), np.full(4, 2, np.float32))  # type: ignore[arg-type]
    assert all("no TorchScript" in case.note and "numpy" in case.sides for case in benchmark.cases())
