"""Mean and variance of rows and columns (`aten/src/ATen/native/cpu/ReduceOpsKernel.cpp`:
`std_var_kernel`).

Two passes, for the mean and then for the squared distances from it, in double precision. They go
over a chunk at a time, which stays in the cache between them, and the chunks' moments are combined
(Chan, Golub and LeVeque), with M2 the sum of squared distances from the mean:

    M2 of all = the sum of M2 of the chunks + the sum of n_chunk * (mean_chunk - mean)^2

How the real one differs: one pass over everything by Welford's recurrence, with a division for each
element.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals.core import dtype as dt
from internals.core.tensor_impl import Array, Tensor
from internals.machine_code import kernel, template
from internals.machine_code.records import Elements

from .entries import run
from .row_functions import chunk_of_row, identity, row_mean, row_squared_distances, tile_of_columns
from .rows import WORD, address, as_rows

THRESHOLD = 1 << 14  # from how many elements on this is faster than numpy
GRAIN = 1 << 17  # how many elements are worth a thread
CHUNK = 1 << 13  # elements of a chunk of a row
BLOCK = 128  # rows of a chunk of columns
TILE = 512  # columns that are done side by side

W = template("W")  # the dtype of the arithmetic, float64
term = template("term")  # `row_sum` maps elements by it: here the identity


@kernel
def moments_of_rows(
    begin: int,
    end: int,
    x: Elements,
    means: Elements,
    squares: Elements,
    n: int,
    chunk: int,
    chunks: int,
    outer_stride: int,
) -> None:
    """Means and M2 of rows of n elements, both (outer, chunks). One item of work is a chunk."""
    for unit in range(begin, end):
        start, count = chunk_of_row(unit, n, chunk, chunks, outer_stride)
        means[unit] = row_mean(x, start, count, 1)
        squares[unit] = row_squared_distances(x, start, count, 1, means[unit])


@kernel
def moments_of_columns(
    begin: int,
    end: int,
    x: Elements,
    means: Elements,
    squares: Elements,
    n: int,
    inner: int,
    chunk: int,
    chunks: int,
    tiles: int,
    outer_stride: int,
    stride: int,
) -> None:
    """Means and M2 of columns of x (outer, n, inner), both (outer, chunks, inner). One item of work
    is a tile of the columns of a chunk."""
    for unit in range(begin, end):
        part, left, right = tile_of_columns(unit, inner, TILE, tiles)
        o = part // chunks
        top = (part - o * chunks) * chunk
        bottom = min(top + chunk, n)
        target = part * inner
        for j in range(left, right):
            means[target + j] = W(0)
            squares[target + j] = W(0)
        for i in range(top, bottom):
            row = o * outer_stride + i * stride
            for j in range(left, right):
                means[target + j] += W(x[row + j])
        for j in range(left, right):
            means[target + j] /= W(bottom - top)
        # the second pass, while the chunk is still in the cache
        for i in range(top, bottom):
            row = o * outer_stride + i * stride
            for j in range(left, right):
                distance = W(x[row + j]) - means[target + j]
                squares[target + j] += distance * distance


def moments(x: Tensor, dims: tuple[int, ...]) -> Any:
    """(mean, the sum of squared distances from it) over `dims`, as arrays of float64 without these
    dimensions. None if numpy has to do it.
    """
    if x.dtype not in (dt.float32, dt.float64):
        return None
    a, rows = as_rows(x, dims)
    n, inner = rows.n, rows.inner
    chunk = min(n, CHUNK if inner == 1 else BLOCK)
    chunks, tiles = -(-n // chunk), -(-inner // TILE)
    if inner == 1:
        bound = moments_of_rows.bind(W=np.float64, term=identity)
        sizes: tuple[int, ...] = (n, chunk, chunks, rows.outer_stride)
    else:
        bound = moments_of_columns.bind(W=np.float64)
        sizes = n, inner, chunk, chunks, tiles, rows.outer_stride, rows.stride
    # of each chunk; rows are the case of inner = 1
    mean, m2 = np.empty((rows.outer, chunks, inner)), np.empty((rows.outer, chunks, inner))
    addresses = address(a), address(mean), address(m2)
    units, grain = rows.outer * chunks * tiles, max(1, GRAIN // (chunk * min(TILE, inner)))
    words = f"{WORD[a.dtype.char]} *f8 *f8"
    if not run(bound, words, units, grain, *addresses, *sizes):
        return None
    if chunks > 1:
        mean, m2 = _combined(mean, m2, n, chunk)
    return rows.result(mean), rows.result(m2)


def _combined(means: Array, squares: Array, n: int, chunk: int) -> Any:
    """The moments of all n elements from those of chunks (outer, chunks, inner), as (outer, inner).
    The last chunk may be shorter.
    """
    counts = np.full((means.shape[1], 1), float(chunk))
    counts[-1] = n - chunk * (means.shape[1] - 1)
    mean = (means * counts).sum(1) / n
    distances = means - mean[:, None]
    return mean, squares.sum(1) + (counts * distances * distances).sum(1)
