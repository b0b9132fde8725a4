"""The negative log likelihood on the device (`aten/src/ATen/native/cuda/Loss.cu`, `NLLLoss2d.cu`).

A target that is no class is found by the kernel ("device-side assert triggered"), so that the host need not look at the targets.

How the real one differs: nothing but the shape of the launches.
"""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

from internals._generated import ops
from internals.aten.native.losses import MEAN, NONE
from internals.aten.native.nll_loss import check_nll_loss, check_nll_loss2d, check_nll_loss_backward, check_targets
from internals.core import dtype as dt
from internals.core.tensor_impl import empty_contiguous

from ..device_array import flat
from ..kernels import nll_loss as kernels
from ..kernels.block_reduction import accumulator
from ..kernels.normalization_backward import add_pairs
from ..launch import launch_1d
from .opmath import acc_type, scalar_type
from .reducing import Reduction, examples, reduce


def nll_loss_forward(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> tuple[Any, Any]:
    """(output, total_weight) for log-probabilities (N, C) and classes (N), or (C) and a single class."""
    check_nll_loss(self, target)
    return _pick(self, target, weight, reduction, ignore_index, self.dim() - 1)


def nll_loss2d_forward(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> tuple[Any, Any]:
    """(output, total_weight) for log-probabilities (N, C, H, W) and classes (N, H, W)."""
    check_nll_loss2d(self, target)
    return _pick(self, target, weight, reduction, ignore_index, 1)


def nll_loss_backward(
    grad_output: Any, self: Any, target: Any, weight: Any, reduction: int, ignore_index: int, total_weight: Any
) -> Any:
    """0 but at the target of each sample: there -weight * grad_output, divided by `total_weight` if a mean was taken."""
    return _put(grad_output, self, target, weight, reduction, ignore_index, total_weight, self.dim() - 1)


def nll_loss2d_backward(
    grad_output: Any, self: Any, target: Any, weight: Any, reduction: int, ignore_index: int, total_weight: Any
) -> Any:
    """`nll_loss_backward` for (N, C, H, W)."""
    return _put(grad_output, self, target, weight, reduction, ignore_index, total_weight, 1)


def _pick(self: Any, target: Any, weight: Any, reduction: int, ignored: int, class_dim: int) -> tuple[Any, Any]:
    check_targets(self, target, weight, class_dim)
    T, OUT = acc_type(self.dtype), scalar_type(self.dtype)
    numbers = (ignored, self.shape[class_dim], prod(self.shape[class_dim + 1 :]))
    output = empty_contiguous(target.shape if reduction == NONE else (), self.dtype, self.device)
    total = empty_contiguous((), self.dtype, self.device)
    x, t, w = self.contiguous(), target.contiguous(), None if weight is None else weight.contiguous()
    if reduction == NONE:
        ops.zero_(total)
        kernel = pick_kernel(T, OUT, w is not None)
        launch_1d(kernel, t.numel(), flat(output), flat(x), flat(t), _array(w), t.numel(), *numbers)
    else:
        how = loss_of(T, OUT, w is not None, reduction == MEAN)
        reduce(how, t.reshape(-1), (0,), (output, total), numbers, sources=(flat(x), flat(t), _array(w)))
    return output, total


def _put(
    grad_output: Any, self: Any, target: Any, weight: Any, reduction: int, ignored: int, total: Any, class_dim: int
) -> Any:
    check_nll_loss_backward(grad_output, self, target, weight, reduction, total, class_dim)
    T, n = acc_type(self.dtype), target.numel()
    result = ops.zero_(empty_contiguous(self.shape, self.dtype, self.device))
    if result.numel():
        numbers = (ignored, self.shape[class_dim], prod(self.shape[class_dim + 1 :]))
        g, t, w = grad_output.contiguous(), target.contiguous(), None if weight is None else weight.contiguous()
        kernel = put_kernel(T, scalar_type(self.dtype), w is not None, reduction)
        launch_1d(kernel, n, flat(result), flat(g), flat(t), _array(w), flat(total), n, *numbers)
    return result


@cache
def pick_kernel(T: Any, OUT: Any, weighted: bool) -> Any:
    return kernels.pick.bind(T=T, OUT=OUT, weight_of=_weight_of(T, weighted))


@cache
def loss_of(T: Any, OUT: Any, weighted: bool, mean: bool) -> Reduction:
    """The sum or the mean as a reduction of pairs."""
    write = kernels.write_mean if mean else kernels.write_sum
    absorb = kernels.absorb_target.bind(T=T, weight_of=_weight_of(T, weighted))
    kind = accumulator("pair", T, T)
    return Reduction(kind, kernels.nothing.bind(T=T), None, add_pairs, write.bind(OUT=OUT), absorb)


@cache
def put_kernel(T: Any, OUT: Any, weighted: bool, reduction: int) -> Any:
    return kernels.put.bind(
        T=T,
        OUT=OUT,
        weight_of=_weight_of(T, weighted),
        grad_of=(kernels.its_own if reduction == NONE else kernels.the_only_one).bind(T=T),
        divisor=(kernels.first_of if reduction == MEAN else kernels.undivided).bind(T=T),
    )


def _weight_of(T: Any, weighted: bool) -> Any:
    return (kernels.its_own if weighted else kernels.no_weight).bind(T=T)


def _array(t: Any) -> Any:
    return 0 if t is None else flat(t)


def instances() -> list[tuple[Any, tuple[Any, ...]]]:
    """Kernels of this file, with the types of their arguments."""
    found: list[tuple[Any, tuple[Any, ...]]] = []
    for d in (dt.float16, dt.float32, dt.float64):
        types, x, t = (acc_type(d), scalar_type(d)), f"{d.name}[:]", "int64[:]"
        numbers = (int, int, int)
        found.append((pick_kernel(*types, True), (x, x, t, x, int, *numbers)))
        found.append((put_kernel(*types, False, MEAN), (x, x, t, int, x, int, *numbers)))
        for kernel, arguments in examples(loss_of(*types, False, True), d.name, (d.name, d.name), numbers):
            elements = arguments[3] == x and arguments[4] is int
            found.append((kernel, (*arguments[:3], x, t, int, *arguments[6:]) if elements else arguments))
    return found
