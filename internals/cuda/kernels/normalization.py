"""Layer, group and batch normalization (`native/cuda/layer_norm_kernel.cu`, `group_norm_kernel.cu`,
`Normalization.cuh`).

All three are y = (x - mean) * rstd * weight + bias, where rstd is 1 / sqrt(variance + eps). Layer
and group norm take mean and variance over a row, which is short enough for one block. The block
goes over the row three times: for the mean, for the squared distances from it, and to write. Batch
norm takes them over a channel, which is spread over the whole batch and may need many blocks. So
its statistics are a separate reduction (Welford, `reduction.py`), and the rest is elementwise.

Layer and group norm differ in which weight an element of a row has; `channel` finds it.

How the real one differs: layer norm computes both statistics in one pass, by Welford's recurrence,
and reads 16 bytes at a time.
"""

from __future__ import annotations

import math

from internals.machine_code.records import Elements

from ..language import cuda, device_function, kernel, template
from .accumulators import Triple
from .block_reduction import lane_and_row
from .copy import split

T = template("T")  # the type to compute in
OUT = template("OUT")  # the type of the result
STATISTIC = template("STATISTIC")  # the type of mean and rstd
sum_of_lanes = template("sum_of_lanes")
# channel(row, i, groups, channels, inner): whose weight element i of the row has
channel = template("channel")
weight_of, bias_of = template("weight_of"), template("bias_of")


@kernel
def normalize_rows(
    out: Elements,
    mean: Elements,
    rstd: Elements,
    source: Elements,
    weight: Elements,
    bias: Elements,
    rows: int,
    n: int,
    eps: float,
    groups: int,
    channels: int,
    inner: int,
):
    """Normalizes each row of a contiguous (rows, n). mean[row] and rstd[row] are kept for the
    gradient.
    """
    lane, lanes, row = lane_and_row()
    # how many elements this lane has; 0 beyond the last row, whose threads only take part in the
    # barriers
    elements = (n - lane + lanes - 1) // lanes if row < rows else 0
    first = row * n

    # lane, lane + lanes, lane + 2 * lanes, ...: neighbouring lanes read neighbouring elements
    total = T(0)
    for k in range(elements):
        total += T(source[first + lane + k * lanes])
    center = sum_of_lanes(total) / T(n)

    # a second pass is exact where E[x²] - E[x]² would subtract two large, nearly equal numbers
    squares = T(0)
    for k in range(elements):
        distance = T(source[first + lane + k * lanes]) - center
        squares += distance * distance
    variance = sum_of_lanes(squares) / T(n)
    scale = T(1) / math.sqrt(variance + eps)

    for k in range(elements):
        i = lane + k * lanes
        c = channel(row, i, groups, channels, inner)
        normal = (T(source[first + i]) - center) * scale
        out[first + i] = OUT(normal * weight_of(weight, c) + bias_of(bias, c))
    if lane == 0 and row < rows:
        mean[row] = STATISTIC(center)
        rstd[row] = STATISTIC(scale)


@kernel
def normalize_channels(
    out: Elements,
    source: Elements,
    mean: Elements,
    rstd: Elements,
    weight: Elements,
    bias: Elements,
    n: int,
    channels: int,
    inner: int,
):
    """Normalizes elementwise, with the statistics of each channel given. An element's channel
    follows from its offset in (outer, channels, inner): (N, C, H * W), or (N * H * W, C, 1) where
    channels are last in memory.
    """
    i = cuda.grid(1)
    while i < n:
        # row = (outer, channel)
        row, _ = split(i, inner)
        _, c = split(row, channels)
        normal = (T(source[i]) - T(mean[c])) * T(rstd[c])
        out[i] = OUT(normal * weight_of(weight, c) + bias_of(bias, c))
        i += cuda.gridsize(1)


@kernel
def move_average(running: Elements, value: Elements, momentum: float, factor: float, n: int):
    """running = (1 - momentum) * running + momentum * factor * value, for each channel. For the
    variance, `factor` is count / (count - 1), which makes it unbiased.
    """
    i = cuda.grid(1)
    while i < n:
        running[i] = OUT((T(1) - momentum) * T(running[i]) + momentum * factor * T(value[i]))
        i += cuda.gridsize(1)


@device_function
def write_statistics(
    out: Elements, second: Elements, third: Elements, at: int, acc: Triple, eps: float
):
    """Writes mean, rstd and variance for batch norm, from the result of a Welford reduction: `acc`
    = (mean, sum of squared distances, count).
    """
    variance = acc[1] / acc[2]
    out[at] = acc[0] + variance * T(0)  # of no elements, the variance 0 / 0 makes the mean NaN too
    second[at] = T(1) / math.sqrt(variance + eps)
    third[at] = variance


@device_function
def by_element(row: int, i: int, groups: int, channels: int, inner: int):
    """`channel` of a layer norm: every element of a row has a weight of its own."""
    return i


@device_function
def by_group(row: int, i: int, groups: int, channels: int, inner: int):
    """`channel` of a group norm: a row has `channels` channels of `inner` elements each, and is one
    of the `groups` groups of a sample.
    """
    own, _ = split(i, inner)
    _, group = split(row, groups)
    return group * channels + own


@device_function
def parameter(p: Elements, c: int):
    """The weight or bias of channel c."""
    return T(p[c])


@device_function
def one(p: Elements, c: int):
    """`weight_of` where no weight is given."""
    return T(1)


@device_function
def zero(p: Elements, c: int):
    """`bias_of` where no bias is given."""
    return T(0)
