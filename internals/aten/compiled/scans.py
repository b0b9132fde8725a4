"""Running sums and products (`aten/src/ATen/native/cpu/ReduceOpsKernel.cpp`: `cumsum_cpu_kernel`).

Every partial result waits for the one before, so a single row is as slow as its chain of additions;
four rows at a time keep the adder busy. For columns, a tile's running sums stay in the cache while
the rows pass by.

How the real one differs: each thread of its loop does one row after the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals.core.tensor_impl import Tensor, backed_ptr
from internals.machine_code import inline, kernel, template
from internals.machine_code.records import Elements

from .entries import run
from .row_functions import tile_of_columns
from .rows import WORD, address, lines_of, tiles_of

THRESHOLD = 1 << 14  # from how many elements on this is faster than numpy
GRAIN = 1 << 16  # how many elements are worth a thread

O = template("O")  # noqa: E741 - the dtype of the result
W = template("W")  # the dtype of the running sums: float64 or int64
combine = template("combine")  # plus or times


@kernel
def scans_of_rows(begin: int, end: int, x: Elements, out: Elements, n: int, start: int) -> None:
    """Running sums along x (rows, n), from `start` on: 0, or 1 for products."""
    fours = begin + (end - begin) // 4 * 4
    # four independent chains: rows i, i + 1, i + 2, i + 3
    for row in range(begin, fours, 4):
        i = row * n
        a = b = c = d = W(start)
        for j in range(i, i + n):
            a, b = combine(a, W(x[j])), combine(b, W(x[j + n]))
            c, d = combine(c, W(x[j + 2 * n])), combine(d, W(x[j + 3 * n]))
            out[j], out[j + n], out[j + 2 * n], out[j + 3 * n] = O(a), O(b), O(c), O(d)
    for row in range(fours, end):
        a = W(start)
        for j in range(row * n, row * n + n):
            a = combine(a, W(x[j]))
            out[j] = O(a)


@kernel
def scans_of_columns(
    begin: int,
    end: int,
    x: Elements,
    out: Elements,
    running: Elements,
    n: int,
    inner: int,
    tile: int,
    tiles: int,
    start: int,
) -> None:
    """Running sums along the columns of x (outer, n, inner); `running` is (outer, inner). One item
    of work is a tile of columns."""
    for unit in range(begin, end):
        o, left, right = tile_of_columns(unit, inner, tile, tiles)
        here = o * inner
        for j in range(left, right):
            running[here + j] = W(start)
        for i in range(n):
            row = (o * n + i) * inner
            for j in range(left, right):
                running[here + j] = combine(running[here + j], W(x[row + j]))
                out[row + j] = O(running[here + j])


@inline
def plus(a: float, b: float) -> Any:
    """The step of a running sum."""
    return a + b


@inline
def times(a: float, b: float) -> Any:
    """The step of a running product."""
    return a * b


def scan(x: Tensor, out: Tensor, dim: int, product: bool) -> bool:
    """Fill `out` with the running sums (or products) of `x` along `dim`; both are contiguous. False
    if numpy has to do it.
    """
    source, target = x.dtype.np.char, out.dtype.np.char
    if source not in WORD or target not in "fdql":
        return False
    outer, n, inner = lines_of(x.shape, dim)
    wide = np.dtype(np.float64 if target in "fd" else np.int64)
    bindings = {"O": out.dtype.np.type, "W": wide.type, "combine": times if product else plus}
    words, start = f"{WORD[source]} {WORD[target]}", int(product)
    if inner == 1:
        bound, grain = scans_of_rows.bind(**bindings), max(4, GRAIN // n)
        return run(bound, f"{words}", outer, grain, backed_ptr(x), backed_ptr(out), n, start)
    # columns, (outer, n, inner)
    running, (tile, tiles) = np.empty((outer, inner), wide), tiles_of(outer, inner)
    addresses = backed_ptr(x), backed_ptr(out), address(running)
    return run(
        scans_of_columns.bind(**bindings), f"{words} {WORD[wide.char]}",
        outer * tiles, max(1, GRAIN // (n * tile)), *addresses, n, inner, tile, tiles, start,
    )  # fmt: skip
