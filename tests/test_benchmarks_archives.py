"""The benchmark of archives: both sides load the same numbers, and a load allocates next to nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from benchmarks import archives as benchmark


@pytest.fixture(autouse=True)
def small_files(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(benchmark, "WIDTH", 64)
    benchmark.files.cache_clear()
    yield
    benchmark.files.cache_clear()


def test_cases_have_goals_and_sides_that_run() -> None:
    cases = benchmark.cases()
    assert [case.goals for case in cases] == [
        *({"torch": 0.05}, {"torch": 0.05}, None, None, {"torch": 1.0}),
        *({"5 MB": 1.0}, {"5 MB": 1.0}),
    ]
    for case in cases:
        assert case.self_timed and all(side() > 0 for side in case.sides.values())  # type: ignore[operator]


def test_a_load_allocates_less_than_the_tensors_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "WIDTH", 512)  # 25 MiB
    for case in benchmark.cases()[-2:]:
        assert 0 < case.sides["internals"]() < benchmark.MEMORY  # type: ignore[operator]


def test_what_is_allocated_is_counted() -> None:
    assert benchmark.allocated(lambda: bytearray(3_000_000))() >= 3_000_000
    assert benchmark.allocated(lambda: benchmark.internals.zeros(1_000_000))() >= 4_000_000


def test_both_sides_load_the_same(monkeypatch: Any) -> None:
    pytest.importorskip("torch", reason="real PyTorch is not installed: make oracle", exc_type=ImportError)
    benchmark.files()
    _, theirs = benchmark.other_side()
    ours, other = benchmark.internals.load(benchmark.STATE), theirs["load, 100 MB"]()
    assert all(np.array_equal(ours[name].numpy(), t.numpy()) for name, t in other.items())  # type: ignore[attr-defined]


def test_without_pytorch_numpy_stands_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark.importlib.util, "find_spec", lambda name: None)
    for case in benchmark.cases()[:4]:
        assert "numpy" in case.sides and "no PyTorch" in case.note
        case.sides["numpy"]()
