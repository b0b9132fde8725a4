"""Losses that compare two tensors element by element (`aten/src/ATen/native/Loss.cpp`).

`reduction` is a number here: 0 for none, 1 for the mean, 2 for the sum
(`aten/src/ATen/core/Reduction.h`). The functions that call `_elementwise` compute the loss of
each element in one loop of `TensorIterator`, as the real ones do, and reduce it; their derivatives
are in `losses_backward.py`. The others are composites: they call operators, whose derivatives
autograd knows.

How the real one differs: it reduces by the operators `mean` and `sum`; here `_reduce` calls numpy
on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.broadcasting import broadcast_shapes
from internals.aten.dtype_checks import check_dtype
from internals.aten.scalar_functions import table as scalar
from internals.aten.tensor_iterator import TensorIterator
from internals.core import dtype as dt
from internals.core.device import CPU
from internals.core.dtype import SCALAR_TYPE_NAME
from internals.core.promotion import promote_types
from internals.core.tensor_impl import Tensor, array, empty_contiguous

from .loops import in_single

NONE, MEAN, SUM = range(3)


def mse_loss(self: Tensor, target: Tensor, reduction: int = MEAN) -> Any:
    """(self - target)²."""

    return _elementwise("mse_cpu", scalar.mse.loop, self, target, reduction)


def smooth_l1_loss(self: Tensor, target: Tensor, reduction: int = MEAN, beta: float = 1.0) -> Any:
    """|d| - beta / 2 for a difference beyond `beta`, d² / (2 beta) within. Raises RuntimeError for
    a negative beta.
    """
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")

    return _elementwise(
        "smooth_l1_cpu", partial(scalar.smooth_l1.loop, beta=beta), self, target, reduction
    )


def huber_loss(self: Tensor, target: Tensor, reduction: int = MEAN, delta: float = 1.0) -> Any:
    """delta * (|d| - delta / 2) for a difference beyond `delta`, d² / 2 within. Raises RuntimeError
    unless delta > 0.
    """
    if not delta > 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")

    return _elementwise(
        "huber_cpu",
        partial(scalar.huber.loop, delta=delta),
        self,
        target,
        reduction,
        result=self.dtype,
    )


def binary_cross_entropy(
    self: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = MEAN
) -> Any:
    """-(target * log(self) + (1 - target) * log(1 - self)), the logarithms not below -100 so that
    the loss stays finite.

    Raises RuntimeError unless all of `self` is between 0 and 1.
    """
    for t in (target, weight):
        if t is not None and t.dtype is not self.dtype:
            raise RuntimeError(
                f"Found dtype {SCALAR_TYPE_NAME[t.dtype]} but expected "
                f"{SCALAR_TYPE_NAME[self.dtype]}"
            )
    # the weight comes before the reduction, so the loop must not reduce
    losses = _elementwise("binary_cross_entropy", cross_entropy_loop, self, target, NONE)
    if weight is not None:
        TensorIterator([losses, weight], losses).run(np.multiply)
    return _reduce(losses, reduction)


def l1_loss(self: Tensor, target: Tensor, reduction: int = MEAN) -> Any:
    """|self - target|."""
    return _reduced((self - target).abs(), reduction)


def binary_cross_entropy_with_logits(
    self: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: int = MEAN,
) -> Any:
    """`binary_cross_entropy` of sigmoid(self), computed from log_sigmoid(self): sigmoid alone would
    round large logits to 0 or 1.

    `pos_weight` multiplies the loss of the positive class, `weight` that of each element.
    """
    # log(1 - sigmoid(x)) = log(sigmoid(x)) - x, so the loss is (1 - y) * x - log(sigmoid(x))
    logs = ops.log_sigmoid(self)
    if pos_weight is not None:
        logs = logs * ((pos_weight - 1) * target + 1)
    if target.dtype.category < dt.FLOATING and self.dtype.is_floating_point:
        raise RuntimeError(
            f"result type {SCALAR_TYPE_NAME[self.dtype]} can't be cast to the desired output type "
            f"{SCALAR_TYPE_NAME[target.dtype]}"
        )
    losses = (1 - target) * self - logs
    return _reduced(losses if weight is None else losses * weight, reduction)


def kl_div(self: Tensor, target: Tensor, reduction: int = MEAN, log_target: bool = False) -> Any:
    """target * (log(target) - self) for log-probabilities `self`; with `log_target` the target
    holds logarithms, too. Raises RuntimeError for integers and complex.
    """
    if self.dtype.category < dt.FLOATING or target.dtype.category < dt.FLOATING:
        raise RuntimeError("kl_div: Integral inputs not supported.")
    if dt.COMPLEX in (self.dtype.category, target.dtype.category):
        raise RuntimeError("kl_div: Complex inputs not supported.")
    if log_target:
        return _reduced(target.exp() * (target - self), reduction)
    # xlogy is 0 where the target is 0, where target * log(target) would be NaN
    return _reduced(ops.xlogy_Tensor(target, target) - target * self, reduction)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Any:
    """The dot product along `dim`, divided by both norms (each at least `eps`); the inputs
    broadcast. Raises RuntimeError unless they promote to a floating dtype.
    """
    common = promote_types(x1.dtype, x2.dtype)
    if eps < 0:
        raise RuntimeError(f"eps must be non-negative, got: {eps}")
    if not common.is_floating_point:
        raise RuntimeError(
            "expected common dtype to be floating point, yet common dtype is "
            f"{SCALAR_TYPE_NAME[common]}"
        )
    shape = broadcast_shapes(x1.shape, x2.shape)
    a, b = ((x if x.dtype.is_floating_point else x.to(common)).expand(shape) for x in (x1, x2))
    a_norm, b_norm = (x.norm(2, dim, True).clone() for x in (a, b))
    for norm in (a_norm, b_norm):
        # hidden from autograd: also where it is clamped, the gradient is that of the norm
        norm.detach().clamp_min_(eps)
    return ((a / a_norm) * (b / b_norm)).sum(dim)


def one_hot(self: Tensor, num_classes: int = -1) -> Any:
    """(*) to (*, num_classes): a 1 at each index, 0 elsewhere, as int64. -1 for `num_classes` means
    the largest index + 1.

    Raises RuntimeError unless `self` is int64, and for an index outside of 0 .. num_classes - 1.
    """
    if self.dtype is not dt.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if self.numel() == 0:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return self.new_zeros([*self.shape, num_classes])
    if self.min().item() < 0:
        raise RuntimeError("Class values must be non-negative.")
    largest = self.max().item()
    if num_classes == -1:
        num_classes = largest + 1
    elif largest >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return self.new_zeros([*self.shape, num_classes]).scatter(-1, self.unsqueeze(-1), 1)


def _elementwise(
    kernel: str,
    loop: Callable[..., None],
    self: Tensor,
    target: Tensor,
    reduction: int,
    result: Any = None,
) -> Any:
    """`loop` over both tensors, which broadcast, and the reduction. Raises NotImplementedError,
    which names `kernel`, unless the common dtype is a floating one.
    """
    it = TensorIterator([self, target], None, result=result)
    check_dtype(kernel, it.common_dtype, dt.FLOATING)
    return _reduce(it.run(loop), reduction)


def _reduce(losses: Tensor, reduction: int) -> Any:
    """The losses themselves, or their mean or sum as a 0-d tensor; half precision is summed in
    single.
    """
    if reduction == NONE:
        return losses
    if losses.device is not CPU:
        return ops.mean(losses, None) if reduction == MEAN else ops.sum(losses, None)
    out = empty_contiguous((), losses.dtype)
    with np.errstate(all="ignore"):
        total = array(losses).sum(dtype=np.float32 if losses.dtype is dt.float16 else None)
        array(out)[...] = total / total.dtype.type(losses.numel()) if reduction == MEAN else total
    return out


@scalar.binary_cross_entropy.made_by
@in_single
def cross_entropy_loop(x: Any, y: Any, out: Any) -> None:
    """The binary cross entropy of probabilities `x` and targets `y`, arrays of one shape."""
    if not np.all((x >= 0) & (x <= 1)):
        raise RuntimeError("all elements of input should be between 0 and 1")
    floor = x.dtype.type(-100)
    np.copyto(out, (y - 1) * np.maximum(np.log1p(-x), floor) - y * np.maximum(np.log(x), floor))


def _reduced(losses: Tensor, reduction: int) -> Any:
    """`_reduce` for composites: by operators, so that autograd sees it."""
    return losses.mean() if reduction == MEAN else losses.sum() if reduction == SUM else losses
