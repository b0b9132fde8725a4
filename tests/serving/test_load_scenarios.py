"""The load scenarios of `benchmarks/serving` at small counts, and at those of docs/serving.md in
the slow tests.

Each lets processes of clients at a server of its own; what a scenario finds wrong is what the test
shows.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("grpc", reason="the extra `serving` is not installed")
pytest.importorskip("aiohttp", reason="the extra `serving` is not installed")
if os.name == "nt":
    pytest.skip("Windows has no SIGTERM to stop a server with", allow_module_level=True)

from benchmarks.serving import models
from benchmarks.serving.crowd import many_clients
from benchmarks.serving.endurance import endurance
from benchmarks.serving.failing import raising, slow
from benchmarks.serving.floods import flooded
from benchmarks.serving.malformed import malformed
from benchmarks.serving.oversized import oversized
from benchmarks.serving.shutdown import sigterm
from benchmarks.serving.slow_readers import slow_readers
from benchmarks.serving.vanishing import vanishing

FEW: list[tuple[Any, dict[str, Any]]] = [
    (many_clients, {"clients": 40, "turns": 5}),
    (slow_readers, {"readers": 5, "seconds": 1.5}),
    (vanishing, {"count": 15, "processes": 1}),
    (flooded, {"seconds": 1.0, "only": ("calls reset",)}),
    (malformed, {"count": 400}),
    (oversized, {"clients": 2, "mebibytes": 8}),
    (sigterm, {"clients": 12, "seconds": 0.7}),
    (raising, {"clients": 16, "turns": 10}),
    (slow, {"clients": 20, "queue": 4, "seconds": 0.2}),
    (endurance, {"count": 600, "parts": 2}),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return models.archives(
        tmp_path_factory.mktemp("served"), ("double", "picky", "slow", "large", "shades")
    )


@pytest.mark.sampled(1 / 4)
@pytest.mark.parametrize(
    ("scenario", "counts"), FEW, ids=[scenario.__name__ for scenario, _ in FEW]
)
def test_all_promises_are_kept(scenario: Any, counts: dict[str, Any], folder: Path) -> None:
    finding = scenario(folder, **counts)
    for _ in range(4):
        if "nothing was under way at the signal" not in finding.wrong:
            break
        # a busy machine had not come to it: no promise is broken
        finding = scenario(folder, **counts)
    assert finding.wrong == []
    assert finding.name and finding.done and finding.seen


@pytest.mark.slow
@pytest.mark.parametrize(
    "scenario", [scenario for scenario, _ in FEW], ids=[scenario.__name__ for scenario, _ in FEW]
)
def test_all_promises_are_kept_at_the_counts_of_the_documentation(
    scenario: Any, folder: Path
) -> None:
    assert scenario(folder).wrong == []
