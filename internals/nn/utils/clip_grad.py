"""Gradient clipping: limits how far a single bad batch can move the weights
(`torch/nn/utils/clip_grad.py`).

`clip_grad_norm_` takes all gradients as one vector. If it is too long, all gradients are scaled by
the same factor, which keeps the direction. `clip_grad_value_` clamps every element by itself. Both
change the gradients in place, between `backward()` and the optimizer's `step()`.

How the real one differs: it processes all gradients of one dtype in one kernel call (`foreach`).
"""

from __future__ import annotations

import types
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from internals import Tensor, clamp, no_grad, norm, stack, tensor


@no_grad()
def clip_grad_norm_(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
    foreach: bool | None = None
) -> Any:  # fmt: skip
    """Scale the gradients of `parameters`, one tensor or several, to a total norm of at most
    `max_norm`.

    Returns the norm before that. Raises RuntimeError if it is not finite and `error_if_nonfinite`.
    """
    if isinstance(parameters, types.GeneratorType):
        parameters = list(parameters)
        if not parameters:
            warnings.warn(
                "`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=3
            )
    parameters = _listed(parameters)
    total_norm = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total_norm, foreach)
    return total_norm


@no_grad()
def clip_grad_value_(parameters: Any, clip_value: float, foreach: bool | None = None) -> None:
    """Clamp every element of the gradients of `parameters` to [-clip_value, clip_value]."""
    clip_value = float(clip_value)
    for grad in _gradients(_listed(parameters)):
        grad.clamp_(min=-clip_value, max=clip_value)


@no_grad()
def get_total_norm(
    tensors: Sequence[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Any:
    """The norm of several tensors, taken as one vector: it equals the norm of their norms."""
    tensors, norm_type = _listed(tensors), float(norm_type)
    if not tensors:
        return tensor(0.0)
    total_norm = norm(stack([norm(t, norm_type).to(tensors[0].device) for t in tensors]), norm_type)
    if error_if_nonfinite and not total_norm.isfinite():
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, "
            "so it cannot be clipped. To disable this error and scale the gradients by the "
            "non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total_norm


@no_grad()
def clip_grads_with_norm_(
    parameters: Sequence[Tensor], max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Multiply the gradients of `parameters` by `max_norm / total_norm` if that is below 1."""
    # a clamp instead of an `if`: reading the norm would make the CPU wait for the GPU
    factor = clamp(float(max_norm) / (total_norm + 1e-6), max=1.0)
    for grad in _gradients(_listed(parameters)):
        grad.mul_(factor.to(grad.device))


def _listed(tensors: Tensor | Iterable[Any]) -> list[Any]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _gradients(parameters: list[Any]) -> list[Any]:
    """The gradients of those parameters that have one."""
    return [p.grad for p in parameters if p.grad is not None]
