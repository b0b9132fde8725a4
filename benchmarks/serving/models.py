"""The models that are served: archives in a folder, as an operator has them.

`double`, `picky`, `slow`, `large` and `shades` compute little, so that what is measured is the
server; their results are exact, so that an answer is right or wrong. `mlp` and `resnet18` are those
whose throughput is reported.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

import internals as torch
from benchmarks.serving.load import Request
from internals import Tensor, nn
from internals.serving.client import write_request
from internals.serving.protocol.messages import memory_of

WIDTH = 16  # of a row of the small models
LARGE = 1 << 18  # elements that `large` answers a row with: 1 MiB
IMAGE = (3, 224, 224)


class Double(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2 + 1


class Picky(nn.Module):
    """Raises when a number is negative."""

    def forward(self, x: Tensor) -> Tensor:
        if bool((x < 0).any()):
            raise ValueError("a number is negative")
        return x * 2 + 1


class Slow(nn.Module):
    """Multiplies matrices, as often as the first number says. Its result has no rows: every request
    is run alone.
    """

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.eye(256))

    def forward(self, x: Tensor) -> Tensor:
        y = self.weight
        for _ in range(int(x[0, 0].item())):
            y = torch.mm(y, self.weight)
        return y.sum()


class Large(nn.Module):
    """A small question with a large answer."""

    def forward(self, x: Tensor) -> Tensor:
        return (x[:, :1] + 1).expand(-1, 262144).contiguous()


class Shades(nn.Module):
    """The mean of each colour of an image: about as light as a model of images can be."""

    def forward(self, x: Tensor) -> Tensor:
        return x.mean((2, 3))


def mlp(width: int) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(784, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10)
    ).eval()


def resnet18() -> nn.Module:
    from internals.models import resnet18

    torch.manual_seed(0)
    return resnet18().eval()


SMALL = (-1, WIDTH)
MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {  # and the sizes of the input
    "double": (Double, SMALL),
    "picky": (Picky, SMALL),
    "slow": (Slow, SMALL),
    "large": (Large, SMALL),
    "shades": (Shades, (-1, *IMAGE)),
    "mlp": (lambda: mlp(2048), (-1, 784)),
    "mlp-small": (lambda: mlp(128), (-1, 784)),
    "resnet18": (resnet18, (-1, *IMAGE)),
}


TELLING = ("mlp", "mlp-small")  # their weights tell what goes in


def archives(folder: Path, names: Iterable[str]) -> Path:
    """Saves these models into a new folder, which is returned."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        make, shape = MODELS[name]
        said = (
            {"inputs": [{"name": "x", "datatype": "FP32", "shape": shape}]}
            if name not in TELLING
            else {}
        )
        extra = {"serving.json": json.dumps(said)}
        torch.jit.save(torch.jit.script(make()), str(folder / f"{name}.pt"), _extra_files=extra)
    return folder


def numbers(seed: int, shape: tuple[int, ...]) -> Tensor:
    """Small whole numbers, not negative: what `double` makes of them is exact."""
    return torch.from_numpy(np.random.default_rng(seed).integers(0, 1000, shape).astype(np.float32))


def request(model: str, x: Tensor, **more: Any) -> Request:
    """The gRPC request, and what `double` or `picky` make of `x`, with which a right answer
    ends.
    """
    expected = bytes(memory_of(x * 2 + 1)) if model in ("double", "picky") else b""
    return Request(write_request(model, x if model in TELLING else {"x": x}), expected, **more)
