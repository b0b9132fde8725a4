"""No kernel of the package has a race: every launch of these operators is run under the recorder.

On the simulator a race goes unnoticed, as its threads take turns; on a GPU it is a wrong result now
and then. Where a kernel has another form for real hardware, that one is looked at too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import internals as torch
from internals.cuda import interpreter
from internals.cuda.access_log import AccessLog
from internals.cuda.recorder import Recorder
from internals.cuda.simulator.driver import SimulatedDriver
from internals.nn import functional as F

OPERATORS: dict[str, Callable[[Any], Any]] = {
    "sum of all": lambda t: t.x.sum(),
    "sum of a long run": lambda t: t.long.sum(),
    "sum of columns": lambda t: t.x.sum(0),
    "largest": lambda t: t.x.max(1)[0],
    "variance": lambda t: t.x.var(0),
    "matrix product": lambda t: t.x @ t.y,
    "softmax": lambda t: torch.softmax(t.x, 1),
    "log_softmax": lambda t: F.log_softmax(t.x, 0),
    "layer norm": lambda t: F.layer_norm(t.x, (33,)),
    "batch norm": lambda t: F.batch_norm(t.image, None, None, training=True),
    "group norm": lambda t: F.group_norm(t.image, 2),
    "conv2d": lambda t: F.conv2d(t.image, t.weight, padding=1),
    "conv2d by channel": lambda t: F.conv2d(t.image, t.weight[:4, :1], groups=4),
    "max_pool2d": lambda t: F.max_pool2d(t.image, 3, stride=2),
    "avg_pool2d": lambda t: F.avg_pool2d(t.image, 2),
    "gather": lambda t: torch.gather(t.x, 0, t.index),
    "scatter_add": lambda t: torch.zeros(7, 33, device="cuda").scatter_add(0, t.index, t.x),
    "rows by index": lambda t: t.x[t.index[0]],
    "embedding": lambda t: F.embedding(t.index, t.x),
    "cumsum of rows": lambda t: torch.cumsum(t.x, 1),
    "cumsum of columns": lambda t: torch.cumsum(t.x, 0),
    "cumsum of a long run": lambda t: torch.cumsum(t.long, 0),
    "sort": lambda t: torch.sort(t.x, 1)[0],
    "nonzero": lambda t: torch.nonzero(t.x > 0),
    "chosen by a mask": lambda t: t.x[t.x > 0],
    "cat": lambda t: torch.cat([t.x, t.x], 1),
    "dropout": lambda t: F.dropout(t.x, 0.5),
    "random permutation": lambda t: torch.randperm(100, device="cuda"),
    "multinomial": lambda t: torch.multinomial(torch.ones(5, 10, device="cuda"), 3),
    "cross entropy": lambda t: F.cross_entropy(t.x, t.index[:, 0]),
}


WITH_SHUFFLES = (
    "sum of all",
    "sum of a long run",
    "largest",
    "softmax",
    "layer norm",
    "batch norm",
    "cumsum of a long run",
)


class Tensors:
    """What the operators work on."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.x = torch.randn(7, 33, device="cuda", requires_grad=True)
        self.y = torch.randn(33, 9, device="cuda", requires_grad=True)
        self.image = torch.randn(2, 4, 9, 9, device="cuda", requires_grad=True)
        self.weight = torch.randn(6, 4, 3, 3, device="cuda", requires_grad=True)
        self.index = torch.randint(0, 7, (7, 33), device="cuda")
        self.long = torch.randn(3000, device="cuda")


@pytest.fixture
def launches(
    simulator: SimulatedDriver, monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[AccessLog]]:
    """The log of every launch on the simulator."""
    logs: list[AccessLog] = []

    def run(kernel: Any, grid: Any, block: Any, args: Any, memory: Any) -> None:
        recorder = Recorder(AccessLog(kernel.name, tuple(grid), tuple(block)))
        interpreter.run(kernel, grid, block, args, memory, recorder)
        logs.append(recorder.log)

    monkeypatch.setattr(simulator, "_run_kernel", run)
    yield logs


@pytest.mark.sampled(1 / 4)
@pytest.mark.parametrize("name", WITH_SHUFFLES)
def test_no_race_in_the_forms_for_hardware(name: str, launches: list[AccessLog]) -> None:
    with interpreter.hardware_forms():
        test_no_race_forward_and_backward(name, launches)


@pytest.mark.sampled(1 / 8)
@pytest.mark.parametrize("name", OPERATORS)
def test_no_race_forward_and_backward(name: str, launches: list[AccessLog]) -> None:
    tensors = Tensors()
    torch.cuda.synchronize()
    launches.clear()
    result = OPERATORS[name](tensors)
    if result.requires_grad:
        result.sum().backward()
    torch.cuda.synchronize()
    assert launches and all(log.accesses for log in launches)
    for log in launches:
        races = [
            f"{r.array}[{r.element}]: {log.places[r.first.place]}, {log.places[r.second.place]}, "
            f"{r.why}"
            for r in log.races
        ]
        assert not races, f"{log.kernel}: {races[0]}"
