"""The matrix product in its simplest form, and in tiles (`matrixMul` of the CUDA samples).

`naive` gives each thread one element of the result; the thread walks along a row of `a` and a
column of `b`. Its only fault is the traffic: a matrix of m x k is read n times, and each
multiplication waits for two loads from global memory.

In `tiled` the threads of a block load a square of each matrix into shared memory together, wait for
each other, and multiply from there. An element is loaded once for each block instead of once for
each thread: with squares of 16, a sixteenth of the traffic. The first barrier says that the squares
are complete, the second that all threads are done with them.

The third form, in `gemm.py`, does the same once more, from shared memory into registers.

All of them find elements through strides, so that a transposed matrix is multiplied without a copy,
and a vector repeated by `expand` is a matrix too. Each sum goes to `store`, which writes c = alpha
* sum + beta * addend.

How the real one differs: PyTorch calls cuBLAS, which takes one stride for each matrix and a flag
for "transposed".
"""

from __future__ import annotations

from typing import NamedTuple

from internals.machine_code.records import Element, Elements

from ..language import cuda, device_function, kernel, template

T = template("T")  # the dtype of the result
ACC = template("ACC")  # the dtype of products and sums: float32 for float16, int64 for all ints
TILE = template("TILE")  # rows and columns of a square
STORE = template("STORE")  # `store`, with T and ACC filled in

Strides = tuple[int, int, int]


class GemmStrides(NamedTuple):
    """The strides, in elements, of (batch, row, column) of each matrix of a product."""

    a: Strides
    b: Strides
    c: Strides
    addend: Strides


@device_function
def element_of_a(a: Elements, batch: int, i: int, q: int, where: GemmStrides):
    """a[batch, i, q], of shape (batch, m, k)."""
    return a[batch * where.a[0] + i * where.a[1] + q * where.a[2]]


@device_function
def element_of_b(b: Elements, batch: int, q: int, j: int, where: GemmStrides):
    """b[batch, q, j], of shape (batch, k, n)."""
    return b[batch * where.b[0] + q * where.b[1] + j * where.b[2]]


@device_function
def column(j: int, where: tuple[int, ...]):
    """COLUMN of `gemm.py`: `store` needs to know only the column's number."""
    return j


@device_function
def store(
    c: Elements,
    addend: Elements,
    batch: int,
    i: int,
    j: int,
    total: Element,
    where: GemmStrides,
    alpha: Element,
    beta: Element,
):
    """c[batch, i, j] = alpha * total + beta * addend[batch, i, j]. With beta 0 the addend is not
    read: it may be NaN, or memory that has not been written to.
    """
    total = alpha * total
    if beta != 0:
        total += beta * ACC(
            addend[batch * where.addend[0] + i * where.addend[1] + j * where.addend[2]]
        )
    c[batch * where.c[0] + i * where.c[1] + j * where.c[2]] = T(total)


@kernel
def naive(
    c: Elements,
    a: Elements,
    b: Elements,
    addend: Elements,
    m: int,
    n: int,
    k: int,
    where: GemmStrides,
    alpha: Element,
    beta: Element,
):
    """One thread, one element. Threads that are neighbours along x have neighbouring columns: in
    each step they read the same element of a, and neighbouring elements of b.
    """
    j, i = cuda.grid(2)
    batch = cuda.blockIdx.z
    if i < m and j < n:
        total = ACC(0)
        for q in range(k):
            total += ACC(element_of_a(a, batch, i, q, where)) * ACC(
                element_of_b(b, batch, q, j, where)
            )
        STORE(c, addend, batch, i, j, total, where, alpha, beta)


@kernel
def tiled(
    c: Elements,
    a: Elements,
    b: Elements,
    addend: Elements,
    m: int,
    n: int,
    k: int,
    where: GemmStrides,
    alpha: Element,
    beta: Element,
):
    """One thread, one element, from squares that the block's TILE x TILE threads load together.

    The squares need no padding. Shared memory has 32 banks, and element number e is in bank e % 32:
    a warp fills two rows of 16 of a square, which are 32 neighbours in 32 banks, and reads one row
    of b_tile and two elements of a_tile. With rows of 17, two of the elements that it fills would
    share a bank. Padding helps where a warp walks down a column, as in a transposition.
    """
    a_tile = cuda.shared.array((TILE, TILE), ACC)
    b_tile = cuda.shared.array((TILE, TILE), ACC)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    batch = cuda.blockIdx.z
    total = ACC(0)
    for start in range(0, k, TILE):
        a_tile[y, x] = ACC(0)  # outside the matrix is zero, which adds nothing
        b_tile[y, x] = ACC(0)
        if i < m and start + x < k:
            a_tile[y, x] = ACC(element_of_a(a, batch, i, start + x, where))
        if start + y < k and j < n:
            b_tile[y, x] = ACC(element_of_b(b, batch, start + y, j, where))
        cuda.syncthreads()  # the squares are complete
        for q in range(TILE):
            total += a_tile[y, q] * b_tile[q, x]
        cuda.syncthreads()  # all are done with them
    if i < m and j < n:
        STORE(c, addend, batch, i, j, total, where, alpha, beta)
