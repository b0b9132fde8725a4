"""`internals.autograd.functional` beside PyTorch's: values, shapes, history, and the errors of
strict mode.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import internals
from internals.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp
from tests.side_by_side import check


def square_sum(x: Any) -> Any:
    return (x**2).sum()


def two_in(x: Any, y: Any) -> Any:
    return x.exp() * y + 3 * y


def two_out(x: Any) -> Any:
    return x.sin(), (x * x).sum()


def energy(x: Any, y: Any) -> Any:
    return (x.sin() * y**3).sum()


def double(x: Any, *sizes: int) -> Any:
    return x(*sizes, dtype="float64")


FUNCTIONAL: list[Callable[[Any, Any], Any]] = [
    lambda F, x: F.vjp(two_out, double(x, 2, 3), (double(x, 2, 3), double(x))),
    lambda F, x: F.vjp(square_sum, double(x, 2, 3)),
    lambda F, x: F.vjp(two_in, (double(x, 2), double(x, 2)), double(x, 2)),
    lambda F, x: F.vjp(lambda a, b: a * 2, (double(x, 2), double(x, 2)), double(x, 2)),
    lambda F, x: F.jvp(two_out, double(x, 2, 3), double(x, 2, 3)),
    lambda F, x: F.jvp(two_in, (double(x, 2), double(x, 2)), (double(x, 2), double(x, 2))),
    lambda F, x: F.jvp(two_in, (double(x, 3, 1), double(x, 2)), (double(x, 3, 1), double(x, 2))),
    lambda F, x: F.jvp(lambda a: a * a, double(x)),
    lambda F, x: F.jvp(
        lambda a, b: a * 2, (double(x, 2), double(x, 2)), (double(x, 2), double(x, 2))
    ),
    lambda F, x: F.jacobian(two_out, double(x, 2, 3)),
    lambda F, x: F.jacobian(two_in, (double(x, 3, 1), double(x, 2))),
    lambda F, x: F.jacobian(lambda a: a.sum(), double(x, 2)),
    lambda F, x: F.jacobian(lambda a: (a.sum(), a), (double(x, 2),)),
    lambda F, x: F.jacobian(lambda a, b: a.exp(), (double(x, 2), double(x, 3))),
    lambda F, x: F.jacobian(two_out, double(x, 2, 3), vectorize=True),
    lambda F, x: F.jacobian(
        two_in, (double(x, 3), double(x, 3)), vectorize=True, strategy="forward-mode"
    ),
    lambda F, x: F.jacobian(square_sum, double(x, 0)),
    lambda F, x: F.hessian(square_sum, double(x, 2, 2)),
    lambda F, x: F.hessian(energy, (double(x, 2), double(x, 2))),
    lambda F, x: F.hessian(energy, (double(x, 2), double(x, 2)), vectorize=True),
    lambda F, x: F.hessian(lambda a: (a.sum() ** 3).reshape(1), double(x, 2)),
    lambda F, x: F.hessian(lambda a, b: a.sum(), (double(x, 2), double(x, 2))),
    lambda F, x: F.vhp(energy, (double(x, 2), double(x, 2)), (double(x, 2), double(x, 2))),
    lambda F, x: F.vhp(lambda a: a**3, double(x)),
    lambda F, x: F.hvp(energy, (double(x, 2), double(x, 2)), (double(x, 2), double(x, 2))),
    lambda F, x: F.hvp(lambda a: a.sum(), double(x, 2), double(x, 2)),
    lambda F, x: F.hvp(square_sum, double(x, 2, 2), double(x, 2, 2)),
]

ERRORS: list[Callable[[Any, Any], Any]] = [
    lambda F, x: F.vjp(square_sum, [double(x, 2)]),
    lambda F, x: F.vjp(square_sum, (double(x, 2), 3)),
    lambda F, x: F.vjp(lambda a: 3, double(x, 2)),
    lambda F, x: F.vjp(lambda a: (a, 3), double(x, 2)),
    lambda F, x: F.vjp(lambda a: a, double(x, 2)),
    lambda F, x: F.vjp(lambda a: a, double(x, 2), double(x, 3)),
    lambda F, x: F.vjp(two_out, double(x, 2), double(x, 2)),
    lambda F, x: F.vjp(two_out, double(x, 2), (double(x, 2), double(x, 2))),
    lambda F, x: F.vjp(square_sum, double(x, 2), (double(x), double(x))),
    lambda F, x: F.vjp(lambda a: a.detach(), double(x, 2), double(x, 2), strict=True),
    lambda F, x: F.vjp(lambda a, b: a, (double(x, 2), double(x, 2)), double(x, 2), strict=True),
    lambda F, x: F.vjp(lambda a: a * 2, double(x, 2), double(x, 2), strict=True, create_graph=True),
    lambda F, x: F.jvp(two_in, (double(x, 2), double(x, 2))),
    lambda F, x: F.jvp(two_in, (double(x, 2), double(x, 2)), double(x, 2)),
    lambda F, x: F.jvp(
        lambda a, b: a, (double(x, 2), double(x, 2)), (double(x, 2), double(x, 2)), strict=True
    ),
    lambda F, x: F.jacobian(lambda a: a.detach(), double(x, 2), strict=True),
    lambda F, x: F.jacobian(lambda a, b: a, (double(x, 2), double(x, 2)), strict=True),
    lambda F, x: F.jacobian(lambda a: a * 2, double(x, 2), strict=True, create_graph=True),
    lambda F, x: F.jacobian(square_sum, double(x, 2), strict=True, vectorize=True),
    lambda F, x: F.jacobian(square_sum, double(x, 2), strategy="sideways"),
    lambda F, x: F.jacobian(square_sum, double(x, 2), strategy="forward-mode"),
    lambda F, x: F.jacobian(square_sum, double(x, 2), strategy="forward-mode", strict=True),
    lambda F, x: F.jacobian(square_sum, double(x, 2), strategy="forward-mode", create_graph=True),
    lambda F, x: F.hessian(lambda a: a, double(x, 2)),
    lambda F, x: F.hessian(two_out, double(x, 2)),
    lambda F, x: F.hessian(square_sum, 3),
    lambda F, x: F.hessian(square_sum, double(x, 2), outer_jacobian_strategy="sideways"),
    lambda F, x: F.hessian(lambda a: a.sum(), double(x, 2), strict=True),
    lambda F, x: F.hessian(lambda a: (a * a).sum(), double(x, 2), strict=True, create_graph=True),
    lambda F, x: F.vhp(energy, (double(x, 2), double(x, 2))),
    lambda F, x: F.vhp(lambda a: a, double(x, 2), double(x, 2)),
    lambda F, x: F.vhp(two_out, double(x, 2), double(x, 2)),
    lambda F, x: F.vhp(lambda a: a.sum(), double(x, 2), double(x, 2), strict=True),
    lambda F, x: F.hvp(lambda a: a.sum(), double(x, 2), double(x, 2), strict=True),
    lambda F, x: F.hvp(square_sum, double(x, 2), double(x, 3)),
]


@pytest.mark.parametrize("case", FUNCTIONAL, ids=range(len(FUNCTIONAL)))
def test_values_like_pytorch(case: Callable[[Any, Any], Any]) -> None:
    check(lambda T, x: case(T.autograd.functional, x))


@pytest.mark.parametrize("case", FUNCTIONAL, ids=range(len(FUNCTIONAL)))
def test_answers_have_no_history_unless_asked_for(case: Callable[[Any, Any], Any]) -> None:
    check(lambda T, x: history(case(T.autograd.functional, x)))


def test_forward_mode_gives_the_same_numbers() -> None:
    """PyTorch's answer has a history here, whatever was asked for."""
    check(
        lambda T, x: T.autograd.functional.hessian(
            energy,
            (double(x, 2), double(x, 2)),
            vectorize=True,
            outer_jacobian_strategy="forward-mode",
        )
    )


@pytest.mark.parametrize("case", ERRORS, ids=range(len(ERRORS)))
def test_errors_like_pytorch(case: Callable[[Any, Any], Any]) -> None:
    check(lambda T, x: case(T.autograd.functional, x))


@pytest.mark.parametrize("name", ["vjp", "jvp", "jacobian", "hessian", "vhp", "hvp"])
@pytest.mark.parametrize("create_graph", [False, True])
def test_create_graph_connects_the_answer_to_the_inputs(name: str, create_graph: bool) -> None:
    def case(T: Any, x: Any) -> Any:
        a = double(x, 3).requires_grad_()
        v = (
            ()
            if name in ("jacobian", "hessian")
            else ((double(x) if name == "vjp" else double(x, 3)),)
        )
        answer = getattr(T.autograd.functional, name)(
            lambda t: (t**3).sum(), a, *v, create_graph=create_graph
        )
        flat = answer if isinstance(answer, tuple) else (answer,)
        if not create_graph:
            return history(flat)
        return [T.autograd.grad(t.sum(), a, retain_graph=True)[0] for t in flat]

    check(case)


def test_products_agree_with_the_matrices() -> None:
    """Without PyTorch: vjp, jvp, vhp and hvp are products with what jacobian and hessian give."""
    stream = np.random.default_rng(3)
    x, u, v = (internals.tensor(stream.standard_normal(n)) for n in (3, 3, 2))
    w = internals.tensor(stream.standard_normal((2, 3)))

    def f(t: Any) -> Any:
        return (w @ t).tanh()

    j = jacobian(f, x)
    assert j.shape == (2, 3)
    assert internals.allclose(vjp(f, x, v)[1], v @ j)
    assert internals.allclose(jvp(f, x, u)[1], j @ u)
    assert internals.allclose(j, (1 - f(x).square()).unsqueeze(1) * w)
    h = hessian(lambda t: f(t).prod(), x)
    assert internals.allclose(h, h.t())
    assert internals.allclose(vhp(lambda t: f(t).prod(), x, u)[1], u @ h)
    assert internals.allclose(hvp(lambda t: f(t).prod(), x, u)[1], h @ u)


def test_the_function_never_sees_the_callers_tensors() -> None:
    x = internals.tensor([1.0, 2.0], requires_grad=True)
    seen: list[Any] = []

    def f(t: Any) -> Any:
        seen.append(t)
        return t * x  # the x it captured is a constant

    jacobian(f, x)
    assert seen[0] is not x
    assert jacobian(lambda t: t * x, x).tolist() == [[1.0, 0.0], [0.0, 2.0]]
    assert x.grad is None


def test_under_no_grad() -> None:
    with internals.no_grad():
        assert jacobian(lambda t: t * t, internals.tensor([3.0])).tolist() == [[6.0]]
        assert vjp(lambda t: t * t, internals.tensor([3.0]))[1].tolist() == [6.0]


def history(x: Any) -> Any:
    return (
        [history(t) for t in x]
        if isinstance(x, (tuple, list))
        else (x.requires_grad, x.grad_fn is None)
    )
