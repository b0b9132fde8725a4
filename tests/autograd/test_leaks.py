"""Training lets go of everything by itself: no cycle is left for Python's garbage collector to
find.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest

import internals as T
from internals.autograd.node import Node


class Increment(T.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        x.add_(1)
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * ctx.saved_tensors[0]


class Remember(T.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        result = x.exp()
        order = x.argsort()
        ctx.argument, ctx.result = x, result
        ctx.mark_non_differentiable(order)
        ctx.save_for_backward(x, result)
        return result.clone(), order

    @staticmethod
    def backward(ctx: Any, grad: Any, _: Any) -> Any:
        return grad * ctx.saved_tensors[1]


def dirty(w: Any) -> None:
    Increment.apply(w * 1).sum().backward()


def remembering(w: Any) -> None:
    Remember.apply(w * 1)[0].sum().backward()


def never_run(w: Any) -> None:
    Remember.apply(Increment.apply(w.exp()))[0].tanh().sum()


def hooked(w: Any) -> None:
    y = w * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 2)
    y.add_(1)
    y.sum().backward()


def written_to(w: Any) -> None:
    y = w * 2
    y[0] = 1
    y[1:].mul_(2)
    y.view(-1, 1).add_(w.view(-1, 1))
    y.sum().backward()


def twice(w: Any) -> None:
    (g,) = T.autograd.grad((w**3).exp().sum(), w, create_graph=True)
    (g**2).sum().backward()


def packed(w: Any) -> None:
    with T.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), lambda t: t):
        y = (w * w).exp()
    y.sum().backward()


def failing(w: Any) -> None:
    y = w.exp()
    z = y * y
    y.add_(1)
    with pytest.raises(RuntimeError):
        z.sum().backward()


@pytest.mark.parametrize(
    "step", [dirty, remembering, never_run, hooked, written_to, twice, packed, failing]
)
def test_a_step_leaves_nothing_behind(step: Callable[[Any], None]) -> None:
    w = T.ones(3, requires_grad=True)
    step(w)
    gc.collect()
    gc.disable()
    try:
        before = alive()
        for _ in range(5):
            step(w)
        assert alive() == before
    finally:
        gc.enable()


def alive() -> tuple[int, int, int]:
    """Nodes, tensors, bytes."""
    objects = gc.get_objects()
    counts = [sum(issubclass(type(o), kind) for o in objects) for kind in (Node, T.Tensor)]
    return counts[0], counts[1], T.cpu.memory_stats()["allocated_bytes.all.current"]
