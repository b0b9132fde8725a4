"""Traces run: they compute what the function computes, on other tensors too, and gradients flow
through them.
"""

from __future__ import annotations

from typing import Any

import pytest

import internals
from internals import models, nn
from internals.nn import functional as F
from tests.jit.traces import agree, caught, graphs, normalised, trace
from tests.models.golden_models import MODELS, ours_with_torch
from tests.support import assert_same, to_numpy


def same(ours: Any, wanted: Any, **tolerances: float) -> None:
    assert_same(ours, to_numpy(wanted.detach()), **tolerances)


PROGRAMS: dict[str, tuple[Any, tuple[int, ...], tuple[int, ...]]] = {
    "arithmetic": (lambda x: (2 * x - 1) / (x**2 + 1), (2, 3), (4, 5)),
    "sizes": (lambda x: x.view(x.size(0), -1) / x.numel(), (2, 3, 4), (5, 1, 2)),
    "attention heads": (
        lambda x: x.view(x.size(0), x.size(1), 2, -1).transpose(1, 2).softmax(-1),
        (2, 3, 4),
        (3, 5, 6),
    ),
    "indexing": (lambda x: x[:, 1:] + x[0, : x.size(1) - 1], (3, 4), (2, 6)),
    "lists": (lambda x: internals.cat([x, x * 2], 1).chunk(2, 1)[1], (2, 4), (3, 4)),
    "masks": (lambda x: internals.where(x > 0.5, x, -x).masked_fill(x > 0.9, 0.0), (2, 4), (3, 3)),
    "reductions": (
        lambda x: x.softmax(-1).sum(0, True) + x.std() - x.mean(1, keepdim=True).max(),
        (2, 3),
        (4, 5),
    ),
    "convolution": (
        lambda x: F.max_pool2d(F.conv2d(x, internals.ones(2, 1, 3, 3)).relu(), 2),
        (1, 1, 4, 4),
        (2, 1, 6, 6),
    ),
    "factories": (
        lambda x: x + internals.arange(x.size(0)).view(-1, 1) * internals.ones(x.shape),
        (2, 3),
        (4, 2),
    ),
    "conversions": (lambda x: (x * 10).long().double() + x.to(internals.float64), (2, 3), (4, 2)),
    "normalization": (lambda x: F.layer_norm(x, (4,)) * F.gelu(x), (2, 4), (5, 4)),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_trace_computes_what_the_function_computes(name: str) -> None:
    f, shape, other = PROGRAMS[name]
    internals.manual_seed(0)
    given, traced = caught(lambda: internals.jit.trace(f, internals.rand(*shape)))
    assert given == []
    for s in (shape, other):
        x = internals.rand(*s)
        a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
        ours, wanted = traced(a), f(b)
        same(ours, wanted)
        if wanted.requires_grad:
            ours.sum().backward()
            wanted.sum().backward()
            same(a.grad, b.grad)


@pytest.mark.parametrize("mode", [None, "trunc", "floor"])
def test_a_number_promotes_as_a_number(mode: str | None) -> None:
    """Also where the graph has a tensor for it, and the other operand has no dimensions either."""

    def f(x: Any) -> Any:
        return internals.div(x, 3, rounding_mode=mode)

    x = internals.tensor(7, dtype=internals.int16)
    assert internals.jit.trace(f, x)(x).dtype is f(x).dtype


def test_in_place_and_assignment_by_index() -> None:
    def f(x: Any) -> Any:
        x = x.clone()
        x[0] = 5
        x[1:] += x[0]
        return x.mul_(2)

    traced = internals.jit.trace(f, internals.rand(3, 2))
    x = internals.rand(4, 2)
    same(traced(x), f(x))


def test_containers() -> None:
    def f(x: Any, pair: Any, table: Any) -> Any:
        return {"sum": x + pair[0] + table["a"], "other": (pair[1][0], x)}["sum"], (
            pair[1][0],
            [table["b"]],
        )

    def inputs(n: int) -> Any:
        a = [internals.rand(n) for _ in range(5)]
        return a[0], (a[1], [a[2]]), {"a": a[3], "b": a[4]}

    traced = internals.jit.trace(f, inputs(2), strict=False)
    x = inputs(3)
    ours, wanted = traced(*x), f(*x)
    same(ours[0], wanted[0])
    same(ours[1][0], wanted[1][0])
    same(ours[1][1][0], wanted[1][1][0])


def test_the_branch_taken_is_frozen() -> None:
    """The talk's function: the trace gives 2 whatever it is given."""

    def my_function(x: Any) -> Any:
        return internals.tensor(1.0) if x.mean() > 1.0 else internals.tensor(2.0)

    given, f = caught(lambda: internals.jit.trace(my_function, internals.ones(2, 2)))
    assert len(given) == 4
    assert (f(internals.ones(2, 2)).item(), f(internals.ones(2, 2).add_(1.0)).item()) == (2.0, 2.0)


class Scale(internals.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, k: float) -> Any:
        ctx.k = k
        return x * k

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * ctx.k * 10, None


def test_function_of_autograd_keeps_its_backward() -> None:
    traced = internals.jit.trace(lambda x: Scale.apply(x, 3.0) + 1, internals.ones(2))
    x = internals.ones(2).requires_grad_()
    traced(x).sum().backward()
    assert x.grad.tolist() == [30.0, 30.0]


FUNCTIONS = """
class P(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k): return x * k
    @staticmethod
    def backward(ctx, g): return g, None
class Q(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y): return x * 2, x + y
    @staticmethod
    def backward(ctx, g, h): return g, h
def f(x):
    a, b = Q.apply(x, x)
    return P.apply(a, 3) + b
"""


def test_function_of_autograd_is_recorded_as_in_real_pytorch() -> None:
    def described(lib: Any) -> Any:
        graph = trace(lib, FUNCTIONS, (2,)).graph
        bodies = [normalised(n.g("Subgraph")) for n in graph.nodes() if n.hasAttribute("Subgraph")]
        return normalised(graph), bodies

    _, bodies = agree(described)
    assert len(bodies) == 2


def test_training_through_a_traced_module() -> None:
    """One step of training the trace is one step of training the module: they share their
    parameters.
    """
    internals.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    x = internals.rand(16, 4)
    traced = internals.jit.trace(model, x)
    optimizer = internals.optim.SGD(traced.parameters(), lr=0.1)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = ((traced(x) - x.sum(1, keepdim=True)) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2
    same(traced(x), model(x))


def test_gradients_of_a_traced_module() -> None:
    internals.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(8, 2)
    )
    x = internals.rand(3, 1, 4, 4)
    _, traced = caught(lambda: internals.jit.trace(model, x))
    model(x).sum().backward()
    wanted = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    traced(x).sum().backward()
    for p, g in zip(model.parameters(), wanted):
        same(p.grad, g, rtol=1e-4, atol=1e-5)


def gpt() -> Any:
    class Scores(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gpt = MODELS["gpt"](models)

        def forward(self, tokens: Any) -> Any:
            return self.gpt(tokens)[0]

    return Scores()


@pytest.mark.sampled(1 / 4)
@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v2_narrow", "vit_small"])
def test_models(name: str) -> None:
    """Traced with one picture, run with two."""
    internals.manual_seed(0)
    model = MODELS[name](models).eval()
    traced = internals.jit.trace(model, internals.rand(1, 3, 32, 32), check_trace=False)
    x = internals.rand(2, 3, 32, 32)
    same(traced(x), model(x), rtol=1e-4, atol=1e-5)
    assert list(traced.state_dict()) == list(model.state_dict())


def test_gpt_with_other_lengths() -> None:
    internals.manual_seed(0)
    model = gpt().eval()
    traced = internals.jit.trace(model, internals.randint(65, (1, 5)), check_trace=False)
    tokens = internals.randint(65, (2, 9))
    same(traced(tokens), model(tokens), rtol=1e-4, atol=1e-5)


@pytest.mark.sampled(1 / 4)
@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v2_narrow"])
def test_graphs_of_models_are_those_of_real_pytorch(name: str) -> None:
    """Every method of every submodule, to the number of every value."""

    def traced(lib: Any) -> Any:
        model = MODELS[name](models if lib is internals else ours_with_torch()).eval()
        return graphs(lib.jit.trace(model, lib.ones(1, 3, 32, 32), check_trace=False))

    agree(traced)
