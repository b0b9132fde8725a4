"""Convolution as a matrix product whose second matrix is never made ("implicit GEMM";
`implicit_gemm` of CUTLASS and cuDNN).

Lay every window that the kernel visits out as a column, and a convolution is a matrix product. The
CPU makes that matrix (`im2col`), nine times as large as the image for a kernel of 3 x 3. Here it
exists only as a rule: the element in row q and column p is the element q of window p, and where
that lies in the image can be computed. So the register-blocked product of `gemm.py` is used as it
is, and its tiles are loaded by the functions of this file.

                            rows of the product     columns               summed over
    forward                 channels of the output  windows               elements of a window
    gradient of the input   channels of the input   pixels of the input   (output channel,
                                                                          kernel element)
    gradient of the weight  channels of the output  elements of a window  windows

A pixel of the input gets something from those windows that cover it: those whose place is not a
fraction when the pixel's position is divided by the stride. That is the transposed convolution too.

Numbers count in index order: p = (image, *place of the window), q = (channel, *element of the
kernel). They are taken apart from the last dimension on, in any number of dimensions. Groups are
the batch of the product.

`direct` and `gathered` do without tiles: one thread, one element. They are for depthwise
convolutions, where a group has but one row and a tile would be empty but for that; and for the
simulator.

How the real one differs: cuDNN has this form with tensor cores, and others by Fourier and Winograd
transforms; it divides by multiplying with magic numbers, and advances through the elements of a
window instead of taking each number apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..language import cuda, device_function, kernel, template
from .copy import split

if TYPE_CHECKING:
    from internals.machine_code.records import Element, Elements

T = template("T")  # the dtype of the result
ACC = template("ACC")  # the dtype of products and sums
WINDOW_ELEMENT = template("WINDOW_ELEMENT")  # `window_element`, with ACC filled in
LOAD_A, LOAD_B = template("LOAD_A"), template("LOAD_B")
STORE, COLUMN = template("STORE"), template("COLUMN")


class Windows(NamedTuple):
    """How a kernel's windows lie over an image, for one convolution, and where its three tensors
    lie in memory.

    `image` and `y` hold strides for (batch, channel, *spatial); the weight is contiguous. Of a
    transposed convolution, the result is the image.
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
    for r in range(len(how.kernel)):
        d = len(how.kernel) - 1 - r
        p, number = split(p, how.places[d])
        q, tap = split(q, how.kernel[d])
        at = number * how.stride[d] - how.padding[d] + tap * how.dilation[d]
        inside = inside and at >= 0 and at < how.sizes[d]
        offset += at * how.image[d + 2]
    value = ACC(0)
    if inside:
        value = ACC(x[offset + p * how.image[0] + (group * how.channels + q) * how.image[1]])
    return value


@device_function
def window_by_element(x: Elements, group: int, p: int, q: int, how: Windows):
    """The same matrix transposed: row p, column q."""
    return WINDOW_ELEMENT(x, group, q, p, how)


@device_function
def covering_place(group: int, q: int, e: int, how: Windows):
    """The place in y whose window has pixel e at q = (output channel, kernel element); -1 if there
    is none.
    """
    offset = 0
    inside = True
    for r in range(len(how.kernel)):
        d = len(how.kernel) - 1 - r
        e, pixel = split(e, how.sizes[d])
        q, tap = split(q, how.kernel[d])
        reach = pixel + how.padding[d] - tap * how.dilation[d]
        number, fraction = split(reach, how.stride[d])
        inside = inside and reach >= 0 and fraction == 0 and number < how.places[d]
        offset += number * how.y[d + 2]
    return offset + e * how.y[0] + (group * how.outputs + q) * how.y[1] if inside else -1


@device_function
def covering_element(y: Elements, group: int, q: int, e: int, how: Windows):
    """y at that place, or zero. Times an infinite weight that zero is NaN, which `gathered`
    avoids.
    """
    at = covering_place(group, q, e, how)
    value = ACC(0)
    if at >= 0:
        value = ACC(y[at])
    return value


@device_function
def place(p: int, sizes: tuple[int, ...], strides: tuple[int, ...]):
    """Where number p = (batch, *spatial) lies in channel 0."""
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
def output_place(p: int, how: Windows):
    return place(p, how.places, how.y)


@device_function
def store_output(
    y: Elements,
    bias: Elements,
    group: int,
    i: int,
    at: int,
    total: int,
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
def pixel_place(e: int, how: Windows):
    return place(e, how.sizes, how.image)


@device_function
def store_pixel(
    x: Elements,
    bias: Elements,
    group: int,
    i: int,
    at: int,
    total: int,
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
def weight_place(q: int, how: Windows):
    return q


@device_function
def store_weight(
    w: Elements,
    nothing: Elements,
    group: int,
    i: int,
    q: int,
    total: int,
    how: Windows,
    alpha: Element,
    beta: Element,
):
    """`group` counts on over the parts of a sum that was split: each has a weight of its own."""
    w[(group * how.outputs + i) * how.channels * how.taps + q] = T(total)


@kernel
def direct(
    c: int,
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
    """One thread computes one element of the product of one group, then the one a whole grid
    further.
    """
    e = cuda.grid(1)
    while e < groups * m * n:
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
    """The same for the gradient of the input, where most windows do not cover a pixel: what is not
    there is not multiplied.
    """
    e = cuda.grid(1)
    while e < groups * m * n:
        row, j = split(e, n)
        group, i = split(row, m)
        total = ACC(0)
        for q in range(k):
            at = covering_place(group, q, j, how)
            if at >= 0:
                total += ACC(weight_of_channel(w, group, i, q, how)) * ACC(y[at])
        STORE(x, bias, group, i, pixel_place(j, how), total, how, alpha, beta)
        e += cuda.gridsize(1)
