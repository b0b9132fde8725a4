"""The checkers of notebooks 19 to 21 have a GPU of their own, and leave the reader's as it was."""

from __future__ import annotations

import pytest

import internals as torch
from exercises.attempt import attempt
from exercises.catalogue import find
from exercises.topics._simulated import simulated_gpu
from internals.cuda import backend
from internals.cuda.simulator.driver import SimulatedDriver


@pytest.mark.parametrize("name", ["gpu_memory_2", "gpu_memory_3", "streams_2"])
def test_the_readers_device_is_as_it_was(name: str) -> None:
    with backend.installed(SimulatedDriver(devices=2, memory=64 << 20)):
        torch.cuda.set_device(1)
        torch.cuda.manual_seed(3)
        a, side = torch.arange(5.0, device="cuda"), torch.cuda.Stream()
        before = torch.cuda.memory_snapshot(), torch.cuda.get_rng_state().tolist()
        assert attempt(find(name), find(name).solution)
        assert (torch.cuda.memory_snapshot(), torch.cuda.get_rng_state().tolist()) == before
        assert torch.cuda.current_device() == 1
        with torch.cuda.stream(side):
            assert (a * 2).tolist() == [0, 2, 4, 6, 8]
        del a
        torch.cuda.empty_cache()


def test_it_is_gone_after_an_error_too() -> None:
    with backend.installed(SimulatedDriver()) as outside:
        with pytest.raises(ZeroDivisionError), simulated_gpu() as driver:
            assert backend.driver() is driver
            raise ZeroDivisionError
        assert backend.driver() is outside
