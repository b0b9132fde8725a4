"""Batch normalization of row-major tensors (N, C, ...), channel by channel
(`aten/src/ATen/native/cpu/batch_norm_kernel.cpp`).

A channel lies in memory as N pieces of `size` neighbours, `channels * size` elements apart. One
item of work is a channel: its thread adds it up, adds up the squared distances from the mean, and
writes the result. It reads the channel two or three times, but from a cache after the first time.

The compiler may add up `SUM_CHUNK` elements in any order; the sums of these chunks are added up in
double precision.

How the real one differs: it sums first and normalizes in a second parallel loop, over images and
channels; and it has loops for `channels_last` too, where here numpy serves.
"""

from __future__ import annotations

from math import nan, prod, sqrt
from typing import Any, NamedTuple

from internals.core.tensor_impl import Tensor, empty_contiguous
from internals.machine_code import inline, kernel, template
from internals.machine_code.language import SUM_MAY_BE_REORDERED
from internals.machine_code.records import Elements, Values

from ..native.memory_format import empty_as
from .entries import FLOATS, run_typed
from .row_functions import SUM_CHUNK, chunk_sum

T = template("T")  # the dtype
GRAIN = 1 << 13  # elements that are worth a thread


@inline(fastmath=SUM_MAY_BE_REORDERED)
def chunk_squares(x: Elements, at: int, n: int, center: float) -> Any:
    """The sum of (x - center)^2 of n elements, as a T."""
    total = T(0)
    for i in range(n):
        total += (x[at + i] - center) * (x[at + i] - center)
    return total


@inline(fastmath=SUM_MAY_BE_REORDERED)
def chunk_products(g: Elements, x: Elements, at: int, n: int, center: float) -> Any:
    """The sum of g * (x - center) of n elements, as a T."""
    total = T(0)
    for i in range(n):
        total += g[at + i] * (x[at + i] - center)
    return total


class Batch(NamedTuple):
    """The sizes of x, (images, channels, size)."""

    images: int
    channels: int
    size: int  # of an image's channel


@kernel
def evaluate(
    begin: int, end: int, x: Values, mean: Values, variance: Values, weight: Values, bias: Values,
    out: Values, has_weight: int, has_bias: int, batch: Batch, eps: float,
) -> None:  # fmt: skip
    """out = (x - mean) / sqrt(variance + eps) * weight + bias, in one multiplication and one
    addition. One item of work is a channel of an image.
    """
    for plane in range(begin, end):
        c = plane % batch.channels
        scale = T(1) / T(sqrt(variance[c] + T(eps)))
        if has_weight:
            scale = scale * weight[c]
        shift = mean[c] * -scale
        if has_bias:
            shift = shift + bias[c]
        for i in range(plane * batch.size, plane * batch.size + batch.size):
            out[i] = x[i] * scale + shift


class Present(NamedTuple):
    """1 for each optional tensor that was given, 0 for each that was not."""

    weight: int
    bias: int
    mean: int
    var: int


@kernel
def train(
    begin: int, end: int, x: Values, weight: Values, bias: Values, running_mean: Values,
    running_var: Values, out: Values, mean: Values, rstd: Values, has: Present, batch: Batch,
    momentum: float, eps: float,
) -> None:  # fmt: skip
    """Normalizes by the batch's own mean and variance, and moves the running ones towards them. One
    item of work is a channel.
    """
    images, channels, size = batch
    count = images * size
    for c in range(begin, end):
        total, squares = 0.0, 0.0
        for n in range(images):
            at = (n * channels + c) * size
            for first in range(at, at + size, SUM_CHUNK):
                total += chunk_sum(x, first, min(SUM_CHUNK, at + size - first))
        center = T(total / count)
        for n in range(images):
            at = (n * channels + c) * size
            for first in range(at, at + size, SUM_CHUNK):
                squares += chunk_squares(x, first, min(SUM_CHUNK, at + size - first), center)
        variance = T(squares / count)
        r = T(1) / T(sqrt(variance + T(eps)))
        mean[c], rstd[c] = center, r
        if has.mean:
            running_mean[c] = T(1 - momentum) * running_mean[c] + T(momentum) * center
        if has.var:
            # the running variance divides by count - 1: it estimates that of the whole population
            unbiased = T(squares / (count - 1)) if count > 1 else T(nan)
            running_var[c] = T(1 - momentum) * running_var[c] + T(momentum) * unbiased
        scale = r * weight[c] if has.weight else r
        shift = bias[c] if has.bias else T(0)
        for n in range(images):
            at = (n * channels + c) * size
            for i in range(at, at + size):
                out[i] = (x[i] - center) * scale + shift


@kernel
def backward(
    begin: int, end: int, g: Values, x: Values, weight: Values, mean: Values, rstd: Values,
    dx: Values, dw: Values, db: Values, has_weight: int, wants_dx: int, training: int, batch: Batch,
) -> None:  # fmt: skip
    """The gradients dx (N, C, ...), dw (C,) and db (C,), given the output's gradient g. Without
    `training`, mean and rstd are constants. One item of work is a channel.
    """
    images, channels, size = batch
    count = images * size
    for c in range(begin, end):
        center, r = mean[c], rstd[c]
        total, along = 0.0, 0.0
        for n in range(images):
            at = (n * channels + c) * size
            for first in range(at, at + size, SUM_CHUNK):
                last = min(SUM_CHUNK, at + size - first)
                total += chunk_sum(g, first, last)
                along += chunk_products(g, x, first, last, center)
        dw[c] = T(along * r)
        db[c] = T(total)
        if wants_dx:
            scale = r * weight[c] if has_weight else r
            # mean and variance depend on x: g loses its mean, and its part along x - center
            mean_g = T(total / count) if training else T(0)
            slope = T(along * r * r / count) if training else T(0)
            for n in range(images):
                at = (n * channels + c) * size
                if training:
                    for i in range(at, at + size):
                        dx[i] = (g[i] - mean_g - (x[i] - center) * slope) * scale
                else:
                    for i in range(at, at + size):
                        dx[i] = g[i] * scale


def fits(x: Tensor, *of_channels: Any, like: Tensor | None = None) -> bool:
    """Whether the kernels take x, the tensors of (C,) numbers (or None), and a tensor `like` x.

    All have to be row-major and of one dtype, float32 or float64."""
    given = [t for t in of_channels if t is not None]
    if any(t.numel() != x.shape[1] for t in given) or (like is not None and like.shape != x.shape):
        return False
    given += [x] if like is None else [x, like]
    return x.dtype in FLOATS and all(t.dtype is x.dtype and t.is_contiguous() for t in given)


def run_evaluate(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Any,
    variance: Any,
    eps: float,
    out: Tensor,
) -> bool:
    """Fill `out` by the given mean and variance (C,). False where there is no machine code."""
    batch = _batch(x)
    planes, given = batch.images * batch.channels, (weight is not None, bias is not None)
    tensors = x, mean, variance, weight, bias, out
    return run_typed(
        evaluate, x.dtype, planes, GRAIN // (batch.size + 1) + 1, *tensors, given, batch, eps
    )


def run_train(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, running: tuple[Any, Any],
    momentum: float, eps: float, out: Tensor, mean: Tensor, rstd: Tensor,
) -> bool:  # fmt: skip
    """Fill `out`, and `mean` and `rstd` (C,) with the batch's, and move the `running` mean and
    variance. False where there is no machine code.
    """
    batch, given = _batch(x), (weight, bias, *running)
    has = Present(*(t is not None for t in given))
    tensors = x, *given, out, mean, rstd
    return run_typed(
        train, x.dtype, batch.channels, _grain(batch), *tensors, has, batch, momentum, eps
    )


def run_backward(
    g: Tensor,
    x: Tensor,
    weight: Tensor | None,
    saved: tuple[Any, Any],
    training: bool,
    wants_dx: bool,
) -> Any:
    """(gradient of x or None, of weight, of bias); None where there is no machine code."""
    batch, (mean, rstd) = _batch(x), saved
    dx = empty_as(x, x.shape) if wants_dx else None
    dw, db = (empty_contiguous((batch.channels,), x.dtype) for _ in range(2))
    tensors, how = (g, x, weight, mean, rstd, dx, dw, db), (weight is not None, wants_dx, training)
    if run_typed(backward, x.dtype, batch.channels, _grain(batch), *tensors, how, batch):
        return dx, dw, db
    return None


def _batch(x: Tensor) -> Batch:
    images, channels, *rest = x.shape
    return Batch(images, channels, prod(rest))


def _grain(batch: Batch) -> int:
    return GRAIN // (batch.images * batch.size + 1) + 1
