"""Gradients of complex numbers: what the engine, views, hooks and `gradcheck` do with them.

The operators' formulas are checked with all others (test_gradcheck_ops.py,
test_gradients_side_by_side.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import internals
from internals.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from tests import side_by_side
from tests.autograd.gradients_beside import check_gradients, expression
from tests.side_by_side import cases, check
from tests.support import to_numpy

EXPRESSIONS = cases(
    """
    # a real input of a complex result gets the real part, and complex numbers in formulas
    x(3) * x(3, Z)
    x(3, 1) / x(3, Z)
    x(3) * (2 - 1j)
    x(3) ** x(3, Z)
    x(3) ** (1 + 2j)
    (1 - 2j) ** x(3)
    (-2) ** x(3, Z)
    x.of([0, 1, -1]) ** 1j
    T.lerp(x(3, Z), x(3, Z), 0.5 + 1j)
    T.addmm(x(2, Z), x(2, 3, Z), x(3, 2, Z), beta=1j, alpha=2 - 1j)
    T.add(x(3), x(3, Z), alpha=2j)
    T.where(x.mask(3), x(3, Z), x(3, Z))
    T.cat([x(2, Z), x(3)])
    T.stack([x(2, Z), x(2, Z)]).sum(0)
    x(3).to(T.complex128) * 1j
    x(3, Z)[x.index(0, 0, 2)]
    # parts, directions
    x(3, Z).real * x(3, Z).imag
    T.view_as_real(x(3, Z))[1:]
    T.view_as_complex(x(3, 2)) ** 2
    T.complex(x(3), x(1)), T.polar(x(3), x(3))
    x(3, Z).conj() * x(3, Z)
    x(3, Z).conj_physical(), (x(3, Z) * 1).conj_physical_()
    x(2, 3, Z).mH @ x(2, 3, Z), x(2, 3, Z).H, x(3, Z).vdot(x(3, Z))
    x(3, Z).abs(), x(3, Z).angle(), x(3, Z).sgn(), x(3).angle(), x(3).sgn()
    x.of([0, 1j, -1], dtype="complex128").abs()
    x.of([0, -1], dtype="complex128").sgn().abs()
    x(3, Z).norm(), x(3, Z).norm(1), x(3, Z).norm(3), x(3, Z).std(), x(3, Z).var()
    # writing to a part
    writing(x(3, Z) * 1, lambda z: z.real.mul_(x(3)))
    writing(x(3, Z) * 1, lambda z: z.imag.copy_(x(3)))
    writing(x(3, Z) * 1, lambda z: T.view_as_real(z)[1:].mul_(x(2, 2)))
    writing(x(3, 2, Z).t() * 1, lambda z: z[1].imag.exp_())
    writing(x(3, 2) * 1, lambda r: T.view_as_complex(r)[1:].mul_(x(2, Z)))
    writing(x(6) * 1, lambda r: T.view_as_complex(r[2:].view(2, 2)).mul_(1j))
    writing(x(3, Z) * 1, lambda z: z[1:].conj_physical_())
    writing(x(3, Z) * 1, lambda z: setattr(z, "real", x(3)))
    writing(T.zeros(3) * 1j, lambda z: z.real.copy_(x(3)))
    writing(T.zeros(3), lambda r: r.copy_(x(3, Z).real))
    after_writing(x(3, Z) * 1, lambda z: z.real, lambda z: z.mul_(2j))
    after_writing(x(3, 2) * 1, lambda r: T.view_as_complex(r)[:2], lambda r: r.mul_(x(2)))
    after_writing(x(3, Z) * 1, lambda z: T.view_as_real(z), lambda z: z.imag.neg_())
""".replace("Z", 'dtype="complex128"')
)


def writing(t: Any, write: Any) -> Any:
    write(t)
    return t * t


def after_writing(t: Any, look: Any, write: Any) -> Any:
    view = look(t)
    write(t)
    return view * view


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_like_pytorch(text: str) -> None:
    check_gradients(expression(text, writing=writing, after_writing=after_writing))


def test_a_real_input_gets_the_real_part_where_pytorchs_formula_forgets_to_take_it() -> None:
    x = internals.tensor([1.0, 2.0], requires_grad=True)
    internals.where(internals.tensor([True, False]), x, 1j).backward(internals.tensor([3 + 4j, 5j]))
    assert x.grad.tolist() == [3.0, 0.0]


def test_the_gradient_is_both_derivatives_in_one_number() -> None:
    """Without PyTorch: dL/dx + i dL/dy, by numpy and by hand."""
    values = np.array([1 + 2j, -0.5 + 1j])
    z = internals.tensor(values, requires_grad=True)
    (z * z).abs().sum().backward()
    h = 1e-6

    def loss(v: Any) -> float:
        return float(np.abs(v * v).sum())

    def along(step: complex) -> list[float]:
        return [(loss(values + step * e) - loss(values - step * e)) / (2 * h) for e in np.eye(2)]

    np.testing.assert_allclose(
        to_numpy(z.grad), np.array(along(h)) + 1j * np.array(along(h * 1j)), rtol=1e-6
    )


ENGINE = cases(
    """
    x(2, Z).requires_grad_().sum().backward()
    T.autograd.grad(x(2, Z).requires_grad_().sum(), [])
    (x(2, Z).requires_grad_() * 2).backward()
    (x(2, Z).requires_grad_() * 2).backward(x(2))
    (x(2).requires_grad_() * 2).backward(x(2, Z))
    T.autograd.grad(x(2).requires_grad_() * 2, x(2, Z))
    T.view_as_real(x(2, Z).requires_grad_()).mul_(2)
    x(2, Z).requires_grad_().real.zero_()
    setattr(x(2, Z).requires_grad_(), "imag", 1)
    setattr(x(2, Z), "grad", x(2))
    x(3, dtype="int64").requires_grad_()
""".replace("Z", 'dtype="complex64"')
)


@pytest.mark.parametrize("text", ENGINE)
def test_refused_like_pytorch(text: str) -> None:
    check(side_by_side.expression(text))


def test_leaves_hooks_and_retained_gradients_are_complex() -> None:
    z = internals.tensor([1 + 1j, 2], requires_grad=True)
    w = z * 1j
    w.retain_grad()
    seen: list[Any] = []
    w.register_hook(lambda g: seen.append(g.tolist()))
    w.real.sum().backward(retain_graph=True)
    w.real.sum().backward()
    assert z.grad.dtype is internals.complex64 and z.grad.tolist() == [-2j, -2j]
    assert seen == [[1, 1], [1, 1]] and w.grad.tolist() == [2, 2]


def test_a_function_of_the_users_own_gets_complex_gradients() -> None:
    class Square(internals.autograd.Function):
        @staticmethod
        def forward(ctx: Any, z: Any) -> Any:
            ctx.save_for_backward(z)
            return z * z

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (z,) = ctx.saved_tensors
            return grad * (2 * z).conj()

    z = internals.tensor([1 + 2j, 3 - 1j], dtype=internals.complex128, requires_grad=True)
    assert gradcheck(Square.apply, z) and gradgradcheck(Square.apply, z)


class Wrong(internals.autograd.Function):
    """z², with a gradient that lacks the conjugate."""

    @staticmethod
    def forward(ctx: Any, z: Any) -> Any:
        ctx.save_for_backward(z)
        return z * z

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 2 * ctx.saved_tensors[0]


@pytest.mark.parametrize("fast", [False, True])
def test_gradcheck_finds_a_missing_conjugate_and_says_in_which_part(fast: bool) -> None:
    z = internals.tensor([1 + 2j, 3 - 1j], dtype=internals.complex128, requires_grad=True)
    with pytest.raises(
        GradcheckError,
        match="^While considering the imaginary part of complex outputs only, Jacobian mismatch",
    ):
        gradcheck(Wrong.apply, z, fast_mode=fast)
    with pytest.raises(
        GradcheckError, match="^Jacobian mismatch for output 0 with respect to input 0"
    ):
        gradcheck(lambda z: Wrong.apply(z).real, z, fast_mode=fast)


def test_gradcheck_of_results_without_a_gradient() -> None:
    z = internals.tensor([1 + 2j], dtype=internals.complex128, requires_grad=True)
    assert gradcheck(lambda z: z.detach() * 0, z)
    with pytest.raises(GradcheckError, match="Numerical gradient for function expected to be zero"):
        gradcheck(lambda z: z.detach() * 1j, z)
    with pytest.warns(UserWarning, match="not a double precision floating point or complex"):
        gradcheck(
            lambda z: z * 2,
            z.to(internals.complex64).detach().requires_grad_(),
            eps=1e-2,
            atol=1e-2,
        )


CONVOLUTIONS = cases(
    """
    F.conv1d(x(1, 2, 5, Z), x(2, 2, 3, Z), x(2, Z), padding=1)
    F.conv2d(x(1, 2, 4, 4, Z), x(2, 1, 2, 2, Z), groups=2, stride=2)
    F.conv_transpose1d(x(1, 2, 3, Z), x(2, 2, 2, Z), stride=2)
""".replace("Z", 'dtype="complex128"')
)


@pytest.mark.parametrize("text", CONVOLUTIONS)
def test_convolutions_like_pytorchs_three_real_ones(text: str) -> None:
    check_gradients(expression(text), names=False)


def chain(x: internals.Tensor, y: internals.Tensor) -> internals.Tensor:
    return ((x * y).tanh() * x + x / y).exp() * (x - y)


@pytest.mark.parametrize(
    "kinds", [("complex64", "complex64"), ("float32", "complex64"), ("complex64", "float32")]
)
def test_a_script_gives_the_gradients_that_python_gives(kinds: tuple[str, str]) -> None:
    """Symbolic gradients, which are those of real numbers, stand back."""
    inputs = [
        internals.tensor(v, dtype=getattr(internals, kind))
        for v, kind in zip(([0.5, 1.5], [2.0, 0.7]), kinds)
    ]
    found = []
    scripted = internals.jit.script(chain)
    for function in (chain, *[scripted] * 3, internals.jit.trace(chain, inputs)):
        leaves = [
            (t * (1 - 0.5j) if t.is_complex() else t).detach().requires_grad_() for t in inputs
        ]
        function(*leaves).abs().sum().backward()
        found.append([to_numpy(t.grad) for t in leaves])
    for again in found[1:]:
        for a, b in zip(found[0], again):
            np.testing.assert_allclose(a, b, rtol=1e-5)


def test_pairs_that_do_not_begin_where_the_base_does() -> None:
    """The base begins at an odd number, its pairs at an even one. (PyTorch 2.13 gives the gradient
    13, 41, 85.)
    """
    base = internals.empty(0).set_(internals.arange(10.0).untyped_storage(), 1, (4, 2), (2, 1))
    x = internals.ones(3, dtype=internals.complex64, requires_grad=True)
    pairs = internals.view_as_complex(base.reshape(-1)[1:7].view(3, 2))
    pairs.mul_(x)
    (base * internals.arange(8.0).view(4, 2)).sum().backward()
    assert x.grad.tolist() == [(2 - 3j) * (1 + 2j), (4 - 5j) * (3 + 4j), (6 - 7j) * (5 + 6j)]
