"""Kernels that rearrange elements: flip, roll, tril and triu, and the gradient of unfold
(`TensorTransformations.cu`, `TriangularOps.cu`, `UnfoldBackwardKernel.cu` under
`aten/src/ATen/native/cuda`).

There is one thread for each element of the result, which works out where it comes from. So writes
go to neighbouring addresses, and only reads are scattered.

How the real one differs: `flip` is a copy by negative strides, inside TensorIterator.
"""

from __future__ import annotations

from internals.machine_code.records import Element, Elements

from ..language import cuda, kernel, template
from .copy import offset_of, split

T = template("T")


@kernel
def copy_from(
    target: Elements,
    source: Elements,
    n: int,
    sizes: tuple[int, ...],
    target_strides: tuple[int, ...],
    source_strides: tuple[int, ...],
    start: int,
):
    """A copy that begins at element `start` of the source, whose strides may be negative: `flip`
    begins at the last element and reads backwards.
    """
    i = cuda.grid(1)
    while i < n:
        target[offset_of(i, sizes, target_strides)] = source[
            start + offset_of(i, sizes, source_strides)
        ]
        i += cuda.gridsize(1)


@kernel
def roll(
    out: Elements,
    source: Elements,
    n: int,
    sizes: tuple[int, ...],
    source_strides: tuple[int, ...],
    shifts: Elements,
):
    """Index k of a dimension is read from index (k - shift) mod size. `shifts` has one for each
    dimension, from 0 to size - 1; `out` is contiguous.
    """
    i = cuda.grid(1)
    while i < n:
        rest = i
        at = 0
        for k in range(len(sizes)):
            d = len(sizes) - 1 - k
            rest, index = split(rest, sizes[d])
            index -= shifts[d]
            if index < 0:
                index += sizes[d]
            at += index * source_strides[d]
        out[i] = source[at]
        i += cuda.gridsize(1)


@kernel
def triangle(
    out: Elements,
    source: Elements,
    n: int,
    sizes: tuple[int, ...],
    out_strides: tuple[int, ...],
    source_strides: tuple[int, ...],
    diagonal: int,
    lower: int,
):
    """`tril` (if `lower`) or `triu` of each matrix of (..., rows, columns): the elements up to
    `diagonal`, or from it on, and zeros elsewhere.
    """
    columns = sizes[len(sizes) - 1]
    rows = sizes[len(sizes) - 2]
    i = cuda.grid(1)
    while i < n:
        line, column = split(i, columns)
        _, row = split(line, rows)
        distance = column - row  # 0 on the main diagonal, positive above it
        keep = distance <= diagonal if lower else distance >= diagonal
        to = offset_of(i, sizes, out_strides)
        if keep:
            out[to] = source[offset_of(i, sizes, source_strides)]
        else:
            out[to] = T(0)
        i += cuda.gridsize(1)


@kernel
def unfold_backward(
    result: Elements,
    grad: Elements,
    n: int,
    sizes: tuple[int, ...],
    grad_strides: tuple[int, ...],
    dim: int,
    windows: Element,
    size: int,
    step: int,
    along: int,
    within: int,
):
    """For each element of the input, the sum of the gradients of the windows that contain it. There
    are `windows` along dimension `dim`, `size` wide and `step` apart.

    `along` and `within` are the strides of `grad` from window to window, and inside a window.
    """
    i = cuda.grid(1)
    while i < n:
        rest = i
        place = 0
        at = 0
        for k in range(len(sizes)):
            d = len(sizes) - 1 - k
            rest, index = split(rest, sizes[d])
            if d == dim:
                place = index
            else:
                at += index * grad_strides[d]
        # window w holds positions w * step to w * step + size - 1: so the windows with `place` go
        # from ceil((place - size + 1) / step) to floor(place / step)
        first = 0
        if place >= size:
            first, _ = split(place - size + step, step)
        last, _ = split(place, step)
        last = min(last, windows - 1)
        total = T(0)
        for w in range(first, last + 1):
            total = T(total + T(grad[at + w * along + (place - w * step) * within]))
        result[i] = total
        i += cuda.gridsize(1)
