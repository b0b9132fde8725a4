"""Products of tensors (`aten/src/ATen/native/Linear.cpp`: `tensordot`; `LinearAlgebra.cpp`: `kron`,
`inner`, `linalg_vecdot`).

`tensordot` sums over pairs of dimensions, one of each tensor. These are moved to the inside and
flattened to one, as are the others to rows and columns; the rest is one product of matrices. All
functions here are composite: their derivatives follow from the operators that they call.

How the real one differs: sizes may be symbols in `tensordot`, so that compilers can trace it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from internals._generated import ops
from internals.core.geometry import wrap_dim
from internals.core.tensor_impl import Tensor

from . import checks


def tensordot(
    self: Tensor, other: Tensor, dims_self: Sequence[int], dims_other: Sequence[int]
) -> Any:
    """The sum of products over dimensions `dims_self` and `dims_other`, pair by pair; the rest of
    `self` comes first.

    Raises RuntimeError for two dtypes, and for sizes that are neither equal nor 1.
    """
    if len(dims_self) != len(dims_other):
        raise RuntimeError("both dimension lists should have same length")
    if self.dtype is not other.dtype:
        raise RuntimeError("both inputs should have same dtype")
    a, b, inner = self, other, 1
    # where one side has size 1, it multiplies the sum of the other side: both get size 1
    for i, j in zip(dims_self, dims_other):
        n, m = self.size(i), other.size(j)
        if m == 1:
            a = ops.sum_dim_IntList(a, [i], True, self.dtype)
        elif n == 1:
            b = ops.sum_dim_IntList(b, [j], True, self.dtype)
        elif n == m:
            inner *= n
        else:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {n} in dim {i} and "
                f"second has size {m} in dim {j}"
            )
    summed_self = [wrap_dim(d, self.dim()) for d in dims_self]
    summed_other = [wrap_dim(d, other.dim()) for d in dims_other]
    kept_self = [d for d in range(self.dim()) if d not in summed_self]
    kept_other = [d for d in range(other.dim()) if d not in summed_other]
    # (*kept_self, *summed) @ (*summed, *kept_other)
    left, right = (
        ops.permute(a, [*kept_self, *summed_self]),
        ops.permute(b, [*summed_other, *kept_other]),
    )
    sizes = [*(self.shape[d] for d in kept_self), *(other.shape[d] for d in kept_other)]
    if prod(sizes) == 1:
        return ops.reshape(_one_sum(left, right), sizes)
    rows, columns = prod(self.shape[d] for d in kept_self), prod(other.shape[d] for d in kept_other)
    product = ops.mm(ops.reshape(left, [rows, inner]), ops.reshape(right, [inner, columns]))
    return ops.reshape(product, sizes)


def _one_sum(a: Tensor, b: Tensor) -> Any:
    """The sum of all products. Operands that are not contiguous are multiplied where they lie,
    rather than copied for `dot`.
    """
    if a.is_contiguous() and b.is_contiguous():
        return ops.dot(ops.reshape(a, [-1]), ops.reshape(b, [-1]))
    return ops.sum(ops.mul_Tensor(ops.squeeze(a), ops.squeeze(b)), a.dtype)


def inner(self: Tensor, other: Tensor) -> Any:
    """The sum of products over the last dimensions; of a 0-d tensor, the product.

    Raises RuntimeError unless the last sizes are equal, and for two dtypes.
    """
    if self.dim() == 0 or other.dim() == 0:
        return ops.mul_Tensor(self, other)
    if self.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(self.shape)} and {list(other.shape)}"
        )
    return ops.tensordot(self, other, [-1], [-1])


def linalg_vecdot(x: Tensor, y: Tensor, dim: int = -1) -> Any:
    """The sum of conj(x) * y over `dim`, the other dimensions broadcast. Raises RuntimeError for
    two dtypes and for integers.
    """
    checks.floating("linalg.vecdot", x)
    checks.same_dtype("linalg.vecdot", x, y, ("x", "y"))
    if x.dim() == 1 and y.dim() == 1:
        return ops.vdot(x, y)
    return ops.sum_dim_IntList(ops.mul_Tensor(ops.conj(x), y), [dim], False, None)


def kron(self: Tensor, other: Tensor) -> Any:
    """Kronecker's product: every element of `self` times all of `other`, as blocks of one large
    tensor.
    """
    n = max(self.dim(), other.dim())
    a = (1,) * (n - self.dim()) + tuple(self.shape)
    b = (1,) * (n - other.dim()) + tuple(other.shape)
    # (a0, 1, a1, 1, ...) * (1, b0, 1, b1, ...) is (a0, b0, a1, b1, ...), viewed as (a0 * b0, ...)
    left = ops.reshape(self, [size for k in a for size in (k, 1)])
    right = ops.reshape(other, [size for k in b for size in (1, k)])
    product = ops.mul_Tensor(left, right).contiguous()
    return ops._unsafe_view(product, [j * k for j, k in zip(a, b)])
