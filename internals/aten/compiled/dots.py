"""Products with a transposed matrix, as `linear` needs them: out[r, c] = the dot product of row r of x and row c of w, + bias[c].

Both rows lie in one piece, so nothing has to be copied first: the loop (`dots_code`) takes four rows of x and six of w, loads a
vector of each, and multiplies all with all. BLAS begins by copying w, with rows and columns exchanged, which for few rows of x
takes longer than the product itself.

How the real one differs: ATen leaves it to MKL, which decides by size too.
"""

from __future__ import annotations

from functools import cache as once
from functools import lru_cache
from typing import Any

import numpy as np

from internals.core.dtype import dtype
from internals.core.geometry import Geometry
from internals.core.tensor_impl import backed_ptr
from internals.machine_code.entry import Entry
from internals.machine_code.llvm import entry_from_ir
from internals.machine_code.settings import use_compiled

from .dots_code import SIGNATURE, Tile, text
from .ready import compiles
from .tile_code import register_for, vector_registers
from .typed import FLOATS

WORTH_IT = 1 << 15  # elements of w
LEAST_WORK = 1 << 20  # multiplications: for fewer OpenBLAS has a loop of its own that does not copy either
LEAST_TERMS = 128  # so that adding up the numbers of a vector counts little
FEWEST_ROWS = 2  # for one row BLAS has a loop that does not copy (gemv)
MOST_ROWS = 128  # more rows of x are worth the copy that BLAS makes
MOST_BYTES = 1 << 19  # of x, which is read once for every six rows of w and has to stay in the cache
GRAIN = 1 << 18  # the fewest multiplications that are worth a thread of their own


def dots(x: Any, w_transposed: Any, bias: Any, out: Any) -> bool:
    """Fill `out` with `x @ w_transposed`, plus `bias`, which may be None. False if BLAS is to do it."""
    g, h = x._geometry, w_transposed._geometry
    if not use_compiled(h.numel, WORTH_IT):
        return False
    at_any_size = use_compiled(0, 1)  # as a test may ask
    plan = _plan(g, h, None if bias is None else bias._geometry, at_any_size)
    if plan is None:
        return False
    entry, items, grain, numbers = plan
    bias_at = _NOTHING[g.dtype][1] if bias is None else backed_ptr(bias)
    entry.parallel(items, grain, backed_ptr(x), backed_ptr(w_transposed), bias_at, backed_ptr(out), *numbers)
    return True


@lru_cache(maxsize=1 << 12)
def _plan(x: Geometry, w: Geometry, bias: Geometry | None, at_any_size: bool) -> Any:
    """What to call with which numbers for operands of these geometries; None where there is no such loop or it does not pay."""
    (rows, terms), columns = x.sizes, w.sizes[1]
    if x.dtype not in FLOATS or x.strides[1] != 1 or w.strides[0] != 1 or (bias is not None and len(bias.sizes) != 1):
        return None
    is_large = rows * terms * columns >= LEAST_WORK and terms >= LEAST_TERMS
    if not at_any_size and not (is_large and rows <= MOST_ROWS and x.nbytes <= MOST_BYTES):
        return None
    used = tile(x.dtype, rows)
    if rows < FEWEST_ROWS or columns < used.columns or not available(used):
        return None
    items, grain = -(-columns // used.columns), max(1, GRAIN // (rows * terms * used.columns))
    numbers = rows, columns, terms, x.strides[0], w.strides[1], 0 if bias is None else bias.strides[0], columns
    return _entry(used), items, grain, numbers


@once
def tile(dtype: dtype, rows: int) -> Tile:
    """The tile that fills the registers of this CPU; with fewer rows where x has no more."""
    _, registers = vector_registers()
    most, columns = (4, 6) if registers == 32 else (3, 4)
    return Tile(register_for(dtype), min(rows, most), columns)


@once
def available(tile: Tile) -> bool:
    """Whether there is machine code for this tile. Warns, once, where it could not be compiled."""
    return compiles(lambda: _entry(tile), "products go by BLAS, some more slowly")


@once
def _entry(tile: Tile) -> Entry:
    written = text(tile)
    return entry_from_ir(written, "dots", written, SIGNATURE)


def _minus_zero(dtype: dtype) -> tuple[Any, int]:
    """A number that changes nothing when it is added, and where it lies."""
    number = np.full(1, -0.0, dtype.np)
    return number, number.__array_interface__["data"][0]


_NOTHING = {d: _minus_zero(d) for d in FLOATS}
