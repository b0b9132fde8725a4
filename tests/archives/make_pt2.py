"""Writes tests/archives/pt2 with real PyTorch (`python tests/archives/make_pt2.py`): exported programs and calls of them.

`NAME.pt2` is the archive, `NAME.case.pt` what `torch.save` made of `{"calls": [{"inputs", "kwargs", "expected", "after"}]}`;
expected results are flat lists, `after` the inputs as the call left them.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.export import Dim, export

FOLDER = Path(__file__).parent / "pt2"


class Everything(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 3)
        self.bn = nn.BatchNorm1d(3)
        self.conv = nn.Conv2d(1, 2, 3)
        self.register_buffer("k", torch.arange(3.0))
        self.register_buffer("hidden", torch.ones(3), persistent=False)

    def forward(self, x: torch.Tensor, image: torch.Tensor, scale: float = 2.0, *, flip: bool = False) -> Any:
        y = torch.relu(self.bn(self.fc(x))) * scale + self.k
        a, b = y.split([1, 2], 1)
        z = self.conv(image).flatten(1).mean() + torch.tensor([1.0, 2.0, 3.0]) * self.hidden
        values, indices = y.max(1)
        return {"a": a, "b": [b, torch.cat([a, b], 1)]}, (z.flip(0) if flip else z, indices), None, y[:, None, :2]


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(7, 4)
        self.head = nn.Linear(4, 7, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens) + torch.arange(tokens.shape[1]).unsqueeze(1) / tokens.shape[1]
        return self.head(x).view(tokens.shape[0] * tokens.shape[1], -1)


class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
        self.bn = nn.BatchNorm1d(2)

    def forward(self, x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        self.calls.add_(1)
        out.mul_(2)
        return self.bn(x) * self.calls


class Choice(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))


def programs() -> dict[str, tuple[Any, list[tuple[tuple[Any, ...], dict[str, Any]]]]]:
    """The exported programs, and the calls of each."""
    torch.manual_seed(0)
    x, image, tokens = torch.randn(2, 4), torch.randn(1, 1, 5, 5), torch.randint(0, 7, (2, 3))
    batch, length = Dim("batch", max=64), Dim("length", min=2, max=16)
    everything, tied, counting = Everything().eval(), Tied(), Counting().train()
    calls = [((x, image, 0.5), {"flip": True})]
    exported = export(everything, *calls[0])
    sizes = {"tokens": {0: batch, 1: length}}
    text = [((tokens,), {}), ((torch.randint(0, 7, (3, 5)),), {})]
    counted = [((torch.randn(3, 2), torch.ones(2)), {}), ((torch.randn(3, 2), torch.ones(2)), {})]
    return {
        "everything": (exported, calls),
        "everything_core": (exported.run_decompositions(), calls),
        "tied_dynamic": (export(tied, (tokens,), dynamic_shapes=sizes), text),
        "counting": (export(counting, counted[0][0]), counted),
        "counting_core": (export(counting, counted[0][0]).run_decompositions(), counted),
        "choice": (export(Choice(), (torch.ones(2),)), [((torch.ones(2),), {})]),
    }


def main() -> int:
    FOLDER.mkdir(exist_ok=True)
    for name, (program, calls) in programs().items():
        for module in program.graph_module.modules():
            for node in module.graph.nodes:
                node.meta.pop("stack_trace", None)  # paths of the machine this ran on
        torch.export.save(program, FOLDER / f"{name}.pt2")
        runnable, recorded = program.module(), []
        for args, kwargs in calls:
            given = [a.clone() if isinstance(a, torch.Tensor) else a for a in args]
            with torch.no_grad():
                leaves = torch.utils._pytree.tree_leaves(runnable(*given, **kwargs))
            recorded.append({"inputs": list(args), "kwargs": kwargs, "expected": leaves, "after": given})
        torch.save({"calls": recorded}, FOLDER / f"{name}.case.pt")
    return 0


if __name__ == "__main__":
    sys.exit(main())
