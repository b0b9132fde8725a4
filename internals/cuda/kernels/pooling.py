"""Maximum and average pooling over images, and their gradients
(`aten/src/ATen/native/cuda/DilatedMaxPool2d.cu`, `AveragePool2d.cu`).

Forward, a thread has one element of the result and walks over its window. Backward, it has one
element of the *input*, walks over the windows that cover it, and adds its share of each window's
gradient. So no two threads write to the same element, no atomic addition is needed, and the sums
have the same order every time.

Elements are numbered (image, channel, row, column). Each tensor has four strides, so that channels
may be last in memory.

How the real one differs: it computes the gradient of the maximum from the windows, with atomicAdd,
in any order; there are second forms for channels-last, with a block's windows in shared memory.
"""

from __future__ import annotations

from typing import NamedTuple

from internals.machine_code.records import Element, Elements

from ..language import cuda, device_function, kernel, template
from .copy import split

T = template("T")  # the dtype of the result
ACC = template("ACC")  # the dtype of sums, or that in which elements are compared
WINDOW = template("WINDOW")  # (rows, columns) of a window: `fixed_window` or `adaptive_window`
# the windows that cover a position: `fixed_covering` or `adaptive_covering`
COVERING = template("COVERING")

Strides = tuple[int, int, int, int]


class Pool(NamedTuple):
    """The geometry of windows over images of sizes[0] x sizes[1], and the strides of the tensors on
    the input's side (x) and on the output's (y): (image, channel, row, column).
    """

    channels: int
    sizes: tuple[int, int]
    places: tuple[int, int]  # rows and columns of the output
    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int]
    x: Strides
    y: Strides
    divisor: int  # of averages: a number, or 0 for the size of the window,
    padded: int  # which counts padding if this is 1


@device_function
def parts_of(e: int, channels: int, sizes: tuple[int, ...]):
    """(image, channel, row, column) of element number e."""
    lines, column = split(e, sizes[1])
    plane, row = split(lines, sizes[0])
    image, channel = split(plane, channels)
    return image, channel, row, column


@device_function
def first_covering(i: int, reach: int, stride: int):
    """The first window that reaches position `i`, where window w goes from w * stride to
    w * stride + reach - 1. Positions are counted from the start of the padding.
    """
    number, _ = split(max(0, i - reach + stride), stride)
    return number


@kernel
def max_pool(y: Elements, indices: Elements, x: Elements, n: int, lowest: Element, how: Pool):
    """The largest element of each window, and its position row * columns + column in the plane. The
    first of equal ones wins, and NaN wins over all numbers.
    """
    e = cuda.grid(1)
    while e < n:
        image, channel, i, j = parts_of(e, how.channels, how.places)
        top, left = i * how.stride[0] - how.padding[0], j * how.stride[1] - how.padding[1]
        bottom = min(top + (how.kernel[0] - 1) * how.dilation[0] + 1, how.sizes[0])
        right = min(left + (how.kernel[1] - 1) * how.dilation[1] + 1, how.sizes[1])
        # skip elements in the padding, in steps of the dilation, so that the others stay in place
        while top < 0:
            top += how.dilation[0]
        while left < 0:
            left += how.dilation[1]
        plane = image * how.x[0] + channel * how.x[1]
        best = ACC(lowest)
        place = top * how.sizes[1] + left  # stays if every element is `lowest`
        for row in range(top, bottom, how.dilation[0]):
            for column in range(left, right, how.dilation[1]):
                value = ACC(x[plane + row * how.x[2] + column * how.x[3]])
                if value > best or value != value:
                    best = value
                    place = row * how.sizes[1] + column
        at = image * how.y[0] + channel * how.y[1] + i * how.y[2] + j * how.y[3]
        y[at] = T(best)
        indices[at] = place
        e += cuda.gridsize(1)


@kernel
def max_pool_backward(
    grad_x: Elements,
    grad_y: Elements,
    indices: Elements,
    n: int,
    how: Pool,
    grad_strides: tuple[int, ...],
    index_strides: tuple[int, ...],
):
    """Each element of the input takes the gradients of those windows whose maximum it was.
    `grad_strides` and `index_strides` are those of `grad_y` and `indices`.
    """
    e = cuda.grid(1)
    while e < n:
        image, channel, row, column = parts_of(e, how.channels, how.sizes)
        position = row * how.sizes[1] + column  # as `indices` has it
        down, right = row + how.padding[0], column + how.padding[1]
        total = ACC(0)
        first_row = first_covering(down, (how.kernel[0] - 1) * how.dilation[0] + 1, how.stride[0])
        first_column = first_covering(
            right, (how.kernel[1] - 1) * how.dilation[1] + 1, how.stride[1]
        )
        last_row, _ = split(down, how.stride[0])  # the last window that begins at or before it
        last_column, _ = split(right, how.stride[1])
        for i in range(first_row, min(last_row + 1, how.places[0])):
            for j in range(first_column, min(last_column + 1, how.places[1])):
                at = (
                    image * index_strides[0]
                    + channel * index_strides[1]
                    + i * index_strides[2]
                    + j * index_strides[3]
                )
                if indices[at] == position:
                    at = (
                        image * grad_strides[0]
                        + channel * grad_strides[1]
                        + i * grad_strides[2]
                        + j * grad_strides[3]
                    )
                    total += ACC(grad_y[at])
        grad_x[image * how.x[0] + channel * how.x[1] + row * how.x[2] + column * how.x[3]] = T(
            total
        )
        e += cuda.gridsize(1)


@device_function
def fixed_window(
    i: int, size: int, places: int, kernel: int, stride: int, padding: int, padded: int
):
    """Window i along a dimension: (start, end, count) of its positions inside the image, where
    `count` includes those in the padding if `padded` is 1.
    """
    start = i * stride - padding
    # with ceil_mode, the last window may reach beyond the padding: that part never counts
    end = min(start + kernel, size + padding)
    count = end - start
    start, end = max(start, 0), min(end, size)
    return start, end, count if padded == 1 else end - start


@device_function
def adaptive_window(
    i: int, size: int, places: int, kernel: int, stride: int, padding: int, padded: int
):
    """The same where m = `places` windows cover n = `size` positions evenly: from floor(i * n / m)
    to ceil((i + 1) * n / m), in 64 bits.
    """
    start = i * size // places
    end = ((i + 1) * size + places - 1) // places
    return start, end, end - start


@kernel
def avg_pool(y: Elements, x: Elements, n: int, how: Pool):
    """The sum over each window, divided by how many elements count."""
    e = cuda.grid(1)
    while e < n:
        image, channel, i, j = parts_of(e, how.channels, how.places)
        top, bottom, height = WINDOW(
            i, how.sizes[0], how.places[0], how.kernel[0], how.stride[0], how.padding[0], how.padded
        )
        left, right, width = WINDOW(
            j, how.sizes[1], how.places[1], how.kernel[1], how.stride[1], how.padding[1], how.padded
        )
        plane = image * how.x[0] + channel * how.x[1]
        total = ACC(0)
        for row in range(top, bottom):
            for column in range(left, right):
                total += ACC(x[plane + row * how.x[2] + column * how.x[3]])
        divisor = how.divisor if how.divisor != 0 else height * width
        y[image * how.y[0] + channel * how.y[1] + i * how.y[2] + j * how.y[3]] = T(
            total / ACC(divisor)
        )
        e += cuda.gridsize(1)


@device_function
def fixed_covering(i: int, size: int, places: int, kernel: int, stride: int, padding: int):
    """The windows that cover position i along a dimension: (first, last + 1)."""
    at = i + padding
    last, _ = split(at, stride)
    return first_covering(at, kernel, stride), min(last + 1, places)


@device_function
def adaptive_covering(i: int, size: int, places: int, kernel: int, stride: int, padding: int):
    """The same for windows that cover the image evenly."""
    return i * places // size, ((i + 1) * places + size - 1) // size


@kernel
def avg_pool_backward(grad_x: Elements, grad_y: Elements, n: int, how: Pool):
    """Each element of the input adds up its shares: the gradient of each window that covers it,
    divided by that window's divisor.
    """
    e = cuda.grid(1)
    while e < n:
        image, channel, row, column = parts_of(e, how.channels, how.sizes)
        first_row, last_row = COVERING(
            row, how.sizes[0], how.places[0], how.kernel[0], how.stride[0], how.padding[0]
        )
        first_column, last_column = COVERING(
            column, how.sizes[1], how.places[1], how.kernel[1], how.stride[1], how.padding[1]
        )
        plane = image * how.y[0] + channel * how.y[1]
        total = ACC(0)
        # the windows (i, j) that cover the element: the divisor of a window may be its own size
        for i in range(first_row, last_row):
            top, bottom, height = WINDOW(
                i,
                how.sizes[0],
                how.places[0],
                how.kernel[0],
                how.stride[0],
                how.padding[0],
                how.padded,
            )
            for j in range(first_column, last_column):
                left, right, width = WINDOW(
                    j,
                    how.sizes[1],
                    how.places[1],
                    how.kernel[1],
                    how.stride[1],
                    how.padding[1],
                    how.padded,
                )
                divisor = how.divisor if how.divisor != 0 else height * width
                total += ACC(grad_y[plane + i * how.y[2] + j * how.y[3]]) / ACC(divisor)
        grad_x[image * how.x[0] + channel * how.x[1] + row * how.x[2] + column * how.x[3]] = T(
            total
        )
        e += cuda.gridsize(1)
