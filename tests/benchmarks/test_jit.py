"""The benchmark of compiled functions: every side does the same work."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks import harness, peers
from benchmarks.cases import jit as benchmark


def test_every_case_is_right_and_has_its_goals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness, "ROUND_SECONDS", 1e-4)
    cases = benchmark.cases()
    assert [dict(case.goals) for case in cases] == [
        {"TorchScript": g} for g in (0.8, 1.1, 1.0, 5.0)
    ] + [{}]
    for case in cases:
        found = harness.run(case, budget=0.0)
        assert set(found.errors.values()) == {0.0} and len(found.seconds) == 2, case.name


def test_without_pytorch_python_stands_in(monkeypatch: Any) -> None:
    monkeypatch.setattr(peers, "installed", lambda name: False)
    monkeypatch.setattr(peers, "library", lambda name: None)
    for case in benchmark.cases():
        sides = case.sides()
        assert "no TorchScript" in case.note and callable(sides["numpy"])
        assert sides["TorchScript"] == harness.Absent("torch is not installed")
