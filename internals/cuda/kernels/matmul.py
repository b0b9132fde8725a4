"""The matrix product, as one writes it first, and in tiles (`matrixMul` of the CUDA samples).

`naive` gives each thread one element of the result; the thread walks along a row of `a` and a
column of `b`. Nothing is wrong with it but the traffic: a matrix of m x k is read n times over, and
each multiplication waits for two loads from global memory.

`tiled` has the threads of a block load a square of each matrix into shared memory together, wait
for each other, and multiply out of there. An element is loaded once a block instead of once a
thread: with squares of 16, a sixteenth of the traffic. The first barrier says that the squares are
complete, the second that nobody needs them any more.

The third form, in `gemm.py`, does the same once more, from shared memory into registers.

All of them find elements through strides, so that a transposed matrix is multiplied where it lies,
and a vector repeated by `expand` is a matrix too. What is done with a sum is `store`: c = alpha *
sum + beta * addend.

How the real one differs: PyTorch calls cuBLAS, which takes one stride a matrix and a flag for
"transposed".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..language import cuda, device_function, kernel, template

if TYPE_CHECKING:
    from internals.machine_code.records import Element, Elements

T = template("T")  # the dtype of the result
ACC = template("ACC")  # the dtype of products and sums: float32 for float16, int64 for all ints
TILE = template("TILE")  # rows and columns of a square
STORE = template("STORE")  # `store`, with T and ACC filled in

Strides = tuple[int, int, int]


class Product(NamedTuple):
    """Where the elements of a product lie, in elements: strides for (batch, row, column) of each
    matrix.
    """

    a: Strides
    b: Strides
    c: Strides
    addend: Strides


@device_function
def element_of_a(a: Elements, batch: int, i: int, q: int, where: Product):
    return a[batch * where.a[0] + i * where.a[1] + q * where.a[2]]


@device_function
def element_of_b(b: Elements, batch: int, q: int, j: int, where: Product):
    return b[batch * where.b[0] + q * where.b[1] + j * where.b[2]]


@device_function
def column(j: int, where: tuple[int, ...]):
    """All that `store` has to know of column j."""
    return j


@device_function
def store(
    c: Elements,
    addend: Elements,
    batch: int,
    i: int,
    j: int,
    total: Element,
    where: Product,
    alpha: Element,
    beta: Element,
):
    """c[batch, i, j] = alpha * total + beta * addend[batch, i, j]. With beta 0 the addend is not
    looked at, it may be NaN.
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
    where: Product,
    alpha: Element,
    beta: Element,
):
    """One thread, one element. Neighbours in x have neighbouring columns: they read one element of
    a and a run of b.
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
    where: Product,
    alpha: Element,
    beta: Element,
):
    """One thread, one element, out of squares that the block's TILE x TILE threads load together.

    Nothing is padded here. Shared memory has 32 banks, and element number e is in bank e % 32: a
    warp fills two rows of 16 of a square, which are 32 neighbours, and reads one row of b_tile and
    two elements of a_tile. Rows of 17 would put the two rows that it fills into the same bank once.
    Padding is for those who walk down a column, as a transposition does.
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
        cuda.syncthreads()
        for q in range(TILE):
            total += a_tile[y, q] * b_tile[q, x]
        cuda.syncthreads()
    if i < m and j < n:
        STORE(c, addend, batch, i, j, total, where, alpha, beta)
