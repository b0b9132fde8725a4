"""The register-blocked matrix product, over anything that can be indexed like a matrix (CUTLASS's
threadblock-level GEMM).

`matmul.tiled` loads two numbers from shared memory for each multiplication, and shared memory gives
a multiprocessor 32 numbers a cycle, while it could multiply 128. So the idea of tiles is used
again, one level up the hierarchy: a thread computes not one element but ROWS x COLUMNS of them, in
registers. For each q it loads ROWS numbers of a and COLUMNS of b and multiplies each with each:
with 8 x 8, 16 loads for 64 multiplications.

    global memory    a block computes BLOCK_ROWS x BLOCK_COLUMNS (128 x 128) of c, walking along k
                     in steps of DEPTH (8)
    shared memory    a_tile: DEPTH x 128 of a, b_tile: DEPTH x 128 of b, both with q as the first
                     index
    registers        totals: 8 x 8 of c; a_part and b_part: 8 numbers each of row q of the two tiles

The local arrays become registers because every loop over them has a constant length, is unrolled,
and so all indices are constants. A thread's 8 rows are two runs of WIDTH (4) neighbours, half a
block apart: four neighbours are one load of 128 bits, and the runs of neighbouring threads are
neighbours, so that no two need the same bank of shared memory.

LOAD_A and LOAD_B say where a number comes from, and STORE where a sum goes: by strides for a matrix
product (`matmul.py`), by windows of an image for a convolution (`convolution.py`). COLUMN computes
once for each column what STORE needs to know of it.

A small result with a long k, such as the gradient of a convolution's weight, would keep few
multiprocessors busy. Then k is cut into parts of `share` elements, a block computes the sum over
one part, and another launch adds the parts' results ("split-k").

How the real one differs: cuBLAS and CUTLASS fetch the next tile while they multiply the current
one, cut the block into tiles for warps too, and use tensor cores.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals.machine_code.records import Element, Elements

from ..language import Kernel, by_executor, cuda, kernel, template

ACC = template("ACC")  # the dtype of products and sums
LOAD_A, LOAD_B = template("LOAD_A"), template("LOAD_B")
STORE, COLUMN = template("STORE"), template("COLUMN")
BLOCK_ROWS, BLOCK_COLUMNS, DEPTH = (
    template("BLOCK_ROWS"),
    template("BLOCK_COLUMNS"),
    template("DEPTH"),
)
ROWS, COLUMNS, WIDTH = template("ROWS"), template("COLUMNS"), template("WIDTH")
THREADS = template("THREADS")
A_PITCH, B_PITCH = template("A_PITCH"), template("B_PITCH")
# whether neighbours in memory are neighbours along k: threads should load them in that order
A_ALONG_K, B_ALONG_K = template("A_ALONG_K"), template("B_ALONG_K")
ALIGNMENT: Any = by_executor(gpu=16, elsewhere=None)  # bytes; 128-bit loads need it
# unsigned on a GPU: then no code is generated for negative indices, which count from an array's end
NATURAL: Any = by_executor(gpu=np.uint32, elsewhere=int)


@kernel
def gemm(
    c: Elements,
    a: Elements,
    b: Elements,
    addend: Elements,
    m: int,
    n: int,
    k: int,
    share: int,
    batches: int,
    where: tuple[int, ...],
    alpha: Element,
    beta: Element,
):
    """c = alpha * (a @ b) + beta * addend, (m, k) @ (k, n) in each batch. Blocks have THREADS
    threads along x; blockIdx.z is part * batches + batch.
    """
    # the pitch is 4 more than the tile is wide: where DEPTH threads store one column of a_tile, the
    # numbers lie in banks 0, 4, 8, ...; without the 4 they would all lie in the same bank
    a_tile = cuda.shared.array((DEPTH, A_PITCH), ACC, alignment=ALIGNMENT)
    b_tile = cuda.shared.array((DEPTH, B_PITCH), ACC, alignment=ALIGNMENT)
    totals = cuda.local.array((ROWS, COLUMNS), ACC)
    a_part = cuda.local.array(ROWS, ACC)
    b_part = cuda.local.array(COLUMNS, ACC)
    places = cuda.local.array(COLUMNS, np.int64)
    thread = NATURAL(cuda.threadIdx.x)
    batch = cuda.blockIdx.z % batches
    first = cuda.blockIdx.z // batches * share  # the part of k that is summed: from here to `end`
    end = min(k, first + share)
    first_row, first_column = (
        NATURAL(cuda.blockIdx.y) * BLOCK_ROWS,
        NATURAL(cuda.blockIdx.x) * BLOCK_COLUMNS,
    )
    # where the thread's first runs of rows and of columns begin in the block
    row = thread // (BLOCK_COLUMNS // COLUMNS) * WIDTH
    column = thread % (BLOCK_COLUMNS // COLUMNS) * WIDTH
    # the distance from one run to the next
    row_jump, column_jump = BLOCK_ROWS // ROWS * WIDTH, BLOCK_COLUMNS // COLUMNS * WIDTH

    for y in range(ROWS):
        for x in range(COLUMNS):
            totals[y, x] = ACC(0)
    for start in range(first, end, DEPTH):
        # a_tile[q, i] = a[first_row + i, start + q], loaded by all threads together, in the order
        # in which a lies in memory; zeros beyond its edges add nothing to the sums
        for step in range(BLOCK_ROWS * DEPTH // THREADS):
            e = thread + step * THREADS
            if A_ALONG_K:
                i, q = e // DEPTH, e % DEPTH
            else:
                i, q = e % BLOCK_ROWS, e // BLOCK_ROWS
            value = ACC(0)
            if first_row + i < m and start + q < end:
                value = ACC(LOAD_A(a, batch, first_row + i, start + q, where))
            a_tile[q, i] = value
        # b_tile[q, j] = b[start + q, first_column + j]
        for step in range(BLOCK_COLUMNS * DEPTH // THREADS):
            e = thread + step * THREADS
            if B_ALONG_K:
                j, q = e // DEPTH, e % DEPTH
            else:
                j, q = e % BLOCK_COLUMNS, e // BLOCK_COLUMNS
            value = ACC(0)
            if start + q < end and first_column + j < n:
                value = ACC(LOAD_B(b, batch, start + q, first_column + j, where))
            b_tile[q, j] = value
        cuda.syncthreads()  # the tiles are complete
        # an outer product for each q: ROWS + COLUMNS loads, ROWS * COLUMNS multiplications
        for q in range(DEPTH):
            for y in range(ROWS):
                a_part[y] = a_tile[q, row + y // WIDTH * row_jump + y % WIDTH]
            for x in range(COLUMNS):
                b_part[x] = b_tile[q, column + x // WIDTH * column_jump + x % WIDTH]
            for y in range(ROWS):
                for x in range(COLUMNS):
                    totals[y, x] += a_part[y] * b_part[x]
        cuda.syncthreads()  # all are done with the tiles: they may be overwritten
    for x in range(COLUMNS):
        places[x] = COLUMN(first_column + column + x // WIDTH * column_jump + x % WIDTH, where)
    for y in range(ROWS):
        i = first_row + row + y // WIDTH * row_jump + y % WIDTH
        for x in range(COLUMNS):
            if i < m and first_column + column + x // WIDTH * column_jump + x % WIDTH < n:
                STORE(c, addend, cuda.blockIdx.z, i, places[x], totals[y, x], where, alpha, beta)


class Blocking:
    """The division of the work of a `gemm`: block_rows x block_columns of c for a block, tiles of
    `depth` along k, rows x columns of the block's part for a thread.
    """

    def __init__(
        self, block_rows: int, block_columns: int, depth: int, rows: int, columns: int
    ) -> None:
        self.block_rows, self.block_columns, self.depth = block_rows, block_columns, depth
        self.rows, self.columns = rows, columns
        self.threads = (block_rows // rows) * (block_columns // columns)
        for name, size in (("rows", block_rows), ("columns", block_columns)):
            if size * depth % self.threads:
                raise ValueError(
                    f"{self.threads} threads cannot share the {size} {name} x {depth} of a tile "
                    "evenly"
                )

    def bind(
        self, acc: type, a_along_k: bool, b_along_k: bool, resident: int = 1, **functions: Any
    ) -> Kernel:
        """The instance of `gemm` for this blocking; `functions` are LOAD_A, LOAD_B, STORE and
        COLUMN.

        The compiler limits registers so that `resident` blocks fit on a multiprocessor at once:
        while one waits for its tiles, another multiplies.
        """
        instance: Kernel = gemm.bind(
            **functions, ACC=acc, A_ALONG_K=a_along_k, B_ALONG_K=b_along_k,
            BLOCK_ROWS=self.block_rows, BLOCK_COLUMNS=self.block_columns, DEPTH=self.depth,
            ROWS=self.rows, COLUMNS=self.columns, WIDTH=min(4, self.rows, self.columns),
            THREADS=self.threads, A_PITCH=self.block_rows + 4, B_PITCH=self.block_columns + 4,
        )  # fmt: skip
        if resident > 1:
            instance.launch_bounds = self.threads, resident
        return instance

    def grid(self, m: int, n: int, batch: int) -> tuple[int, int, int]:
        """The number of blocks along x, y and z for `batch` results of m x n."""
        return -(-n // self.block_columns), -(-m // self.block_rows), batch

    def __repr__(self) -> str:
        return f"{self.block_rows}x{self.block_columns}x{self.depth}/{self.rows}x{self.columns}"
