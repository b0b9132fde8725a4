"""The tests of the CUDA backend run on two simulated devices, or on what INTERNALS_CUDA names
(`make test-gpu`: a real GPU).

Only the driver is exchanged while they run: the tests around them still find a machine without
CUDA.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from internals.cuda import backend
from internals.cuda.simulator.driver import SimulatedDriver


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if marked and not (backend.choice()[0] == "gpu" and backend.gpu_available()):
        for item in marked:
            item.add_marker(
                pytest.mark.skip(reason="needs a real GPU: make test-gpu runs it on one")
            )


@pytest.fixture(scope="module", autouse=True)
def device_runtime() -> Iterator[None]:
    """The driver of all tests here."""
    if os.environ.get(backend.VARIABLE):
        yield
    else:
        with backend.installed(SimulatedDriver(devices=2)):
            yield


@pytest.fixture(autouse=True)
def nothing_pending() -> Iterator[None]:
    """A test leaves no work behind, and no failure that the next one would be told of."""
    yield
    if backend.initialized():
        driver = backend.driver()
        for index in range(driver.device_count()):
            driver.synchronize(index)


@pytest.fixture
def simulator() -> Iterator[SimulatedDriver]:
    """A new simulated driver with two devices, its clock at zero, in use while the test runs."""
    driver = SimulatedDriver(devices=2)
    with backend.installed(driver):
        yield driver


@pytest.fixture
def second_device() -> int:
    """The index of another device than the first."""
    if backend.driver().device_count() < 2:
        pytest.skip("needs two devices")
    return 1
