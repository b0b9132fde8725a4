"""The options of optimizers: their checks, and how an update reads them (the first part of
`torch/optim/optimizer.py`).

How the real one differs: an option that is a tensor stays one in an update, so that a CUDA graph
can be replayed with another value, or a gradient can reach it. Here an update uses its value.
"""

from __future__ import annotations

from typing import Any

from internals import view_as_real
from internals._tensor import Tensor
from internals.core.dtype import dtype, float32, float64, get_default_dtype


def check_rate(lr: Any) -> None:
    """Raise ValueError for a learning rate that is negative or a tensor of several elements."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not lr >= 0.0:
        raise ValueError(f"Invalid learning rate: {lr}")


def check_not_negative(**options: Any) -> None:
    """Raise ValueError for the first of `options` that is negative."""
    for name, value in options.items():
        if not value >= 0.0:
            raise ValueError(f"Invalid {name} value: {value}")


def check_beta_range(betas: tuple[Any, Any]) -> None:
    """Raise ValueError for a beta outside [0, 1)."""
    for i, beta in enumerate(betas[:2]):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}")


def check_implementation(foreach: bool | None, differentiable: bool, fused: bool | None) -> None:
    """Raise RuntimeError for options that exclude each other."""
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def check_not_differentiable(name: str, differentiable: bool) -> None:
    """Raise NotImplementedError if True: here only the steps of SGD can be differentiated."""
    if differentiable:
        raise NotImplementedError(f"{name}: differentiable=True is not implemented; SGD has it")


def number(option: float) -> Any:
    """An option as a Python number; it may be a one-element tensor."""
    return option.item() if isinstance(option, Tensor) else option


def step_dtype() -> dtype:
    """The dtype of step counts: float64 if that is the default dtype, else float32."""
    return float64 if get_default_dtype() is float64 else float32


def as_real(*tensors: Tensor) -> list[Any]:
    """The tensors, with complex ones (*) as real views (*, 2): real and imaginary parts are
    optimized like separate elements.
    """
    return [view_as_real(t) if t.is_complex() else t for t in tensors]
