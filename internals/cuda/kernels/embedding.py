"""The gradient of a table of rows (`aten/src/ATen/native/cuda/Embedding.cu`). Looking up is `gather.gather`.

A word that occurs a thousand times sends a thousand gradients to one row, at once: they are added with `atomic.add`, in an order
left to chance.

How the real one differs: indices are sorted first, so that one warp has a row for itself, and sums come out the same each time.
"""

from __future__ import annotations

from ..language import cuda, kernel, template
from .assertion import check

T = template("T")


@kernel
def count_rows(counts, indices, n):  # type: ignore[no-untyped-def]
    """counts[r]: how often row r was looked up."""
    i = cuda.grid(1)
    while i < n:
        cuda.atomic.add(counts, indices[i], 1)
        i += cuda.gridsize(1)


@kernel
def add_rows(table, grad, indices, n, width, rows, padding):  # type: ignore[no-untyped-def]
    """table[indices[i]] += grad[i], but for row `padding`. A thread adds one number of a row."""
    i = cuda.grid(1)
    while i < n:
        row = indices[i // width]
        check(0 <= row < rows)
        if row != padding:
            cuda.atomic.add(table, row * width + i % width, T(grad[i]))
        i += cuda.gridsize(1)


@kernel
def divide_rows(table, counts, n, width):  # type: ignore[no-untyped-def]
    """Each row by how often it was looked up."""
    i = cuda.grid(1)
    while i < n:
        count = counts[i // width]
        if count > 1:
            table[i] = T(table[i] / T(count))
        i += cuda.gridsize(1)
