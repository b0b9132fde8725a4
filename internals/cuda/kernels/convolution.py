"""Convolution as a matrix product whose second matrix is never stored ("implicit GEMM";
`implicit_gemm` of CUTLASS and cuDNN).

Lay out every window that the kernel visits as a column, and a convolution is a matrix product. The
CPU stores that matrix (`im2col`), nine times as large as the image for a kernel of 3 x 3. Here it
exists only as a rule: row q of column p is element q of window p, and where that lies in the image
can be computed. So the register-blocked gemm of `gemm.py` is used as it is, and its tiles are
loaded by the functions of this file.

                            rows of the product     columns               summed over
    forward                 channels of the output  windows               elements of a window
    gradient of the input   channels of the input   pixels of the input   (output channel,
                                                                          kernel element)
    gradient of the weight  channels of the output  elements of a window  windows

A pixel of the input gets a term from each window that covers it. A pixel and an element of the
kernel ("tap") meet in window (pixel + padding - tap * dilation) / stride, if that is a whole number
and there is such a window. A transposed convolution is the same computation as the gradient of the
input.

Rows and columns are numbered in index order: p = (image, *place of the window), q = (channel,
*element of the kernel). `split` takes such a number apart from the last dimension on, in any number
of dimensions. Groups are the batch of the product.

`direct` and `gathered` do without tiles: one thread, one element. They are for depthwise
convolutions, where a group has only one row, so that a tile would be nearly empty, and for the
simulator.

How the real one differs: cuDNN has this form with tensor cores, and others by Fourier and Winograd
transforms. It replaces divisions by multiplications with precomputed constants, and advances
through the elements of a window instead of taking each number apart.
"""

from __future__ import annotations

from typing import NamedTuple

from internals.machine_code.records import Element, Elements

from ..language import cuda, device_function, kernel, template
from .copy import split

T = template("T")  # the dtype of the result
ACC = template("ACC")  # the dtype of products and sums
WINDOW_ELEMENT = template("WINDOW_ELEMENT")  # `window_element`, with ACC filled in
LOAD_A, LOAD_B = template("LOAD_A"), template("LOAD_B")
STORE, COLUMN = template("STORE"), template("COLUMN")


class Windows(NamedTuple):
    """The geometry of one convolution: how its windows lie over the image, and where its tensors
    lie in memory.

    `image` and `y` hold strides for (batch, channel, *spatial); the weight is contiguous: (channels
    of y, channels of the image in a group, *kernel). The result of a transposed convolution is the
    image.
    """

    sizes: tuple[int, ...]  # of the image
    places: tuple[int, ...]  # windows along each dimension
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    image: tuple[int, ...]
    y: tuple[int, ...]
    taps: int  # elements of the kernel
    channels: int  # of the image, in a group
    outputs: int  # of y, in a group


@device_function
def window_element(x: Elements, group: int, q: int, p: int, how: Windows):
    """Element q of window p; zero where the window reaches beyond the image."""
    offset = 0
    inside = True
    # p = (image, *place) and q = (channel, *tap), taken apart from the last dimension on; then p is
    # the image and q the channel
    for r in range(len(how.kernel)):
        d = len(how.kernel) - 1 - r
        p, number = split(p, how.places[d])
        q, tap = split(q, how.kernel[d])
        # the position in the image, negative or beyond its end where it lies in the padding
        at = number * how.stride[d] - how.padding[d] + tap * how.dilation[d]
        inside = inside and at >= 0 and at < how.sizes[d]
        offset += at * how.image[d + 2]
    value = ACC(0)
    if inside:
        value = ACC(x[offset + p * how.image[0] + (group * how.channels + q) * how.image[1]])
    return value


@device_function
def window_by_element(x: Elements, group: int, p: int, q: int, how: Windows):
    """The same matrix transposed: row p, column q. The gradient of the weight sums over windows."""
    return WINDOW_ELEMENT(x, group, q, p, how)


@device_function
def covering_index(group: int, q: int, e: int, how: Windows):
    """The offset in y of the window that meets pixel e with q = (output channel, kernel element);
    -1 if there is none.
    """
    offset = 0
    inside = True
    for r in range(len(how.kernel)):
        d = len(how.kernel) - 1 - r
        e, pixel = split(e, how.sizes[d])
        q, tap = split(q, how.kernel[d])
        # solves pixel = number * stride - padding + tap * dilation for the window's number
        reach = pixel + how.padding[d] - tap * how.dilation[d]
        number, fraction = split(reach, how.stride[d])
        inside = inside and reach >= 0 and fraction == 0 and number < how.places[d]
        offset += number * how.y[d + 2]
    return offset + e * how.y[0] + (group * how.outputs + q) * how.y[1] if inside else -1


@device_function
def covering_element(y: Elements, group: int, q: int, e: int, how: Windows):
    """y at that place, or zero. That zero times an infinite weight would be NaN; `gathered` avoids
    it by omitting the product.
    """
    at = covering_index(group, q, e, how)
    value = ACC(0)
    if at >= 0:
        value = ACC(y[at])
    return value


@device_function
def place(p: int, sizes: tuple[int, ...], strides: tuple[int, ...]):
    """The offset of number p = (batch, *spatial) in channel 0."""
    offset = 0
    for r in range(len(sizes)):
        d = len(sizes) - 1 - r
        p, at = split(p, sizes[d])
        offset += at * strides[d + 2]
    return offset + p * strides[0]


@device_function
def output_element(y: Elements, group: int, i: int, p: int, how: Windows):
    """Channel i of y at the place of window p."""
    return y[place(p, how.places, how.y) + (group * how.outputs + i) * how.y[1]]


@device_function
def weight_element(w: Elements, group: int, i: int, q: int, how: Windows):
    """The weight of output channel i for element q of a window."""
    return w[(group * how.outputs + i) * how.channels * how.taps + q]


@device_function
def weight_of_channel(w: Elements, group: int, i: int, q: int, how: Windows):
    """The weight of input channel i for q = (output channel, kernel element)."""
    output, tap = split(q, how.taps)
    return w[((group * how.outputs + output) * how.channels + i) * how.taps + tap]


@device_function
def output_index(p: int, how: Windows):
    """COLUMN of the forward product: where window p lies in y."""
    return place(p, how.places, how.y)


@device_function
def store_output(
    y: Elements,
    bias: Elements,
    group: int,
    i: int,
    at: int,
    total: Element,
    how: Windows,
    alpha: Element,
    beta: Element,
):
    """Channel i of y at `at`, the place of a window; with beta 0 there is no bias."""
    channel = group * how.outputs + i
    if beta != 0:
        total += ACC(bias[channel])
    y[at + channel * how.y[1]] = T(total)


@device_function
def pixel_index(e: int, how: Windows):
    """COLUMN of the gradient of the input: where pixel e lies in the image."""
    return place(e, how.sizes, how.image)


@device_function
def store_pixel(
    x: Elements,
    bias: Elements,
    group: int,
    i: int,
    at: int,
    total: Element,
    how: Windows,
    alpha: Element,
    beta: Element,
):
    """Channel i of the image at `at`, the place of a pixel."""
    channel = group * how.channels + i
    if beta != 0:
        total += ACC(bias[channel])
    x[at + channel * how.image[1]] = T(total)


@device_function
def weight_index(q: int, how: Windows):
    """COLUMN of the gradient of the weight: its columns are contiguous."""
    return q


@device_function
def store_weight(
    w: Elements,
    nothing: Elements,
    group: int,
    i: int,
    q: int,
    total: Element,
    how: Windows,
    alpha: Element,
    beta: Element,
):
    """Element q of output channel i. Where the sum is split (split-k), `group` is part * groups +
    group, so that each part is stored as a weight of its own.
    """
    w[(group * how.outputs + i) * how.channels * how.taps + q] = T(total)


@kernel
def direct(
    c: Elements,
    a: Elements,
    b: Elements,
    bias: Elements,
    groups: int,
    m: int,
    n: int,
    k: int,
    how: Windows,
    alpha: Element,
    beta: Element,
):
    """One thread computes one element of the product, (m, k) @ (k, n) in each group, then the one a
    whole grid further.
    """
    e = cuda.grid(1)
    while e < groups * m * n:
        # e = (group, i, j)
        row, j = split(e, n)
        group, i = split(row, m)
        total = ACC(0)
        for q in range(k):
            total += ACC(LOAD_A(a, group, i, q, how)) * ACC(LOAD_B(b, group, q, j, how))
        STORE(c, bias, group, i, COLUMN(j, how), total, how, alpha, beta)
        e += cuda.gridsize(1)


@kernel
def gathered(
    x: Elements,
    w: Elements,
    y: Elements,
    bias: Elements,
    groups: int,
    m: int,
    n: int,
    k: int,
    how: Windows,
    alpha: Element,
    beta: Element,
):
    """The same for the gradient of the input. Most pairs of a pixel and a q belong to no window:
    their products are omitted.
    """
    e = cuda.grid(1)
    while e < groups * m * n:
        row, j = split(e, n)
        group, i = split(row, m)
        total = ACC(0)
        for q in range(k):
            at = covering_index(group, q, j, how)
            if at >= 0:
                total += ACC(weight_of_channel(w, group, i, q, how)) * ACC(y[at])
        STORE(x, bias, group, i, pixel_index(j, how), total, how, alpha, beta)
        e += cuda.gridsize(1)
