"""The negative log likelihood on the device (`aten/src/ATen/native/cuda/Loss.cu`, `NLLLoss2d.cu`).

The kernel detects targets that are not a class ("device-side assert triggered"), so that the host
does not have to wait for them.
"""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

from internals._generated import ops
from internals.aten.native.losses import MEAN, NONE
from internals.core.tensor_impl import Tensor

from ..device_array import flat
from ..kernels import nll_loss as kernels
from ..kernels.block_reduction import accumulator
from ..kernels.normalization_backward import add_pairs
from ..launch import launch_1d
from .opmath import acc_type, scalar_type
from .reducing import Reduction, reduce


def pick(
    results: tuple[Any, Any],
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignored: int,
    class_dim: int,
) -> None:
    """Fills `results`: the loss of each target, or their sum or mean, and the total weight of the
    targets that are not ignored (0 without a reduction). `class_dim` is that of the classes in
    `self`: (N, C, ...) or (C,).
    """
    output, total = results
    T, OUT = acc_type(self.dtype), scalar_type(self.dtype)
    # the class to ignore, the number of classes, and the elements behind the classes
    numbers = (ignored, self.shape[class_dim], prod(self.shape[class_dim + 1 :]))
    x, t, w = (
        self.contiguous(),
        target.contiguous(),
        None if weight is None else weight.contiguous(),
    )
    if reduction == NONE:
        ops.zero_(total)
        kernel = pick_kernel(T, OUT, w is not None)
        launch_1d(kernel, t.numel(), flat(output), flat(x), flat(t), _array(w), t.numel(), *numbers)
    else:
        how = loss_of(T, OUT, w is not None, reduction == MEAN)
        # the reduction goes over the targets; `absorb_target` finds the elements of x
        reduce(how, t.reshape(-1), (0,), results, numbers, sources=(flat(x), flat(t), _array(w)))


def put(
    result: Tensor,
    grad_output: Tensor,
    target: Tensor,
    weight: Any,
    reduction: int,
    ignored: int,
    total: Tensor,
    class_dim: int,
) -> None:
    """Fills `result`, the gradient: -weight * grad_output at the target of each sample, divided by
    the total weight `total` for a mean, and 0 elsewhere.
    """
    T, n = acc_type(result.dtype), target.numel()
    ops.zero_(result)
    numbers = (ignored, result.shape[class_dim], prod(result.shape[class_dim + 1 :]))
    g, t, w = (
        grad_output.contiguous(),
        target.contiguous(),
        None if weight is None else weight.contiguous(),
    )
    kernel = put_kernel(T, scalar_type(result.dtype), w is not None, reduction)
    launch_1d(kernel, n, flat(result), flat(g), flat(t), _array(w), flat(total), n, *numbers)


@cache
def pick_kernel(T: type, OUT: type, weighted: bool) -> Any:
    """The kernel without a reduction, with or without weights."""
    return kernels.pick.bind(T=T, OUT=OUT, weight_of=_weight_of(T, weighted))


@cache
def loss_of(T: type, OUT: type, weighted: bool, mean: bool) -> Reduction:
    """The sum or the mean as a reduction of pairs (loss, weight)."""
    write = kernels.write_mean if mean else kernels.write_sum
    absorb = kernels.absorb_target.bind(T=T, weight_of=_weight_of(T, weighted))
    kind = accumulator("pair", T, T)
    return Reduction(kind, kernels.nothing.bind(T=T), None, add_pairs, write.bind(OUT=OUT), absorb)


@cache
def put_kernel(T: type, OUT: type, weighted: bool, reduction: int) -> Any:
    """The kernel for the gradient: without a reduction each loss has its own, with one they share a
    single number; only the mean divides.
    """
    return kernels.put.bind(
        T=T,
        OUT=OUT,
        weight_of=_weight_of(T, weighted),
        grad_of=(kernels.its_own if reduction == NONE else kernels.the_only_one).bind(T=T),
        divisor=(kernels.first_of if reduction == MEAN else kernels.undivided).bind(T=T),
    )


def _weight_of(T: type, weighted: bool) -> Any:
    return (kernels.its_own if weighted else kernels.no_weight).bind(T=T)


def _array(t: Tensor | None) -> Any:
    """The kernel's argument for a tensor; 0 for None."""
    return 0 if t is None else flat(t)
