"""The gradients of layer, group and batch normalization (`native/cuda/layer_norm_kernel.cu`,
`Normalization.cuh`).

Let g be the gradient of the output, x̂ = (x - mean) * rstd and h = g * weight. Then the gradients
are

    input     rstd * (h - average(h) - x̂ * average(h * x̂)), over the elements that were normalized
              together
    weight    sum(g * x̂), over the elements that share the weight
    bias      sum(g), over the same elements

For layer and group norm the averages are over rows, and a block has its row for itself. For batch
norm they are over channels, as are the sums for weight and bias: so the averages follow from the
sums.

How the real one differs: the sums for the weights of a layer norm are taken in tiles of 32 by 32,
transposed in shared memory.
"""

from __future__ import annotations

from internals.machine_code.records import Elements

from ..language import cuda, device_function, kernel, template
from .accumulators import Pair
from .block_reduction import lane_and_row
from .copy import offset_of, split

T = template("T")  # the type to compute in
OUT = template("OUT")  # the type of the result
pair_of_lanes = template("pair_of_lanes")
# channel(row, i, groups, channels, inner): whose weight element i of the row has
channel = template("channel")
weight_of = template("weight_of")
# statistic(c, i, groups, channels, inner): whose mean element i of channel c has
statistic = template("statistic")
# reach(i, gone, gone_strides): how far element i of a channel is from its first
reach = template("reach")


@kernel
def rows_gradient(
    out: Elements,
    grad: Elements,
    source: Elements,
    mean: Elements,
    rstd: Elements,
    weight: Elements,
    rows: int,
    n: int,
    groups: int,
    channels: int,
    inner: int,
):
    """The gradient of the input of `normalize_rows`, (rows, n). A block goes over its row twice:
    for the averages, and to write.
    """
    lane, lanes, row = lane_and_row()
    # how many elements this lane has; beyond the last row none
    mine = (n - lane + lanes - 1) // lanes if row < rows else 0
    first = row * n
    center, scale = T(0), T(0)
    if row < rows:
        center, scale = T(mean[row]), T(rstd[row])

    dot, total = T(0), T(0)  # the sums of h * x̂ and of h
    for k in range(mine):
        i = lane + k * lanes
        h = T(grad[first + i]) * weight_of(weight, channel(row, i, groups, channels, inner))
        dot += h * (T(source[first + i]) - center) * scale
        total += h
    dot, total = pair_of_lanes((dot, total))
    dot /= T(n)
    total /= T(n)

    for k in range(mine):
        i = lane + k * lanes
        h = T(grad[first + i]) * weight_of(weight, channel(row, i, groups, channels, inner))
        normal = (T(source[first + i]) - center) * scale
        out[first + i] = OUT(scale * (h - total - normal * dot))


# fmt: off
@kernel
def parameter_gradients(
    weight_grad: Elements, bias_grad: Elements, grad: Elements, source: Elements, mean: Elements,
    rstd: Elements, rows: int, n: int, groups: int, channels: int, inner: int,
    kept: tuple[int, ...], kept_strides: tuple[int, ...], gone: tuple[int, ...],
    gone_strides: tuple[int, ...],
):
    """The sums of g * x̂ and of g over the elements of each channel, here called a row. Each
    blockIdx.y sums one part: the results are (gridDim.y, rows), and are added later.
    """
    lane, lanes, row = lane_and_row()
    step = lanes * cuda.gridDim.y
    start = cuda.blockIdx.y * lanes + lane
    mine = (n - start + step - 1) // step if row < rows and start < n else 0
    base = offset_of(row, kept, kept_strides)
    dot, total = T(0), T(0)
    for k in range(mine):
        i = start + k * step
        at = base + reach(i, gone, gone_strides)
        r = statistic(row, i, groups, channels, inner)
        g = T(grad[at])
        dot += g * (T(source[at]) - T(mean[r])) * T(rstd[r])
        total += g
    dot, total = pair_of_lanes((dot, total))
    if lane == 0 and row < rows:
        weight_grad[cuda.blockIdx.y * rows + row] = dot
        bias_grad[cuda.blockIdx.y * rows + row] = total
# fmt: on


@kernel
def channels_gradient(
    out: Elements,
    grad: Elements,
    source: Elements,
    mean: Elements,
    rstd: Elements,
    weight: Elements,
    weight_grad: Elements,
    bias_grad: Elements,
    count: int,
    n: int,
    channels: int,
    inner: int,
):
    """The gradient of the input of `normalize_channels` in training, where the statistics depend on
    the input, over `count` elements a channel.

    The channel's weight is a common factor of h and its averages, so it is multiplied at the end.
    """
    i = cuda.grid(1)
    while i < n:
        row, _ = split(i, inner)
        _, c = split(row, channels)
        normal = (T(source[i]) - T(mean[c])) * T(rstd[c])
        g = T(grad[i]) - (bias_grad[c] + normal * weight_grad[c]) / count
        out[i] = OUT(g * T(rstd[c]) * weight_of(weight, c))
        i += cuda.gridsize(1)


@kernel
def scaled_gradient(
    out: Elements,
    grad: Elements,
    rstd: Elements,
    weight: Elements,
    n: int,
    channels: int,
    inner: int,
):
    """The same in evaluation, where mean and rstd are constants."""
    i = cuda.grid(1)
    while i < n:
        row, _ = split(i, inner)
        _, c = split(row, channels)
        out[i] = OUT(T(grad[i]) * T(rstd[c]) * weight_of(weight, c))
        i += cuda.gridsize(1)


@device_function
def add_pairs(a: Pair, b: Pair):
    """`combine` of two accumulators that are pairs of sums."""
    return a[0] + b[0], a[1] + b[1]


@device_function
def of_row(c: int, i: int, groups: int, channels: int, inner: int):
    """`statistic` of a layer norm: element i of a column lies in row i."""
    return i


@device_function
def of_group(c: int, i: int, groups: int, channels: int, inner: int):
    """`statistic` of a group norm: element i of a channel lies in sample i // inner."""
    sample, _ = split(i, inner)
    return sample * groups + c // channels


@device_function
def of_channel(c: int, i: int, groups: int, channels: int, inner: int):
    """`statistic` of a batch norm: that of the channel."""
    return c
