"""Products of matrices and vectors, on BLAS through numpy
(`aten/src/ATen/native/LinearAlgebra.cpp`, `Blas.cpp`).

All of them compute `beta * self + alpha * (a @ b)`, or a special case of it. With `beta=0` the old
contents of `self` do not count, not even NaN. Integers are multiplied exactly (and wrap around),
half precision is summed in float32. Unlike the pointwise operators, these do not promote: both
factors must have one dtype.

How the real one differs: `addmm` is its only kernel for matrices, and `mm` calls it with beta 0. It
hands the strides to BLAS as they are, where numpy may copy a factor first, and it uses oneDNN for
half and bfloat16.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from internals.aten.dtype_checks import TYPE_META_NAME, check_same_dtype, not_implemented
from internals.aten.on_device import on_device
from internals.aten.set_output import set_output
from internals.core import dtype as dt
from internals.core.device import CPU
from internals.core.dtype import SCALAR_TYPE_NAME
from internals.core.float_errors import quiet, restore
from internals.core.geometry import Geometry, contiguous_geometry
from internals.core.scalar import Scalar, checked
from internals.core.tensor_impl import Array, Tensor, array, empty
from internals.machine_code.settings import settings

from .views import expand


def mm(self: Tensor, mat2: Tensor, out: Tensor | None = None) -> Any:
    """The matrix product, (n, k) by (k, m). Raises RuntimeError for other shapes or two dtypes."""
    # fast path: one cached look at the geometries replaces all the checks below
    usual = _common_product(self._geometry, mat2._geometry)
    if usual is not None and out is None:
        return _dot(usual, self, mat2)
    _check(self.dim() == 2, "self must be a matrix")
    _check(mat2.dim() == 2, "mat2 must be a matrix")
    _check_inner(self, mat2)
    result = set_output((self.shape[0], mat2.shape[1]), self.dtype, out, device=self.device)
    if self.dtype is not mat2.dtype:
        names = f"{TYPE_META_NAME[self.dtype]} != {TYPE_META_NAME[mat2.dtype]}"
        which = "mat1 and mat2" if self.device.type == "cuda" else "m1 and m2"
        raise RuntimeError(f"expected {which} to have the same dtype, but got: {names}")
    _check_implemented("addmm_impl_cpu_", self)
    if result._geometry.stored:
        product(array(self), array(mat2), array(result))
    return on_device("linear_algebra.product", result, self, mat2)


def bmm(self: Tensor, mat2: Tensor, out: Tensor | None = None) -> Any:
    """One matrix product for each batch: (b, n, k) by (b, k, m)."""
    usual = _common_batches(self._geometry, mat2._geometry)
    if usual is not None and out is None:
        result = empty(usual)
        _multiply_batches(self, mat2, result)
        return result
    sizes = _batched_sizes(self, mat2)
    result = set_output(sizes, mat2.dtype, out, device=self.device)
    check_same_dtype(self, mat2)
    _check_implemented("bmm", self)
    if result._geometry.stored:
        product(array(self), array(mat2), array(result))
    return on_device("linear_algebra.product", result, self, mat2)


def mv(self: Tensor, vec: Tensor, out: Tensor | None = None) -> Any:
    """Matrix times vector, (n, m) by (m): a vector of n elements."""
    usual = _common_product(self._geometry, vec._geometry, None, 1)
    if usual is not None and out is None:
        return _dot(usual, self, vec)
    got = f"1, {self.dim()}, {vec.dim()}"
    _check(self.dim() == 2 and vec.dim() == 1, f"vector + matrix @ vector expected, got {got}")
    _check_matrix_vector(self.shape[0], self, vec)
    # PyTorch's mv is addmv with `out` in the place of the addend, so `out` is checked as an input
    _check_one_dtype("addmv input tensors", vec if out is None else out, self, vec)
    _check_implemented("addmv_impl_cpu", self)
    result = set_output(self.shape[:1], vec.dtype, out, device=self.device)
    if result._geometry.stored:
        product(array(self), array(vec), array(result))
    return on_device("linear_algebra.product", result, self, vec)


def dot(self: Tensor, tensor: Tensor, out: Tensor | None = None) -> Any:
    """The sum of the products of two vectors, as a 0-d tensor."""
    _check(
        self.dim() == 1 and tensor.dim() == 1,
        f"1D tensors expected, but got {self.dim()}D and {tensor.dim()}D tensors",
    )
    a, b = SCALAR_TYPE_NAME[self.dtype], SCALAR_TYPE_NAME[tensor.dtype]
    _check(a == b, f"dot : expected both vectors to have same dtype, but found {a} and {b}")
    n, m = self.numel(), tensor.numel()
    _check(
        n == m,
        f"inconsistent tensor size, expected tensor [{n}] and src [{m}] to have the same number "
        f"of elements, but got {n} and {m} elements respectively",
    )
    _check_implemented("dot", self)
    if out is not None and out.dtype is not self.dtype:
        raise RuntimeError(
            f"result dtype {SCALAR_TYPE_NAME[out.dtype]} does not match input dtype {a}"
        )
    result = set_output((), self.dtype, out, device=self.device)
    if result._geometry.stored:
        array(result)[...] = product(array(self), array(tensor))
    return on_device("linear_algebra.dot", result, self, tensor)


def addmm(
    self: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    beta: Scalar = 1,
    alpha: Scalar = 1,
    out: Tensor | None = None,
) -> Any:
    """beta * self + alpha * (mat1 @ mat2); `self` is broadcast to the product's shape."""
    usual = _common_product(mat1._geometry, mat2._geometry, self._geometry)
    if usual is not None and out is None and alpha == beta == 1:
        result = empty(usual)  # (n, m); the addend is (n, m), or (m) and numpy broadcasts it
        if mat2._geometry.numel >= settings.least and _rows_dot(mat1, mat2, self, result):
            return result
        token = quiet()
        target = np.dot(array(mat1), array(mat2), array(result))
        np.add(target, array(self), target)
        restore(token)
        return result
    _check_pair("self and mat2", self, mat2)
    _check_pair("mat1 and mat2", mat1, mat2)
    for name, t in (("mat1", mat1), ("mat2", mat2)):
        if t.dim() != 2:
            raise RuntimeError(f"{name} must be a matrix, got {t.dim()}-D tensor")
    _check_inner(mat1, mat2)
    sizes = mat1.shape[0], mat2.shape[1]
    result = set_output(sizes, mat1.dtype, out, out is self, device=self.device)
    # a row is a bias, which numpy's addition broadcasts; anything else gets the full size
    is_a_row = self._geometry.sizes == sizes[1:] and self.device is CPU
    addend = self if is_a_row else expand(self, sizes)
    _check_implemented("addmm_impl_cpu_", self)
    return _scale_and_add(result, addend, mat1, mat2, beta, alpha, out)


def addmv(
    self: Tensor,
    mat: Tensor,
    vec: Tensor,
    beta: Scalar = 1,
    alpha: Scalar = 1,
    out: Tensor | None = None,
) -> Any:
    """beta * self + alpha * (mat @ vec)."""
    got = f"{self.dim()}, {mat.dim()}, {vec.dim()}"
    _check(
        mat.dim() == 2 and vec.dim() == 1 and self.dim() <= 1,
        f"vector + matrix @ vector expected, got {got}",
    )
    _check_matrix_vector(self.numel(), mat, vec)
    _check_one_dtype("addmv input tensors", self, mat, vec)
    result = set_output(mat.shape[:1], vec.dtype, out, out is self, device=self.device)
    addend = expand(self, mat.shape[:1])
    _check_implemented("addmv_impl_cpu", self)
    return _scale_and_add(result, addend, mat, vec, beta, alpha, out)


def baddbmm(
    self: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    beta: Scalar = 1,
    alpha: Scalar = 1,
    out: Tensor | None = None,
) -> Any:
    """beta * self + alpha * (batch1 @ batch2), batch by batch."""
    usual = _common_batches(batch1._geometry, batch2._geometry)
    # fast path: the product, then the addend (b, n, m), in place
    if usual is not None and out is None and alpha == beta == 1 and _is_like(self, usual):
        result = empty(usual)
        _multiply_batches(batch1, batch2, result)
        token = quiet()
        np.add(array(result), array(self), array(result))
        restore(token)
        return result
    sizes = _batched_sizes(batch1, batch2)
    addend = self if out is self else expand(self, sizes)
    if self.dtype is not batch1.dtype:
        names = (TYPE_META_NAME[t.dtype] for t in (self, batch1, batch2))
        raise RuntimeError(
            "Input dtypes must be the same, got: input {}, batch1: {}, batch2: {}".format(*names)
        )
    dtype = batch2.dtype if out is None else self.dtype
    result = set_output(sizes, dtype, out, out is self, device=self.device)
    check_same_dtype(batch1, batch2)
    _check_implemented("baddbmm", self)
    return _scale_and_add(result, addend, batch1, batch2, beta, alpha, out)


def addbmm(
    self: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    beta: Scalar = 1,
    alpha: Scalar = 1,
    out: Tensor | None = None,
) -> Any:
    """beta * self + alpha * (the sum over the batches of batch1 @ batch2)."""
    _check(batch1.dim() == 3, "batch1 must be a 3D tensor")
    _check(batch2.dim() == 3, "batch2 must be a 3D tensor")
    (b, n, k), (b2, k2, m) = batch1.shape, batch2.shape
    addend = expand(self, (n, m))
    _check(b == b2, f"batch1 and batch2 must have same number of batches, got {b} and {b2}")
    _check(k == k2, f"Incompatible matrix sizes for bmm ({n}x{k} and {k2}x{m})")
    _check_pair("self and mat2", self, batch2)
    _check_pair("mat1 and mat2", batch1, batch2)
    _check_implemented("addmm_impl_cpu_", self)
    result = set_output((n, m), self.dtype, out, out is self, device=self.device)
    return _scale_and_add(result, addend, batch1, batch2, beta, alpha, out)


@lru_cache(maxsize=1 << 12)
def _common_product(
    a: Geometry, b: Geometry, addend: Geometry | None = None, ndim: int = 2
) -> Geometry | None:
    """The geometry of `a @ b` if nothing has to be checked or converted, else None.

    That is so for a matrix (n, k) and a matrix (k, m), or with `ndim` 1 a vector (k), of one
    floating dtype, on the CPU, not empty, with strides as BLAS takes them. An addend has to be
    (n, m) or (m). `np.dot` then serves, which costs less than `np.matmul`.
    """
    operands = (a, b) if addend is None else (a, b, addend)
    if a.dtype not in (dt.float32, dt.float64) or any(
        g.dtype is not a.dtype or g.device is not CPU for g in operands
    ):
        return None
    if (
        len(a.sizes) != 2
        or len(b.sizes) != ndim
        or a.sizes[1] != b.sizes[0]
        or 0 in (*a.sizes, *b.sizes)
    ):
        return None
    if 1 not in a.strides or 1 not in b.strides:  # BLAS wants neighbours along one dimension
        return None
    sizes = (a.sizes[0], *b.sizes[1:])
    return (
        contiguous_geometry(sizes, a.dtype)
        if addend is None or addend.sizes in (sizes, sizes[1:])
        else None
    )


@lru_cache(maxsize=1 << 12)
def _common_batches(a: Geometry, b: Geometry) -> Geometry | None:
    """The geometry of `a @ b` for (b, n, k) and (b, k, m) of one floating dtype on the CPU, where
    nothing has to be checked or converted; else None.
    """
    if (
        a.dtype not in (dt.float32, dt.float64)
        or a.dtype is not b.dtype
        or a.device is not CPU
        or b.device is not CPU
    ):
        return None
    if (
        len(a.sizes) != 3
        or len(b.sizes) != 3
        or a.sizes[0] != b.sizes[0]
        or a.sizes[2] != b.sizes[1]
    ):
        return None
    return contiguous_geometry((*a.sizes[:2], b.sizes[2]), a.dtype)


def _is_like(t: Tensor, g: Geometry) -> bool:
    """Whether a tensor has the sizes and the dtype of a geometry, on the CPU."""
    own = t._geometry
    return own.sizes == g.sizes and own.dtype is g.dtype and own.device is CPU


def _multiply_batches(a: Tensor, b: Tensor, out: Tensor) -> None:
    """Fill `out`, contiguous, with (b, n, k) @ (b, k, m): many small matrices by machine code,
    others by BLAS.
    """
    # b * n * m results of k products each: small work does not pay for a compiled kernel
    if out._geometry.numel * a._geometry.sizes[2] >= settings.least:
        from internals.aten.compiled.gemm import bmm

        if bmm(a, b, out):
            return
    product(array(a), array(b), array(out))


def _dot(g: Geometry, a: Tensor, b: Tensor) -> Any:
    """`a @ b` for operands that `_common_product` found to fit, with the geometry it gave."""
    result = empty(g)
    if b._geometry.numel >= settings.least and _rows_dot(a, b, None, result):
        return result
    token = quiet()
    np.dot(array(a), array(b), array(result))
    restore(token)
    return result


def _rows_dot(a: Tensor, b: Tensor, addend: Tensor | None, result: Tensor) -> bool:
    """Fill `result` by machine code, which is worth it for a few rows times a large transposed
    matrix. Returns False, and leaves `result` as it is, where BLAS has to do it.
    """
    from internals.aten.compiled import gemm

    return len(b._geometry.sizes) == 2 and gemm.dot(a, b, addend, result)


def product(a: Array, b: Array, out: Array | None = None) -> Any:
    """`a @ b` for numpy arrays of one dtype, into `out` or new; without `out`, half precision gives
    its float32 sum.
    """
    token = quiet()
    try:
        if a.dtype.char == "e":
            wide = np.matmul(a.astype(np.float32), b.astype(np.float32))
            if out is None:
                return wide
            out[...] = wide
            return out
        return np.matmul(_blas_operand(a), _blas_operand(b), out)
    finally:
        restore(token)


def _scale_and_add(
    result: Tensor,
    addend: Tensor,
    left: Tensor,
    right: Tensor,
    beta: Scalar,
    alpha: Scalar,
    out: Tensor | None,
) -> Any:
    """result = beta * addend + alpha * (left @ right).

    `out` may share memory with any of the three; so with `out` the product goes to new memory, and
    is copied at the very end.
    """
    wide = dt.float32 if result.dtype is dt.float16 else result.dtype
    if not result._geometry.stored:
        alpha, beta = checked(alpha, wide), checked(beta, wide)
        return on_device("linear_algebra.scale_and_add", result, addend, left, right, beta, alpha)
    target, addend, a, b = map(array, (result, addend, left, right))
    # addbmm: the sum over b batches of (n, k) @ (k, m) is one product (n, b * k) @ (b * k, m)
    if a.ndim > target.ndim == 2:
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
        # with alpha 0 BLAS does not read the factors, so a NaN in them does not show
        if alpha == 0 and _is_for_blas(a, b):
            total = np.zeros(target.shape, wide.np)
        else:
            total = product(a, b, target if sums_in_place else None)
            if alpha != 1:
                total *= alpha
        if beta != 0:  # 0 * NaN would be NaN, so with beta 0 the addend is not read at all
            total += addend if beta == 1 else beta * addend.astype(wide.np, copy=False)
        if total is not target:
            target[...] = total
    return result


def _is_for_blas(a: Array, b: Array) -> bool:
    """Whether PyTorch hands this product to BLAS: a single matrix, not in half precision, times a
    matrix or a vector; but not a vector of stride 0, which repeats one number.
    """
    return a.ndim == 2 and a.dtype != np.float16 and (b.ndim == 2 or b.strides != (0,))


def _blas_operand(a: Array) -> Any:
    """`a`, copied if its last two dimensions are both strided: BLAS needs one of them packed."""
    return a if a.ndim < 2 or a.itemsize in a.strides[-2:] else np.ascontiguousarray(a)


# Checks of the arguments, with PyTorch's texts


def _batched_sizes(batch1: Tensor, batch2: Tensor) -> tuple[int, int, int]:
    """(b, n, m) for (b, n, k) and (b, k, m); RuntimeError for other shapes."""
    _check(batch1.dim() == 3, "batch1 must be a 3D tensor")
    _check(batch2.dim() == 3, "batch2 must be a 3D tensor")
    b, n, k = batch1.shape
    got = list(batch2.shape[:2])
    _check(
        got == [b, k],
        f"Expected size for first two dimensions of batch2 tensor to be: [{b}, {k}] but got: "
        f"{got}.",
    )
    return b, n, batch2.shape[2]


def _check(condition: bool, message: str) -> None:
    """Raises RuntimeError with `message` unless the condition holds."""
    if not condition:
        raise RuntimeError(message)


def _check_inner(a: Tensor, b: Tensor) -> None:
    """Raises RuntimeError unless (n, k) and (k, m) have one k."""
    (n, k), (k2, m) = a.shape, b.shape
    if k != k2:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({n}x{k} and {k2}x{m})")


def _check_matrix_vector(n: int, mat: Tensor, vec: Tensor) -> None:
    """Raises RuntimeError unless mat (rows, columns) fits vec (columns) and an addend of `n`."""
    rows, columns = mat.shape
    # the addend's size: 1 is broadcast over the rows
    fits = columns == vec.shape[0] and n in (1, rows)
    _check(fits, f"size mismatch, got input ({n}), mat ({rows}x{columns}), vec ({vec.shape[0]})")


def _check_pair(who: str, a: Tensor, b: Tensor) -> None:
    """Raises RuntimeError for two dtypes; `who` names the operands."""
    if a.dtype is not b.dtype:
        names = f"{SCALAR_TYPE_NAME[a.dtype]} and {SCALAR_TYPE_NAME[b.dtype]}"
        raise RuntimeError(f"{who} must have the same dtype, but got {names}")


def _check_one_dtype(who: str, a: Tensor, b: Tensor, c: Tensor) -> None:
    """Raises RuntimeError unless all three have one dtype; `who` names the operands."""
    x, y, z = (SCALAR_TYPE_NAME[t.dtype] for t in (a, b, c))
    _check(x == y == z, f"{who} must have the same dtype, but got {x}, {y}, and {z}")


def _check_implemented(kernel: str, t: Tensor) -> None:
    """Raises NotImplementedError, naming `kernel`, for bool: PyTorch has no products of bools."""
    if t.dtype is dt.bool_:
        raise not_implemented(
            _ON_CUDA.get(kernel, kernel) if t.device.type == "cuda" else kernel, t.dtype
        )


_ON_CUDA = {  # the same operator's kernel as PyTorch's CUDA errors name it
    "addmm_impl_cpu_": "addmm_cuda",
    "addmv_impl_cpu": "addmv_impl_cuda",
    "bmm": "baddbmm_cuda",
    "baddbmm": "baddbmm_cuda",
}
