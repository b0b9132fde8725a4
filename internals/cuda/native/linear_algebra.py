"""Products of matrices and vectors on the device (`aten/src/ATen/native/cuda/Blas.cpp`).

All of them are `beta * self + alpha * (a @ b)` in some shape: the checks are those of the CPU, the work is `matmul.multiply`.
`addbmm` sums over the batch: with the batch as an outer inner dimension it is one product, of two longer matrices.

How the real one differs: `addmm` with a row as addend becomes cuBLASLt's product with a fused bias; half precision uses tensor
cores.
"""

from __future__ import annotations

from typing import Any

from internals._generated import ops
from internals.aten.native import linear_algebra_checks as checks
from internals.core.scalar import checked
from internals.core.tensor_impl import TensorImpl

from ..fallback import on_cpu
from . import matmul
from .opmath import opmath_dtype


def mm(self: TensorImpl, mat2: TensorImpl, out: Any = None) -> Any:
    """The matrix product, (n, k) by (k, m). Raises RuntimeError for other shapes or two dtypes."""
    return _product(ops.mm_op, checks.mm(self, mat2, out), self, mat2)


def bmm(self: TensorImpl, mat2: TensorImpl, out: Any = None) -> Any:
    """One matrix product for each batch: (b, n, k) by (b, k, m)."""
    return _product(ops.bmm_op, checks.bmm(self, mat2, out), self, mat2)


def mv(self: TensorImpl, vec: TensorImpl, out: Any = None) -> Any:
    """Matrix times vector, (n, m) by (m)."""
    return _product(ops.mv_op, checks.mv(self, vec, out), self, vec)


def dot(self: TensorImpl, tensor: TensorImpl, out: Any = None) -> Any:
    """The sum of the products of two vectors, as a 0-d tensor."""
    result = checks.dot(self, tensor, out)
    if self.dtype.is_complex:
        return on_cpu(ops.dot_op, self, tensor, out=result)
    matmul.dot(result, self, tensor)
    return result


def addmm(self: TensorImpl, mat1: TensorImpl, mat2: TensorImpl, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Any:
    """beta * self + alpha * (mat1 @ mat2); `self` is broadcast to the product's shape."""
    result, addend = checks.addmm(self, mat1, mat2, out)
    if self.dtype.is_complex:
        return on_cpu(ops.addmm_op, self, mat1, mat2, beta, alpha, out=result)
    return _scale_and_add(result, addend, mat1, mat2, beta, alpha)


def addmv(self: TensorImpl, mat: TensorImpl, vec: TensorImpl, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Any:
    """beta * self + alpha * (mat @ vec)."""
    result, addend = checks.addmv(self, mat, vec, out)
    if self.dtype.is_complex:
        return on_cpu(ops.addmv_op, self, mat, vec, beta, alpha, out=result)
    return _scale_and_add(result, addend, mat, vec, beta, alpha)


def baddbmm(
    self: TensorImpl, batch1: TensorImpl, batch2: TensorImpl, beta: Any = 1, alpha: Any = 1, out: Any = None
) -> Any:
    """beta * self + alpha * (batch1 @ batch2), batch by batch."""
    result, addend = checks.baddbmm(self, batch1, batch2, out)
    if self.dtype.is_complex:
        return on_cpu(ops.baddbmm_op, self, batch1, batch2, beta, alpha, out=result)
    return _scale_and_add(result, addend, batch1, batch2, beta, alpha)


def addbmm(
    self: TensorImpl, batch1: TensorImpl, batch2: TensorImpl, beta: Any = 1, alpha: Any = 1, out: Any = None
) -> Any:
    """beta * self + alpha * (the sum over the batches of batch1 @ batch2)."""
    result, addend = checks.addbmm(self, batch1, batch2, out)
    if self.dtype.is_complex:
        return on_cpu(ops.addbmm_op, self, batch1, batch2, beta, alpha, out=result)
    b, n, k = batch1.shape
    left = ops.reshape(ops.permute(batch1, [1, 0, 2]), [n, b * k])
    return _scale_and_add(result, addend, left, ops.reshape(batch2, [b * k, batch2.shape[2]]), beta, alpha)


def _product(op: Any, result: Any, a: Any, b: Any) -> Any:
    """result = a @ b, for the operator `op`."""
    if a.dtype.is_complex:
        return on_cpu(op, a, b, out=result)
    return _fill(result, a, b, None, 1, 0)


def _scale_and_add(result: Any, addend: Any, a: Any, b: Any, beta: Any, alpha: Any) -> Any:
    """result = beta * addend + alpha * (a @ b). With alpha 0 the factors are not looked at, as in BLAS."""
    compute = opmath_dtype(result.dtype)
    alpha, beta = checked(alpha, compute), checked(beta, compute)
    if alpha == 0:
        a, b = a.narrow(-1, 0, 0), b.narrow(0 if b.dim() == 1 else -2, 0, 0)
    return _fill(result, a, b, addend, alpha, beta)


def _fill(result: Any, a: Any, b: Any, addend: Any, alpha: Any, beta: Any) -> Any:
    """The same. `result` may be the addend; where it shares memory in any other way, a new tensor is filled first."""
    multiply = matmul.multiply_vector if b.dim() == 1 else matmul.multiply
    memory = result._storage
    if a._storage is memory or b._storage is memory or _overlaps(addend, result):
        target = result.new_empty(result.shape)
        multiply(target, a, b, addend, alpha, beta)
        return ops.copy_(result, target, False)
    multiply(result, a, b, addend, alpha, beta)
    return result


def _overlaps(addend: Any, result: Any) -> bool:
    """Whether they share memory without having each element at the same place."""
    if addend is None or addend._storage is not result._storage:
        return False
    same = addend.shape == result.shape and addend.stride() == result.stride() and addend._offset == result._offset
    return not same
