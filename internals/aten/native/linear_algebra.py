"""Products of matrices and vectors, on BLAS through numpy (`aten/src/ATen/native/LinearAlgebra.cpp`, `Blas.cpp`).

All of them are `beta * self + alpha * (a @ b)` in some shape. With `beta=0` the old contents of `self` do not count, not even
NaN. Integers are multiplied exactly (and wrap around), half precision is summed in float32. Unlike the pointwise operators,
these do not promote: both factors must have one dtype.

How the real one differs: `addmm` is the one kernel there, `mm` calls it with beta 0; it hands the strides to BLAS as they are,
where numpy may copy a factor first, and it uses oneDNN for half and bfloat16.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from internals.core import dtype as dt
from internals.core.device import CPU
from internals.core.float_errors import quiet, restore
from internals.core.geometry import Geometry, contiguous_geometry
from internals.core.scalar import checked
from internals.core.tensor_impl import TensorImpl, array, empty
from internals.machine_code.settings import settings

from . import linear_algebra_checks as checks


def mm(self: TensorImpl, mat2: TensorImpl, out: Any = None) -> Any:
    """The matrix product, (n, k) by (k, m). Raises RuntimeError for other shapes or two dtypes."""
    usual = _usual_product(self._geometry, mat2._geometry)
    if usual is not None and out is None:
        return _dot(usual, self, mat2)
    result = checks.mm(self, mat2, out)
    if result._geometry.stored:
        product(array(self), array(mat2), array(result))
    return result


def bmm(self: TensorImpl, mat2: TensorImpl, out: Any = None) -> Any:
    """One matrix product for each batch: (b, n, k) by (b, k, m)."""
    usual = _usual_batches(self._geometry, mat2._geometry)
    if usual is not None and out is None:
        result = empty(usual)
        _multiply_batches(self, mat2, result)
        return result
    result = checks.bmm(self, mat2, out)
    if result._geometry.stored:
        product(array(self), array(mat2), array(result))
    return result


def mv(self: TensorImpl, vec: TensorImpl, out: Any = None) -> Any:
    """Matrix times vector, (n, m) by (m)."""
    usual = _usual_product(self._geometry, vec._geometry, None, 1)
    if usual is not None and out is None:
        return _dot(usual, self, vec)
    result = checks.mv(self, vec, out)
    if result._geometry.stored:
        product(array(self), array(vec), array(result))
    return result


def dot(self: TensorImpl, tensor: TensorImpl, out: Any = None) -> Any:
    """The sum of the products of two vectors, as a 0-d tensor."""
    result = checks.dot(self, tensor, out)
    if result._geometry.stored:
        array(result)[...] = product(array(self), array(tensor))
    return result


def addmm(self: TensorImpl, mat1: TensorImpl, mat2: TensorImpl, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Any:
    """beta * self + alpha * (mat1 @ mat2); `self` is broadcast to the product's shape."""
    usual = _usual_product(mat1._geometry, mat2._geometry, self._geometry)
    if usual is not None and out is None and alpha == beta == 1:
        result = empty(usual)
        if mat2._geometry.numel >= settings.least and _dots(mat1, mat2, self, result):
            return result
        token = quiet()
        target = np.dot(array(mat1), array(mat2), array(result))
        np.add(target, array(self), target)
        restore(token)
        return result
    result, addend = checks.addmm(self, mat1, mat2, out)
    return _scale_and_add(result, addend, mat1, mat2, beta, alpha, out)


def addmv(self: TensorImpl, mat: TensorImpl, vec: TensorImpl, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Any:
    """beta * self + alpha * (mat @ vec)."""
    result, addend = checks.addmv(self, mat, vec, out)
    return _scale_and_add(result, addend, mat, vec, beta, alpha, out)


def baddbmm(
    self: TensorImpl, batch1: TensorImpl, batch2: TensorImpl, beta: Any = 1, alpha: Any = 1, out: Any = None
) -> Any:
    """beta * self + alpha * (batch1 @ batch2), batch by batch."""
    usual = _usual_batches(batch1._geometry, batch2._geometry)
    if usual is not None and out is None and alpha == beta == 1 and _is_like(self, usual):
        result = empty(usual)
        _multiply_batches(batch1, batch2, result)
        token = quiet()
        np.add(array(result), array(self), array(result))
        restore(token)
        return result
    result, addend = checks.baddbmm(self, batch1, batch2, out)
    return _scale_and_add(result, addend, batch1, batch2, beta, alpha, out)


def addbmm(
    self: TensorImpl, batch1: TensorImpl, batch2: TensorImpl, beta: Any = 1, alpha: Any = 1, out: Any = None
) -> Any:
    """beta * self + alpha * (the sum over the batches of batch1 @ batch2)."""
    result, addend = checks.addbmm(self, batch1, batch2, out)
    return _scale_and_add(result, addend, batch1, batch2, beta, alpha, out)


@lru_cache(maxsize=1 << 12)
def _usual_product(a: Geometry, b: Geometry, addend: Geometry | None = None, ndim: int = 2) -> Geometry | None:
    """The geometry of `a @ b` if nothing has to be checked or converted: a matrix and one (or, with ndim 1, a vector) that fit,
    as BLAS takes them.

    The addend, if there is one, has to be a row or a matrix of the product's sizes. `np.dot` will do then, which is for
    matrices only and costs less than `np.matmul`.
    """
    operands = (a, b) if addend is None else (a, b, addend)
    if a.dtype not in (dt.float32, dt.float64) or any(g.dtype is not a.dtype or g.device is not CPU for g in operands):
        return None
    if len(a.sizes) != 2 or len(b.sizes) != ndim or a.sizes[1] != b.sizes[0] or 0 in (*a.sizes, *b.sizes):
        return None
    if 1 not in a.strides or 1 not in b.strides:
        return None
    sizes = (a.sizes[0], *b.sizes[1:])
    return contiguous_geometry(sizes, a.dtype) if addend is None or addend.sizes in (sizes, sizes[1:]) else None


@lru_cache(maxsize=1 << 12)
def _usual_batches(a: Geometry, b: Geometry) -> Geometry | None:
    """The geometry of `a @ b` if both are batches of matrices that fit, and nothing has to be checked or converted."""
    if a.dtype not in (dt.float32, dt.float64) or a.dtype is not b.dtype or a.device is not CPU or b.device is not CPU:
        return None
    if len(a.sizes) != 3 or len(b.sizes) != 3 or a.sizes[0] != b.sizes[0] or a.sizes[2] != b.sizes[1]:
        return None
    return contiguous_geometry((*a.sizes[:2], b.sizes[2]), a.dtype)


def _is_like(t: TensorImpl, g: Geometry) -> bool:
    """Whether a tensor has the sizes and the dtype of a geometry, on the CPU."""
    own = t._geometry
    return own.sizes == g.sizes and own.dtype is g.dtype and own.device is CPU


def _multiply_batches(a: TensorImpl, b: TensorImpl, out: TensorImpl) -> None:
    """Fill `out`, which is contiguous, with the products: many small ones by machine code, others by BLAS."""
    if out._geometry.numel * a._geometry.sizes[2] >= settings.least:
        from internals.aten.compiled.gemm import bmm

        if bmm(a, b, out):
            return
    product(array(a), array(b), array(out))


def _dot(g: Geometry, a: TensorImpl, b: TensorImpl) -> Any:
    result = empty(g)
    if b._geometry.numel >= settings.least and _dots(a, b, None, result):
        return result
    token = quiet()
    np.dot(array(a), array(b), array(result))
    restore(token)
    return result


def _dots(a: TensorImpl, b: TensorImpl, addend: Any, result: TensorImpl) -> bool:
    """Whether machine code filled `result`, as it does for few rows times a large transposed matrix."""
    from internals.aten.compiled import gemm

    return len(b._geometry.sizes) == 2 and gemm.dot(a, b, addend, result)


def product(a: Any, b: Any, out: Any = None) -> Any:
    """`a @ b` for numpy arrays of one dtype, into `out` or new; without `out`, half precision gives its float32 sum."""
    token = quiet()
    try:
        if a.dtype.char == "e":
            wide = np.matmul(a.astype(np.float32), b.astype(np.float32))
            if out is None:
                return wide
            out[...] = wide
            return out
        return np.matmul(_blas_ready(a), _blas_ready(b), out)
    finally:
        restore(token)


def _scale_and_add(result: Any, addend: Any, left: Any, right: Any, beta: Any, alpha: Any, out: Any) -> Any:
    """result = beta * addend + alpha * (left @ right). `out` may share memory with all of them; the addend is read last."""
    wide = dt.float32 if result.dtype is dt.float16 else result.dtype
    if not result._geometry.stored:
        checked(alpha, wide), checked(beta, wide)
        return result
    target, addend, a, b = map(array, (result, addend, left, right))
    if a.ndim > target.ndim == 2:  # the sum over batches is one longer inner dimension
        k = a.shape[0] * a.shape[2]
        a, b = a.transpose(1, 0, 2).reshape(a.shape[1], k), b.reshape(k, b.shape[2])
    sums_in_place = out is None and target.dtype.char != "e"
    if sums_in_place and alpha.__class__ is int and beta.__class__ is int and alpha == beta == 1:
        product(a, b, target)
        token = quiet()
        np.add(target, addend, target)
        restore(token)
        return result
    alpha, beta = checked(alpha, wide), checked(beta, wide)
    with np.errstate(all="ignore"):
        if alpha == 0 and _is_for_blas(a, b):  # which does not look at the factors then
            total = np.zeros(target.shape, wide.np)
        else:
            total = product(a, b, target if sums_in_place else None)
            if alpha != 1:
                total *= alpha
        if beta != 0:
            total += addend if beta == 1 else beta * addend.astype(wide.np, copy=False)
        if total is not target:
            target[...] = total
    return result


def _is_for_blas(a: Any, b: Any) -> bool:
    """Whether PyTorch hands this product to BLAS: one matrix, not in half precision, and no vector that repeats one number."""
    return a.ndim == 2 and a.dtype != np.float16 and (b.ndim == 2 or b.strides != (0,))


def _blas_ready(a: Any) -> Any:
    """`a`, copied if its last two dimensions are both strided: BLAS needs one of them packed."""
    return a if a.ndim < 2 or a.itemsize in a.strides[-2:] else np.ascontiguousarray(a)
