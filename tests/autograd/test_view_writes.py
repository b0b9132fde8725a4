"""Writes to views, and under them, that autograd cannot follow: forbidden in PyTorch's words, or
recorded as PyTorch does.

Each case is a function of the library `T` and a leaf `x` that gives a view; its `grad_fn` is looked
at last, which is when a view whose base was written to gets a new history.
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
    return (
        (type(error).__name__, first_line(error).replace("torch::autograd::", ""))
        if error
        else result
    )


def name(t: Any) -> str | None:
    return None if t.grad_fn is None else t.grad_fn.name().rpartition("::")[2]


# A base that begins inside its storage, or lies there in another order: views and gradients count
# from its first element.
PLACES: dict[str, Callable[[Any], Any]] = {
    "at the beginning": lambda memory: memory[:3],
    "further on": lambda memory: memory[1:],
    "rows and columns": lambda memory: memory[2:, 1:],
    "transposed": lambda memory: memory[1:, 2:].t(),
    "with gaps": lambda memory: memory[1:, ::2],
}
PARTS: dict[str, Callable[[Any], Any]] = {
    "all": lambda b: b[:],
    "row": lambda b: b[1],
    "columns": lambda b: b[:, 1:],
    "part of a part": lambda b: b[1:][:, 1:],
    "transposed": lambda b: b.t()[1:],
    "diagonal": lambda b: b.diagonal(),
    "strided": lambda b: b.as_strided((2,), (b.stride(1),), b.storage_offset() + b.stride(0)),
}


@pytest.mark.sampled(1 / 3)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_gradients_find_their_part_of_a_base_wherever_it_begins(place: str, dtype: str) -> None:
    """By differences: through a write to a view, and in a view that was there before its base was
    written to.
    """
    kind = getattr(internals, dtype)
    memory, place_of = internals.arange(20).view(5, 4).to(kind) / 8, PLACES[place]
    parts = dict(PARTS)
    if kind.is_complex:
        parts["real numbers"] = lambda b: internals.view_as_real(b)[..., 1:]
    elif place == "further on":
        parts["complex numbers"] = lambda b: internals.view_as_complex(b[1:, 2:])
    for part in parts.values():
        for early in (False, True):

            def result(inside: Any, outside: Any, part: Any = part, early: bool = early) -> Any:
                base = place_of(memory.clone()).detach()
                looked = part(base) if early else None
                base.mul_(outside)
                view = part(base)
                view.mul_(
                    inside
                    if view.dtype is kind
                    else inside.real
                    if kind.is_complex
                    else internals.complex(inside, inside)
                )
                return base.clone() if looked is None else looked.sin()

            numbers = internals.tensor([0.75], dtype=kind), internals.tensor([1.5], dtype=kind)
            assert internals.autograd.gradcheck(result, [n.requires_grad_() for n in numbers])
