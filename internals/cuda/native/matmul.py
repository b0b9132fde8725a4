"""Chooses the kernel for a product of two matrices and launches it
(`aten/src/ATen/native/cuda/Blas.cpp`, `cuda/CUDABlas.cpp`).

Everything here is alpha * (a @ b) + beta * addend for batches of matrices of any strides. `choose`
picks one of the three kernels by size; `using("tiled")` or INTERNALS_CUDA_MATMUL=tiled overrides
it. The simulator runs one thread after the other, so sharing loads gains nothing there: it uses the
naive form, which has the fewest steps. If you ask for another form, it gets small tiles.

How the real one differs: cuBLAS has a few hundred kernels and heuristics for choosing; integers
raise an error ("addmm_cuda" not implemented for 'Long').
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from internals.core.dtype import dtype
from internals.core.scalar import Scalar
from internals.core.tensor_impl import Tensor, empty_contiguous

from .. import backend
from ..device_array import flat
from ..kernels import matmul as kernels, row_products as rows
from ..kernels.block_reduction import accumulator, block_total
from ..kernels.functors import add
from ..kernels.gemm import Blocking
from ..kernels.matmul import GemmStrides
from ..language import Kernel
from ..launch import threads_for
from .opmath import acc_type, dtype_of

FORMS = ("naive", "tiled", "blocked")
# rows and columns of a block, depth of its tiles, rows and columns of a thread
LARGE, MEDIUM, TINY = (
    Blocking(128, 128, 8, 8, 8),
    Blocking(64, 64, 8, 4, 4),
    Blocking(8, 8, 4, 4, 4),
)
LAST_BLOCK = 65535  # the most blocks along y or z of a grid; along x there may be 2**31 - 1

_forced: str | None = None


def choose(m: int, n: int, k: int) -> str:
    """The kernel for (m, k) @ (k, n): "naive", "tiled" or "blocked". Raises ValueError if the
    environment names another.
    """
    form = forced()
    if form:
        return form
    if backend.driver().simulated or min(m, n, k) < 8:  # a tile would be mostly empty
        return "naive"
    return "tiled" if min(m, n) < 64 else "blocked"


def forced() -> str:
    """The kernel that `using` or the environment asks for; "" if neither does."""
    form = _forced or os.environ.get("INTERNALS_CUDA_MATMUL", "")
    return _known(form) if form else ""


@contextmanager
def using(form: str) -> Iterator[None]:
    """A context in which all matrix products use this kernel. Raises ValueError if there is no such
    form.
    """
    global _forced
    before, _forced = _forced, _known(form)
    try:
        yield
    finally:
        _forced = before


def multiply(
    result: Any, a: Any, b: Any, addend: Any = None, alpha: Scalar = 1, beta: Scalar = 0
) -> None:
    """result = alpha * (a @ b) + beta * addend, for (m, k) @ (k, n) or batches of them.

    Dtypes and sizes have been checked. `result` may share memory with the addend, element for
    element.
    """
    if not result.numel():
        return
    *batch, m, n = result.shape
    k = a.shape[-1]
    matrices = batch[0] if batch else 1
    if matrices > LAST_BLOCK:  # more than a grid has along z: several launches
        for first in range(0, matrices, LAST_BLOCK):
            some = min(LAST_BLOCK, matrices - first)
            part, x, y, z = (
                t if t is None else t.narrow(0, first, some) for t in (result, a, b, addend)
            )
            multiply(part, x, y, z, alpha, beta)
        return
    addend = result if addend is None else addend  # any array: with beta 0 it is not read
    where = GemmStrides(*map(_strides, (a, b, result, addend)))
    is_column = n == 1  # threads lie along a row, so a single column is better turned into one
    is_too_high = m > 8 * LAST_BLOCK > n  # more rows than fit along y, 8 to a block; columns do
    left, right = a, b
    if is_column or is_too_high:
        # (a @ b).T is b.T @ a.T: rows become columns
        left, right, m, n = b, a, n, m
        where = GemmStrides(*map(_turned, (where.b, where.a, where.c, where.addend)))
    acc = acc_type(result.dtype)
    product = Product(
        dtype=result.dtype,
        arrays=(flat(result), flat(left), flat(right), flat(addend)),
        matrices=matrices,
        m=m,
        n=n,
        k=k,
        where=where,
        alpha=acc(alpha),
        beta=acc(beta),
    )
    LAUNCHES[choose(m, n, k)](product)


class Product(NamedTuple):
    """c = alpha * (a @ b) + beta * addend for `matrices` of (m, k) @ (k, n), as the kernels take
    it. `arrays` are those of c, a, b and the addend; `dtype` is that of c.
    """

    dtype: dtype
    arrays: tuple[Any, Any, Any, Any]
    matrices: int
    m: int
    n: int
    k: int
    where: GemmStrides
    alpha: Any
    beta: Any

    @property
    def T(self) -> Any:
        """The numpy scalar type of c."""
        return self.dtype.np.type


def _launch_naive(p: Product) -> None:
    """A thread for each element of c, at most 32 x 8 to a block."""
    columns, rows = min(32, p.n), min(8, p.m)
    kernel = naive(p.T)
    grid = -(-p.n // columns), -(-p.m // rows), p.matrices
    kernel[grid, (columns, rows)](*p.arrays, p.m, p.n, p.k, p.where, p.alpha, p.beta)


def _launch_tiled(p: Product) -> None:
    """A block for each square of c, and a thread for each of its elements."""
    side = tile_side()
    kernel = tiled(p.T, side)
    grid = -(-p.n // side), -(-p.m // side), p.matrices
    kernel[grid, (side, side)](*p.arrays, p.m, p.n, p.k, p.where, p.alpha, p.beta)


def _launch_blocked(p: Product) -> None:
    """A block for each large part of c, and a thread for several of its elements."""
    how = blocking(p.m, p.n, p.matrices, p.dtype)
    # a stride of 1 along k tells in which order to load the tiles
    a_along_k = p.where.a[2] == 1
    b_along_k = p.where.b[1] == 1 and p.where.b[2] != 1
    kernel = blocked(p.T, how, a_along_k, b_along_k)
    grid = how.grid(p.m, p.n, p.matrices)
    # k twice: as the length of the sum, and of the part that a block sums up
    kernel[grid, how.threads](*p.arrays, p.m, p.n, p.k, p.k, p.matrices, p.where, p.alpha, p.beta)


LAUNCHES = {"naive": _launch_naive, "tiled": _launch_tiled, "blocked": _launch_blocked}


def multiply_vector(
    result: Tensor,
    a: Tensor,
    x: Tensor,
    addend: Tensor | None = None,
    alpha: Scalar = 1,
    beta: Scalar = 0,
) -> None:
    """result (m,) = alpha * (a @ x) + beta * addend, for a (m, k) and x (k,): a block for each row
    if rows are contiguous and long enough, else as a product with one column.
    """
    m, k = a.shape
    reads_runs = k > 1 and a.stride(1) == 1
    if (
        not m
        or not reads_runs
        or k < 32
        or choose(m, 1, k) != "naive"
        or backend.driver().simulated
    ):
        column = None if addend is None else addend.unsqueeze(1)
        multiply(result.unsqueeze(1), a, x.unsqueeze(1), column, alpha, beta)
        return
    launch_rows(result, a, x, addend, alpha, beta)


def launch_rows(
    result: Any, a: Any, x: Any, addend: Any = None, alpha: Any = 1, beta: Any = 0, parts: int = 1
) -> None:
    """Launches a block for each row of a (m, k), or for each of a row's `parts`: then `result` is
    (m, parts).
    """
    m, k = a.shape
    addend = result if addend is None else addend
    out_strides = (0, result.stride(0), result.stride(1) if parts > 1 else 0)
    where = GemmStrides(
        (0, *a.stride()), (0, x.stride(0), 0), out_strides, (0, addend.stride(0), 0)
    )
    T, acc = result.dtype.np.type, acc_type(a.dtype)
    share = -(-k // parts)
    arrays = flat(result), flat(a), flat(x), flat(addend)
    row_products(T, acc)[(m, parts), lanes_for(share)](
        *arrays, k, share, where, acc(alpha), acc(beta)
    )


def dot(result: Tensor, a: Tensor, x: Tensor, longest: int = 1 << 14) -> None:
    """result = the product of two vectors, in parts of about `longest` elements. A second launch
    adds the parts' sums.
    """
    k = a.shape[0]
    parts = max(1, min(1024, k // longest))
    row, total = a.unsqueeze(0), result.reshape(1)
    if parts == 1:
        launch_rows(total, row, x)
        return
    wide = dtype_of(acc_type(a.dtype))
    partial = empty_contiguous((1, parts), wide, a.device)
    launch_rows(partial, row, x, parts=parts)
    # to add them up, multiply by a vector of ones: a 0-d one, expanded
    one = empty_contiguous((), wide, a.device).fill_(1)
    launch_rows(total, partial, one.expand(parts))


def blocking(m: int, n: int, batch: int, d: dtype) -> Blocking:
    """The largest blocking that leaves a block for every multiprocessor. Sums of 8 bytes get the
    medium one: 8 x 8 of them would take too many registers.
    """
    if backend.driver().simulated:
        return TINY
    processors = backend.driver().properties(backend.current_device()).multi_processor_count
    enough = np.prod(LARGE.grid(m, n, batch)) >= processors
    return LARGE if enough and np.dtype(acc_type(d)).itemsize <= 4 else MEDIUM


def tile_side() -> int:
    """TILE of the form "tiled": a block has its square of threads."""
    return 4 if backend.driver().simulated else 16


def lanes_for(k: int) -> int:
    """The number of threads that reduce a row of k elements: a power of two, at most 256."""
    return min(256, 1 << (threads_for(k) - 1).bit_length())


@cache
def naive(T: type) -> Kernel:
    """The naive kernel for results of type T."""
    return kernels.naive.bind(**_types(T))


@cache
def tiled(T: type, side: int) -> Kernel:
    """The tiled kernel for results of type T, with squares of `side`."""
    return kernels.tiled.bind(**_types(T), TILE=side)


@cache
def blocked(T: type, how: Blocking, a_along_k: bool, b_along_k: bool) -> Kernel:
    """The `gemm` for results of type T; whether neighbours in a and b lie along k."""
    types = _types(T)
    # 2: blocks that should fit on a multiprocessor at once
    return how.bind(
        types["ACC"], a_along_k, b_along_k, 2, LOAD_A=kernels.element_of_a,
        LOAD_B=kernels.element_of_b, STORE=types["STORE"], COLUMN=kernels.column,
    )  # fmt: skip


@cache
def row_products(T: type, acc: Any) -> Kernel:
    """The kernel for a matrix times a vector, with results of type T and sums of type `acc`."""
    total = block_total(accumulator("number", acc), add, True)
    return rows.row_products.bind(ACC=acc, block_sum=total, STORE=kernels.store.bind(T=T, ACC=acc))


def _types(T: type) -> dict[str, Any]:
    acc = acc_type(dtype_of(T))
    return {"ACC": acc, "STORE": kernels.store.bind(T=T, ACC=acc)}


def _strides(t: Any) -> tuple[int, int, int]:
    """The strides of (batch, row, column) in elements, with 0 for the batch of a single matrix."""
    batch, row, column = t.stride() if t.dim() == 3 else (0, *t.stride())
    return batch, row, column


def _turned(strides: tuple[int, int, int]) -> tuple[int, int, int]:
    """The strides of the transposed matrix."""
    batch, row, column = strides
    return batch, column, row


def _known(form: str) -> str:
    """`form`, or ValueError if it is not in FORMS."""
    if form not in FORMS:
        raise ValueError(
            f"there is no matrix product called '{form}': choose one of {', '.join(FORMS)}"
        )
    return form
