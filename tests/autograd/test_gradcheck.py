"""`gradcheck` itself: it finds what is wrong, says it in PyTorch's words, and leaves the inputs as
they were.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import internals
from internals.autograd.gradcheck import GradcheckError, _in_full, gradcheck, gradgradcheck
from tests.answers import answer
from tests.support import first_line, outcome


def leaf(T: Any, *sizes: int, dtype: Any = None) -> Any:
    n = int(np.prod(sizes))
    return T.linspace(0.3, 1.7, n, dtype=dtype or T.float64).reshape(sizes).requires_grad_()


def functions(T: Any) -> dict[str, Any]:
    """Functions whose backward is wrong in one way each."""
    Function: Any = T.autograd.Function

    class WrongByTwo(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.saved_tensors[0]

    class Unsteady(Function):
        calls = 0

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            Unsteady.calls += 1
            return g * 2 + 1e-9 * Unsteady.calls

    class NotLinear(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g + (g == 0).all().to(g.dtype)

    class NoneIsFatal(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(False)
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            if g is None:
                raise RuntimeError("no gradient")
            return g * 1

    class NoneIsOne(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(False)
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return T.ones(2, dtype=T.float64) if g is None else g * 1

    class SecondIsWrong(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 3 * ctx.saved_tensors[0].detach() ** 2

    return {k: v for k, v in locals().items() if isinstance(v, type) and v is not Function}


CALLS: dict[str, Callable[[Any, Any, dict[str, Any]], Any]] = {
    "right": lambda T, check, f: check(lambda x, y: x.sin() * y, (leaf(T, 2, 3), leaf(T, 3))),
    "one input": lambda T, check, f: check(lambda x: x.exp(), leaf(T, 2)),
    "list of inputs": lambda T, check, f: check(lambda x, y: x * y, [leaf(T, 2), leaf(T, 2)]),
    "two outputs": lambda T, check, f: check(lambda x: (x * 2, x.sum()), leaf(T, 2)),
    "constant argument": lambda T, check, f: check(
        lambda x, y, z: x * y + z, (leaf(T, 2), 3.0, T.ones(2))
    ),
    "unused input": lambda T, check, f: check(lambda x, y: x * 2, (leaf(T, 2), leaf(T, 2))),
    "integer output beside": lambda T, check, f: check(lambda x: tuple(x.max(0)), leaf(T, 3)),
    "in place": lambda T, check, f: check(lambda x: x.clone().mul_(3).tanh_(), leaf(T, 3)),
    "scalar": lambda T, check, f: check(lambda x: x * x, leaf(T)),
    "empty": lambda T, check, f: check(lambda x: x * x, leaf(T, 0)),
    "non-contiguous": lambda T, check, f: check(
        lambda x: x * x, leaf(T, 3, 2).t().detach().requires_grad_()
    ),
    "fast": lambda T, check, f: check(
        lambda x, y: x.sin() * y, (leaf(T, 2, 3), leaf(T, 3)), fast_mode=True
    ),
    "wrong": lambda T, check, f: check(f["WrongByTwo"].apply, leaf(T, 2)),
    "wrong, second input": lambda T, check, f: check(
        lambda x, y: (x, f["WrongByTwo"].apply(y)), (leaf(T, 2), leaf(T, 2))
    ),
    "wrong, no exception": lambda T, check, f: check(
        f["WrongByTwo"].apply, leaf(T, 2), raise_exception=False
    ),
    "wrong, fast": lambda T, check, f: check(f["WrongByTwo"].apply, leaf(T, 2), fast_mode=True),
    "wrong, loose": lambda T, check, f: check(f["WrongByTwo"].apply, leaf(T, 2), atol=10),
    "detached": lambda T, check, f: check(lambda x: x.detach() * x, leaf(T, 2)),
    "no differentiable output": lambda T, check, f: check(lambda x: x.detach() * 2, leaf(T, 2)),
    "constant output": lambda T, check, f: check(lambda x: T.ones(3), leaf(T, 2)),
    "not reentrant": lambda T, check, f: check(f["Unsteady"].apply, leaf(T, 2)),
    "not reentrant within tolerance": lambda T, check, f: check(
        f["Unsteady"].apply, leaf(T, 2), nondet_tol=1e-6
    ),
    "not linear": lambda T, check, f: check(f["NotLinear"].apply, leaf(T, 1)),
    "undefined gradients raise": lambda T, check, f: check(f["NoneIsFatal"].apply, leaf(T, 2)),
    "undefined gradients not checked": lambda T, check, f: check(
        f["NoneIsFatal"].apply, leaf(T, 2), check_undefined_grad=False
    ),
    "undefined gradients give ones": lambda T, check, f: check(f["NoneIsOne"].apply, leaf(T, 2)),
    "single precision": lambda T, check, f: check(
        lambda x: x * x, leaf(T, 2, dtype=T.float32), eps=1e-3, atol=1e-2
    ),
    "nothing requires grad": lambda T, check, f: check(lambda x: x * x, T.ones(2)),
    "no tensor": lambda T, check, f: check(lambda x: x * 2, 3.0),
    "overlapping": lambda T, check, f: check(
        lambda x: x * x, leaf(T, 1).detach().expand(3).requires_grad_()
    ),
    "neither mode": lambda T, check, f: check(lambda x: x, leaf(T, 1), check_backward_ad=False),
    "batched without backward": lambda T, check, f: check(
        lambda x: x,
        leaf(T, 1),
        check_forward_ad=True,
        check_backward_ad=False,
        check_batched_grad=True,
    ),
    "shape changes": lambda T, check, f: check(
        lambda x: x[: 1 + int(x[0] > 0.3)] * x[0], leaf(T, 2)
    ),
}


# Options that gradgradcheck does not have, or nothing to differentiate twice.
FIRST_ONLY = {
    "neither mode",
    "batched without backward",
    "no tensor",
    "no differentiable output",
    "constant output",
}


@pytest.mark.parametrize(
    "which, name",
    [("gradcheck", name) for name in CALLS]
    + [("gradgradcheck", name) for name in CALLS if name not in FIRST_ONLY],
)
def test_like_pytorch(which: str, name: str) -> None:
    """The same answer or the same error, and the same warnings."""
    assert run(internals, which, CALLS[name]) == answer(
        lambda torch: run(torch, which, CALLS[name]), family="autograd"
    )


def run(T: Any, which: str, call: Callable[..., Any]) -> Any:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            result: Any = call(T, getattr(T.autograd, which), functions(T))
        except Exception as error:
            result = type(error).__name__, first_line(error)
    return result, sorted({str(w.message) for w in seen if "requires gradient" in str(w.message)})


def test_a_wrong_derivative_is_found() -> None:
    """Without PyTorch: both Jacobians are in the message."""
    wrong = functions(internals)["WrongByTwo"]
    with pytest.raises(
        GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0"
    ) as caught:
        gradcheck(wrong.apply, leaf(internals, 2))
    assert "[0.6000, 0.0000]" in str(caught.value) and "[0.3000, 0.0000]" in str(caught.value)
    assert gradcheck(wrong.apply, leaf(internals, 2), raise_exception=False) is False
    assert isinstance(caught.value, RuntimeError)


def test_a_wrong_second_derivative_is_found() -> None:
    wrong = functions(internals)["SecondIsWrong"]
    assert gradcheck(wrong.apply, leaf(internals, 2))
    with pytest.raises(
        GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0"
    ):
        gradgradcheck(wrong.apply, leaf(internals, 2))


def test_small_errors_are_found() -> None:
    """The tolerances of the project's own tests tell a relative error of 1e-5 from none."""

    class Nearly(internals.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x.exp()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.saved_tensors[0].exp() * (1 + 1e-5)

    assert gradcheck(Nearly.apply, leaf(internals, 3))
    assert not gradcheck(
        Nearly.apply, leaf(internals, 3), rtol=1e-6, atol=1e-7, raise_exception=False
    )


def test_inputs_are_left_as_they_were() -> None:
    x = leaf(internals, 2, 2)
    before, version = x.tolist(), x._version
    internals.manual_seed(5)
    expected = internals.rand(1).item()
    internals.manual_seed(5)
    gradcheck(lambda t: t.sin(), x)
    gradcheck(lambda t: t.sin(), x, fast_mode=True)
    assert internals.rand(1).item() == expected
    assert (x.tolist(), x._version, x.grad) == (before, version, None)


def test_grad_outputs_can_be_given() -> None:
    x = leaf(internals, 3)
    v = internals.tensor([1.0, -2.0, 0.5], dtype=internals.float64, requires_grad=True)
    assert gradgradcheck(lambda t: t**3, x, v)
    assert gradgradcheck(lambda t: t**3, x, gen_non_contig_grad_outputs=True)


@pytest.mark.parametrize("option", ["check_forward_ad", "check_batched_grad"])
def test_what_does_not_exist_is_said(option: str) -> None:
    with pytest.raises(NotImplementedError, match=option):
        gradcheck(lambda x: x, leaf(internals, 1), **{option: True})


@pytest.mark.parametrize(("rtol", "is_close"), [(0.095, True), (0.085, False)])
def test_a_difference_is_allowed_in_proportion_to_what_is_measured(
    rtol: float, is_close: bool
) -> None:
    """The derivative is said to be 1 and measured to be 1.1: 0.1 is less than 0.095 * 1.1, and more
    than 0.095 * 1.
    """
    x = leaf(internals, 1)
    text = _in_full(internals.ones(1, 1).double() * 1.1, x * 1, x, 0.0, rtol)
    assert ("element-wise differences are small" in text) == is_close


def test_errors_inside_the_function_come_through() -> None:
    result, error = outcome(lambda: gradcheck(lambda x: x.mm(x), leaf(internals, 3)))
    assert (
        result is None and isinstance(error, RuntimeError) and not isinstance(error, GradcheckError)
    )
