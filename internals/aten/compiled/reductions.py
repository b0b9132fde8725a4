"""Sums, means, products and norms of rows and columns (`aten/src/ATen/native/cpu/SumKernel.cpp`,
`ReduceOpsKernel.cpp`).

A long row is cut into chunks of a fixed length. All threads add up chunks, and the sums of the
chunks are added up as a row again. So the result is the same for any number of threads. Columns are
added up side by side: the sums of a tile of columns stay in the first-level cache while its rows
pass by, four at a time. They too are added up in chunks, of `BLOCK` rows.

How the real one differs: `cascade_sum` has four levels in one loop, and adds float32 in single
precision.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from internals.core import dtype as dt
from internals.core.geometry import Geometry, contiguous_geometry
from internals.core.tensor_impl import Array, Tensor, array, backed_ptr, empty
from internals.machine_code import inline, kernel, template
from internals.machine_code.records import Elements
from internals.machine_code.settings import settings

from .entries import machine_code_of
from .row_functions import (
    chunk_of_row,
    identity,
    magnitude,
    row_product,
    row_sum,
    square,
    tile_of_columns,
)
from .rows import WORD, Rows, address, as_rows, rows_of

if TYPE_CHECKING:
    from internals.machine_code.language import Inline

THRESHOLD = 1 << 15  # from how many elements on this is faster than numpy
GRAIN = 1 << 18  # how many elements are worth a thread
CHUNK = 1 << 14  # how many elements of a row are added up at once
BLOCK = 128  # rows of a chunk of columns
TILE = 1024  # columns that are added up side by side
FEW = 32  # with fewer rows, numpy adds up columns as quickly

O = template("O")  # noqa: E741 - the dtype of the result
W = template("W")  # the wide dtype that sums are kept in
term = template("term")  # maps each element before it is added: identity, square, magnitude
row_total = template("row_total")  # the sum or product of a row
finish = template("finish")  # maps the total: divided, root, as_it_is


@kernel
def totals_of_rows(
    begin: int,
    end: int,
    x: Elements,
    out: Elements,
    n: int,
    chunk: int,
    chunks: int,
    outer_stride: int,
    divisor: float,
) -> None:
    """The totals of rows of n elements, (outer, chunks). One item of work is a chunk of a row."""
    for unit in range(begin, end):
        start, count = chunk_of_row(unit, n, chunk, chunks, outer_stride)
        out[unit] = O(finish(row_total(x, start, count, 1), divisor))


@kernel
def totals_of_columns(
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
    """The totals of columns of x (outer, n, inner), as (outer, chunks, inner). One item of work is
    a tile of the columns of a chunk of rows."""
    for unit in range(begin, end):
        part, left, right = tile_of_columns(unit, inner, TILE, tiles)
        o = part // chunks
        top = (part - o * chunks) * chunk
        bottom = min(top + chunk, n)
        target = part * inner
        for j in range(left, right):
            out[target + j] = W(0)
        fours = top + (bottom - top) // 4 * 4
        # four rows at a time: `out` is loaded and stored once for all four
        for i in range(top, fours, 4):
            row = o * outer_stride + i * stride
            for j in range(left, right):
                upper = term(W(x[row + j])) + term(W(x[row + stride + j]))
                lower = term(W(x[row + 2 * stride + j])) + term(W(x[row + 3 * stride + j]))
                out[target + j] += upper + lower
        for i in range(fours, bottom):
            row = o * outer_stride + i * stride
            for j in range(left, right):
                out[target + j] += term(W(x[row + j]))


@inline
def divided(total: float, divisor: float) -> Any:
    """The end of a mean."""
    return total / divisor


@inline
def as_it_is(total: float, divisor: float) -> Any:
    """The end of a sum or product; the divisor is not used."""
    return total


@inline
def root(total: float, divisor: float) -> Any:
    """The end of a norm of order 2; the divisor is not used."""
    return math.sqrt(total)


def adds_up(source: dt.dtype, result: dt.dtype) -> bool:
    """Whether the kernels may read elements of `source` for a result of dtype `result`, as if they
    had been converted first.
    """
    if source is result:
        return result in (dt.float32, dt.float64, dt.int64)
    return source is not dt.float16 and (
        result is dt.int64
        and source.category < dt.FLOATING
        or result is dt.float64
        and source.category < dt.COMPLEX
    )


def sums(x: Tensor, dims: tuple[int, ...], out: Tensor, mean_of: int = 0) -> bool:
    """Fill `out` with the sums over `dims`, divided by `mean_of` if that is not 0. False if numpy
    has to do it.
    """
    return _totals(
        x, dims, out, row_sum, identity, divided if mean_of else as_it_is, float(mean_of)
    )


def plan_of_sums(g: Geometry, dims: tuple[int, ...], result: dt.dtype, mean: bool) -> Plan | None:
    """The plan for sums or means over `dims`, to be run with addresses; None unless these are rows
    that lie in the order of the result."""
    rows = rows_of(g, dims)
    if rows is None or rows.inner > 1 or not rows.straight:
        return None
    return _plan(rows, g.dtype.np, result.np, row_sum, identity, divided if mean else as_it_is)


def products(x: Tensor, dims: tuple[int, ...], out: Tensor) -> bool:
    """Fill `out` with the products over `dims`. False if numpy has to do it, as for columns, at
    which it is quick."""
    return _totals(x, dims, out, row_product, identity, as_it_is, 0.0)


def norms(x: Tensor, dims: tuple[int, ...], out: Tensor, p: float) -> bool:
    """Fill `out` with the norms of order p, 1 or 2, over `dims`. False if numpy has to do it."""
    if p == 1:
        return _totals(x, dims, out, row_sum, magnitude, as_it_is, 0.0)
    return _totals(x, dims, out, row_sum, square, root, 0.0)


def _totals(
    t: Tensor,
    dims: tuple[int, ...],
    out: Tensor,
    total: Inline,
    each: Inline,
    finishing: Inline,
    divisor: float,
) -> bool:
    """Fill `out` with totals over `dims`: `each` maps every element, `total` adds up (or
    multiplies) a row, and `finishing` maps the total. False if numpy has to do it."""
    rows = rows_of(t._geometry, dims)
    # rows that lie in order: no array of numpy has to be made for them
    if rows is not None and rows.inner == 1 and rows.straight and out._geometry.is_contiguous:
        plan = _plan(rows, t.dtype.np, out.dtype.np, total, each, finishing)
        return plan is not None and plan.run(backed_ptr(t), backed_ptr(out), divisor)
    if rows is None and (parts := _innermost(t._geometry, dims)) is not None:
        return _in_two_steps(t, dims, parts, out, total, each, finishing, divisor)
    x, rows = as_rows(t, dims)
    if rows.inner > 1:
        few = rows.n < FEW and t.numel() >= THRESHOLD and settings.threshold is None
        found = (
            None
            if few or total is row_product
            else _columns(x, rows, _wide(out.dtype.np), each, finishing, divisor)
        )
    else:
        plan = _plan(rows, x.dtype, out.dtype.np, total, each, finishing)
        found = np.empty(rows.outer, out.dtype.np)
        found = (
            rows.result(found)
            if plan is not None and plan.run(address(x), address(found), divisor)
            else None
        )
    if found is not None:
        array(out)[...] = found.reshape(out.shape)
    return found is not None


class Plan(NamedTuple):
    """Rows in one step; or, if they are long, their chunks and then the chunks' totals."""

    # each step: entry, units, grain, (n, chunk, chunks, outer_stride)
    steps: tuple[tuple[Any, int, int, tuple[int, ...]], ...]
    parts: int  # how many totals of chunks lie between the steps
    wide: Any  # their dtype

    def run(self, x: int, out: int, divisor: float) -> bool:
        """Read rows at address x, write their totals to address `out`. Returns True."""
        if len(self.steps) > 1:
            entry, units, grain, numbers = self.steps[0]
            parts = np.empty(self.parts, self.wide)
            # from here on x is the address of the parts: they are what the last step reads
            entry.parallel(units, grain, x, x := address(parts), *numbers, divisor)
        entry, units, grain, numbers = self.steps[-1]
        entry.parallel(units, grain, x, out, *numbers, divisor)
        return True


@lru_cache(maxsize=1 << 10)
def _plan(
    rows: Rows, source: object, result: object, total: Inline, each: Inline, finishing: Inline
) -> Plan | None:
    """The plan for these rows; None where a kernel could not be compiled."""
    wide, n, outer = _wide(result), rows.n, rows.outer
    chunks = -(-n // CHUNK)
    if chunks == 1:
        entry = _entry(source, result, total, each, finishing)
        return entry and Plan(
            ((entry, outer, max(1, GRAIN // n), (n, n, 1, rows.outer_stride)),), 0, wide
        )
    first, second = (
        _entry(source, wide, total, each, as_it_is),
        _entry(wide, result, total, identity, finishing),
    )
    if first is None or second is None:
        return None
    # (outer, n) -> (outer, chunks) -> (outer,): only the second step finishes the totals
    steps = (
        (first, outer * chunks, GRAIN // CHUNK, (n, CHUNK, chunks, rows.outer_stride)),
        (second, outer, max(1, GRAIN // chunks), (chunks, chunks, 1, chunks)),
    )
    return Plan(steps, outer * chunks, wide)


def _entry(source: Any, result: Any, total: Inline, each: Inline, finishing: Inline) -> Any:
    """The machine code of `totals_of_rows` for these numpy dtypes; None if there is none."""
    bound = totals_of_rows.bind(
        O=result.type, W=_wide(result).type, row_total=total, term=each, finish=finishing
    )
    return machine_code_of(bound, f"{WORD[source.char]} {WORD[result.char]}")


def _in_two_steps(
    t: Tensor, dims: tuple[int, ...], inner: tuple[int, ...], out: Tensor, total: Inline,
    each: Inline, finishing: Inline, divisor: float,
) -> bool:  # fmt: skip
    """Reduce `inner` first, the dimensions that lie innermost in memory, then the others of
    `dims`."""
    sizes = tuple(1 if d in inner else size for d, size in enumerate(t.shape))
    parts: Tensor = empty(
        contiguous_geometry(sizes, dt.float64 if out.dtype.is_floating_point else dt.int64)
    )
    others = tuple(d for d in dims if d not in inner)
    first = _totals(t, inner, parts, total, each, as_it_is, 0.0)
    return first and _totals(parts, others, out, total, identity, finishing, divisor)


@lru_cache(maxsize=1 << 10)
def _innermost(g: Geometry, dims: tuple[int, ...]) -> tuple[int, ...] | None:
    """Those of `dims` that are innermost in memory, if they can be reduced before the others and
    leave at most a quarter of the elements; else None.
    """
    inner: list[int] = []
    for d in sorted(
        (d for d in range(len(g.sizes)) if g.sizes[d] != 1), key=lambda d: g.strides[d]
    ):
        if d not in dims:
            break
        inner.append(d)
    n = prod(g.sizes[d] for d in inner)
    return (
        tuple(inner)
        if n >= 4 and len(inner) < len(dims) and rows_of(g, tuple(inner)) is not None
        else None
    )


def _columns(
    x: Array, rows: Rows, wide: Any, each: Inline, finishing: Inline, divisor: float
) -> Any:
    """The totals of columns, as a new array; None where the kernel could not be compiled."""
    n, inner, outer_stride, stride = rows.n, rows.inner, rows.outer_stride, rows.stride
    # each turn leaves a row for every BLOCK rows, until one row is left
    while True:
        bound = totals_of_columns.bind(W=wide.type, term=each)
        entry = machine_code_of(bound, f"{WORD[x.dtype.char]} {WORD[wide.char]}")
        if entry is None:
            return None
        chunks, tiles = -(-n // BLOCK), -(-inner // TILE)
        out = np.empty((rows.outer, chunks, inner), wide)
        units, grain = (
            rows.outer * chunks * tiles,
            max(1, GRAIN // (min(BLOCK, n) * min(TILE, inner))),
        )
        entry.parallel(
            units,
            grain,
            address(x),
            address(out),
            n,
            inner,
            BLOCK,
            chunks,
            tiles,
            outer_stride,
            stride,
        )
        if chunks == 1:
            return rows.result(FINISH[finishing](out, divisor))
        # next, the chunks' totals: (outer, chunks, inner), which are added up as they are
        x, n, each, outer_stride, stride = out, chunks, identity, chunks * inner, inner


def _wide(d: Any) -> Any:
    """The dtype that sums are kept in: float64 for floats, int64 for integers and bools."""
    return np.dtype(np.float64 if d.kind == "f" else np.int64)


FINISH: dict[Any, Callable[[Any, float], Any]] = {  # the same for an array of totals
    divided: lambda totals, divisor: totals / divisor,
    root: lambda totals, divisor: np.sqrt(totals),
    as_it_is: lambda totals, divisor: totals,
}
