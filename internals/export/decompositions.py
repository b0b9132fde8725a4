"""Operators of exported graphs that are missing here, each written with operators that exist.

`run_decompositions()` makes a graph functional, so no operator writes to its inputs: batch norm
returns the new statistics, and a write into a slice becomes `slice_scatter`, which returns a whole
new tensor. Each function below is compiled to TorchScript; its graph replaces the call.

How the real one differs: these operators have kernels of their own there. Its table of
decompositions (`torch/_decomp/decompositions.py`) lowers composite operators to a smaller set.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import internals as torch
from internals import Tensor


def select_scatter(self: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy of `self` in which `src` replaces the slice at `index` of `dim`."""
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
    """A copy of `self` in which `src` replaces `self[start:end:step]` along `dim`."""
    result = self.clone()
    torch.ops.aten.slice(result, dim, start, end, step).copy_(src)
    return result


def copy(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """`src` broadcast to the shape of `self`, with its dtype and device."""
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
    """Batch norm in eval mode: it normalizes with the running statistics."""
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
    """Batch norm that returns the new running statistics, as its last two results."""
    # `native_batch_norm` updates the statistics in place, so it gets copies of them
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
