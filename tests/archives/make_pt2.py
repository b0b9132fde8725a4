"""Writes tests/archives/pt2 with real PyTorch (`python tests/archives/make_pt2.py`): exported
programs and calls of them.

`NAME.pt2` is the archive, `NAME.case.pt` what `torch.save` made of `{"calls": [{"inputs", "kwargs",
"expected", "after"}]}`; expected results are flat lists, `after` the inputs as the call left them.
`small.txt` is how PyTorch prints one of them, and `dynamo.txt` what `torch.compile` gave a backend;
notebook 18 shows both.
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

    def forward(
        self, x: torch.Tensor, image: torch.Tensor, scale: float = 2.0, *, flip: bool = False
    ) -> Any:
        y = torch.relu(self.bn(self.fc(x))) * scale + self.k
        a, b = y.split([1, 2], 1)
        z = self.conv(image).flatten(1).mean() + torch.tensor([1.0, 2.0, 3.0]) * self.hidden
        values, indices = y.max(1)
        return (
            {"a": a, "b": [b, torch.cat([a, b], 1)]},
            (z.flip(0) if flip else z, indices),
            None,
            y[:, None, :2],
        )


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
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda x: self.fc(x).relu(), lambda x: x - 1, (x,))


class Blocks(nn.Module):
    """Graphs in graphs, a loop, a part without gradients, assertions."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        def inner(x: torch.Tensor, y: torch.Tensor) -> Any:
            return torch.cond(y.sum() > 1, lambda x: x * 2, lambda x: x * 3, (x,)), y + 1

        torch._assert_async(x.sum() > -100, "x is too small")
        with torch.no_grad():
            z = x * 2
            w = z + 1
        i, total = torch._higher_order_ops.while_loop(
            lambda i, t: i < 4, lambda i, t: (i + 1, t * 2), (torch.tensor(0), x)
        )
        return (
            torch.cond(x.sum() > 0, inner, lambda x, y: (x - y, y.clone()), (x, y)),
            z,
            w,
            i,
            total,
        )


class Formulas(nn.Module):
    """Sizes that depend on one another; numbers among inputs and outputs."""

    def forward(
        self, x: torch.Tensor, y: torch.Tensor, pairs: torch.Tensor, n: int, *, add: torch.Tensor
    ) -> Any:
        return (
            x[1:] + y,
            pairs.view(-1, 2).sum(1) * n,
            x.shape[0] * pairs.shape[0] + n,
            {"add": add + n},
        )


class Kinds(nn.Module):
    """Other dtypes, constants of the program, values that are no tensors."""

    def forward(self, x: torch.Tensor, i: torch.Tensor, s: tuple[int, float, bool, None]) -> Any:
        complex_numbers = x * torch.tensor([1 + 2j, 3.0]) + 4j
        positive = x[x > 0].to(torch.int64)
        count = (i > 2).sum().item()
        torch._check(count >= 0)
        torch._check(count < 10)
        return (
            complex_numbers,
            x.double() / 3,
            ~(i > 1),
            i // 2,
            positive,
            torch.zeros(count),
            count,
            s[0],
            [s[2], None],
        )


class Views(nn.Module):
    """Buffers that share a storage."""

    def __init__(self) -> None:
        super().__init__()
        base = torch.arange(12.0).view(3, 4)
        self.register_buffer("base", base)
        self.register_buffer("row", base[1])
        self.register_buffer("turned", base.t())

    def forward(self, x: torch.Tensor) -> Any:
        self.base.add_(1)
        return x + self.row, self.turned.sum(1)


class Small(nn.Module):
    """The model of notebook 18: a loop, an `if`, a default, a buffer that counts."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])
        self.head = nn.Linear(4, 2)
        self.register_buffer("calls", torch.tensor(0))

    def forward(self, x: torch.Tensor, scale: float = 2.0) -> torch.Tensor:
        self.calls += 1
        for layer in self.layers:
            x = torch.relu(layer(x))
        if x.size(1) > 3:
            x = x * scale
        return self.head(x)


class Unknown(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.teaching.twice(torch.ops.teaching.twice(x))


@torch.library.custom_op("teaching::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@twice.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


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
        **more_programs(),
    }


def more_programs() -> dict[str, tuple[Any, list[tuple[tuple[Any, ...], dict[str, Any]]]]]:
    torch.manual_seed(1)
    pair, x, batch = torch.ones(2), torch.randn(2, 3), Dim("batch", min=2, max=64)
    half, n = Dim("half", min=2, max=50), Dim("n", min=3, max=20)
    choice = export(Choice(), (pair,))
    branches = [((pair,), {}), ((-pair,), {})]
    both = [((x.abs(), x.abs() + 1), {}), ((x.abs(), -x.abs()), {}), ((-x.abs(), x), {})]

    def sized(length: int, pairs: int, n: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (torch.randn(length), torch.randn(length - 1), torch.randn(2 * pairs), n), {
            "add": torch.randn(length, pairs)
        }

    sizes = {
        "x": {0: n},
        "y": {0: n - 1},
        "pairs": {0: 2 * half},
        "n": Dim.DYNAMIC,
        "add": {0: n, 1: half},
    }
    calls = [sized(5, 4, 3), sized(9, 6, -2)]
    formulas = export(Formulas(), calls[0][0], calls[0][1], dynamic_shapes=sizes)
    kind = [((torch.tensor([1.5, -2.0]), torch.arange(6), (3, 2.5, True, None)), {})]
    small = export(Small().eval(), (torch.randn(3, 4),), dynamic_shapes=({0: batch},))
    rows = [((torch.randn(3, 4),), {}), ((torch.randn(5, 4),), {})]
    return {
        "choice": (choice, branches),
        "choice_core": (choice.run_decompositions(), branches),
        "blocks": (export(Blocks(), both[0][0]), both),
        "formulas": (formulas, calls),
        "formulas_core": (formulas.run_decompositions(), calls),
        "kinds": (export(Kinds(), kind[0][0]), kind),
        "kinds_core": (export(Kinds(), kind[0][0]).run_decompositions(), kind),
        "views": (
            export(Views(), (torch.ones(4),)),
            [((torch.ones(4),), {}), ((torch.ones(4),), {})],
        ),
        "small": (small, rows),
        "small_core": (small.run_decompositions(), rows),
        "unknown": (export(Unknown(), (pair,)), [((pair,), {})]),
    }


def captured(calls: list[tuple[Any, ...]]) -> str:
    """The graphs that TorchDynamo gives a backend, as text, for these calls of `choose`."""
    lines: list[str] = []

    def backend(module: torch.fx.GraphModule, inputs: Any) -> Any:
        lines.append(module.code.strip())
        return module.forward

    @torch.compile(backend=backend)
    def choose(x: torch.Tensor, n: int) -> torch.Tensor:
        y = x * 2
        if y.sum() > 0:
            y = y + n
        return y.relu()

    for i, args in enumerate(calls):
        lines.append(
            f"\n# call {i}: x of {tuple(args[0].shape)}, sum {'>' if args[0].sum() > 0 else '<='} "
            f"0, n = {args[1]}"
        )
        choose(*args)
    return "\n".join(lines).lstrip() + "\n"


def main() -> int:
    FOLDER.mkdir(exist_ok=True)
    ones = torch.ones(3)
    (FOLDER / "dynamo.txt").write_text(
        captured([(ones, 4), (ones + 1, 4), (-ones, 4), (torch.ones(5), 4), (torch.ones(6), 4)])
    )
    for name, (program, calls) in programs().items():
        for module in program.graph_module.modules():
            for node in module.graph.nodes:
                node.meta.pop("stack_trace", None)  # paths of the machine this ran on
        torch.export.save(program, FOLDER / f"{name}.pt2")
        if name == "small":
            lines = program.graph_module.print_readable(print_output=False).splitlines()
            text = "\n".join(
                line.rstrip()
                for line in lines
                if line.strip() and not line.lstrip().startswith("#")
            )
            (FOLDER / "small.txt").write_text(text + "\n")
        runnable, recorded = program.module(), []
        for args, kwargs in calls:
            given = [a.clone() if isinstance(a, torch.Tensor) else a for a in args]
            with torch.no_grad():
                leaves = torch.utils._pytree.tree_leaves(runnable(*given, **kwargs))
            recorded.append(
                {"inputs": list(args), "kwargs": kwargs, "expected": leaves, "after": given}
            )
        torch.save({"calls": recorded}, FOLDER / f"{name}.case.pt")
    return 0


if __name__ == "__main__":
    sys.exit(main())
