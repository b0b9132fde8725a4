"""Adding rows at positions that may repeat (`index_put_` with `accumulate`, `index_add`).

`a[positions] += source` would count repeated positions once, and `np.add.at` adds one number after
the other. Where there are many long rows, it is faster to sort them by position and add up each run
of equal positions. Both add in the order of the index, so that the sums are the same every time.

How the real one differs: the CPU kernels add row by row, or number by number, without sorting;
CUDA's sort.
"""

from __future__ import annotations

import numpy as np

from internals.core.tensor_impl import Array

# Rows are sorted from this many numbers on, if a row has at least this many on average.
MANY = 8192
LONG_ROW = 8


def add_at(a: Array, positions: Array, source: Array) -> None:
    """`a[positions] += source` over the first dimension, counting repeats; `source` has shape
    (*positions.shape, *a.shape[1:]).

    Negative positions count from the end. Raises IndexError for positions out of range.
    """
    if source.size < max(MANY, LONG_ROW * positions.size) or a.dtype.kind != "f":
        np.add.at(a, positions, source)
        return
    rows = positions.reshape(-1)  # (k,): row rows[i] of `a` gets row i of `source`
    n = a.shape[0]
    if rows.min() < -n or rows.max() >= n:
        raise IndexError(f"a position is out of bounds for {n} rows")
    rows = rows % n
    # A stable sort keeps the order among equal positions; each run of them starts where a position
    # differs from the one before it, and `reduceat` adds up from one start to the next.
    order = np.argsort(rows, kind="stable")
    in_order = rows[order]
    starts = np.flatnonzero(np.concatenate([[True], in_order[1:] != in_order[:-1]]))
    sums = np.add.reduceat(source.reshape(rows.size, *a.shape[1:])[order], starts, axis=0)
    a[in_order[starts]] += sums
