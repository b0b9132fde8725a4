"""Batch normalization of row-major tensors (N, C, ...), channel by channel
(`aten/src/ATen/native/cpu/batch_norm_kernel.cpp`).

A channel lies in memory as N pieces of `size` neighbours, `channels * size` elements apart. One
item of work is a channel: the thread that has it sums it, sums the squares of the distances from
the mean, and writes the result. It reads the channel two or three times, but from a cache after the
first time.

Sums are of blocks of `PIECE` elements, which the compiler may add up in any order, and sums of
those in double precision.

How the real one differs: it sums first and normalizes in a second parallel loop, over images and
channels; and it has loops for `channels_last` too, where here numpy serves.
"""

from __future__ import annotations

from math import nan, prod, sqrt
from typing import Any

from internals.core.tensor_impl import TensorImpl, backed_ptr, empty_contiguous
from internals.machine_code import inline, kernel, template
from internals.machine_code.language import SUM_MAY_BE_REORDERED

from ..native.memory_format import empty_as
from .pieces import PIECE, piece_sum
from .ready import FLOATS, typed

T = template("T")
GRAIN = 1 << 13


@inline(fastmath=SUM_MAY_BE_REORDERED)
def piece_squares(x: Any, at: int, n: int, center: Any) -> Any:
    total = T(0)
    for i in range(n):
        total += (x[at + i] - center) * (x[at + i] - center)
    return total


@inline(fastmath=SUM_MAY_BE_REORDERED)
def piece_products(g: Any, x: Any, at: int, n: int, center: Any) -> Any:
    total = T(0)
    for i in range(n):
        total += g[at + i] * (x[at + i] - center)
    return total


@kernel(signature="*T *T *T *T *T *T i8 i8 i8 i8 f8")
def evaluate(
    begin, end, x, mean, variance, weight, bias, out, has_weight, has_bias, channels, size, eps
):
    """out = (x - mean) / sqrt(variance + eps) * weight + bias. One item of work is a channel of an
    image.
    """
    for plane in range(begin, end):
        c = plane % channels
        scale = T(1) / T(sqrt(variance[c] + T(eps)))
        if has_weight:
            scale = scale * weight[c]
        shift = mean[c] * -scale
        if has_bias:
            shift = shift + bias[c]
        for i in range(plane * size, plane * size + size):
            out[i] = x[i] * scale + shift


@kernel(signature="*T *T *T *T *T *T *T *T i8 i8 i8 i8 i8 i8 i8 f8 f8")
def train(
    begin, end, x, weight, bias, running_mean, running_var, out, mean, rstd,
    has_weight, has_bias, has_mean, has_var, images, channels, size, momentum, eps,
):  # fmt: skip
    """The same by the batch's own mean and variance, towards which the running ones move. One item
    of work is a channel.
    """
    count = images * size
    for c in range(begin, end):
        total, squares = 0.0, 0.0
        for n in range(images):
            at = (n * channels + c) * size
            for first in range(at, at + size, PIECE):
                total += piece_sum(x, first, min(PIECE, at + size - first))
        center = T(total / count)
        for n in range(images):
            at = (n * channels + c) * size
            for first in range(at, at + size, PIECE):
                squares += piece_squares(x, first, min(PIECE, at + size - first), center)
        variance = T(squares / count)
        r = T(1) / T(sqrt(variance + T(eps)))
        mean[c], rstd[c] = center, r
        if has_mean:
            running_mean[c] = T(1 - momentum) * running_mean[c] + T(momentum) * center
        if has_var:
            unbiased = T(squares / (count - 1)) if count > 1 else T(nan)
            running_var[c] = T(1 - momentum) * running_var[c] + T(momentum) * unbiased
        scale = r * weight[c] if has_weight else r
        shift = bias[c] if has_bias else T(0)
        for n in range(images):
            at = (n * channels + c) * size
            for i in range(at, at + size):
                out[i] = (x[i] - center) * scale + shift


@kernel(signature="*T *T *T *T *T *T *T *T i8 i8 i8 i8 i8 i8")
def backward(
    begin, end, g, x, weight, mean, rstd, dx, dw, db, has_weight, wants_dx, training, images,
    channels, size
):  # fmt: skip
    """The gradients of input, weight and bias; without `training`, mean and rstd are constants. One
    item of work is a channel.
    """
    count = images * size
    for c in range(begin, end):
        center, r = mean[c], rstd[c]
        total, along = 0.0, 0.0
        for n in range(images):
            at = (n * channels + c) * size
            for first in range(at, at + size, PIECE):
                last = min(PIECE, at + size - first)
                total += piece_sum(g, first, last)
                along += piece_products(g, x, first, last, center)
        dw[c] = T(along * r)
        db[c] = T(total)
        if wants_dx:
            scale = r * weight[c] if has_weight else r
            level = T(total / count) if training else T(0)
            slope = T(along * r * r / count) if training else T(0)
            for n in range(images):
                at = (n * channels + c) * size
                if training:
                    for i in range(at, at + size):
                        dx[i] = (g[i] - level - (x[i] - center) * slope) * scale
                else:
                    for i in range(at, at + size):
                        dx[i] = g[i] * scale


def fits(x: TensorImpl, *of_channels: Any, like: TensorImpl | None = None) -> bool:
    """Whether there are kernels for x, the tensors (or None) that have a number for each channel,
    and one of x's shape.

    All have to be row-major and of one dtype."""
    given = [t for t in of_channels if t is not None]
    if any(t.numel() != x.shape[1] for t in given) or (like is not None and like.shape != x.shape):
        return False
    given += [x] if like is None else [x, like]
    return x.dtype in FLOATS and all(t.dtype is x.dtype and t.is_contiguous() for t in given)


def run_evaluate(
    x: TensorImpl, weight: Any, bias: Any, mean: Any, variance: Any, eps: float, out: TensorImpl
) -> bool:
    """Fill `out`; False where there is no machine code."""
    found = typed(evaluate, x.dtype)
    if found is not None:
        images, channels, *rest = x.shape
        size, some = prod(rest), backed_ptr(mean)
        found.parallel(
            images * channels, GRAIN // (size + 1) + 1, backed_ptr(x), some, backed_ptr(variance),
            _pointer(weight, some), _pointer(bias, some), backed_ptr(out), weight is not None,
            bias is not None, channels, size, eps,
        )  # fmt: skip
    return found is not None


def run_train(
    x: TensorImpl, weight: Any, bias: Any, running: tuple[Any, Any], momentum: float, eps: float,
    out: Any, mean: Any, rstd: Any
) -> bool:  # fmt: skip
    """Fill `out`, `mean` and `rstd`, and move the running statistics; False where there is no
    machine code.
    """
    found = typed(train, x.dtype)
    if found is not None:
        images, channels, size, some = (
            x.shape[0],
            x.shape[1],
            prod(tuple(x.shape)[2:]),
            backed_ptr(mean),
        )
        given = (weight, bias, *running)
        found.parallel(
            channels, GRAIN // (images * size + 1) + 1, backed_ptr(x),
            *(_pointer(t, some) for t in given), backed_ptr(out), some, backed_ptr(rstd),
            *(t is not None for t in given), images, channels, size, momentum, eps,
        )  # fmt: skip
    return found is not None


def run_backward(
    g: TensorImpl,
    x: TensorImpl,
    weight: Any,
    saved: tuple[Any, Any],
    training: bool,
    wants_dx: bool,
) -> Any:
    """(gradient of x or None, of weight, of bias); None where there is no machine code."""
    found = typed(backward, x.dtype)
    mean, rstd = saved
    if found is None:
        return None
    images, channels, size = x.shape[0], x.shape[1], prod(tuple(x.shape)[2:])
    dx = empty_as(x, x.shape) if wants_dx else None
    dw, db = (empty_contiguous((channels,), x.dtype) for _ in range(2))
    some = backed_ptr(dw)
    found.parallel(
        channels, GRAIN // (images * size + 1) + 1, backed_ptr(g), backed_ptr(x),
        _pointer(weight, some), backed_ptr(mean), backed_ptr(rstd), _pointer(dx, some), some,
        backed_ptr(db), weight is not None, wants_dx, training, images, channels, size,
    )  # fmt: skip
    return dx, dw, db


def _pointer(t: Any, otherwise: int) -> int:
    return otherwise if t is None else backed_ptr(t)
