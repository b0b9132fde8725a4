"""Matrix products: `gemm`, `bmm` for many small matrices, and `dot` with a transposed matrix.

The inner loops and their tiles are in `gemm_code`. `gemm` finds the rows of its second matrix by a
table of offsets, so that this matrix need not be laid out in memory:

    out[r, c] = sum over k of a[r, k] * x[offsets[k] + c]

With `offsets[k] = k * columns` that is the ordinary product. A convolution is the same sum with
another table: for an image with a border of zeros, row k = (channel, kernel row, kernel column) of
the matrix of windows is the image itself, read from a place further on. So the windows need not be
laid out as columns: the product reads each of them where it lies.

`bmm` does the products of a batch as one job, cut into rows of tiles. BLAS multiplies one pair of
matrices after the other, and prepares each product as if it were a large one. Its threads wait by
spinning, as those of `machine_code.pool` do, so each pool takes the processors from the other. The
numbers in a row of the second matrix must be neighbours in memory. Where those in a column are
instead, as in q @ k.T, it is copied first, which costs little beside the product if there are many
rows.

`dot` serves `linear` with few rows: both matrices have the numbers that are multiplied in one
piece, so nothing has to be copied. It loads a vector each from four rows of x and six of w, and
multiplies every pair. BLAS begins by transposing w, which for few rows of x takes longer than the
product itself.

How the real one differs: MKL and oneDNN copy both matrices into the order in which their loops read
them, and block the sum over k for the first-level cache. `bmm` calls MKL's `gemm_batched`, and has
a plain loop for less than 400 multiplications (`aten/src/ATen/native/LinearAlgebra.cpp`).
"""

from __future__ import annotations

from functools import cache as once, lru_cache
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from internals.core.dtype import dtype
from internals.core.geometry import Geometry
from internals.core.tensor_impl import Tensor, backed_ptr
from internals.machine_code.entry import Entry
from internals.machine_code.settings import settings, use_compiled

from .copying import plan_copy
from .entries import FLOATS, compiles
from .registers import register_for, vector_registers
from .scratch import Scratch, Table

if TYPE_CHECKING:
    from .gemm_code import DotTile, Gemm, Tile

BLOCK = 4  # tiles side by side that are computed before the next rows are
GRAIN = 1 << 17  # the fewest multiplications of a batch that are worth a thread of their own
MOST_BYTES = 1 << 20  # of a second matrix that is still quickly at hand when the next rows need it
MOST_TERMS = 1 << 9  # of a sum; BLAS adds up more of them in pieces, which is quicker
WORTH_COPYING = 4  # rows: for fewer it costs more than the product

DOT_WORTH_IT = 1 << 15  # elements of w
# multiplications: for fewer OpenBLAS has a loop of its own that does not copy either
DOT_LEAST_WORK = 1 << 20
DOT_LEAST_TERMS = 128  # so that adding up the numbers of a vector counts little
# for one row BLAS has a loop that does not copy (gemv); more rows than these are worth its copy
DOT_ROWS = range(2, 129)
# of x, which is read once for every six rows of w and has to stay in the cache
DOT_MOST_BYTES = 1 << 19
DOT_GRAIN = 1 << 18  # multiplications that are worth a thread


def gemm(tile: Tile, g: Gemm, products: int = 1) -> None:
    """Compute products, or add them to `out` (with `g.adding`), on all threads.

    With `adding` the rows must be a multiple of the tile's height: a row done twice would be added
    twice."""
    items = products * ceil(g.rows / tile.rows) * ceil(g.columns / g.block)
    entry(tile).parallel(items, 1, *g)


def batched(dtype: dtype, a: int, x: int, out: int, sizes: tuple[int, int, int, int]) -> None:
    """The products of contiguous matrices at these addresses: (batch, rows, terms) times (batch,
    terms, columns)."""
    batch, rows, terms, columns = sizes
    tile, offsets = best_tile(dtype, rows, columns), rows_apart(terms, columns)
    g = factors(tile, a, x, offsets, out, rows, columns, columns)
    apart = {"a_matrix": rows * terms, "x_matrix": terms * columns, "out_matrix": rows * columns}
    gemm(tile, g._replace(**apart), batch)


def factors(
    tile: Tile, a: int, x: int, offsets: Table, out: int, rows: int, columns: int, out_row: int
) -> Gemm:
    """The arguments for one product (rows, terms) @ (terms, columns): a contiguous matrix at
    address `a`, and rows that the offsets find from address `x` on."""
    from .gemm_code import Gemm

    terms = offsets.size
    return Gemm(
        a, x, offsets.address, out, rows, columns, terms, tile.columns * BLOCK, terms, 1, out_row
    )


@lru_cache(maxsize=64)
def rows_apart(count: int, step: int) -> Table:
    """The table of offsets of an ordinary matrix: `count` rows, `step` apart."""
    return Table(np.arange(count, dtype=np.int64) * step)


@lru_cache(maxsize=256)
def best_tile(dtype: dtype, rows: int, columns: int, exact: bool = False) -> Tile:
    """The tile with the least effort for a result of this size. exact: only tiles whose height
    divides `rows`."""
    fitting = [t for t in tiles(dtype) if not (exact and rows % t.rows)]
    return min(fitting, key=lambda t: effort(t, rows, columns))


def effort(tile: Tile, rows: int, columns: int) -> float:
    """An estimate of the time that one term of all sums takes, with the multiplication of two
    numbers as the unit.

    A tile takes as long as the largest of its multiplications of vectors, its loads, and 8: a sum
    has to wait that long for its own last addition. A quarter of each load comes on top."""
    wide, left = divmod(columns, tile.columns)
    narrow = ceil(left / (tile.narrow * tile.vector.lanes))
    turn = 0.0
    for count, vectors in ((wide, tile.vectors), (narrow, tile.narrow)):
        loads = tile.rows + vectors
        turn += count * (max(tile.rows * vectors, loads, 8) + loads / 4)
    return ceil(rows / tile.rows) * turn * tile.vector.lanes


@once
def tiles(dtype: dtype) -> tuple[Tile, ...]:
    """The tiles that fill the registers of this CPU, some for few rows, one a single row high."""
    from .gemm_code import Tile

    _, registers = vector_registers()
    shapes = (  # (rows, vectors, narrow): rows * vectors sums, and a register for each load
        ((8, 3, 1), (6, 4, 1), (4, 6, 2), (2, 8, 4), (1, 8, 4))
        if registers == 32
        else ((6, 2, 1), (4, 3, 2), (2, 5, 2), (1, 6, 3))
    )
    return tuple(Tile(register_for(dtype), *shape) for shape in shapes)


@once
def available(dtype: dtype) -> bool:
    """Whether there is machine code for this dtype. Warns, once, where it could not be compiled."""
    if dtype not in FLOATS:
        return False
    return compiles(
        lambda: entry(tiles(dtype)[0]), "matrix products and convolutions go by numpy, more slowly"
    )


@once
def entry(tile: Tile | DotTile) -> Entry:
    """The loop for a tile. Raises CompileError where it cannot be compiled."""
    from . import gemm_code as code
    from .vector_code import entry_of

    if isinstance(tile, code.Tile):
        return entry_of(code.write_gemm, code.Gemm, tile)
    return entry_of(code.write_dot, code.Dot, tile)


class Plan(NamedTuple):
    """How to multiply batches: the entry to call, its arguments, and how to copy the second
    matrices first, where they have to be copied."""

    entry: Entry
    items: int
    grain: int
    offsets: Table
    numbers: tuple[Any, ...]  # all arguments but addresses
    copy: Any = None
    copied: int = 0  # elements of the copy


def bmm(a: Tensor, x: Tensor, out: Tensor) -> bool:
    """Fill `out` (batch, rows, columns), which is contiguous, with `a @ x` of each batch. False if
    BLAS has to do it."""
    g = a._geometry
    plan = _plan_of_bmm(g, x._geometry, settings.least, settings.threshold is not None)
    if plan is None:
        return False
    x_at = backed_ptr(x)
    if plan.copy is not None:
        scratch = Scratch(plan.copied, g.dtype)
        plan.copy.run(scratch.address, x_at)
        x_at = scratch.address
    addresses = backed_ptr(a), x_at, plan.offsets.address, backed_ptr(out)
    plan.entry.parallel(plan.items, plan.grain, *addresses, *plan.numbers)
    return True


@lru_cache(maxsize=1 << 12)
def _plan_of_bmm(a: Geometry, x: Geometry, least: int, always: bool) -> Plan | None:
    """How to multiply batches of these geometries; None where it does not pay."""
    if a.dtype not in FLOATS or a.dtype is not x.dtype or 0 in a.sizes or 0 in x.sizes:
        return None
    (batch, rows, terms), columns = a.sizes, x.sizes[2]
    if batch * rows * terms * columns < least or not available(a.dtype):
        return None
    x_matrix, x_term, x_column = x.strides
    copy, copied, scattered = None, 0, x_column != 1 and columns > 1
    large = terms * columns * a.dtype.itemsize > MOST_BYTES or terms > MOST_TERMS
    if not always and (large or (scattered and rows < WORTH_COPYING)):
        return None
    if scattered:  # copied to (batch, terms, columns), contiguous
        copied = batch * terms * columns
        copy = plan_copy(
            x.dtype, x.dtype, (batch, terms, columns), (terms * columns, columns, 1), x.strides
        )
        if copy is None:
            return None
        x_matrix, x_term = terms * columns, columns
    from .gemm_code import Gemm

    tile, offsets, (a_matrix, a_row, a_term) = (
        best_tile(a.dtype, rows, columns),
        rows_apart(terms, x_term),
        a.strides,
    )
    g = Gemm(  # the four addresses come first, and are known only when it runs
        0, 0, 0, 0, rows, columns, terms, columns, a_row, a_term, columns,
        x_matrix=x_matrix, out_matrix=rows * columns, a_matrix=a_matrix,
    )  # fmt: skip
    grain = max(1, GRAIN // (tile.rows * columns * terms))
    return Plan(entry(tile), batch * ceil(rows / tile.rows), grain, offsets, g[4:], copy, copied)


def dot(x: Tensor, w_transposed: Tensor, bias: Tensor | None, out: Tensor) -> bool:
    """Fill `out` (rows, columns) with x (rows, terms) @ w_transposed (terms, columns), plus `bias`
    (columns,) or None. False if BLAS has to do it."""
    g, h = x._geometry, w_transposed._geometry
    if not use_compiled(h.numel, DOT_WORTH_IT):
        return False
    at_any_size = use_compiled(0, 1)  # tests lower the threshold to 0
    plan = _plan_of_dot(g, h, None if bias is None else bias._geometry, at_any_size)
    if plan is None:
        return False
    entry, items, grain, numbers = plan
    bias_at = _NOTHING[g.dtype].address if bias is None else backed_ptr(bias)
    entry.parallel(
        items, grain, backed_ptr(x), backed_ptr(w_transposed), bias_at, backed_ptr(out), *numbers
    )
    return True


@lru_cache(maxsize=1 << 12)
def _plan_of_dot(x: Geometry, w: Geometry, bias: Geometry | None, at_any_size: bool) -> Any:
    """The entry to call, and its numbers, for operands of these geometries; None where there is no
    such loop or it does not pay."""
    (rows, terms), columns = x.sizes, w.sizes[1]
    if (
        x.dtype not in FLOATS
        or x.strides[1] != 1
        or w.strides[0] != 1
        or (bias is not None and len(bias.sizes) != 1)
    ):
        return None  # terms must be neighbours in memory, in both operands
    is_large = rows * terms * columns >= DOT_LEAST_WORK and terms >= DOT_LEAST_TERMS
    if not at_any_size and not (is_large and rows in DOT_ROWS and x.nbytes <= DOT_MOST_BYTES):
        return None
    used = dot_tile(x.dtype, rows)
    # the kernel moves its last tile back rather than cross the edge, so one tile must fit
    if rows < DOT_ROWS[0] or columns < used.columns or not available(x.dtype):
        return None
    items, grain = ceil(columns / used.columns), max(1, DOT_GRAIN // (rows * terms * used.columns))
    numbers = (
        rows,
        columns,
        terms,
        x.strides[0],
        w.strides[1],
        0 if bias is None else bias.strides[0],
        columns,
    )
    return entry(used), items, grain, numbers


@once
def dot_tile(dtype: dtype, rows: int) -> DotTile:
    """The tile that fills the registers of this CPU; with fewer rows where x has no more."""
    from .gemm_code import DotTile

    _, registers = vector_registers()
    most, columns = (4, 6) if registers == 32 else (3, 4)
    return DotTile(register_for(dtype), min(rows, most), columns)


# the bias of a layer that has none: -0.0, since adding 0.0 would turn -0.0 into 0.0
_NOTHING = {d: Table(np.full(1, -0.0, d.np)) for d in FLOATS}
"""A number that changes nothing when it is added, and where it lies."""
