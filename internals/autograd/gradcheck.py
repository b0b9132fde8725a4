"""`gradcheck`: compares the derivatives that backward computes with measured ones
(`torch/autograd/gradcheck.py`).

A derivative can be measured: move one element of an input a little to both sides, and see by how
much each element of the output changes. All these quotients together are the Jacobian. Backward
computes the same matrix one output element at a time, as the gradient of that element alone.
`gradcheck` computes both and compares them. Then it checks three more properties of a backward: two
runs give the same result, it is linear in the incoming gradient (zeros give zeros), and it accepts
an incoming gradient that is undefined.

`gradgradcheck` does the same with backward itself, as the function from the inputs and incoming
gradients to the gradients of the inputs: so it checks second derivatives.

Complex numbers are treated as pairs of real ones: a complex input is moved in both directions, and
of a complex output the imaginary part is checked first, then the real part.

How the real one differs: it also checks forward-mode derivatives, batched gradients (`vmap`), and
sparse and MKL-DNN tensors, none of which exist here. It checks the shape, dtype and device of a
gradient once more; our engine (and PyTorch's today) has already checked them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from internals import autograd
from internals._generated import functions as fn
from internals.autograd import gradcheck_habits as habits, jacobians
from internals.autograd.gradcheck_habits import GradcheckError
from internals.core import dtype as dt
from internals.core.promotion import promote_types
from internals.core.tensor_impl import Tensor, TensorImpl

__all__ = ["gradcheck", "gradgradcheck", "GradcheckError"]


def gradcheck(
    func: Callable[..., Any],
    inputs: object,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compares the gradients of `func` with finite differences, for every input that requires grad.
    True if they agree.

    `func` takes `inputs` (a tensor or a tuple) and returns a tensor or a tuple of them. With steps
    as small as `eps`, double precision is needed. For every element of every Jacobian,
    `|analytical - numerical| <= atol + rtol * |numerical|` must hold; two backward passes may
    differ by `nondet_tol`. `fast_mode` compares one random combination of each Jacobian's entries
    instead, at the cost of a few calls. `check_grad_dtypes` has nothing to check here; `masked`
    (for sparse tensors) allows small gradients where zeros are expected.

    Raises GradcheckError at the first disagreement, or returns False if not `raise_exception`;
    ValueError when no input requires grad; RuntimeError for an input whose elements share memory;
    NotImplementedError for forward mode and batched gradients. Warns about inputs of less than
    double precision.
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True"
        )
    if check_batched_grad and not check_backward_ad:
        raise AssertionError(
            "Setting check_batched_grad=True requires check_backward_ad to be True"
        )
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError(
            "Setting check_batched_forward_grad=True requires check_forward_ad to be True"
        )
    _refuse("forward-mode derivatives", check_forward_ad=check_forward_ad)
    _refuse("batched gradients (vmap)", check_batched_grad=check_batched_grad)
    tensors = as_tuple(inputs)
    _check_inputs(tensors)
    try:
        outputs = _differentiable(results := as_tuple(func(*tensors)))
        # each part of complex outputs is a real function, whose derivatives can be measured
        parts = ("imag", "real") if any(_is_complex(o) for o in results) else ("",)
        for part in parts:
            _check_part(func, tensors, part, fast_mode, eps, atol, rtol, nondet_tol)
        wanted = [x for x in tensors if _wants_grad(x)]
        habits.is_linear(outputs, wanted, bool(masked))
        if check_undefined_grad:
            habits.copes_with_undefined(lambda: _differentiable(func(*tensors)), wanted)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: object,
    grad_outputs: Tensor | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Checks second derivatives: `gradcheck` of the function from inputs and `grad_outputs` to the
    gradients of the inputs.

    If `grad_outputs` are not given, they are uniform random numbers in [-1, 1) (both parts of
    complex ones) that require grad, in non-contiguous tensors if `gen_non_contig_grad_outputs`. All
    else is as in `gradcheck`.
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError(
            "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"
        )
    if check_undefined_grad and not check_rev_over_rev:
        raise AssertionError(
            "Setting check_undefined_grad=True requires check_rev_over_rev to be True"
        )
    if check_batched_grad and not check_rev_over_rev:
        raise AssertionError(
            "Setting check_batched_grad=True requires check_rev_over_rev to be True"
        )
    _refuse("forward-mode derivatives", check_fwd_over_rev=check_fwd_over_rev)
    tensors = as_tuple(inputs)
    if grad_outputs is None:
        outputs = _differentiable(func(*tensors))
        incoming = tuple(_random_like(o, gen_non_contig_grad_outputs) for o in outputs)
    else:
        incoming = as_tuple(grad_outputs)
    count = len(tensors)

    # a function of the inputs and the incoming gradients, all of which `gradcheck` varies
    def backward(*args: Any) -> tuple[Any, ...]:
        wanted = tuple(x for x in args[:count] if _wants_grad(x))
        outputs = _differentiable(func(*args[:count]))
        grads = autograd.grad(outputs, wanted, args[count:], create_graph=True, allow_unused=True)
        return tuple(g for g in grads if g is not None)

    return gradcheck(
        backward, (*tensors, *incoming), eps=eps, atol=atol, rtol=rtol,
        raise_exception=raise_exception, nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad, fast_mode=fast_mode, masked=masked,
    )  # fmt: skip


def as_tuple(x: object) -> tuple[Any, ...]:
    """The elements of a tuple or a list, or `x` alone."""
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def _check_part(
    func: Callable[..., Any],
    inputs: tuple[Any, ...],
    part: str,
    fast: bool,
    eps: float,
    atol: float,
    rtol: float,
    tol: float,
) -> None:
    """Compares the derivatives of the outputs; of complex ones only those of one part, "imag" or
    "real". `part` is "" if all are real.
    """
    run = _part_of(func, part) if part else func
    outputs = _differentiable(run(*inputs))
    if not outputs:
        _expect_constant(run, inputs, eps)
    try:
        (_compare_combinations if fast else _compare_jacobians)(
            run, inputs, outputs, eps, atol, rtol, tol
        )
    except _Mismatch as found:
        # the message names the part only if this output is complex, not if another one is
        whole = _differentiable(func(*inputs))[found.output]
        name = "imaginary" if part == "imag" else part
        where = (
            f"While considering the {name} part of complex outputs only, "
            if _is_complex(whole)
            else ""
        )
        raise GradcheckError(f"{where}{found}") from None


def _part_of(func: Callable[..., Any], part: str) -> Callable[..., tuple[Any, ...]]:
    """`func`, but with one part, "imag" or "real", of each complex result in its place."""

    def parts(*inputs: Any) -> tuple[Any, ...]:
        return tuple(getattr(o, part) if _is_complex(o) else o for o in as_tuple(func(*inputs)))

    return parts


def _compare_jacobians(
    func: Callable[..., Any],
    inputs: tuple[Any, ...],
    outputs: tuple[Any, ...],
    eps: float,
    atol: float,
    rtol: float,
    tol: float,
) -> None:
    """Compares every element of every Jacobian: of each output by each input that requires grad."""
    wanted = [x for x in inputs if _wants_grad(x)]
    measured = [jacobians.numerical(lambda: _differentiable(func(*inputs)), x, eps) for x in wanted]
    for i, output in enumerate(outputs):
        analytical = jacobians.analytical(output, wanted)
        again = jacobians.analytical(output, wanted)
        for a, b in zip(analytical, again):
            habits.is_deterministic(a, b, tol)
        for j, (a, columns) in enumerate(zip(analytical, measured)):
            if not _close(a, columns[i], atol, rtol):
                raise _Mismatch(i, j, columns[i], a)


def _compare_combinations(
    func: Callable[..., Any],
    inputs: tuple[Any, ...],
    outputs: tuple[Any, ...],
    eps: float,
    atol: float,
    rtol: float,
    tol: float,
) -> None:
    """Compares vᵀJu for random u and v, with a Jacobian J that has a row for each output element.
    Measured, it is one difference quotient in the direction u; computed, one backward pass with v.
    J itself is only needed for the message of a failure.
    """
    wanted = [x for x in inputs if _wants_grad(x)]
    us, vs = jacobians.random_units(wanted, outputs)
    measured = [
        jacobians.directional(lambda: _differentiable(func(*inputs)), x, u, eps)
        for x, u in zip(wanted, us)
    ]
    for i, (output, v) in enumerate(zip(outputs, vs)):
        rows, again = jacobians.row(output, wanted, v), jacobians.row(output, wanted, v)
        for j, (a, b, u) in enumerate(zip(rows, again, us)):
            habits.is_deterministic(a, b, tol)
            # an error of up to atol in each entry of J adds up to atol * sum(u) * sum(v)
            analytical, numerical = _dot(a, u), (measured[j][i] * v).sum()
            if not _close(analytical, numerical, atol * _sum(u) * _sum(v), rtol):
                slow = jacobians.numerical(lambda: _differentiable(func(*inputs)), wanted[j], eps)[
                    i
                ]
                raise _Mismatch(
                    i, j, numerical, analytical, _in_full(slow, output, wanted[j], atol, rtol)
                )


def _dot(a: Tensor, u: Tensor) -> Any:
    """The derivative in the direction `u`, from the gradient `a`. For a complex input the parts are
    multiplied separately, as `jacobians.directional` measures them.
    """
    return fn.complex(a.real.dot(u.real), a.imag.dot(u.imag)) if a.is_complex() else a.dot(u)


def _sum(u: Tensor) -> float:
    """The sum of the entries of `u`, of both parts if it is complex."""
    return float(u.real.sum() + u.imag.sum()) if u.is_complex() else float(u.sum())


def _expect_constant(func: Callable[..., Any], inputs: tuple[Any, ...], eps: float) -> None:
    """Raises GradcheckError if a function without differentiable outputs depends on an input that
    requires grad: then a derivative is missing.
    """
    for x in inputs:
        if _wants_grad(x) and any(
            bool((j != 0).any())
            for j in jacobians.numerical(lambda: _floating(func(*inputs)), x, eps)
        ):
            raise GradcheckError("Numerical gradient for function expected to be zero")


def _check_inputs(inputs: Sequence[Any]) -> None:
    """Raises for inputs that cannot be checked: no element may be moved without the others (stride
    0), and at least one has to require grad. Warns about low precision.
    """
    wanted = [(i, x) for i, x in enumerate(inputs) if _wants_grad(x)]
    for i, x in wanted:
        if x.dtype not in (dt.float64, dt.complex128):
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point or "
                "complex. "
                "This check will likely fail if all the inputs are not of double precision "
                "floating point or complex. ",
                stacklevel=3,
            )
        if any(stride == 0 and size > 1 for stride, size in zip(x.stride(), x.shape)):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs "
                "that are non-overlapping to be able to compute the numerical gradients "
                "correctly. You should call .contiguous on the input before passing it to "
                "gradcheck."
            )
    if not wanted:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them "
            "have requires_grad=True."
        )


class _Mismatch(Exception):
    """The error that the Jacobian of output number `output` by an input is not the measured one."""

    def __init__(
        self, output: int, input: int, numerical: Tensor, analytical: Tensor, more: str = ""
    ) -> None:
        super().__init__(
            f"Jacobian mismatch for output {output} with respect to input {input},\n"
            f"numerical:{numerical}\nanalytical:{analytical}\n{more}"
        )
        self.output = output


def _in_full(numerical: Tensor, output: Tensor, x: Tensor, atol: float, rtol: float) -> str:
    """The text that shows the whole Jacobians after a failure in fast mode."""
    (analytical,) = jacobians.analytical(output, [x])
    text = (
        "\nThe above quantities are vᵀJu for random u and v (fast mode). The Jacobians "
        "themselves:\n\n"
        f"Numerical:\n {numerical}\nAnalytical:\n{analytical}\n\n"
        f"The max per-element difference (slow mode) is: {(numerical - analytical).abs().max()}.\n"
    )
    if _close(analytical, numerical, atol, rtol):
        text += (
            "Fast gradcheck failed but element-wise differences are small. This means that the "
            "test might've passed in slow_mode! Call gradcheck with fast_mode=False to see."
        )
    return text


def _close(a: Tensor, b: Tensor, atol: float, rtol: float) -> bool:
    """`allclose` for tensors of two dtypes."""
    common = promote_types(a.dtype, b.dtype)
    return bool(fn.allclose(a.to(common), b.to(common), rtol, atol))


def _random_like(output: Tensor, noncontiguous: bool) -> Any:
    """Random numbers in [-1, 1) in the shape of `output`, requiring grad; if `noncontiguous`, every
    second element of twice as many.
    """
    shape = (*output.shape, 2) if noncontiguous else output.shape
    middle = 1 + 1j if output.is_complex() else 1
    values = fn.rand(shape, dtype=output.dtype, device=output.device) * 2 - middle
    return (values.select(-1, 0) if noncontiguous else values).detach().requires_grad_()


def _floating(results: Sequence[Tensor]) -> tuple[Any, ...]:
    """The results that are tensors of floating point or complex numbers."""
    return tuple(
        o
        for o in as_tuple(results)
        if isinstance(o, TensorImpl) and (o.is_floating_point() or o.is_complex())
    )


def _differentiable(results: Any) -> tuple[Any, ...]:
    """The results that are tensors with a history."""
    return tuple(o for o in as_tuple(results) if isinstance(o, TensorImpl) and o.requires_grad)


def _is_complex(x: Tensor) -> bool:
    return isinstance(x, TensorImpl) and x.is_complex()


def _wants_grad(x: Tensor) -> bool:
    return isinstance(x, TensorImpl) and x.requires_grad


def _refuse(what: str, **asked: bool) -> None:
    """Raises NotImplementedError if one of these arguments is True."""
    for name, value in asked.items():
        if value:
            raise NotImplementedError(
                f"gradcheck: {name}=True is not supported, there are no {what} here; leave it at "
                "False"
            )
