"""For every test, and for the notebooks, which pytest runs through nbval."""

from __future__ import annotations

import gc
import os
import zlib

import hypothesis
import pytest

from tools.notebook_files import kernel_environment

# Set by `make test-full` to 1, by `make test` of everything to 0; without it pytest runs what it is told to.
FULL = os.environ.get("INTERNALS_TEST_FULL") == "1"
SAMPLE = os.environ.get("INTERNALS_TEST_FULL") == "0"

# Kernels inherit these. The tests themselves keep their random hash seed: they must not depend on it.
os.environ.update(kernel_environment())

# No deadlines: a test that fails on a busy machine tells nothing about the code.
quiet = [hypothesis.HealthCheck.too_slow]
hypothesis.settings.register_profile(
    "quick", deadline=None, max_examples=50, derandomize=True, suppress_health_check=quiet
)
hypothesis.settings.register_profile("full", deadline=None, max_examples=1000, suppress_health_check=quiet)
hypothesis.settings.load_profile("full" if FULL else "quick")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if FULL:
        return
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="slow: make test-full runs it"))
    left_out = [item for item in items if SAMPLE and not in_sample(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if in_sample(item)]


def in_sample(item: pytest.Item) -> bool:
    """Whether `make test` runs it: of the cases of a test marked `sampled(share)` that share does, always the same ones."""
    marker = item.get_closest_marker("sampled")
    if marker is None or not hasattr(item, "callspec"):
        return True
    return zlib.crc32(item.nodeid.encode()) % 1000 < 1000 * marker.args[0]


@pytest.fixture(autouse=True)
def same_random_numbers(request: pytest.FixtureRequest) -> None:
    """Tests of the fuser compare to units in the last place: their random tensors are the same in every run."""
    if request.path.name.startswith("test_fuser"):
        import internals

        internals.manual_seed(0)


@pytest.fixture(scope="module", autouse=True)
def garbage_of_this_file_only() -> None:
    """What earlier files left alive, millions of objects in a long run, is not looked through at each collection."""
    gc.collect()
    gc.freeze()
