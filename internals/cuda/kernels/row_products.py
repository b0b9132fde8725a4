"""Matrix times vector: a block for each row (`gemv` of BLAS).

A product with a vector, (m, k) @ (k,), uses every element of the matrix once, so tiles in shared
memory would gain nothing: what counts is that neighbouring threads read neighbouring elements. The
threads of a block walk along their row together, each adds up its products, and a block reduction
adds the threads' sums. A long row, as in the product of two vectors, may be cut into parts with a
block each.

How the real one differs: cuBLAS gives a row to a warp, or several rows to a block, depending on the
sizes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from internals.machine_code.records import Element, Elements

from ..language import cuda, kernel, template
from .matmul import element_of_a, element_of_b

if TYPE_CHECKING:
    from internals.cuda.kernels.matmul import GemmStrides

ACC = template("ACC")
block_sum = template("block_sum")  # the sum over the threads of the block, for all of them
STORE = template("STORE")


@kernel
def row_products(
    c: Elements,
    a: Elements,
    b: Elements,
    addend: Elements,
    k: int,
    share: int,
    where: GemmStrides,
    alpha: Element,
    beta: Element,
):
    """c[i, part] = alpha * sum over q of a[i, q] * b[q] + beta * addend[i]; a part is `share`
    elements of the row.
    """
    i, part = cuda.blockIdx.x, cuda.blockIdx.y
    total = ACC(0)
    q = part * share + cuda.threadIdx.x
    while q < min(k, (part + 1) * share):
        total += ACC(element_of_a(a, 0, i, q, where)) * ACC(element_of_b(b, 0, q, 0, where))
        q += cuda.blockDim.x
    total = block_sum(total)
    if cuda.threadIdx.x == 0:
        STORE(c, addend, 0, i, part, total, where, alpha, beta)
