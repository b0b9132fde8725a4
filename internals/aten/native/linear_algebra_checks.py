"""What products of matrices require of their arguments, and the result they fill (`TORCH_META_FUNC` in `LinearAlgebra.cpp`).

Each function here checks the arguments of the operator of its name, in PyTorch's order, and returns the tensor to write into;
the forms that add also return their addend, broadcast to the sizes of the product. The kernels of every backend begin with them.

How the real one differs: sizes are checked here for the structured operators and again, with other texts, inside some backends.
"""

from __future__ import annotations

from typing import Any

from internals.aten.dtype_checks import TYPE_META_NAME, not_implemented
from internals.aten.set_output import set_output
from internals.core import dtype as dt
from internals.core.device import CPU
from internals.core.dtype import SCALAR_TYPE_NAME
from internals.core.tensor_impl import TensorImpl

from .views import expand


def mm(self: TensorImpl, mat2: TensorImpl, out: Any = None) -> Any:
    """Two matrices (n, k) and (k, m) of one dtype."""
    _check(self.dim() == 2, "self must be a matrix")
    _check(mat2.dim() == 2, "mat2 must be a matrix")
    _check_inner(self, mat2)
    result = set_output((self.shape[0], mat2.shape[1]), self.dtype, out, device=self.device)
    if self.dtype is not mat2.dtype:
        names = f"{TYPE_META_NAME[self.dtype]} != {TYPE_META_NAME[mat2.dtype]}"
        which = "mat1 and mat2" if self.device.type == "cuda" else "m1 and m2"
        raise RuntimeError(f"expected {which} to have the same dtype, but got: {names}")
    _check_implemented("addmm_impl_cpu_", self)
    return result


def bmm(self: TensorImpl, mat2: TensorImpl, out: Any = None) -> Any:
    """Two batches (b, n, k) and (b, k, m) of one dtype."""
    sizes = _batched_sizes(self, mat2)
    result = set_output(sizes, mat2.dtype, out, device=self.device)
    _check_scalar_types(self, mat2)
    _check_implemented("bmm", self)
    return result


def mv(self: TensorImpl, vec: TensorImpl, out: Any = None) -> Any:
    """A matrix (n, m) and a vector (m) of one dtype."""
    got = f"1, {self.dim()}, {vec.dim()}"
    _check(self.dim() == 2 and vec.dim() == 1, f"vector + matrix @ vector expected, got {got}")
    _check_matrix_vector(self.shape[0], self, vec)
    _check_one_dtype("addmv input tensors", vec if out is None else out, self, vec)
    _check_implemented("addmv_impl_cpu", self)
    return set_output(self.shape[:1], vec.dtype, out, device=self.device)


def dot(self: TensorImpl, tensor: TensorImpl, out: Any = None) -> Any:
    """Two vectors of one length and dtype."""
    _check(
        self.dim() == 1 and tensor.dim() == 1, f"1D tensors expected, but got {self.dim()}D and {tensor.dim()}D tensors"
    )
    a, b = SCALAR_TYPE_NAME[self.dtype], SCALAR_TYPE_NAME[tensor.dtype]
    _check(a == b, f"dot : expected both vectors to have same dtype, but found {a} and {b}")
    n, m = self.numel(), tensor.numel()
    _check(
        n == m,
        f"inconsistent tensor size, expected tensor [{n}] and src [{m}] to have the same number of elements, but got {n} and {m} "
        "elements respectively",
    )
    _check_implemented("dot", self)
    if out is not None and out.dtype is not self.dtype:
        raise RuntimeError(f"result dtype {SCALAR_TYPE_NAME[out.dtype]} does not match input dtype {a}")
    return set_output((), self.dtype, out, device=self.device)


def addmm(self: TensorImpl, mat1: TensorImpl, mat2: TensorImpl, out: Any = None) -> tuple[Any, Any]:
    """Two matrices that fit, and what their product is added to."""
    _check_pair("self and mat2", self, mat2)
    _check_pair("mat1 and mat2", mat1, mat2)
    for name, t in (("mat1", mat1), ("mat2", mat2)):
        if t.dim() != 2:
            raise RuntimeError(f"{name} must be a matrix, got {t.dim()}-D tensor")
    _check_inner(mat1, mat2)
    sizes = mat1.shape[0], mat2.shape[1]
    result = set_output(sizes, mat1.dtype, out, out is self, device=self.device)
    is_a_row = self._geometry.sizes == sizes[1:] and self.device is CPU  # a bias, which numpy's addition broadcasts
    addend = self if is_a_row else expand(self, sizes)
    _check_implemented("addmm_impl_cpu_", self)
    return result, addend


def addmv(self: TensorImpl, mat: TensorImpl, vec: TensorImpl, out: Any = None) -> tuple[Any, Any]:
    """A matrix and a vector that fit, and what their product is added to."""
    got = f"{self.dim()}, {mat.dim()}, {vec.dim()}"
    _check(mat.dim() == 2 and vec.dim() == 1 and self.dim() <= 1, f"vector + matrix @ vector expected, got {got}")
    _check_matrix_vector(self.numel(), mat, vec)
    _check_one_dtype("addmv input tensors", self, mat, vec)
    result = set_output(mat.shape[:1], vec.dtype, out, out is self, device=self.device)
    addend = expand(self, mat.shape[:1])
    _check_implemented("addmv_impl_cpu", self)
    return result, addend


def baddbmm(self: TensorImpl, batch1: TensorImpl, batch2: TensorImpl, out: Any = None) -> tuple[Any, Any]:
    """Two batches that fit, and what their products are added to."""
    sizes = _batched_sizes(batch1, batch2)
    addend = self if out is self else expand(self, sizes)
    if self.dtype is not batch1.dtype:
        names = (TYPE_META_NAME[t.dtype] for t in (self, batch1, batch2))
        raise RuntimeError("Input dtypes must be the same, got: input {}, batch1: {}, batch2: {}".format(*names))
    dtype = batch2.dtype if out is None else self.dtype
    result = set_output(sizes, dtype, out, out is self, device=self.device)
    _check_scalar_types(batch1, batch2)
    _check_implemented("baddbmm", self)
    return result, addend


def addbmm(self: TensorImpl, batch1: TensorImpl, batch2: TensorImpl, out: Any = None) -> tuple[Any, Any]:
    """Two batches that fit, and what the sum of their products is added to."""
    _check(batch1.dim() == 3, "batch1 must be a 3D tensor")
    _check(batch2.dim() == 3, "batch2 must be a 3D tensor")
    (b, n, k), (b2, k2, m) = batch1.shape, batch2.shape
    addend = expand(self, (n, m))
    _check(b == b2, f"batch1 and batch2 must have same number of batches, got {b} and {b2}")
    _check(k == k2, f"Incompatible matrix sizes for bmm ({n}x{k} and {k2}x{m})")
    _check_pair("self and mat2", self, batch2)
    _check_pair("mat1 and mat2", batch1, batch2)
    _check_implemented("addmm_impl_cpu_", self)
    return set_output((n, m), self.dtype, out, out is self, device=self.device), addend


def _batched_sizes(batch1: TensorImpl, batch2: TensorImpl) -> tuple[int, int, int]:
    _check(batch1.dim() == 3, "batch1 must be a 3D tensor")
    _check(batch2.dim() == 3, "batch2 must be a 3D tensor")
    b, n, k = batch1.shape
    got = list(batch2.shape[:2])
    _check(got == [b, k], f"Expected size for first two dimensions of batch2 tensor to be: [{b}, {k}] but got: {got}.")
    return b, n, batch2.shape[2]


def _check(condition: bool, message: str) -> None:
    if not condition:
        raise RuntimeError(message)


def _check_inner(a: TensorImpl, b: TensorImpl) -> None:
    (n, k), (k2, m) = a.shape, b.shape
    if k != k2:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({n}x{k} and {k2}x{m})")


def _check_matrix_vector(n: int, mat: TensorImpl, vec: TensorImpl) -> None:
    rows, columns = mat.shape
    fits = columns == vec.shape[0] and n in (1, rows)
    _check(fits, f"size mismatch, got input ({n}), mat ({rows}x{columns}), vec ({vec.shape[0]})")


def _check_pair(who: str, a: TensorImpl, b: TensorImpl) -> None:
    if a.dtype is not b.dtype:
        names = f"{SCALAR_TYPE_NAME[a.dtype]} and {SCALAR_TYPE_NAME[b.dtype]}"
        raise RuntimeError(f"{who} must have the same dtype, but got {names}")


def _check_one_dtype(who: str, a: TensorImpl, b: TensorImpl, c: TensorImpl) -> None:
    x, y, z = (SCALAR_TYPE_NAME[t.dtype] for t in (a, b, c))
    _check(x == y == z, f"{who} must have the same dtype, but got {x}, {y}, and {z}")


def _check_scalar_types(a: TensorImpl, b: TensorImpl) -> None:
    if a.dtype is not b.dtype:
        raise RuntimeError(f"expected scalar type {SCALAR_TYPE_NAME[a.dtype]} but found {SCALAR_TYPE_NAME[b.dtype]}")


def _check_implemented(kernel: str, t: TensorImpl) -> None:
    if t.dtype is dt.bool_:
        raise not_implemented(_ON_CUDA.get(kernel, kernel) if t.device.type == "cuda" else kernel, t.dtype)


_ON_CUDA = {  # where the kernel of the same operator has another name there
    "addmm_impl_cpu_": "addmm_cuda",
    "addmv_impl_cpu": "addmv_impl_cuda",
    "bmm": "baddbmm_cuda",
    "baddbmm": "baddbmm_cuda",
}
