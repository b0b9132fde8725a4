"""A matrix product whose second matrix need not be there: its rows are found by a table of offsets.

    out[r, q] = sum over k of weights[r, k] * x[offsets[k] + q]

With `offsets[k] = k * columns` that is the ordinary product of two matrices. A convolution is the same sum with another table:
for an image with a border of zeros, row k = (channel, kernel row, kernel column) of the matrix of windows is the image itself,
read from a place further on. So the windows need not be laid out as columns: the product reads each of them where it lies.

The inner loop (`product_code`) keeps a tile of the result in registers, `rows` rows times `vectors` vectors of columns:

    for k:
        b = `vectors` vectors of x, from offsets[k] + q on
        for each row r of the tile:
            a = weights[r, k] in all lanes
            tile[r] += a * b

Each number that is loaded is used many times: 8 rows times 3 vectors take 11 loads for 24 multiplications of vectors. Where the
last tile would reach over the edge it begins earlier and computes some of the result again.

How the real one differs: MKL and oneDNN copy both matrices into the order in which their loops read them, and block the sum over
k for the first-level cache.
"""

from __future__ import annotations

from functools import cache as once
from functools import lru_cache
from math import ceil
from typing import NamedTuple

import numpy as np

from internals.core.dtype import dtype
from internals.machine_code.entry import Entry
from internals.machine_code.llvm import entry_from_ir

from .product_code import SIGNATURE, Tile, text
from .ready import compiles
from .scratch import Table
from .tile_code import register_for, vector_registers
from .typed import FLOATS, typed
from .windows import LAY_OUT, lay_out

BLOCK = 4  # tiles side by side that are computed before the next rows of weights


class Factors(NamedTuple):
    """What is multiplied, by addresses and in elements: `images` matrices x with the matrices of weights, which take turns."""

    weights: int
    x: int
    offsets: Table
    out: int
    rows: int
    columns: int
    out_row: int  # how far the rows of the result lie apart
    images: int = 1
    x_image: int = 0
    out_image: int = 0
    turns: int = 1


def multiply(dtype: dtype, tile: Tile, f: Factors, adding: bool = False) -> None:
    """Compute the product, or add it to what is in `out`, on all threads.

    The result is at least as large as a tile, and of an exact number of tiles for `adding`, which must not be done twice.
    """
    terms, block = f.offsets.size, tile.columns * BLOCK
    items = f.images * ceil(f.rows / tile.rows) * ceil(f.columns / block)
    _entry(tile).parallel(
        items, 1, f.weights, f.x, f.offsets.address, f.out, f.rows, terms, f.columns, block, f.turns, f.rows * terms, f.x_image,
        f.out_image, f.out_row, int(adding),
    )  # fmt: skip


@lru_cache(maxsize=256)
def best_tile(dtype: dtype, rows: int, columns: int, exact: bool = False) -> Tile:
    """The tile with the least effort for a result of this size. It may be wider than the result, but is not higher.

    exact: a number of tiles have just the height of the result."""
    fitting = [t for t in tiles(dtype) if t.rows <= rows and not (exact and rows % t.rows)]
    return min(fitting, key=lambda t: effort(t, rows, columns))


def effort(tile: Tile, rows: int, columns: int) -> float:
    """How much work a result of this size is, in multiplications: those of full tiles, and the loads they need."""
    loads = tile.rows + 2 * tile.vectors  # a vector often lies in two lines of the cache
    computed = ceil(rows / tile.rows) * tile.rows * ceil(columns / tile.columns) * tile.columns
    return computed * (1 + loads / (tile.rows * tile.vectors)) / 2


@once
def available(dtype: dtype) -> bool:
    """Whether there is machine code for this dtype. Warns, once, where it could not be compiled."""
    if dtype not in FLOATS or typed(lay_out, LAY_OUT, dtype) is None:
        return False
    return compiles(lambda: _entry(tiles(dtype)[0]), "convolutions go by numpy, more slowly")


@once
def tiles(dtype: dtype) -> tuple[Tile, ...]:
    """The tiles that fill the registers of this CPU."""
    _, registers = vector_registers()
    shapes = (
        ((8, 3), (6, 4), (4, 6), (8, 2), (2, 9), (1, 8), (1, 4))
        if registers == 32
        else ((6, 2), (4, 3), (2, 5), (1, 6), (1, 4))
    )
    return tuple(Tile(register_for(dtype), *shape) for shape in shapes)


@lru_cache(maxsize=64)
def rows_apart(count: int, step: int) -> Table:
    """The table of offsets of an ordinary matrix: `count` rows, `step` apart."""
    return Table(np.arange(count, dtype=np.int64) * step)


@once
def _entry(tile: Tile) -> Entry:
    written = text(tile)
    return entry_from_ir(written, "product", written, SIGNATURE)
