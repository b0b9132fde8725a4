"""The benchmark of archives: both sides load the same numbers, and a load allocates next to
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks import harness, peers
from benchmarks.cases import archives as benchmark


@pytest.fixture(autouse=True)
def small_files(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(benchmark, "WIDTH", 64)
    benchmark.files.cache_clear()
    yield
    benchmark.files.cache_clear()


def test_every_case_is_right_and_has_its_goals() -> None:
    cases = benchmark.cases()
    assert [dict(case.goals) for case in cases] == [
        *({"torch": 0.05}, {"torch": 0.05}, {}, {}, {"torch": 1.0}),
        *({"5 MB": 1.0}, {"5 MB": 1.0}),
    ]
    for case in cases:
        found = harness.run(case, budget=0.0)
        assert set(found.errors.values()) <= {0.0} and all(
            value > 0 for side in found.seconds.values() for value in side
        )
        assert (case.unit == "byte") == case.name.startswith("memory")


def test_a_file_with_other_numbers_would_be_noticed() -> None:
    case = benchmark.cases()[2]
    benchmark.files()
    state = benchmark.internals.load(benchmark.STATE)
    benchmark.internals.save({name: t + 1 for name, t in state.items()}, benchmark.STATE)
    with pytest.raises(harness.WrongResult, match="internals is off"):
        harness.run(case, budget=0.0)


def test_a_load_allocates_less_than_the_tensors_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "WIDTH", 512)  # 25 MiB
    for case in benchmark.cases()[-2:]:
        assert 0 < case.sides()["internals"]().seconds < benchmark.MEMORY  # type: ignore[operator]


def test_what_is_allocated_is_counted() -> None:
    assert benchmark.allocated(lambda: bytearray(3_000_000))().seconds >= 3_000_000  # type: ignore[attr-defined]
    zeros = benchmark.allocated(lambda: benchmark.internals.zeros(1_000_000))
    assert zeros().seconds >= 4_000_000  # type: ignore[attr-defined]


def test_without_pytorch_numpy_stands_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "installed", lambda name: False)
    monkeypatch.setattr(peers, "library", lambda name: None)
    for case in benchmark.cases()[:5]:
        found = harness.run(case, budget=0.0)
        assert "no PyTorch" in case.note and set(found.errors) == {"internals", "numpy"}
        assert found.absent == {"torch": "torch is not installed"}
