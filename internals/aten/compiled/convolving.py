"""Convolution of images (N, C, H, W) without laying out their windows: the eager path of
`native/convolution.py` for large ones.

Give the image a border of zeros, and write it as one long row for each channel. Then the pixel
under kernel element (i, j) is, for every output place, the same distance further on: i rows and j
columns. So the sum over (channel, i, j) is a matrix product whose second matrix is the image
itself, read from another offset for each term (`gemm`). Places that lie in the border are computed
too, in vain, and cut off at the end:

    lay_out    (a copy)  images -> images with a border, in phases where the stride is more than 1
    multiply             weights, images -> sums for (channels, places and some more)
    cut_out    (a copy)  -> the result, plus bias

A 1×1 convolution needs neither copy. Small images would be mostly border; for them the windows are
laid out as the columns of a matrix after all (`_lay_out_columns`), many images at once, which
wastes nothing.

Images are taken a few at a time, so that a copy is still in a cache when it is read.

How the real one differs: oneDNN reorders images and weights to blocks of 16 channels (`nChw16c`),
computes there, and reorders back.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from internals.core.dtype import dtype
from internals.core.tensor_impl import Tensor, backed_ptr

from ..native.memory_format import empty_as
from . import gemm, windows
from .entries import typed
from .gemm import batched, best_tile, effort, factors
from .scratch import Scratch
from .windows import (
    Plan,
    Window,
    as_images,
    chunks,
    contiguous,
    cut_out,
    fill_columns,
    image_at,
    lay_out,
    planned,
    window_of,
)

if TYPE_CHECKING:
    from internals.aten.compiled.gemm_code import Tile

# the cost of copying an element, in multiplications (the unit of `gemm.effort`): it has to come
# back from a larger cache
COPY = 150


def available(dtype: dtype) -> bool:
    """Whether there are kernels for this dtype."""
    return gemm.available(dtype) and typed(windows.spread_out, dtype) is not None


def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    sizes: Sequence[int],
    how: Sequence[Sequence[int]],
    groups: int,
) -> Any:
    """The convolution of `input` (N, C, *S) with `weight` (O, C/groups, *K) in one or two
    dimensions, as a new tensor of `sizes`. `how` is stride, padding and dilation. The arguments
    have been checked.
    """
    out = empty_as(input, sizes)
    if out.numel():
        window = window_of(tuple(weight.shape)[2:], *how)
        weight = contiguous(weight)
        convolve(as_images(input), backed_ptr(weight), bias, as_images(out), window, groups)
    return out


def convolve(
    x: Tensor, weight: int, bias: Tensor | None, out: Tensor, window: Window, groups: int
) -> None:
    """Fill `out` (N, O, H', W') with the convolution of x (N, C, H, W) and the weights (O,
    C/groups, *K) at an address.
    """
    bias = None if bias is None else contiguous(bias)
    (_, channels, *size), (images, outputs, height, width) = x.shape, out.shape
    plan = planned(window, channels // groups, *size, height, width)
    rows, places = outputs // groups, images * height * width
    tile, tile_of_columns = best_tile(x.dtype, rows, plan.places), best_tile(x.dtype, rows, places)
    # the cost of a term: computing the border in vain, or copying every window
    in_place = images * effort(tile, rows, plan.places)
    by_columns = effort(tile_of_columns, rows, places) + COPY * places
    if in_place <= by_columns:
        _read_in_place(x, weight, bias, out, window, groups, plan, tile)
    else:
        _lay_out_columns(x, weight, bias, out, window, groups)


def _read_in_place(
    x: Tensor, weight: int, bias: Tensor | None, out: Tensor, window: Window, groups: int,
    plan: Plan, tile: Tile,
) -> None:  # fmt: skip
    """`convolve` by a product that reads the windows from the image with its border."""
    (images, channels, _, _), (_, outputs, _, width) = x.shape, out.shape
    inputs, rows, places = channels // groups, outputs // groups, plan.places
    copied = not (plan.needs_no_copy and x.is_contiguous())
    cut = not (plan.columns == width and bias is None and out.is_contiguous())
    per_chunk = max(
        1,
        windows.CHUNK
        // (x.itemsize * (copied * channels * plan.plane + cut * outputs * places + 1)),
    )
    per_chunk = min(images, per_chunk)
    laid = Scratch(per_chunk * channels * plan.plane + places, x.dtype) if copied else None
    sums = Scratch(per_chunk * outputs * places, x.dtype) if cut else None
    for first, n in chunks(images, per_chunk):
        if laid:
            lay_out(x, first, n, plan, window, laid)
        source, target = (
            laid.address if laid else image_at(x, first),
            sums.address if sums else image_at(out, first),
        )
        # for each image and group: (O/groups, terms) @ (terms, places)
        g = factors(tile, weight, source, plan.offsets, target, rows, places, places)
        apart = {
            "a_matrix": rows * plan.offsets.size,
            "x_matrix": inputs * plan.plane,
            "out_matrix": rows * places,
        }
        # turns: all images share the weights, so after the last group comes the first again
        gemm.gemm(tile, g._replace(turns=groups, **apart), n * groups)
        if sums:
            cut_out(sums, bias, out, first, n, (outputs * places, places, plan.columns))


def _lay_out_columns(
    x: Tensor, weight: int, bias: Tensor | None, out: Tensor, window: Window, groups: int
) -> None:
    """`convolve` by a product with a matrix that has every window of `per_chunk` images as a column
    (im2col)."""
    (images, channels, _, _), (_, outputs, height, width) = x.shape, out.shape
    rows, terms, plane = outputs // groups, channels // groups * prod(window.kernel), height * width
    per_chunk = min(
        images, max(1, windows.CHUNK // (x.itemsize * plane * (terms * groups + outputs)))
    )
    places = per_chunk * plane
    matrix = Scratch(groups * terms * places, x.dtype)  # (groups, terms, places)
    sums = Scratch(outputs * places, x.dtype)  # (groups, O/groups, places)
    for first, n in chunks(images, per_chunk):
        fill_columns(x, first, n, (height, width), window, matrix, places)
        batched(x.dtype, weight, matrix.address, sums.address, (groups, rows, terms, places))
        cut_out(sums, bias, out, first, n, (plane, places, width))
