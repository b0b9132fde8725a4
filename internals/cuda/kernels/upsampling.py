"""Resizing images: nearest and bilinear, and their gradients
(`aten/src/ATen/native/cuda/UpSampleNearest2d.cu`, `UpSampleBilinear2d.cu`).

Forward, a thread has an element of the result, works out where that lies in the image, and reads
one pixel or mixes four. Backward, it has a pixel of the image, and needs the elements of the result
that read it. Their positions times `step` are near the pixel's, so there are only a few candidates.
For each, the function of the forward pass tells which pixels it reads, so that both passes always
agree, and the sums have the same order every time.

How the real one differs: it computes the gradient of bilinear from the result's elements, with
atomicAdd, in any order. It copies an image that keeps its size, and mixes one that keeps only its
height by the scale factor; here its rows stay, as on the CPU.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from internals.machine_code.records import Element, Elements

from ..language import cuda, device_function, kernel, template
from .pooling import Strides, parts_of

T = template("T")  # the dtype of the result
# the dtype of shares and sums, and of `step`: how far it is in the image from one position of the
# result to the next
ACC = template("ACC")
SOURCE = template("SOURCE")  # `nearest` or `linear`, with ACC filled in
MIXES = template("MIXES")  # whether that is `linear`
READERS, SHARE = template("READERS"), template("SHARE")  # the functions of these names, likewise


class Resize(NamedTuple):
    """The geometry of resizing images of sizes[0] x sizes[1] to places[0] x places[1]."""

    channels: int
    sizes: tuple[int, int]
    places: tuple[int, int]
    x: Strides  # of (image, channel, row, column)
    y: Strides
    aligned: int  # whether corners lie on corners, else edges on edges


@device_function
def nearest(i: int, n: int, m: int, step: int, aligned: Element):
    """The pixel that element i reads, of n pixels for m elements, in the form of `linear`: (pixel,
    the same pixel, 0).
    """
    low = min(int(math.floor(ACC(i) * step)), n - 1)
    # these two are exact, whatever the rounding of `step`
    if m == n:
        low = i
    if m == 2 * n:
        low = i // 2
    return low, low, ACC(0)


@device_function
def linear(i: int, n: int, m: int, step: int, aligned: Element):
    """The two pixels that element i mixes, and the share of the second."""
    source = ACC(i) * step  # corners on corners; else centers of pixels, at 0.5, on centers
    if aligned == 0:
        source = max((ACC(i) + ACC(0.5)) * step - ACC(0.5), ACC(0))
    low = min(int(math.floor(source)), n - 1)
    if m == n:
        return i, i, ACC(0)
    return low, min(low + 1, n - 1), min(max(source - ACC(low), ACC(0)), ACC(1))


@kernel
def upsample(
    y: Elements, x: Elements, n: int, step_down: Element, step_right: Element, how: Resize
):
    """Each element of the result is one pixel, or a mixture of four. A pixel with share 0 is
    multiplied too: if it is infinite the result is NaN, as in PyTorch.
    """
    e = cuda.grid(1)
    while e < n:
        image, channel, i, j = parts_of(e, how.channels, how.places)
        plane = image * how.x[0] + channel * how.x[1]
        top, bottom, down = SOURCE(i, how.sizes[0], how.places[0], step_down, how.aligned)
        left, right, across = SOURCE(j, how.sizes[1], how.places[1], step_right, how.aligned)
        upper, lower = plane + top * how.x[2], plane + bottom * how.x[2]
        value = ACC(x[upper + left * how.x[3]])
        if MIXES:
            value = value * (ACC(1) - across) + ACC(x[upper + right * how.x[3]]) * across
            below = ACC(x[lower + left * how.x[3]])
            below = below * (ACC(1) - across) + ACC(x[lower + right * how.x[3]]) * across
            value = value * (ACC(1) - down) + below * down
        y[image * how.y[0] + channel * how.y[1] + i * how.y[2] + j * how.y[3]] = T(value)
        e += cuda.gridsize(1)


@device_function
def readers(pixel: Element, n: int, m: int, step: int):
    """The range [first, last) of the result's elements that may read `pixel`. It may be too large,
    never too small. At an edge it has no bound on that side, as all positions beyond are clamped.
    """
    first, last = 0, m
    if step > 0:
        # an element that reads the pixel lies less than one pixel from it; 2 and 3 more elements
        # allow for the half pixel of `linear` and for rounding
        if pixel > 0:
            first = max(0, min(m, int(math.floor(ACC(pixel - 1) / step)) - 2))
        if pixel < n - 1:
            last = max(0, min(m, int(math.floor(ACC(pixel + 2) / step)) + 3))
    return first, last


@device_function
def share(low: Element, high: int, part: int, pixel: Element):
    """The share of `pixel` in an element that mixes `low` and `high`, which may be the same."""
    found = ACC(0)
    if low == pixel:
        found += ACC(1) - part
    if high == pixel:
        found += part
    return found


@kernel
def upsample_backward(
    grad_x: Elements, grad_y: Elements, n: int, step_down: Element, step_right: Element, how: Resize
):
    """Each pixel adds up its share of the gradient of every element that read it."""
    e = cuda.grid(1)
    while e < n:
        image, channel, row, column = parts_of(e, how.channels, how.sizes)
        plane = image * how.y[0] + channel * how.y[1]
        first_row, last_row = READERS(row, how.sizes[0], how.places[0], step_down)
        first_column, last_column = READERS(column, how.sizes[1], how.places[1], step_right)
        total = ACC(0)
        for i in range(first_row, last_row):
            low, high, part = SOURCE(i, how.sizes[0], how.places[0], step_down, how.aligned)
            of_row = SHARE(low, high, part, row)
            # most candidates read other pixels: then the inner loop is skipped
            if of_row != 0:
                for j in range(first_column, last_column):
                    low, high, part = SOURCE(
                        j, how.sizes[1], how.places[1], step_right, how.aligned
                    )
                    of_column = SHARE(low, high, part, column)
                    if of_column != 0:
                        total += (
                            of_row * of_column * ACC(grad_y[plane + i * how.y[2] + j * how.y[3]])
                        )
        grad_x[image * how.x[0] + channel * how.x[1] + row * how.x[2] + column * how.x[3]] = T(
            total
        )
        e += cuda.gridsize(1)
