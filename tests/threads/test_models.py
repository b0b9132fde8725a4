"""Several threads run models while others make and drop tensors: each gets what it would get alone.

Threads change places as often as Python can be made to, so that what may go wrong does so within a
second.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import internals as torch
import internals.nn.functional as F
from internals import jit, nn
from tests.threads.support import THREADS, at_once


class Perceptron(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 4)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.net(x), -1)


class Branches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(16, 16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x
        for _ in range(x.size(0) + 2):
            if bool(y.sum() > 0):
                y = torch.tanh(self.linear(y)) + x * 0.5
            else:
                y = y * y - x
            y = y + x
        return y


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(50, 32)
        self.attend = nn.MultiheadAttention(32, 4, batch_first=True)
        self.norm, self.out = nn.LayerNorm(32), nn.Linear(32, 50)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.embed(x)
        h = self.norm(h + self.attend(h, h, h, need_weights=False)[0])
        q = h.reshape(h.size(0), h.size(1), 4, 8).transpose(1, 2)
        return self.out(
            h + F.scaled_dot_product_attention(q, q, q).transpose(1, 2).reshape(h.shape)
        )


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)
        self.norm, self.out = nn.BatchNorm2d(8), nn.Linear(8 * 8 * 8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.norm(self.first(x)))
        x = F.max_pool2d(x + self.second(x), 2)
        return self.out(torch.flatten(x, 1))


MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[int], torch.Tensor], int]] = {
    "perceptron": (Perceptron, lambda k: torch.randn(1 + k % 3, 16), 150),
    "branches": (Branches, lambda k: torch.randn(1 + k % 3, 16), 150),
    "attention": (Attention, lambda k: torch.randint(0, 50, (1 + k % 2, 5 + k % 3)), 20),
    "residual": (Residual, lambda k: torch.randn(1 + k % 2, 3, 16, 16), 30),
}


def archive_of(name: str) -> bytes:
    torch.manual_seed(0)
    return jit.script(MODELS[name][0]().eval()).save_to_buffer()


@pytest.mark.sampled(1 / 4)
@pytest.mark.parametrize("name", MODELS)
def test_threads_that_share_a_model_get_what_each_would_get_alone(name: str) -> None:
    """It has not been called before, so they also meet at compiling it; others make and drop
    tensors, and load archives.
    """
    archive, (_, make_input, calls) = archive_of(name), MODELS[name]
    inputs = [make_input(k) for k in range(6)]
    with torch.no_grad():
        alone = jit.load(io.BytesIO(archive))
        expected = [alone(x).numpy().copy() for x in inputs]
    shared = jit.load(io.BytesIO(archive))

    def run(me: int) -> None:
        with torch.no_grad():
            for i in range(me, me + calls):
                result = shared(inputs[i % 6])
                assert not result.requires_grad
                np.testing.assert_array_equal(result.numpy(), expected[i % 6])

    def make_and_drop() -> None:
        held: list[Any] = []
        for i in range(600):
            held.append(torch.zeros(3 + i % 50) + 1.0)
            if len(held) > 30:
                del held[::2]

    def load() -> None:
        with torch.no_grad():
            assert jit.load(io.BytesIO(archive))(inputs[0]).shape == expected[0].shape

    at_once(*[lambda k=k: run(k) for k in range(THREADS)], make_and_drop, load)


def test_threads_share_a_network_with_packed_convolutions() -> None:
    torch.manual_seed(0)
    model = jit.optimize(
        nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.ReLU()
        ).eval()
    )
    inputs = [torch.randn(1 + k % 2, 3, 20, 20) for k in range(4)]
    with torch.no_grad():
        expected = [model(x).numpy().copy() for x in inputs]

        def run(me: int) -> None:
            with torch.no_grad():
                for i in range(me, me + 40):
                    np.testing.assert_array_equal(model(inputs[i % 4]).numpy(), expected[i % 4])

        at_once(*[lambda k=k: run(k) for k in range(THREADS)])


@pytest.mark.parametrize("layout", ["modern", "1.0.1"])
def test_threads_compile_the_code_of_an_archive_once(layout: str) -> None:
    content = jit.script(Branches().eval()).save_to_buffer(format=layout)
    for _ in range(3):
        forward = jit.load(io.BytesIO(content)).forward.function
        graphs = at_once(*[lambda: forward.graph for _ in range(THREADS)])  # noqa: B023
        executors = at_once(*[lambda: forward.executor for _ in range(THREADS)])  # noqa: B023
        assert len(set(map(id, graphs))) == len(set(map(id, executors))) == 1


def test_threads_emit_the_code_of_a_plan_once() -> None:
    """Else an error would not find the line of the script that it came from: the code that runs is
    not that which is known.
    """

    @jit.script
    def f(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        y = x + 1
        return torch.mm(y, w)

    for n in range(10):
        x, w = torch.ones((2,) * (n + 1)), torch.ones((2,) * (n + 3))
        errors = at_once(*[lambda: error_of(f, x, w) for _ in range(THREADS)])  # noqa: B023
        assert all("torch.mm(y, w)" in e for e in errors)


def error_of(function: Callable[..., Any], *args: Any) -> str:
    with pytest.raises(RuntimeError) as caught:
        function(*args)
    return str(caught.value)


def test_loading_leaves_the_warning_filters_of_other_threads_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`warnings.catch_warnings` changes them for the whole process."""
    content = archive_of("perceptron")

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("the filters of all threads are changed")

    with monkeypatch.context() as patch:
        patch.setattr(warnings, "catch_warnings", refuse)
        assert jit.load(io.BytesIO(content))(torch.ones(1, 16)).shape == (1, 4)
