"""Norms of matrices, and `linalg.norm`, which is for vectors and matrices
(`aten/src/ATen/native/LinearAlgebra.cpp`).

The norm of a matrix says how much longer it can make a vector: its largest singular value for ord =
2, the largest sum of a column's absolute values for ord = 1, of a row's for inf. With a minus, the
smallest. "nuc" is the sum of the singular values, "fro" the 2-norm of all elements. `linalg.norm`
calls `vector_norm` or `matrix_norm`, depending on its dimensions. All are composite: their
derivatives are those of `linalg_vector_norm`, `_linalg_svd`, `amax`.

How the real one differs: it is composed of the same operators, in C++.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from internals._generated import ops
from internals.core.dtype import dtype
from internals.core.geometry import wrap_dim
from internals.core.scalar import Scalar
from internals.core.tensor_impl import Tensor

from ..norms import check_norm_dtype
from . import checks

_NAME = "linalg.matrix_norm"


def linalg_norm(
    self: Tensor,
    ord: Scalar | None = None,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: dtype | None = None,
) -> Any:
    """A matrix norm over two dimensions, a vector norm over one, or over all of them where `ord` is
    None.

    Raises RuntimeError for more dimensions, and as `linalg_vector_norm` and `linalg_matrix_norm`.
    """
    _check_dims(self, dim, asked=ord is not None)
    if ord is not None and (self.dim() if dim is None else len(dim)) == 2:
        return ops.linalg_matrix_norm(self, ord, (0, 1) if dim is None else dim, keepdim, dtype)
    return ops.linalg_vector_norm(self, 2 if ord is None else ord, dim, keepdim, dtype)


def linalg_norm_ord_str(
    self: Tensor,
    ord: str,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: dtype | None = None,
) -> Any:
    """The norm "fro" or "nuc" of matrices. Raises as `linalg_matrix_norm_str_ord`."""
    _check_dims(self, dim, asked=True)
    return ops.linalg_matrix_norm_str_ord(self, ord, (0, 1) if dim is None else dim, keepdim, dtype)


def linalg_matrix_norm(
    self: Tensor,
    ord: Scalar,
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    dtype: dtype | None = None,
) -> Any:
    """The norm of order 1, 2, inf, or minus one of these, of the matrices in two dimensions.

    Raises RuntimeError for another order, for integers, for half precision and order 2, and unless
    `dim` is two dimensions.
    """
    if isinstance(ord, complex):
        raise RuntimeError(f"{_NAME}: Expected a non-complex scalar as the order of norm.")
    order = float(ord)
    size = abs(order)
    if size not in (1, 2, float("inf")):
        raise RuntimeError(f"{_NAME}: Order {order:g} not supported.")
    row, column = _check(self, dim, dtype, low_precision=size != 2)
    extreme = _largest if order > 0 else _smallest
    if size == 2:
        return _of_singular_values(
            self, (row, column), keepdim, dtype, lambda s, keep: extreme(s, -1, keep)
        )
    # Order 1: sum over the rows of each column, then take the extreme column; inf: the other way.
    if size == float("inf"):
        row, column = column, row
    if not keepdim and row < column:
        column -= 1  # the first reduction takes a dimension away
    return extreme(ops.linalg_vector_norm(self, 1.0, [row], keepdim, dtype), column, keepdim)


def linalg_matrix_norm_str_ord(
    self: Tensor,
    ord: str = "fro",
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    dtype: dtype | None = None,
) -> Any:
    """The norm "fro" (all elements as one vector) or "nuc" (the sum of the singular values) of the
    matrices in two dimensions.

    Raises RuntimeError as `linalg_matrix_norm`; only "nuc" rejects half precision.
    """
    if ord not in ("fro", "nuc"):
        raise RuntimeError(f"{_NAME}: Order {ord} not supported.")
    dims = _check(self, dim, dtype, low_precision=ord == "fro")
    if ord == "fro":
        return ops.linalg_vector_norm(self, 2, dims, keepdim, dtype)
    return _of_singular_values(
        self, dims, keepdim, dtype, lambda s, keep: ops.sum_dim_IntList(s, [-1], keep, None)
    )


def nuclear_norm(self: Tensor, keepdim: bool = False) -> Any:
    """`linalg.matrix_norm(self, "nuc")` by an older name."""
    return ops.nuclear_norm_dim(self, (-2, -1), keepdim)


def nuclear_norm_dim(self: Tensor, dim: Sequence[int], keepdim: bool = False) -> Any:
    """`linalg.matrix_norm(self, "nuc", dim)` by an older name."""
    return ops.linalg_matrix_norm_str_ord(self, "nuc", dim, keepdim, None)


def frobenius_norm_dim(self: Tensor, dim: Sequence[int], keepdim: bool = False) -> Any:
    """`linalg.vector_norm(self, 2, dim)` by an older name."""
    return ops.norm_ScalarOpt_dim(self, 2.0, dim, keepdim)


def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Any:
    """The norm over all dimensions but `dim`, which are kept with size 1; with dim = -1 over all,
    as a 0-d tensor. Weight normalisation divides by it.
    """
    if dim == -1:
        return ops.norm_Scalar(v, pow)
    # a dimension in the middle becomes the first; then v is viewed as a matrix
    n = v.dim()
    if dim not in (0, n - 1):
        return ops.transpose_int(ops.norm_except_dim(ops.transpose_int(v, 0, dim), pow, 0), 0, dim)
    rows = v.contiguous().view([v.shape[0], -1] if dim == 0 else [-1, v.shape[-1]])
    sizes = [k if d == dim else 1 for d, k in enumerate(v.shape)]
    return ops.view(ops.norm_ScalarOpt_dim(rows, pow, [1 if dim == 0 else 0], False), sizes)


def _of_singular_values(
    self: Tensor,
    dims: tuple[int, int],
    keepdim: bool,
    dtype: dtype | None,
    reduce: Callable[..., Any],
) -> Any:
    """`reduce` of the singular values of the matrices in `dims`; kept, these have size 1."""
    matrices = self if dtype is None else ops.to_dtype(self, dtype, False, False, None)
    order = [*(d for d in range(self.dim()) if d not in dims), *dims]
    result = reduce(ops.linalg_svdvals(ops.permute(matrices, order), None), keepdim)
    if not keepdim:
        return result
    # the last two dimensions, now (1, 1), go back to where `dims` were
    return ops.permute(ops.unsqueeze(result, -1), [order.index(d) for d in range(self.dim())])


def _largest(t: Tensor, dim: int, keepdim: bool) -> Any:
    """The maximum of values that are not negative: 0 over a dimension of size 0."""
    return (
        ops.amax(t, [dim], keepdim)
        if t.shape[dim]
        else ops.sum_dim_IntList(t, [dim], keepdim, None)
    )


def _smallest(t: Tensor, dim: int, keepdim: bool) -> Any:
    """The minimum over `dim`. Raises IndexError over a dimension of size 0."""
    return ops.amin(t, [dim], keepdim)


def _check_dims(self: Tensor, dim: Sequence[int] | None, asked: bool) -> None:
    """Raises RuntimeError for more than two dimensions; without an order, all may be reduced."""
    if dim is not None and len(dim) not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dim)}"
        )
    if dim is None and asked and self.dim() not in (1, 2):
        raise RuntimeError(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
            f"{self.dim()}D."
        )


def _check(
    self: Tensor, dim: Sequence[int], dtype: dtype | None, low_precision: bool
) -> tuple[int, int]:
    """The two dimensions, counted from the front. Raises RuntimeError for other arguments."""
    checks.matrices(_NAME, self)
    checks.floating(_NAME, self, low_precision)
    if len(dim) != 2:
        raise RuntimeError(f"{_NAME}: dim must be a 2-tuple. Got {' '.join(map(str, dim))}")
    row, column = (wrap_dim(d, self.dim()) for d in dim)
    if row == column:
        raise RuntimeError(f"{_NAME}: dims must be different. Got ({row}, {column})")
    check_norm_dtype(_NAME, dtype, self.dtype)
    return row, column
