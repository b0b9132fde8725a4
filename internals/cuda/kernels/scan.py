"""Scans: running sums and products (`aten/src/ATen/native/cuda/ScanUtils.cuh`).

Each result needs all elements before it, which looks as if they could only be added one after the
other. But log2(n) rounds are enough: in round r every thread adds what the thread 2^r before it
holds (Hillis and Steele).

    held by threads 0 to 4    a    b    c      d        e
    after round 0             a    ab   bc     cd       de
    after round 1             a    ab   abc    abcd     bcde
    after round 2             a    ab   abc    abcd     abcde

A block does this for a tile of its row, after each thread has added up ITEMS neighbours; the total
of a tile is carried to the next.

If rows are long but few, a row is cut into chunks. A first kernel finds the total of each chunk,
the totals are scanned in turn, and each chunk starts from the sum of those before it.

How the real one differs: CUB's decoupled look-back, where a block waits for the totals of its
predecessors inside one launch.
"""

from __future__ import annotations

from internals.machine_code.records import Element, Elements

from ..language import by_executor, cuda, device_function, kernel, template
from .accumulators import THREADS, WARP, WARPS

ITEMS = 4  # neighbours that a thread adds up by itself

T = template("T")  # the type to accumulate in
R = template("R")  # the type that elements are converted to first
OUT = template("OUT")  # the type of the result
FIRST = template("FIRST")  # the number that changes nothing
combine = template("combine")
sum_of_lanes = template("sum_of_lanes")


@device_function
def before_in_shared_memory(x: Element):
    """(before, total): the `x` of all threads before this one combined, and the `x` of all threads
    of the block. Every thread of the block has to call it.
    """
    slots = cuda.shared.array(THREADS, T)
    t = cuda.threadIdx.x
    slots[t] = x
    cuda.syncthreads()
    distance = 1
    while distance < cuda.blockDim.x:
        if t >= distance:
            x = combine(slots[t - distance], x)
        cuda.syncthreads()  # all have read, before any writes
        slots[t] = x
        cuda.syncthreads()  # all have written, before any reads
        distance *= 2
    before = slots[t - 1] if t > 0 else T(FIRST)
    total = slots[cuda.blockDim.x - 1]
    cuda.syncthreads()  # all have read: the slots may be used again
    return before, total


@device_function
def before_by_shuffles(x: Element):
    """The same on a GPU: within a warp each lane reads the register of a lower one, and only the
    warps' totals go through shared memory.
    """
    slots = cuda.shared.array(WARPS, T)
    t = cuda.threadIdx.x
    lane, warp = t % 32, t // 32
    distance = 1
    while distance < 32:
        lower = cuda.shfl_up_sync(WARP, x, distance)
        if lane >= distance:
            x = combine(lower, x)
        distance *= 2
    if lane == 31:  # the last lane has combined the whole warp
        slots[warp] = x
    before = cuda.shfl_up_sync(WARP, x, 1)
    if lane == 0:
        before = T(FIRST)
    cuda.syncthreads()
    lower, total = T(FIRST), T(FIRST)  # of the warps before this one, and of all
    for w in range(cuda.blockDim.x // 32):
        if w == warp:
            lower = total
        total = combine(total, slots[w])
    cuda.syncthreads()
    return combine(lower, before), total


before_in_block = by_executor(gpu=before_by_shuffles, elsewhere=before_in_shared_memory)


@kernel
def scan_rows(out: Elements, source: Elements, totals: Elements, n: int, chunk: int, chunks: int):
    """Scans rows of `n` neighbours, (rows, n), with one block for each of the `chunks` of a row.
    totals[i] is the sum of the row's chunks up to and including the i-th.
    """
    row, c = cuda.blockIdx.x // chunks, cuda.blockIdx.x % chunks
    start, end = row * n + c * chunk, row * n + min(n, (c + 1) * chunk)
    carry = T(totals[cuda.blockIdx.x - 1]) if c > 0 else T(FIRST)
    while start < end:
        i = start + cuda.threadIdx.x * ITEMS
        running = T(FIRST)  # the sum of this thread's elements, for the threads after it
        for k in range(i, min(i + ITEMS, end)):
            running = combine(running, T(R(source[k])))
        before, total = before_in_block(running)
        # now again from all that comes before, writing on the way
        running = combine(carry, before)
        for k in range(i, min(i + ITEMS, end)):
            running = combine(running, T(R(source[k])))
            out[k] = OUT(running)
        carry = combine(carry, total)
        start += cuda.blockDim.x * ITEMS


@kernel
def chunk_totals(totals: Elements, source: Elements, n: int, chunk: int, chunks: int):
    """totals[i] = the sum of the i-th chunk, where i = (row, chunk). Each has a block."""
    row, c = cuda.blockIdx.x // chunks, cuda.blockIdx.x % chunks
    end = row * n + min(n, (c + 1) * chunk)
    i = row * n + c * chunk + cuda.threadIdx.x
    total = T(FIRST)
    while i < end:
        total = combine(total, T(R(source[i])))
        i += cuda.blockDim.x
    total = sum_of_lanes(total)
    if cuda.threadIdx.x == 0:
        totals[cuda.blockIdx.x] = total


@kernel
def scan_columns(out: Elements, source: Elements, columns: int, n: int, inner: int):
    """Scans columns of `n` elements that lie `inner` apart: (outer, n, inner) along its middle
    dimension. One thread goes down each column; neighbouring threads have neighbouring columns.
    """
    column = cuda.grid(1)
    while column < columns:
        # column = (outer, inner): the offset of its first element
        i = column // inner * n * inner + column % inner
        running = T(FIRST)
        for _ in range(n):
            running = combine(running, T(R(source[i])))
            out[i] = OUT(running)
            i += inner
        column += cuda.gridsize(1)
