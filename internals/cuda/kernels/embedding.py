"""The gradient of an embedding's table (`aten/src/ATen/native/cuda/Embedding.cu`); the look-up
itself is `gather.gather`.

The table is (rows, width), and `indices` name one row for each look-up. A word that occurs a
thousand times sends a thousand gradients to one row, at once: they are added with `atomic.add`, in
an order left to chance, so that the last digits may differ from run to run.

How the real one differs: it sorts the indices first, so that one warp has a row for itself, and
sums are the same each time.
"""

from __future__ import annotations

import math

from internals.machine_code.records import Elements

from ..language import cuda, kernel, template
from .assertion import check
from .copy import split

T = template("T")
C = template("C")  # the dtype to compute in


@kernel
def count_rows(counts: Elements, indices: Elements, n: int, rows: int):
    """counts[r]: how often row r was looked up."""
    i = cuda.grid(1)
    while i < n:
        row = indices[i]
        check(0 <= row < rows)
        cuda.atomic.add(counts, row, 1)
        i += cuda.gridsize(1)


@kernel
def add_rows(
    table: Elements,
    grad: Elements,
    indices: Elements,
    n: int,
    width: int,
    rows: int,
    padding: int,
):
    """table[indices[lookup]] += grad[lookup], but for row `padding`. `grad` is (look-ups, width),
    `n` elements in all; a thread adds one of them.
    """
    i = cuda.grid(1)
    while i < n:
        lookup, column = split(i, width)
        row = indices[lookup]
        check(0 <= row < rows)
        if row != padding:
            cuda.atomic.add(table, row * width + column, T(grad[i]))
        i += cuda.gridsize(1)


@kernel
def divide_rows(table: Elements, counts: Elements, n: int, width: int):
    """Divides each row by the number of its look-ups (`scale_grad_by_freq`)."""
    i = cuda.grid(1)
    while i < n:
        row, _ = split(i, width)
        count = counts[row]
        if count > 1:
            table[i] = T(table[i] / T(count))
        i += cuda.gridsize(1)


@kernel
def mark_rows(marks: Elements, indices: Elements, n: int, rows: int):
    """marks[r] = 1 for every row that is looked up; it does not matter which of several threads
    writes it.
    """
    i = cuda.grid(1)
    while i < n:
        row = indices[i]
        check(0 <= row < rows)
        marks[row] = 1
        i += cuda.gridsize(1)


@kernel
def shorten_rows(
    table: Elements,
    marks: Elements,
    rows: int,
    width: int,
    row_stride: int,
    column_stride: int,
    max_norm: float,
    power: float,
):
    """Scales each marked row whose norm is above `max_norm` down to it. `power` is the order of the
    norm, which may be infinite. A thread has a row for itself.
    """
    row = cuda.grid(1)
    while row < rows:
        if marks[row]:
            first = row * row_stride
            norm = C(0)
            for k in range(width):
                size = C(math.fabs(C(table[first + k * column_stride])))
                if math.isinf(power):
                    norm = max(norm, size)
                else:
                    norm += C(math.pow(size, power))
            if not math.isinf(power):
                norm = C(math.pow(norm, C(1) / power))
            if norm > max_norm:
                scale = C(max_norm / (norm + C(1e-7)))  # PyTorch's constant, against rounding up
                for k in range(width):
                    at = first + k * column_stride
                    table[at] = T(C(table[at]) * scale)
        row += cuda.gridsize(1)
