"""The largest and smallest elements of rows and columns, and where they are
(`aten/src/ATen/native/cpu/TensorCompareKernel.cpp`).

A row is searched by `row_largest`; a long one is cut into chunks. For columns, one row of best
values, and one of their indices, is compared with row after row. The index of the best element of a
row is left to numpy, which finds it with vector instructions of its own.

How the real one differs: one loop carries value and index; torch.max along a dimension does not use
vectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals.core.tensor_impl import Array, Tensor, array
from internals.machine_code import kernel, template
from internals.machine_code.parallel import get_num_threads
from internals.machine_code.records import Elements
from internals.machine_code.settings import settings

from .entries import run
from .row_functions import (
    chunk_of_row,
    keys_for,
    larger,
    row_largest,
    row_smallest,
    smaller,
    tile_of_columns,
)
from .rows import WORD, Rows, address, as_rows, rows_of, tiles_of

THRESHOLD = 1 << 16  # from how many elements on this is faster than numpy
GRAIN = 1 << 18  # how many elements are worth a thread
CHUNK = 1 << 14  # how many elements of a row are searched at once
TILE = 1024  # columns that are compared side by side
FEW = 16  # with fewer columns, numpy finds their indices as quickly
SPLIT = 1 << 9  # rows of a chunk of columns

T = template("T")  # the dtype
key = template("key")  # how elements become integers that order as they do, and back
from_key = template("from_key")
row_extreme = template("row_extreme")  # row_largest or row_smallest
better = template("better")  # larger or smaller


@kernel
def extremes_of_rows(
    begin: int,
    end: int,
    x: Elements,
    out: Elements,
    n: int,
    chunk: int,
    chunks: int,
    outer_stride: int,
) -> None:
    """The extremes of rows, (outer, chunks). One item of work is a chunk of a row."""
    for unit in range(begin, end):
        start, count = chunk_of_row(unit, n, chunk, chunks, outer_stride)
        out[unit] = row_extreme(x, start, count, 1)


@kernel
def extremes_of_columns(
    begin: int,
    end: int,
    x: Elements,
    out: Elements,
    n: int,
    inner: int,
    chunk: int,
    chunks: int,
    tiles: int,
    outer_stride: int,
    stride: int,
) -> None:
    """The extremes of columns of x (outer, n, inner), as (outer, chunks, inner). One item of work
    is a tile of the columns of a chunk."""
    for unit in range(begin, end):
        part, left, right = tile_of_columns(unit, inner, TILE, tiles)
        o = part // chunks
        top = (part - o * chunks) * chunk
        target = part * inner
        # the first row is the best so far; then one row after the other
        for j in range(left, right):
            out[target + j] = x[o * outer_stride + top * stride + j]
        for i in range(top + 1, min(top + chunk, n)):
            row = o * outer_stride + i * stride
            for j in range(left, right):
                out[target + j] = (
                    x[row + j] if better(x[row + j], out[target + j]) else out[target + j]
                )


@kernel
def extremes_of_columns_with_indices(
    begin: int,
    end: int,
    x: Elements,
    out: Elements,
    indices: Elements,
    n: int,
    inner: int,
    tile: int,
    tiles: int,
    outer_stride: int,
    stride: int,
) -> None:
    """The extremes of columns of x (outer, n, inner) and their row numbers, both (outer, inner).
    One item of work is a tile of columns."""
    for unit in range(begin, end):
        o, left, right = tile_of_columns(unit, inner, tile, tiles)
        target = o * inner
        for j in range(left, right):
            out[target + j] = x[o * outer_stride + j]
            indices[target + j] = 0
        for i in range(1, n):
            row = o * outer_stride + i * stride
            for j in range(left, right):
                # choices rather than branches, so that this becomes vector instructions
                take = better(x[row + j], out[target + j])
                out[target + j] = x[row + j] if take else out[target + j]
                indices[target + j] = i if take else indices[target + j]


def extremes(t: Tensor, dims: tuple[int, ...], largest: bool) -> Any:
    """The largest (or smallest) elements over `dims`, as an array without these dimensions. None if
    numpy has to do it."""
    if t.dtype.np.char not in WORD:
        return None
    x, rows = as_rows(t, dims)
    if rows.inner > 1:
        return _of_columns(x, rows, largest)
    if rows.outer == 1 and get_num_threads() == 1 and settings.threshold is None:
        return None  # numpy searches a single row as quickly
    chunks = -(-rows.n // CHUNK)
    if chunks > 1:  # the chunks' extremes, (outer, chunks), are rows to be searched again
        x, rows = _of_rows(x, rows, chunks, largest), rows._replace(n=chunks, outer_stride=chunks)
    out = None if x is None else _of_rows(x, rows, 1, largest)
    return None if out is None else rows.result(out)


def extremes_with_indices(t: Tensor, dim: int, largest: bool) -> Any:
    """(values, indices) along `dim`, as arrays without it, where these are columns. None if numpy
    has to do it, as for rows, at which it is quick.
    """
    if t.dtype.np.char not in WORD:
        return None
    rows = rows_of(t._geometry, (dim,))
    if rows is None or rows.inner == 1 or rows.inner < FEW and settings.threshold is None:
        return None
    found = _columns_with_indices(array(t), rows, largest)
    return None if found is None else tuple(rows.result(a) for a in found)


def _of_rows(x: Array, rows: Rows, chunks: int, largest: bool) -> Any:
    """The extremes of `chunks` chunks of each row, in one dimension; None without a kernel."""
    word = WORD[x.dtype.char]
    out = np.empty(rows.outer * chunks, x.dtype)
    chunk = CHUNK if chunks > 1 else rows.n
    units, grain = rows.outer * chunks, max(1, GRAIN // chunk)
    sizes = rows.n, chunk, chunks, rows.outer_stride
    bound = extremes_of_rows.bind(**_row(x, largest))
    done = run(bound, f"{word} {word}", units, grain, address(x), address(out), *sizes)
    return out if done else None


def _of_columns(x: Array, rows: Rows, largest: bool) -> Any:
    """The extremes of columns; None where the kernel could not be compiled."""
    word = WORD[x.dtype.char]
    n, inner, outer_stride, stride = rows.n, rows.inner, rows.outer_stride, rows.stride
    bound, words = extremes_of_columns.bind(better=_better(largest)), f"{word} {word}"
    while True:  # each turn leaves a row for every SPLIT rows, until one row is left
        chunk = min(n, SPLIT)
        chunks, tiles = -(-n // chunk), -(-inner // TILE)
        out = np.empty((rows.outer, chunks, inner), x.dtype)
        units, grain = rows.outer * chunks * tiles, max(1, GRAIN // (chunk * min(TILE, inner)))
        sizes = n, inner, chunk, chunks, tiles, outer_stride, stride
        if not run(bound, words, units, grain, address(x), address(out), *sizes):
            return None
        if chunks == 1:
            return rows.result(out)
        x, n, outer_stride, stride = out, chunks, chunks * inner, inner


def _columns_with_indices(x: Array, rows: Rows, largest: bool) -> Any:
    """(values, indices) of columns, both (outer, inner); None without a kernel."""
    word, n, inner = WORD[x.dtype.char], rows.n, rows.inner
    bound = extremes_of_columns_with_indices.bind(better=_better(largest))
    values, indices = (
        np.empty((rows.outer, inner), x.dtype),
        np.empty((rows.outer, inner), np.int64),
    )
    tile, tiles = tiles_of(rows.outer, inner)
    grain = max(1, GRAIN // (n * tile))
    addresses = address(x), address(values), address(indices)
    units, sizes = rows.outer * tiles, (n, inner, tile, tiles, rows.outer_stride, rows.stride)
    done = run(bound, f"{word} {word} *i8", units, grain, *addresses, *sizes)
    return (values, indices) if done else None


def _better(largest: bool) -> Any:
    return larger if largest else smaller


def _row(x: Array, largest: bool) -> dict[str, Any]:
    """The template parameters of `extremes_of_rows`, for `bind`."""
    number = np.uint8 if x.dtype.char == "?" else x.dtype.type
    return {
        "T": number,
        **keys_for(number),
        "row_extreme": row_largest if largest else row_smallest,
    }
