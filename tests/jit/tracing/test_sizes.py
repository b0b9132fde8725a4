"""Sizes under a trace: they stay connected with the tensor they were asked from."""

from __future__ import annotations

from typing import Any

import pytest

import internals
from internals.core.tracer import TracedInt
from tests.jit.traces import assert_traced_alike, trace

SIZES: dict[str, tuple[str, Any]] = {
    "size": ("def f(x): return x.view(x.size(0), -1)", (2, 3, 4)),
    "shape": ("def f(x): return x.view(x.shape[0] * x.shape[1], x.shape[2])", (2, 3, 4)),
    "negative": ("def f(x): return x.view(-1, x.size(-1)), x.view(x.shape[-2], -1)", (2, 3)),
    "numel": ("def f(x): return x.reshape(2, x.numel() // 2)", (2, 3, 4)),
    "a whole shape": ("def f(x): return x.new_zeros(x.size()), torch.zeros(x.shape)", (2, 2)),
    "taken apart": (
        "def f(x):\n a, b = x.shape\n return x.reshape(b, a), x.expand(3, *x.shape), "
        "x.new_ones(a), torch.zeros(a, b)",
        (2, 3),
    ),
    "sliced": ("def f(x): return x.view(*x.shape[:1], -1)", (2, 3, 4)),
    "as a Scalar": ("def f(x): return torch.arange(x.size(0)) + torch.arange(0, x.size(0))", (2,)),
    "in arithmetic": ("def f(x): return x / x.size(0), x * x.shape[0] ** 2", (2, 3)),
    "repeat and expand": ("def f(x): return x.repeat(x.size(0), 1), x.expand(2, x.size(0))", (2,)),
    "as an index": ("def f(x): return x.view(-1)[x.size(0)], x[x.size(0) - 1]", (2, 2)),
    "as the end of a slice": (
        "def f(x): return x[: x.size(0) - 1], x[x.size(0) - 1 :, 1:]",
        (3, 4),
    ),
    "returned": ("def f(x): return x.shape", (2, 3)),
    "one returned": ("def f(x): return x.shape[0]", (2, 3)),
    "int() freezes": ("def f(x): return x.reshape(int(x.shape[0]), -1)", (2, 3)),
    "range() freezes": ("def f(x):\n for i in range(x.size(0)):\n  x = x + i\n return x", (2,)),
    "len() freezes": ("def f(x): return x * len(x), x.shape.numel() * x", (2, 2)),
    "attention heads": (
        "def f(x):\n b, t, c = x.size()\n return x.view(b, t, 2, c // 2).transpose(1, "
        "2).contiguous().view(b, t, c)",
        (2, 3, 4),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SIZES)
def test_graph_is_that_of_real_pytorch(name: str) -> None:
    assert_traced_alike(*SIZES[name])


INDEXING: dict[str, tuple[str, Any]] = {
    "basic": (
        "def f(x): return x[0], x[1:], x[:], x[..., 0], x[None], x[:, 1:2], x[::2], x[-1], "
        "x[-2:], x[1, 1]",
        (3, 4),
    ),
    "ellipsis": ("def f(x): return x[:, None], x[..., None], x[1, ...], x[:-1], x[0:1, 1]", (2, 2)),
    "by tensors": (
        "def f(x, i): return x[(i * 0).long()], x[:, (i * 0).long()], x[x > 0]",
        [(3, 4), (2,)],
    ),
    "by lists": ("def f(x): return x[[0, 1]], x[:, [1]]", (2, 2)),
    "number into an element": ("def f(x):\n x = x.clone()\n x[0] = 5\n return x", (3,)),
    "number into a row": (
        "def f(x):\n x = x.clone()\n x[0] = 5\n x[:, 1] = 2.5\n return x",
        (2, 2),
    ),
    "tensor into a row": (
        "def f(x):\n y = x.clone()\n y[:, 1] = torch.zeros(2)\n y[1:] = x[0]\n y[...] = x\n"
        " return y",
        (2, 2),
    ),
    "by masks": (
        "def f(x):\n y = x.clone()\n y[x > 0] = 1\n y[[0, 1]] = 2\n y[:, 0] = x[:, 1]\n return y",
        (2, 2),
    ),
    "augmented": (
        "def f(x):\n y = x.clone()\n y[0] += 1\n y[0, 0] = x.sum()\n y[None] = 0\n return y",
        (2, 2),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", INDEXING)
def test_indexing(name: str) -> None:
    assert_traced_alike(*INDEXING[name])


def test_assignment_by_index_is_not_lost() -> None:
    """PyTorch 1.0.1 lost it."""
    traced = trace(internals, "def f(x):\n x = x.clone()\n x[0] = 5\n return x", (3,))
    assert [n.kind() for n in traced.graph.nodes() if n.kind().startswith("aten")] == [
        "aten::clone",
        "aten::select",
        "aten::copy_",
    ]


def test_kernels_never_see_traced_ints() -> None:
    seen = []

    def f(x: Any) -> Any:
        with internals._dispatch_trace():
            y = x.view(x.size(0), -1)
        seen.extend(y._geometry.sizes)
        return y

    internals.jit.trace(f, internals.ones(2, 3), check_trace=False)
    assert seen == [2, 3]
    assert not any(isinstance(n, TracedInt) for n in seen)


def test_sizes_are_plain_outside_of_a_trace() -> None:
    x = internals.ones(2, 3)
    internals.jit.trace(lambda x: x.view(x.shape[0], -1), x, check_trace=False)
    assert type(x.shape[0]) is int
    assert type(x.size(1)) is int
    assert type(x.numel()) is int


def test_trace_serves_other_sizes() -> None:
    traced = internals.jit.trace(
        lambda x: x.view(x.size(0), -1).sum(1), internals.ones(2, 3, 4), check_trace=False
    )
    x = internals.arange(30.0).view(5, 3, 2)
    assert traced(x).tolist() == x.view(5, -1).sum(1).tolist()
