"""Operators that exported graphs call and our list does not have, written in those it has.

`run_decompositions()` leaves graphs in which nothing is written to: batch norm returns the new
statistics, a write into a slice becomes `slice_scatter`, which returns a whole new tensor. Each is
a function in TorchScript here; its graph is put in place of the call.

How the real one differs: these are operators with kernels of their own there; its table of
decompositions (`torch/_decomp/decompositions.py`) goes the other way, from composite operators down
to fewer.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import internals as torch
from internals import Tensor


def select_scatter(self: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    result = self.clone()
    result.select(dim, index).copy_(src)
    return result


def slice_scatter(
    self: Tensor,
    src: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor:
    result = self.clone()
    torch.ops.aten.slice(result, dim, start, end, step).copy_(src)
    return result


def copy(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    return torch.empty_like(self).copy_(src)


def _native_batch_norm_legit_no_training(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    return torch.native_batch_norm(
        input, weight, bias, running_mean, running_var, False, momentum, eps
    )


def _native_batch_norm_legit_functional(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    mean, var = running_mean.clone(), running_var.clone()
    out, save_mean, save_invstd = torch.native_batch_norm(
        input, weight, bias, mean, var, training, momentum, eps
    )
    return out, save_mean, save_invstd, mean, var


DECOMPOSITIONS: dict[str, Callable[..., Any]] = {
    f"torch.ops.aten.{f.__name__}.default": f
    for f in (
        select_scatter,
        slice_scatter,
        copy,
        _native_batch_norm_legit_no_training,
        _native_batch_norm_legit_functional,
    )
}


@cache
def decomposition(target: str) -> Any:
    """The compiled function for a target, or None."""
    function = DECOMPOSITIONS.get(target)
    return torch.jit.script(function) if function is not None else None
