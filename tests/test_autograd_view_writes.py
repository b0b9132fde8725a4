"""Writes to views, and under them, that autograd cannot follow: forbidden in PyTorch's words, or recorded as PyTorch does.

Each case is a function of the library `T` and a leaf `x` that gives a view; its `grad_fn` is looked at last, which is when a view
whose base was written to gets a new history.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import internals
from tests.answers import answer
from tests.support import first_line, outcome


def unrecorded(T: Any, f: Callable[[], Any]) -> Any:
    with T.no_grad():
        return f()


def flattened(T: Any, t: Any) -> Any:
    class Flatten(T.autograd.Function):
        @staticmethod
        def forward(ctx: Any, t: Any) -> Any:
            return t.view(-1)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g.view(2, 2)

    return Flatten.apply(t)


# What is viewed, how, and what is written: the view is `v`, its base `y`.
BASES: dict[str, Callable[[Any, Any], Any]] = {
    "inside the graph": lambda T, x: x * 1,
    "constant": lambda T, x: T.ones(2, 2),
    "leaf": lambda T, x: x,
}
VIEWS: dict[str, Callable[[Any, Any], Any]] = {
    "select": lambda T, y: y[0],
    "unbind": lambda T, y: y.unbind(0)[0],
    "split": lambda T, y: y.split(1)[1],
    "view of unbind": lambda T, y: y.unbind(0)[0].view(2),
    "select without recording": lambda T, y: unrecorded(T, lambda: y[0]),
    "unbind without recording": lambda T, y: unrecorded(T, lambda: y.unbind(0)[1]),
    "of a Function": flattened,
    "detach": lambda T, y: y.detach(),
}
WRITES: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "to the view": lambda T, x, y, v: v.mul_(2),
    "to the view, of what requires grad": lambda T, x, y, v: v.mul_(x.sum()),
    "to the base": lambda T, x, y, v: y.mul_(2),
    "to the base, of what requires grad": lambda T, x, y, v: y.mul_(x),
    "to a detached base": lambda T, x, y, v: y.detach().mul_(2),
    "to the view, unrecorded": lambda T, x, y, v: unrecorded(T, lambda: v.mul_(2)),
    "to the base, unrecorded": lambda T, x, y, v: unrecorded(T, lambda: y.mul_(2)),
    "to nothing": lambda T, x, y, v: None,
}


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("write", WRITES)
def test_like_pytorch(base: str, view: str, write: str) -> None:
    def described(T: Any) -> Any:
        return describe(T, BASES[base], VIEWS[view], WRITES[write])

    assert described(internals) == answer(described, family="autograd")


def describe(T: Any, make: Any, look: Any, write: Any) -> Any:
    x = T.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)

    def case() -> Any:
        y = make(T, x)
        v = look(T, y)
        write(T, x, y, v)
        found = [(t.requires_grad, t.is_leaf, t._version, name(t), t.tolist()) for t in (v, y)]
        return found, T.autograd.grad((v * v).sum() + y.sum(), x, allow_unused=True)[
            0
        ].tolist() if v.requires_grad else None

    result, error = outcome(case)
    return (type(error).__name__, first_line(error).replace("torch::autograd::", "")) if error else result


def name(t: Any) -> str | None:
    return None if t.grad_fn is None else t.grad_fn.name().rpartition("::")[2]
