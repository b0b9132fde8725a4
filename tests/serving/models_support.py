"""What the tests of served models share: small networks, archives of them, and a batcher that runs
each request at once.
"""

from __future__ import annotations

import asyncio
import functools
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import internals as torch
from internals import nn
from internals.serving.inference import InferRequest
from internals.serving.models.repository import ModelRepository
from internals.serving.models.served_model import ServedModel
from internals.serving.settings import Settings


def mlp() -> Any:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3))


class Constant(nn.Module):
    """Adds a number: an answer tells which one it came from."""

    def __init__(self, number: float, bulk: int = 0) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.eye(2))
        self.register_buffer("number", torch.full((2,), number))
        self.register_buffer("bulk", torch.zeros(bulk))  # makes the file larger

    def forward(self, x):
        return torch.nn.functional.linear(x, self.weight, self.number) + self.bulk.sum()


class OneOfSeveral(nn.Module):
    """What a branch gives besides another tensor tells the sizes."""

    def __init__(self) -> None:
        super().__init__()
        self.last = nn.Linear(4, 2)

    def forward(self, x, turned: bool = False):
        scale, kept = self.last.weight.sum(), x
        if turned:
            scale = self.last.bias.sum()
            kept = x.relu()
        scale = scale.exp()
        return scale * self.last(kept)


class LeNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.c1, self.c2, self.f = nn.Conv2d(1, 4, 5), nn.Conv2d(4, 8, 5), nn.Linear(8 * 16, 10)

    def forward(self, x):
        x = torch.max_pool2d(torch.relu(self.c1(x)), 2)
        x = torch.max_pool2d(torch.relu(self.c2(x)), 2)
        return self.f(torch.flatten(x, 1))


class Normalised(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.register_buffer("mean", torch.tensor([0.1, 0.2, 0.3]).reshape(3, 1, 1))

    def forward(self, image):
        return self.conv((image - self.mean) / 0.5).mean((2, 3))


class Tokens(nn.Module):
    """Needs two dimensions."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.head = nn.Embedding(11, 4), nn.Linear(4, 7)

    def forward(self, ids):
        rows, length = ids.shape
        return self.head(self.embedding(ids).view(rows, length, 4).mean(1))


class AnyTokens(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(11, 4)

    def forward(self, ids):
        return self.embedding(ids)


class Pair(NamedTuple):
    total: torch.Tensor
    picture: torch.Tensor


class TwoInputs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.c = nn.Linear(3, 2), nn.Conv1d(5, 2, 1)

    def forward(self, row, series, scale: float = 2.0):
        return Pair(self.a(row) * scale, self.c(series))


class Inner(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(9, 2)

    def helper(self, x):
        return self.layer(torch.tanh(x))

    def forward(self, x):
        return self.helper(x)


class Outer(nn.Module):
    """The weight is met two calls further in, in one branch of an `if`."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.flip = Inner(), True

    def forward(self, x):
        if self.flip:
            y = self.inner(-x)
        else:
            y = self.inner(x)
        return {"plain": y, "doubled": 2 * y}


class Steps(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x, steps: int):
        y = self.layer(x)
        for _ in range(steps):
            y = self.layer(y)
        return y


def archive(module: Any, extra: dict[str, Any] | None = None) -> bytes:
    """The bytes of the file that `jit.save` writes of a module, scripted if it is not compiled."""
    buffer = io.BytesIO()
    compiled = module if hasattr(module, "save_to_buffer") else torch.jit.script(module.eval())
    torch.jit.save(compiled, buffer, extra)
    return buffer.getvalue()


def place(data: bytes, path: Path) -> None:
    """As one should: written beside it, then renamed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.new")
    beside.write_bytes(data)
    os.replace(beside, path)


@functools.cache
def file_of(number: float) -> bytes:
    """An archive that answers zeros with this number."""
    return archive(Constant(number))


ZERO = torch.zeros(1, 2)


def number(tensor: Any) -> float:
    """What a `Constant` answered."""
    return float(tensor[0, 0])


def run(test: Callable[[Path], Any]) -> Callable[..., None]:
    """An asynchronous test of a folder, with an event loop of its own. What it waits for has a
    minute to happen.
    """

    def wrapper(tmp_path: Path) -> None:
        asyncio.run(asyncio.wait_for(test(tmp_path), 60))

    wrapper.__name__, wrapper.__doc__ = test.__name__, test.__doc__
    return wrapper


class OneByOne:
    """A batcher that runs each request by itself, in a thread, and knows what it has not answered
    yet.
    """

    def __init__(self, model: ServedModel) -> None:
        self.model, self.queued, self.draining = model, 0, False
        self.idle = asyncio.Event()
        self.idle.set()
        self.answered = 0

    async def submit(self, request: InferRequest) -> dict[str, Any]:
        assert not self.draining, "a request came to a model that had been replaced"
        self.queued += 1
        self.idle.clear()
        try:
            return await asyncio.to_thread(self.model.run, list(request.inputs.values()))
        finally:
            self.answered += 1
            self.queued -= 1
            if not self.queued:
                self.idle.set()

    async def drain(self) -> None:
        self.draining = True
        await self.idle.wait()


class Events(list):
    """What a repository reported."""

    def __call__(self, event: str, **fields: Any) -> None:
        self.append((event, fields))

    def names(self) -> list[str]:
        return [event for event, _ in self]


def repository(folder: Path | None = None, **settings: Any) -> tuple[ModelRepository, Events]:
    events = Events()
    return ModelRepository(Settings(model_dir=folder, **settings), OneByOne, events), events


async def one_model(folder: Path) -> tuple[Path, ModelRepository, Events]:
    """The file of a model "a", which answers 1.0, and a repository that has loaded it."""
    path = folder / "a.pt"
    place(file_of(1.0), path)
    repo, events = repository(folder)
    await repo.load_all()
    return path, repo, events


async def ask(repo: ModelRepository, name: str, x: Any, version: str = "") -> Any:
    """The first output for one input, the way the engine asks."""
    entry = repo.get(name, version)
    outputs = await entry.batcher.submit(InferRequest(name, {"x": x}, version))
    return next(iter(outputs.values()))
