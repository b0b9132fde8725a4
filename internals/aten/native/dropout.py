"""Dropout: sets each element to zero with probability p, and scales up the others
(`aten/src/ATen/native/Dropout.cpp`).

The expectation stays the same, so evaluation needs no correction. It is composite: the input is
multiplied by a random tensor of zeros and 1 / (1 - p), so the derivative is that of the product. On
a GPU that would be several passes over memory: there `dropout` is `native_dropout`, one kernel for
mask and product (`internals/cuda/native/dropout.py`). The random numbers come from the default
generator (`manual_seed`).

How the real one differs: `native_dropout` also serves nested tensors.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.on_device import on_device
from internals.core.dtype import bool_
from internals.core.tensor_impl import Tensor, array

from . import copying
from .random import discrete


def dropout(input: Tensor, p: float, train: bool) -> Any:
    """`input` with each element zeroed with probability `p` and the rest divided by 1 - p;
    unchanged unless `train`.
    """
    if input.is_cuda and train and 0 < p < 1 and input.is_floating_point() and input.numel():
        return ops.native_dropout(input, p, train)[0]
    noise = _noise(input, p, train)
    return input if noise is None else input * noise


def dropout_(input: Tensor, p: float, train: bool) -> Any:
    """`dropout` in place."""
    noise = _noise(input, p, train)
    return input if noise is None else input.mul_(noise)


def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Any, Any]:
    """The result of `dropout`, and a bool mask of the elements that were kept. All are kept where
    `train` is False; None counts as True.
    """
    keep = 1 - p
    scale = 1 / keep if keep else 0.0
    mask = ops.empty_like(input, bool_, None, None, None, None)
    if not mask._geometry.stored:
        return on_device(
            "dropout.dropout",
            (ops.empty_like(input, None, None, None, None, None), mask),
            input,
            p,
            train,
        )
    output = copying.clone(input, None)
    if train is False:
        array(mask).fill(True)
        return output, mask
    discrete.bernoulli__float(mask, keep, None)
    values = array(output)
    with np.errstate(all="ignore"):
        np.multiply(values, array(mask), out=values, casting="unsafe")
        np.multiply(values, scale, out=values, casting="unsafe")
    return output, mask


def native_dropout_backward(grad_output: Tensor, mask: Tensor, scale: float) -> Any:
    """`grad_output * mask * scale`."""
    return ops.mul_Scalar(ops.mul_Tensor(grad_output, mask), scale)


def feature_dropout(input: Tensor, p: float, train: bool) -> Any:
    """`dropout` of whole channels of (N, C, *): one random number for each channel of each
    sample.
    """
    noise = _noise(input, p, train, True)
    return input if noise is None else input * noise


def feature_dropout_(input: Tensor, p: float, train: bool) -> Any:
    """`feature_dropout` in place."""
    noise = _noise(input, p, train, True)
    return input if noise is None else input.mul_(noise)


def alpha_dropout(input: Tensor, p: float, train: bool) -> Any:
    """Dropout after selu: dropped elements become selu's lowest value instead of 0, and all are
    then scaled and shifted so that mean and variance stay 0 and 1.
    """
    return _alpha(input, p, train, False)


def alpha_dropout_(input: Tensor, p: float, train: bool) -> Any:
    """`alpha_dropout` in place."""
    return _alpha(input, p, train, False, in_place=True)


def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Any:
    """`alpha_dropout` of whole channels of (N, C, *)."""
    return _alpha(input, p, train, True)


def feature_alpha_dropout_(input: Tensor, p: float, train: bool) -> Any:
    """`feature_alpha_dropout` in place."""
    return _alpha(input, p, train, True, in_place=True)


def _alpha(
    input: Tensor, p: float, train: bool, whole_channels: bool, in_place: bool = False
) -> Any:
    """a * x + b, where x is `input` with -1.758, selu's limit, in place of the dropped elements,
    and a and b bring variance and mean back to 1 and 0.
    """
    _check(p)
    if p == 0 or not train or input.numel() == 0:
        return input
    if p == 1:
        return input.mul_(0) if in_place else input * 0
    limit = 1.7580993408473766
    kept = _bernoulli(input, 1 - p, whole_channels)
    # x has mean -limit * p and variance (1 - p) * (limit² * p + 1), so b is limit * a * p
    a = 1 / sqrt((limit * limit * p + 1) * (1 - p))
    shift = (kept - 1) * (limit * a) + limit * a * p
    kept = kept * a
    return input.mul_(kept).add_(shift) if in_place else input * kept + shift


def _noise(input: Tensor, p: float, train: bool, whole_channels: bool = False) -> Any:
    """The factors, 0 or 1 / (1 - p), to multiply with; None where `dropout` changes nothing."""
    _check(p)
    if p == 0 or not train or input.numel() == 0:
        return None
    if p == 1:
        return input.new_zeros([])
    keep = 1 - p
    return _bernoulli(input, keep, whole_channels).div_(keep)


def _bernoulli(input: Tensor, keep: float, whole_channels: bool) -> Any:
    """A tensor like `input` that is 1 with probability `keep`, else 0; for whole channels (N, C, 1,
    ...). Raises RuntimeError for whole channels of less than two dimensions.
    """
    if not whole_channels:
        return ops.empty_like(input, None, None, None, None, None).bernoulli_(keep)
    if input.dim() < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return input.new_empty([*input.shape[:2]] + [1] * (input.dim() - 2)).bernoulli_(keep)


def _check(p: float) -> None:
    """Raises RuntimeError unless 0 <= p <= 1."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")
