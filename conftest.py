"""For every test, and for the notebooks, which pytest runs through nbval."""

from __future__ import annotations

import gc
import os

import hypothesis
import pytest

from tools.notebook_files import kernel_environment

FULL = os.environ.get("INTERNALS_TEST_FULL") == "1"  # set by `make test-full`

# Kernels inherit these. The tests themselves keep their random hash seed: they must not depend on it.
os.environ.update(kernel_environment())

# No deadlines: a test that fails on a busy machine tells nothing about the code.
quiet = [hypothesis.HealthCheck.too_slow]
hypothesis.settings.register_profile(
    "quick", deadline=None, max_examples=50, derandomize=True, suppress_health_check=quiet
)
hypothesis.settings.register_profile("full", deadline=None, max_examples=1000, suppress_health_check=quiet)
hypothesis.settings.load_profile("full" if FULL else "quick")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if FULL:
        return
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="slow: make test-full runs it"))


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
