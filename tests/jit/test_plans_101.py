"""The executor's plans, node by node those of the real 1.0.1 (its text is in
`golden/jit/plans_101.txt`), value numbers aside.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import internals as torch
from internals import jit

TEXT = (Path(__file__).parents[1] / "golden" / "jit" / "plans_101.txt").read_text()
PLANS = {
    part.partition("\n")[0].strip(): part.partition("\n")[2].strip()
    for part in TEXT.split("### ")[1:]
}


def count(x, n):  # type: ignore[no-untyped-def]
    # type: (Tensor, int) -> Tensor
    for i in range(n):
        x = x + i
    return x


def cube(x):  # type: ignore[no-untyped-def]
    for _ in range(3):
        x = x * x
    return x


def lstm_cell(x, h, w, b):  # type: ignore[no-untyped-def]
    g = torch.sigmoid(x.mm(w) + b) * torch.tanh(h)
    c, d = g.chunk(2, 1)
    return torch.cat([c * d, c + d], 1)


def pointwise(x, y, z):  # type: ignore[no-untyped-def]
    a = x * y + z
    b = torch.relu(a)
    return a.sigmoid() * b, b.exp()


def common_subexpression(x, y):  # type: ignore[no-untyped-def]
    a = x + y
    b = x + y
    c = (a * 1) + 0
    if True:
        d = c * b
    else:
        d = c
    k = 2 * 3 + 4
    return d, k


def tensors(*sizes: tuple[int, ...], grad: tuple[int, ...] = ()) -> list[Any]:
    torch.manual_seed(0)
    return [torch.randn(*s).requires_grad_(i in grad) for i, s in enumerate(sizes)]


MATRICES = ((2, 4), (2, 4), (4, 4), (4,))
VECTORS = ((3,), (3,), (3,))
CALLS: dict[str, tuple[Any, Any]] = {
    "unrolled": (count, lambda: [torch.ones(2), 10]),
    "unrolled_completely": (cube, lambda: [torch.ones(2)]),
    "lstm_cell_recording": (lstm_cell, lambda: tensors(*MATRICES, grad=(0, 2))),
    "lstm_cell": (lstm_cell, lambda: tensors(*MATRICES)),
    "pointwise": (pointwise, lambda: tensors(*VECTORS)),
    "pointwise_recording": (pointwise, lambda: tensors(*VECTORS, grad=(0, 1, 2))),
    "common_subexpression": (common_subexpression, lambda: tensors((2,), (2,))),
}


def normalized(text: str) -> str:
    """Values numbered in the order in which they appear, in each graph anew."""
    graphs = []
    for graph in re.split(r"^(?=with )", text, flags=re.M):
        numbers: dict[str, str] = {}
        graphs.append(
            re.sub(r"%[\w.]+", lambda m: numbers.setdefault(m.group(), f"%{len(numbers)}"), graph)  # noqa: B023
        )
    return "".join(graphs).strip()


@pytest.mark.parametrize("name", CALLS)
def test_plan(name: str) -> None:
    function, arguments = CALLS[name]
    scripted = jit.script(function)
    plan = scripted.graph_for(*arguments())
    plan.lint()
    assert normalized(plan.dump(style="1.0.1")) == normalized(PLANS[name])


def test_backward_of_a_group() -> None:
    plan = jit.script(pointwise).graph_for(*tensors(*VECTORS, grad=(0, 1, 2)))
    (group,) = plan.findAllNodes("prim::DifferentiableGraph")
    backward = group.g("ReverseSubgraph")
    backward.lint()
    erased = re.sub(r"Float\(\*\)", "Tensor", backward.dump(style="1.0.1"))
    assert normalized(erased) == normalized(PLANS["pointwise_backward"])


@pytest.mark.parametrize("name", CALLS)
def test_plan_computes_what_the_function_does(name: str) -> None:
    function, arguments = CALLS[name]
    ours, expected = arguments(), arguments()
    got, want = jit.script(function)(*ours), function(*expected)
    got, want = (list(r) if isinstance(r, tuple) else [r] for r in (got, want))
    for a, b in zip(got, want):
        assert torch.equal(a, b) if isinstance(b, torch.Tensor) else a == b
    recorded = [t for t in want if isinstance(t, torch.Tensor) and t.requires_grad]
    if recorded:
        sum(t.sum() for t in recorded).backward()
        sum(t.sum() for t in got).backward()
        for a, b in zip(ours, expected):
            assert (a.grad is None) == (b.grad is None)
            assert a.grad is None or torch.allclose(a.grad, b.grad)
