"""Products of many small matrices (`bmm`) in one call of machine code.

BLAS multiplies one pair of matrices after the other, and prepares each product as if it were a large one. Its threads wait by
spinning, as those of `machine_code.pool` do, so both take the processors from each other. Here the whole batch is one job, cut
into rows of tiles (`batches_code`).

The columns of the second matrix must be neighbours in memory. Where its rows are instead, as in q @ k.T, it is copied first,
which costs little beside the product if there are many rows.

How the real one differs: `bmm` on the CPU calls MKL's `gemm_batched`, and has a plain loop for matrices of less than 400
elements.
"""

from __future__ import annotations

from functools import cache as once
from functools import lru_cache
from math import ceil
from typing import Any, NamedTuple

from internals.core.dtype import dtype
from internals.core.geometry import Geometry
from internals.core.tensor_impl import backed_ptr
from internals.machine_code.entry import Entry
from internals.machine_code.llvm import entry_from_ir
from internals.machine_code.settings import settings

from .batches_code import SIGNATURE, Tile, text
from .copying import plan_copy
from .ready import compiles
from .scratch import Scratch
from .tile_code import register_for, vector_registers
from .typed import FLOATS

GRAIN = 1 << 17  # the fewest multiplications that are worth a thread of their own
MOST_BYTES = 1 << 20  # of a second matrix that is still quickly at hand when the next rows need it
MOST_TERMS = 1 << 9  # more are better added up in pieces
WORTH_COPYING = 4  # rows: for fewer it costs more than the product


class Plan(NamedTuple):
    """What to call, and how to copy the second matrices first, if they must be."""

    entry: Entry
    items: int
    grain: int
    numbers: tuple[Any, ...]
    copy: Any = None
    copied: int = 0

    def run(self, a: int, x: int, out: int, dtype: dtype) -> None:
        """Do it, for matrices at these addresses."""
        if self.copy is None:
            self.entry.parallel(self.items, self.grain, a, x, out, *self.numbers)
            return
        scratch = Scratch(self.copied, dtype)
        self.copy.run(scratch.data_ptr(), x)
        self.entry.parallel(self.items, self.grain, a, scratch.data_ptr(), out, *self.numbers)


def multiply(a: Any, x: Any, out: Any) -> bool:
    """Fill `out`, which is contiguous, with `a @ x`, batch by batch. False if BLAS is to do it."""
    g = a._geometry
    plan = _plan(g, x._geometry, settings.least, settings.threshold is not None)
    if plan is None:
        return False
    plan.run(backed_ptr(a), backed_ptr(x), backed_ptr(out), g.dtype)
    return True


@lru_cache(maxsize=1 << 12)
def _plan(a: Geometry, x: Geometry, least: int, always: bool) -> Plan | None:
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
    if scattered:
        copied = batch * terms * columns
        copy = plan_copy(x.dtype, x.dtype, (batch, terms, columns), (terms * columns, columns, 1), x.strides)
        if copy is None:
            return None
        x_matrix, x_term = terms * columns, columns
    tile = best_tile(a.dtype, rows, columns)
    numbers = rows, columns, terms, *a.strides, x_matrix, x_term, rows * columns, columns, 1.0
    row_tiles = ceil(rows / tile.rows)
    grain = max(1, GRAIN // (tile.rows * columns * terms))
    return Plan(entry(tile), batch * row_tiles, grain, numbers, copy, copied)


@lru_cache(maxsize=256)
def best_tile(dtype: dtype, rows: int, columns: int) -> Tile:
    """The tile with the least work for a result of this size."""
    return min(tiles(dtype), key=lambda t: _effort(t, rows, columns))


def _effort(tile: Tile, rows: int, columns: int) -> float:
    """How long one term of all sums takes: multiplications of vectors, or the loads they need, or the wait for the last one."""
    wide, left = divmod(columns, tile.vectors * tile.vector.lanes)
    narrow = ceil(left / (tile.narrow * tile.vector.lanes))
    turn = 0.0
    for count, vectors in ((wide, tile.vectors), (narrow, tile.narrow)):
        loads = tile.rows + vectors
        turn += count * (max(tile.rows * vectors, loads, 8) + loads / 4)
    return ceil(rows / tile.rows) * turn


@once
def tiles(dtype: dtype) -> tuple[Tile, ...]:
    """The tiles that fill the registers of this CPU, and such as suit a few rows."""
    _, registers = vector_registers()
    shapes = (
        ((8, 3, 1), (6, 4, 1), (4, 6, 2), (2, 8, 4), (1, 8, 4))
        if registers == 32
        else ((6, 2, 1), (4, 3, 2), (1, 6, 3))
    )
    return tuple(Tile(register_for(dtype), *shape) for shape in shapes)


@once
def available(dtype: dtype) -> bool:
    """Whether there is machine code for this dtype. Warns, once, where it could not be compiled."""
    return compiles(lambda: entry(tiles(dtype)[0]), "bmm goes by BLAS, for small matrices more slowly")


@once
def entry(tile: Tile) -> Entry:
    """The loop for a tile. Raises CompileError where it cannot be compiled."""
    written = text(tile)
    return entry_from_ir(written, "batches", written, SIGNATURE)
