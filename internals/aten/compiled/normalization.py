"""Layer and group normalization, and the gradients of the former
(`aten/src/ATen/native/cpu/{layer,group}_norm_kernel.cpp`).

A row's mean and variance come from two passes over it while it is in the cache, and a third writes
the result.

The gradient of the weights is a sum over all rows. One partial sum for each thread would make the
result depend on the number of threads; instead there is one for every `BLOCK` rows, whichever
thread does them, and these are added up at the end.

How the real one differs: one pass computes both moments (`RowwiseMoments`), and the gradients of
the weights are summed in one buffer for each thread.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from internals.core.tensor_impl import Tensor, backed_ptr
from internals.machine_code import inline, kernel, template
from internals.machine_code.records import Elements

from .entries import run
from .row_functions import identity, row_mean, row_squared_distances
from .rows import WORD, address

THRESHOLD = 1 << 14  # from how many elements on this is faster than numpy
GRAIN = 1 << 16  # how many elements are worth a thread
BLOCK = 64  # rows that share a partial sum of the weights' gradients
SUM_CHUNK = 1024  # elements of a row that may be added up in any order

T = template("T")  # the dtype
W = template("W")  # the dtype of sums, float64
term = template("term")  # `row_sum` maps elements by it: here the identity
has_weight = template("has_weight")
has_bias = template("has_bias")


def layer_norm(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
    out: Tensor,
    mean: Tensor,
    rstd: Tensor,
) -> bool:
    """Fill `out` with the normalized rows of `x`, `mean` with their means and `rstd` with their
    reciprocal standard deviations.

    All are contiguous and of one dtype, `mean` has an element for each row. False if numpy has to
    do it.
    """
    rows = mean.numel()
    n, word = x.numel() // rows, WORD[x.dtype.np.char]
    bound = layer_norm_of_rows.bind(**_forward_bindings(x, weight, bias))
    # in place of a weight or bias that is missing stands x, which the kernel does not read as such
    addresses = [backed_ptr(x if t is None else t) for t in (x, weight, bias, out, mean, rstd)]
    return run(bound, " ".join([word] * 6), rows, max(1, GRAIN // n), *addresses, n, eps)


def group_norm(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    groups: int,
    eps: float,
    out: Tensor,
    mean: Tensor,
    rstd: Tensor,
) -> bool:
    """`layer_norm` for `x` (N, C, ...) whose channels are in `groups` groups; `mean` has an element
    for each group of each sample, and weight and bias one for each channel.
    """
    rows, channels = mean.numel(), x.shape[1] // groups
    n, word = x.numel() // rows, WORD[x.dtype.np.char]
    bound = group_norm_of_rows.bind(**_forward_bindings(x, weight, bias))
    addresses = [backed_ptr(x if t is None else t) for t in (x, weight, bias, out, mean, rstd)]
    sizes, words = (channels, n // channels, groups), " ".join([word] * 6)
    return run(bound, words, rows, max(1, GRAIN // n), *addresses, *sizes, eps)


def layer_norm_backward(
    g: Tensor, x: Tensor, mean: Tensor, rstd: Tensor, weight: Tensor | None, dx: Tensor
) -> Any:
    """Fill `dx`; returns the gradients of weight and bias as one float64 array (2, n). None if
    numpy has to do it.

    Without a weight it is an empty array, (2, 0). All tensors are contiguous and of one dtype.
    """
    rows = mean.numel()
    n, word = x.numel() // rows, WORD[x.dtype.np.char]
    bound, words = layer_norm_backward_of_rows.bind(**_bindings(x, weight)), " ".join([word] * 8)
    blocks = -(-rows // BLOCK)
    parts = np.empty((2, blocks, n if weight is not None else 0), x.dtype.np)
    addresses = [backed_ptr(t) for t in (g, x, mean, rstd, x if weight is None else weight, dx)]
    grain = max(1, GRAIN // (BLOCK * n))
    addresses += [address(parts), address(parts) + parts[0].nbytes]  # of weights, of biases
    done = run(bound, words, blocks, grain, *addresses, rows, n)
    return parts.sum(1, np.float64) if done else None


def _forward_bindings(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> dict[str, Any]:
    """The template parameters of `layer_norm_of_rows` and `group_norm_of_rows`, for `bind`."""
    return {**_bindings(x, weight), "has_bias": bias is not None, "term": identity}


def _bindings(x: Tensor, weight: Tensor | None) -> dict[str, Any]:
    """The template parameters of all kernels here, for `bind`."""
    return {"T": x.dtype.np.type, "W": np.float64, "has_weight": weight is not None}


# The kernels, one of whose items of work is a row or a block of rows.


@inline
def row_moments(x: Elements, start: int, n: int, stride: int) -> Any:
    """(mean, variance), as W."""
    mean = row_mean(x, start, n, stride)
    return mean, row_squared_distances(x, start, n, stride, mean) / W(n)


@inline
def row_layer_norm(
    x: Elements,
    weight: Elements,
    bias: Elements,
    out: Elements,
    start: int,
    n: int,
    stride: int,
    center: float,
    scale: float,
) -> Any:
    """out = (x - center) * scale * weight + bias; weight and bias are n contiguous elements."""
    for i in range(n):
        y = (x[start + i * stride] - center) * scale
        if has_weight:
            y = y * weight[i]
        if has_bias:
            y = y + bias[i]
        out[start + i * stride] = y


@kernel
def layer_norm_of_rows(
    begin: int,
    end: int,
    x: Elements,
    weight: Elements,
    bias: Elements,
    out: Elements,
    means: Elements,
    rstds: Elements,
    n: int,
    eps: float,
) -> None:
    """Layer norm of x (rows, n), with the mean and 1 / standard deviation of each row."""
    for row in range(begin, end):
        mean, variance = row_moments(x, row * n, n, 1)
        means[row], rstds[row] = T(mean), T(W(1) / math.sqrt(variance + eps))
        row_layer_norm(x, weight, bias, out, row * n, n, 1, means[row], rstds[row])


@kernel
def group_norm_of_rows(
    begin: int,
    end: int,
    x: Elements,
    weight: Elements,
    bias: Elements,
    out: Elements,
    means: Elements,
    rstds: Elements,
    channels: int,
    size: int,
    groups: int,
    eps: float,
) -> None:
    """Group norm of x (samples * groups, channels, size): a row is a group of one sample, and each
    of its channels has a weight and a bias."""
    for row in range(begin, end):
        n = channels * size
        mean, variance = row_moments(x, row * n, n, 1)
        means[row], rstds[row] = T(mean), T(W(1) / math.sqrt(variance + eps))
        for c in range(channels):
            channel = row % groups * channels + c
            scale = rstds[row] * weight[channel] if has_weight else rstds[row]
            shift = bias[channel] if has_bias else T(0)  # constant along the channel
            start = row * n + c * size
            for i in range(start, start + size):
                out[i] = (x[i] - means[row]) * scale + shift


@kernel
def layer_norm_backward_of_rows(
    begin: int,
    end: int,
    g: Elements,
    x: Elements,
    means: Elements,
    rstds: Elements,
    weight: Elements,
    dx: Elements,
    dweights: Elements,
    dbiases: Elements,
    rows: int,
    n: int,
) -> None:
    """The gradients dx (rows, n), and partial sums of those of weight and bias, (blocks, n). One
    item of work is a block of rows.

    With h = g * weight and d = x - mean, of one row,

        dx = rstd * (h - mean(h) - d * rstd^2 * mean(h * d))

    The second term is there because the row's mean depends on x, the third because its variance
    does.
    """
    for block in range(begin, end):
        sums_at = block * n
        if has_weight:
            for i in range(n):
                dweights[sums_at + i] = T(0)
                dbiases[sums_at + i] = T(0)
        for row in range(block * BLOCK, min(block * BLOCK + BLOCK, rows)):
            start, mean, rstd = row * n, means[row], rstds[row]
            sum_h, sum_hd = W(0), W(0)
            for first in range(0, n, SUM_CHUNK):
                a, b = gradient_sums(g, x, weight, start, first, min(first + SUM_CHUNK, n), mean)
                sum_h += a
                sum_hd += b
            mean_h = T(sum_h / W(n))
            scaled_mean_hd = T(sum_hd * W(rstd * rstd) / W(n))  # rstd^2 * mean(h * d)
            for i in range(n):
                d = x[start + i] - mean
                h = g[start + i] * weight[i] if has_weight else g[start + i]
                dx[start + i] = rstd * ((h - mean_h) - d * scaled_mean_hd)
                if has_weight:
                    dweights[sums_at + i] += g[start + i] * (d * rstd)
                    dbiases[sums_at + i] += g[start + i]


@inline(fastmath=("reassoc", "nsz", "contract"))
def gradient_sums(
    g: Elements, x: Elements, weight: Elements, start: int, first: int, last: int, mean: float
) -> Any:
    """(the sum of h, the sum of h * d), as W, for h = g * weight and d = x - mean, from element
    `first` of a row up to `last`.
    """
    sum_h, sum_hd = W(0), W(0)
    for i in range(first, last):
        h = g[start + i] * weight[i] if has_weight else g[start + i]
        sum_h += W(h)
        sum_hd += W(h * (x[start + i] - mean))
    return sum_h, sum_hd
