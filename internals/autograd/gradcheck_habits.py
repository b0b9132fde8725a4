"""The checks of `gradcheck` besides the comparison of derivatives (the second half of
`torch/autograd/gradcheck.py`).

A backward has to give the same result twice; to be linear in the incoming gradient, so that zeros
give zeros; and to accept an incoming gradient that is undefined: None rather than zeros, as for an
output that was not used.

How the real one differs: it makes undefined gradients with a C++ node, `UndefinedGrad`; here it is
an ordinary `Function`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from internals import autograd
from internals._generated import functions as fn
from internals.autograd.function import Function
from internals.core.tensor_impl import Tensor


class GradcheckError(RuntimeError):
    """The error that a derivative is wrong."""


def is_deterministic(first: Tensor, second: Tensor, tolerance: float) -> None:
    """Raises GradcheckError unless the results of two backward passes over one graph differ by no
    more than `tolerance`.
    """
    if first.numel() and bool((first - second).abs().max() > tolerance):
        raise GradcheckError(
            "Backward is not reentrant, i.e., running backward with same input and grad_output "
            "multiple times gives different values, although analytical gradient matches "
            f"numerical gradient.The tolerance for nondeterminism was {tolerance}."
        )


def is_linear(outputs: Sequence[Any], inputs: Sequence[Any], nearly: bool) -> None:
    """Raises GradcheckError unless incoming gradients of zero give gradients of exactly zero; or of
    nearly zero, if `nearly`.
    """
    if not outputs:
        return
    zeros = [fn.zeros_like(o) for o in outputs]
    for g in autograd.grad(outputs, inputs, zeros, allow_unused=True):
        if g is not None and not (fn.allclose(g, fn.zeros_like(g)) if nearly else _is_zero(g)):
            raise GradcheckError("backward not multiplied by grad_output")


def copes_with_undefined(outputs: Callable[[], Sequence[Any]], inputs: Sequence[Any]) -> None:
    """Raises GradcheckError unless undefined incoming gradients give gradients that are zero or
    None.

    All of them are undefined first, then one at a time while the others are zeros. `outputs`
    computes the outputs anew for each backward pass.
    """
    count = len(outputs())
    # the sets of outputs whose gradients are undefined: all of them, then each one alone
    missing: list[set[int]] = [set(range(count))]
    if count > 1:
        missing += [{i} for i in range(count)]
    for undefined in missing:
        results = [_Undefined.apply(o) if i in undefined else o for i, o in enumerate(outputs())]
        if not results:
            continue
        try:
            grads = autograd.grad(
                results, inputs, [fn.zeros_like(o) for o in results], allow_unused=True
            )
        except RuntimeError as error:
            _warn_may_break()
            raise GradcheckError(
                "Expected backward function to handle undefined output grads. "
                'Please look at "Notes about undefined output gradients" in '
                '"tools/autograd/derivatives.yaml"'
            ) from error
        if any(g is not None and not _is_zero(g) for g in grads):
            _warn_may_break()
            raise GradcheckError(
                "Expected all input grads to be undefined or zero when all output grads are "
                "undefined or zero. "
                'Please look at "Notes about undefined output gradients" in '
                '"tools/autograd/derivatives.yaml"'
            )


class _Undefined(Function):
    """The identity, whose backward returns None: so the node before gets an undefined gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> None:
        return None


def _is_zero(t: Tensor) -> bool:
    return bool((t == 0).all())


def _warn_may_break() -> None:
    """Warns that the check of undefined gradients is newer than some callers."""
    warnings.warn(
        "Backwards compatibility: New undefined gradient support checking feature is enabled by "
        "default, but it may break existing callers of this function. If this is true for you, "
        "you can call this function with "
        '"check_undefined_grad=False" to disable the feature',
        stacklevel=4,
    )
