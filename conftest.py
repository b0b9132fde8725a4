"""For every test, and for the notebooks, which pytest runs through nbval."""

from __future__ import annotations

import gc
import os
import sys

import hypothesis
import pytest

from tools import sampling
from tools.notebook_files import kernel_environment

FULL = os.environ.get("INTERNALS_TEST_FULL") == "1"  # set by `make test-full`
# set by `make test` of everything; without it pytest runs what it is told to
TURN = sampling.turn()

# Kernels inherit these. The tests themselves keep their random hash seed: they must not depend on
# it.
os.environ.update(kernel_environment())

# No deadlines: a test that fails on a busy machine tells nothing about the code.
quiet = [hypothesis.HealthCheck.too_slow]
hypothesis.settings.register_profile(
    "quick", deadline=None, max_examples=50, derandomize=True, suppress_health_check=quiet
)
hypothesis.settings.register_profile(
    "full", deadline=None, max_examples=1000, suppress_health_check=quiet
)
hypothesis.settings.load_profile("full" if FULL else "quick")
# Hypothesis draws constants that it finds in the modules of this project that are loaded. Which are
# depends on the tests that ran before in the same process: a failure would come and go. Reading
# them takes ten seconds, too.
hypothesis.internal.conjecture.providers._get_local_constants = (
    hypothesis.internal.constants_ast.Constants
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if FULL:
        return
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="slow: make test-full runs it"))
    if TURN is not None:
        left_out = [item for item in items if not in_turn(item, TURN)]
        if left_out:
            config.hook.pytest_deselected(items=left_out)
            items[:] = [item for item in items if in_turn(item, TURN)]


def in_turn(item: pytest.Item, turn: int) -> bool:
    """Whether `make test` runs it at this commit: of the cases of a test marked `sampled(share)` it
    runs that share.

    A test without cases, marked itself, is run at that share of commits; a mark of its whole file
    leaves it alone, unless it says `together=True`: then the tests of the file, which share
    something that takes long to make, have one turn.
    """
    marker = item.get_closest_marker("sampled")
    if marker is None:
        return True
    if marker.kwargs.get("together"):
        return sampling.in_sample(item.nodeid.partition("::")[0], marker.args[0], turn)
    if not (hasattr(item, "callspec") or marker in item.own_markers):
        return True
    return sampling.in_sample(item.nodeid, marker.args[0], turn)


@pytest.fixture(autouse=True)
def same_random_numbers() -> None:
    """A test that draws numbers draws the same in every run, whatever ran before it: it compares
    within tolerances.
    """
    for name in ("internals", "torch"):
        generator = getattr(sys.modules.get(name), "default_generator", None)
        if generator is not None:
            generator.manual_seed(0)


@pytest.fixture(scope="module", autouse=True)
def garbage_of_this_file_only() -> None:
    """What earlier files left alive, millions of objects in a long run, is not looked through at
    each collection.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 100)  # less often than by default: 3 % of the time
