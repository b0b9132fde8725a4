"""`viz.memory` and `viz.big_picture` of tensors on a GPU."""

from __future__ import annotations

import pytest

import internals as torch
import viz
from internals.cuda.simulator.driver import SimulatedDriver
from tests.viz.support import assert_good


def test_what_lies_where(simulator: SimulatedDriver) -> None:
    x = torch.arange(6.0).reshape(2, 3)
    y = x.to("cuda:1")
    picture = viz.memory(x=x, y=y, column=y[:, 1])
    assert_good(picture)
    text = picture.text()
    assert (
        "S0  24 bytes = 6 float32\n" in text
        and "S1  24 bytes = 6 float32, on cuda:1, simulated" in text
    )
    assert "allocator: CUDACachingAllocator" in text
    assert [(v.kind, v.names) for v in picture.verdicts] == [
        ("shared", ["y", "column"]),
        ("copied", ["x"]),
    ]
    assert [cell.text for cell in picture.strips[1].cells or []] == ["0", "1", "2", "3", "4", "5"]


def test_a_simulated_device_shows_what_is_there_now(simulator: SimulatedDriver) -> None:
    x = torch.zeros(2, device="cuda")
    torch.cuda.synchronize()
    before = simulator.now
    torch.cuda._sleep(1_000_000)
    x.add_(5)
    assert [cell.text for cell in viz.memory(x=x).strips[0].cells or []] == ["0", "0"]
    torch.cuda.synchronize()
    assert [cell.text for cell in viz.memory(x=x).strips[0].cells or []] == ["5", "5"]
    now = simulator.now
    viz.memory(x=x)
    viz.big_picture(x)
    assert now - before > 1_000_000 and simulator.now == now


def test_big_picture(simulator: SimulatedDriver) -> None:
    y = torch.arange(6.0, device="cuda").reshape(2, 3)
    torch.cuda.synchronize()
    picture = viz.big_picture(y[1:])
    assert_good(picture)
    assert (picture.where, picture.values) == ("cuda:0, simulated", ["0", "1", "2", "3", "4", "5"])
    text = picture.text()
    for fact in (
        "device             cuda:0",
        "&Block, 512 bytes",
        "CachingAllocator.free",
        "name    CUDACachingAllocator",
    ):
        assert fact in text
    assert_good(viz.big_picture(torch.empty(0, device="cuda")))


@pytest.mark.gpu
def test_on_a_gpu_the_bytes_are_copied() -> None:
    y = torch.arange(3.0, device="cuda") * 2
    assert viz.big_picture(y).values == ["0", "2", "4"] and viz.big_picture(y).where == "cuda:0"
    assert [cell.text for cell in viz.memory(y=y).strips[0].cells or []][:3] == ["0", "2", "4"]
