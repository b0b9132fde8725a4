"""Models that do what nobody asked them to: change their inputs, raise in several lines, look at
their neighbours.
"""

from __future__ import annotations

import asyncio
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("grpc", reason="the extra `serving` is not installed")

import internals as torch
from internals import nn, serving
from internals.serving.models.served_model import ServedModel
from tests.serving.batching_support import Model, in_line, request, with_batcher


def test_a_model_that_changes_its_input_and_looks_at_its_neighbours_answers_as_if_alone() -> None:
    """The proof runs requests alone: what that changes must not be what they are run on
    afterwards.
    """

    def changes(x: torch.Tensor) -> torch.Tensor:
        x.add_(1.0)
        return x + x.mean()

    async def test(batcher: Any) -> None:
        batcher.running += 1  # as if the worker was busy
        xs = [torch.ones(1, 4) * i for i in range(4)]
        expected = [changes(x.clone()) for x in xs]
        tasks = [asyncio.create_task(batcher.submit(request(x))) for x in xs]
        await in_line(batcher, len(xs))
        batcher.running -= 1
        batcher._start_what_is_ready()
        for task, right in zip(tasks, expected):
            np.testing.assert_allclose((await task)["y"].numpy(), right.numpy())
        assert not batcher.execution.batching

    with_batcher(Model(changes), test, max_delay=0)


class Raises(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if bool((x > 1).any()):
            raise ValueError("too big:\nnumbers are at most 1")
        return x


def test_a_message_of_several_lines_is_told_whole() -> None:
    model = ServedModel.from_module(torch.jit.script(Raises()), "raises")
    with pytest.raises(serving.ServingError) as caught:
        model.run([torch.ones(2, 4) * 2])
    assert str(caught.value) == "ValueError: too big: numbers are at most 1"


class ConvolvesThenCompares(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x)
        return y - y.mean(0)


def test_rows_of_zeros_are_not_added_where_rows_depend_on_each_other() -> None:
    torch.manual_seed(0)
    module = ConvolvesThenCompares().eval()
    settings = serving.Settings(optimize=True, max_batch=8, inputs=("x:FP32:-1,1,8,8",))
    model = ServedModel.from_module(
        torch.jit.trace(module, torch.zeros(2, 1, 8, 8)), "compares", settings=settings
    )
    x = torch.randn(5, 1, 8, 8)
    with torch.no_grad():
        expected = module(x)
    (found,) = model.run([x]).values()
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-4, atol=1e-5)


def test_a_program_with_an_operator_that_is_not_known_does_not_load(tmp_path: Path) -> None:
    """PyTorch compiles when it loads; a model that can never answer must not be told to be
    ready.
    """
    module = torch.jit.script(Raises())
    torch.jit.save(module, tmp_path / "fine.pt")
    with (
        zipfile.ZipFile(tmp_path / "fine.pt") as fine,
        zipfile.ZipFile(tmp_path / "odd.pt", "w") as odd,
    ):
        for record in fine.infolist():
            data = fine.read(record)
            odd.writestr(
                record,
                data.replace(b"torch.gt(", b"torch.gq(")
                if record.filename.endswith(".py")
                else data,
            )
    with pytest.raises(RuntimeError, match="Unknown builtin op: aten::gq"):
        ServedModel(tmp_path / "odd.pt", "odd")
