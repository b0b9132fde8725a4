"""Chains of elementwise operations, softmax and layer norm over a million numbers: one kernel, not
one an operator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

import internals
from benchmarks import peers
from benchmarks.cases.kernels import numpy_layer_norm, numpy_softmax
from benchmarks.harness import OURS, Absent, Call, Case

TITLE = "Fused chains"
ABOUT = (
    "A million float32 numbers on two threads. Ours is `internals.jit.optimize`, ready compiled; "
    "PyTorch's eager mode runs an operator after the other, `torch.compile` writes C++, "
    "TorchScript's own fuser cannot compile on a CPU without LLVM in the wheel, tinygrad compiles "
    "with `TinyJit`."
)
N, ROWS, COLUMNS = 1_000_000, 1_000, 1_024


def chain(x, y):  # type: ignore[no-untyped-def]
    return ((x * y + x) * 0.5 - y) * x + 1


def gelu(x):  # type: ignore[no-untyped-def]
    return 0.5 * x * (1 + (0.7978845608028654 * (x + 0.044715 * x * x * x)).tanh())


def swish_and_tanh(x, y):  # type: ignore[no-untyped-def]
    return x * x.sigmoid() + y.tanh()


def softmax(x):  # type: ignore[no-untyped-def]
    return x.softmax(1)


@dataclass(frozen=True)
class Row:
    """A program that all libraries can run as it stands, and what it computes, in numpy."""

    name: str
    program: Callable[..., Any]
    in_numpy: Callable[..., Any]
    inputs: int = 2
    shape: tuple[int, ...] = (N,)
    goals: Mapping[str, float] = field(default_factory=dict)


def numpy_gelu(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


def numpy_swish_and_tanh(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return x / (1 + np.exp(-x)) + np.tanh(y)


TABLE = (
    Row(
        "((x * y + x) * 0.5 - y) * x + 1", chain, chain, goals={"torch": 0.15, "torch.compile": 1.0}
    ),
    Row("gelu, tanh form", gelu, numpy_gelu, inputs=1, goals={"torch": 0.2, "torch.compile": 1.0}),
    Row(
        "x * sigmoid(x) + tanh(y)",
        swish_and_tanh,
        numpy_swish_and_tanh,
        goals={"torch": 0.5, "torch.compile": 1.0},
    ),
    Row("softmax of rows of 1,024", softmax, numpy_softmax, 1, (ROWS, COLUMNS), {"torch": 0.7}),
)


def cases() -> list[Case]:
    """The three chains and softmax, which are functions, and layer norm, a module."""
    found = [
        Case(
            row.name,
            partial(sides_of, row),
            reference=partial(reference_of, row),
            goals=row.goals,
            threads=2,
            rounds=200,
        )
        for row in TABLE
    ]
    norm = Case(
        "layer norm of rows of 1,024",
        layer_norm_sides,
        reference=lambda: numpy_layer_norm(rows().astype(np.float64)),
        goals={"torch": 0.7},
        threads=2,
        rounds=200,
    )
    return [*found, norm]


def sides_of(row: Row) -> dict[str, Call | Absent]:
    arrays = inputs_of(row)
    torch = peers.library("torch")
    theirs = peers.tensors(torch, arrays) if torch else []
    return {
        OURS: peers.optimized(row.program, peers.tensors(internals, arrays)),
        "torch": partial(row.program, *theirs) if torch else peers.not_installed("torch"),
        "torch.compile": peers.torch_compiled(row.program, theirs),
        "TorchScript": peers.torch_scripted(row.program, theirs),
        "tinygrad": peers.in_tinygrad(row.program, arrays),
        "numpy": peers.in_numpy(row.in_numpy, arrays),
    }


def layer_norm_sides() -> dict[str, Call | Absent]:
    x = rows()
    made: dict[str, Call | Absent] = {
        OURS: peers.optimized(norm_of(internals), [internals.tensor(x)]),
        "numpy": partial(numpy_layer_norm, x),
        "tinygrad": peers.in_tinygrad(lambda t: t.layernorm(eps=1e-5), [x]),
    }
    if (torch := peers.library("torch")) is None:
        return made | {"torch": peers.not_installed("torch")}
    module, theirs = norm_of(torch), torch.tensor(x)
    return made | {
        "torch": partial(module, theirs),
        "torch.compile": peers.torch_compiled(module, [theirs]),
        "TorchScript": peers.torch_scripted(module, [theirs]),
    }


def norm_of(T: Any) -> Any:
    return T.nn.LayerNorm(COLUMNS).eval().requires_grad_(False)


def inputs_of(row: Row) -> list[np.ndarray]:
    stream = np.random.default_rng(0)
    return [stream.standard_normal(row.shape, np.float32) for _ in range(row.inputs)]


def rows() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((ROWS, COLUMNS), np.float32)


def reference_of(row: Row) -> np.ndarray:
    return row.in_numpy(*[a.astype(np.float64) for a in inputs_of(row)])
