"""`softmax`, `log_softmax`, their gradients, and `logsumexp` of rows and columns
(`aten/src/ATen/native/cpu/SoftMaxKernel.cpp`).

A row is read three times: for its largest element, for the exponentials and their sum, and for the
result. It stays in the cache meanwhile, so memory is read and written once. Columns are read from
memory three times, but from end to end.

How the real one differs: vectors of bfloat16 and half as well; otherwise the same three passes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals.core.tensor_impl import Array, Tensor, backed_ptr
from internals.machine_code import kernel, template
from internals.machine_code.records import Elements
from internals.machine_code.settings import settings

from . import row_functions
from .entries import run
from .row_functions import (
    chunk_of_row,
    columns_exp_sum,
    columns_largest,
    identity,
    keys_for,
    row_exp_sum,
    row_largest,
    tile_of_columns,
)
from .rows import WORD, address, as_rows, lines_of, tiles_of

THRESHOLD = 1 << 14  # from how many elements on this is faster than numpy
SHORT = 16  # rows shorter than this are not worth a loop each: numpy turns them into columns
GRAIN = 1 << 15  # how many elements are worth a thread
CHUNK = 1 << 12  # elements of a row that logsumexp takes at once

T = template("T")  # the dtype
W = template("W")  # the dtype of sums, float64
row_result = template("row_result")  # the function of a row, see `FORWARD` and `BACKWARD`
columns_result = template("columns_result")


@kernel
def results_of_rows(begin: int, end: int, x: Elements, out: Elements, n: int) -> None:
    """softmax or log_softmax of the rows of x (rows, n)."""
    for row in range(begin, end):
        row_result(x, out, row * n, n, 1)


@kernel
def results_of_columns(
    begin: int,
    end: int,
    x: Elements,
    out: Elements,
    largest: Elements,
    totals: Elements,
    n: int,
    inner: int,
    tile: int,
    tiles: int,
) -> None:
    """softmax or log_softmax of the columns of x (outer, n, inner); `largest` and `totals` are
    (outer, inner). One item of work is a tile of columns."""
    for unit in range(begin, end):
        o, left, right = tile_of_columns(unit, inner, tile, tiles)
        columns_result(x, out, largest, totals, o * inner, o * n * inner, n, inner, left, right)


@kernel
def gradients_of_rows(
    begin: int, end: int, g: Elements, y: Elements, out: Elements, n: int
) -> None:
    """The gradients of x (rows, n), given those of the results y."""
    for row in range(begin, end):
        row_result(g, y, out, row * n, n, 1)


@kernel
def gradients_of_columns(
    begin: int,
    end: int,
    g: Elements,
    y: Elements,
    out: Elements,
    totals: Elements,
    n: int,
    inner: int,
    tile: int,
    tiles: int,
) -> None:
    """The gradients of x (outer, n, inner), given those of the results y. One item of work is a
    tile of columns."""
    for unit in range(begin, end):
        o, left, right = tile_of_columns(unit, inner, tile, tiles)
        columns_result(g, y, out, totals, o * inner, o * n * inner, n, inner, left, right)


@kernel
def exp_sums_of_rows(
    begin: int,
    end: int,
    x: Elements,
    largest: Elements,
    totals: Elements,
    n: int,
    chunk: int,
    chunks: int,
    outer_stride: int,
) -> None:
    """The largest element of each chunk of rows, and the sum of exp(x - largest), both (outer,
    chunks). One item of work is a chunk."""
    for unit in range(begin, end):
        start, count = chunk_of_row(unit, n, chunk, chunks, outer_stride)
        value = row_largest(x, start, count, 1)
        largest[unit] = value
        # not shifted by an infinity: inf - inf would be NaN
        totals[unit] = row_exp_sum(x, start, count, 1, value if abs(value) < T(np.inf) else T(0))


@kernel
def exp_sums_of_columns(
    begin: int,
    end: int,
    x: Elements,
    largest: Elements,
    shifts: Elements,
    totals: Elements,
    n: int,
    inner: int,
    tile: int,
    tiles: int,
    outer_stride: int,
    stride: int,
) -> None:
    """`exp_sums_of_rows` for columns of x (outer, n, inner): `largest`, `shifts` and `totals` are
    (outer, inner). One item of work is a tile of columns."""
    for unit in range(begin, end):
        o, left, right = tile_of_columns(unit, inner, tile, tiles)
        here, top = o * inner, o * outer_stride
        columns_largest(x, largest, here, top, n, stride, left, right)
        # not shifted by an infinity: inf - inf would be NaN
        for j in range(here + left, here + right):
            shifts[j] = largest[j] if abs(largest[j]) < T(np.inf) else T(0)
        columns_exp_sum(x, shifts, totals, here, top, n, stride, left, right)


FORWARD = {  # (of a row, of a tile of columns)
    "softmax": (row_functions.row_softmax, row_functions.columns_softmax),
    "log_softmax": (row_functions.row_log_softmax, row_functions.columns_log_softmax),
}
BACKWARD = {
    "softmax": (row_functions.row_softmax_backward, row_functions.columns_softmax_backward),
    "log_softmax": (
        row_functions.row_log_softmax_backward,
        row_functions.columns_log_softmax_backward,
    ),
}


def softmax(name: str, x: Tensor, out: Tensor, dim: int) -> bool:
    """Fill `out` with the softmax or log_softmax of `x` along `dim`; both are contiguous. False if
    numpy has to do it.
    """
    outer, n, inner = lines_of(x.shape, dim)
    if inner == 1 and n < SHORT and settings.threshold is None:
        return False
    word, of_row, of_columns = WORD[x.dtype.np.char], *FORWARD[name]
    types = {"T": x.dtype.np.type, "W": np.float64}
    if inner == 1:
        bound = results_of_rows.bind(row_result=of_row).bind(**types, **keys_for(types["T"]))
        grain = max(1, GRAIN // n)
        return run(bound, f"{word} {word}", outer, grain, backed_ptr(x), backed_ptr(out), n)
    # columns, (outer, n, inner)
    largest, totals = np.empty((outer, inner), x.dtype.np), np.empty((outer, inner))
    tile, tiles = tiles_of(outer, inner)
    addresses = backed_ptr(x), backed_ptr(out), address(largest), address(totals)
    return run(
        results_of_columns.bind(columns_result=of_columns, **types),
        f"{word} {word} {word} *f8",
        outer * tiles, max(1, GRAIN // (n * tile)), *addresses, n, inner, tile, tiles,
    )  # fmt: skip


def softmax_backward(name: str, g: Tensor, y: Tensor, out: Tensor, dim: int) -> bool:
    """Fill `out` with the gradient of the argument, given the gradient g of the result `y`. All are
    contiguous. False if numpy has to do it.
    """
    outer, n, inner = lines_of(y.shape, dim)
    word, of_row, of_columns = WORD[y.dtype.np.char], *BACKWARD[name]
    types = {"T": y.dtype.np.type, "W": np.float64}
    if inner == 1:
        if name == "log_softmax":  # only its gradient adds up a row by `row_sum`, which has a term
            types["term"] = identity
        bound = gradients_of_rows.bind(row_result=of_row).bind(**types)
        pointers = backed_ptr(g), backed_ptr(y), backed_ptr(out)
        return run(bound, f"{word} {word} {word}", outer, max(1, GRAIN // n), *pointers, n)
    totals, (tile, tiles) = np.empty((outer, inner)), tiles_of(outer, inner)
    addresses = backed_ptr(g), backed_ptr(y), backed_ptr(out), address(totals)
    return run(
        gradients_of_columns.bind(columns_result=of_columns, **types),
        f"{word} {word} {word} *f8",
        outer * tiles, max(1, GRAIN // (n * tile)), *addresses, n, inner, tile, tiles,
    )  # fmt: skip


def logsumexp(t: Tensor, dims: tuple[int, ...]) -> Any:
    """log of the sum of exp(t) over `dims`, as an array without these dimensions. None if numpy has
    to do it.
    """
    x, rows = as_rows(t, dims)
    n, inner = rows.n, rows.inner
    word, types = WORD[x.dtype.char], {"T": x.dtype.type, "W": np.float64}
    if inner > 1:
        words = f"{word} {word} {word} *f8"
        largest, shifts = (
            np.empty((rows.outer, inner), x.dtype),
            np.empty((rows.outer, inner), x.dtype),
        )
        totals, (tile, tiles) = np.empty((rows.outer, inner)), tiles_of(rows.outer, inner)
        units, grain = rows.outer * tiles, max(1, GRAIN // (n * tile))
        with_shifts = address(x), address(largest), address(shifts), address(totals)
        sizes: tuple[int, ...] = (n, inner, tile, tiles, rows.outer_stride, rows.stride)
        if not run(exp_sums_of_columns.bind(**types), words, units, grain, *with_shifts, *sizes):
            return None
        return rows.result(_logs(largest, totals))
    bound = exp_sums_of_rows.bind(**types, **keys_for(types["T"]))
    chunk = min(n, CHUNK)
    chunks = -(-n // chunk)
    largest, totals = np.empty((rows.outer, chunks), x.dtype), np.empty((rows.outer, chunks))
    addresses = address(x), address(largest), address(totals)
    units, sizes = rows.outer * chunks, (n, chunk, chunks, rows.outer_stride)
    words, grain = f"{word} {word} *f8", max(1, GRAIN // chunk)
    if not run(bound, words, units, grain, *addresses, *sizes):
        return None
    if chunks > 1:
        # the chunks' sums have different shifts: scale each to the largest element of all
        of_all = np.maximum.reduce(largest, 1, keepdims=True)
        shift = np.where(np.isfinite(largest), largest, 0) - np.where(
            np.isfinite(of_all), of_all, 0
        )
        largest, totals = of_all, (totals * np.exp(shift.astype(np.float64))).sum(1, keepdims=True)
    return rows.result(_logs(largest, totals))


def _logs(largest: Array, totals: Array) -> Any:
    """log(total) + shift; the shift was the largest element, or 0 where that is infinite or NaN."""
    with np.errstate(all="ignore"):
        return np.log(totals) + np.where(np.isfinite(largest), largest, 0)
