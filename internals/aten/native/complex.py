"""Complex numbers as pairs of real ones (`aten/src/ATen/native/ComplexHelper.h`, `UnaryOps.cpp`).

A complex element is two floats side by side, so `view_as_real` is a view with one more dimension, of size 2 and stride 1, and
`real` and `imag` are what `select` finds there: writing to them writes to the complex tensor.

How the real one differs: `conj` is a view too, with a bit that makes readers conjugate; here it computes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals._generated import ops
from internals.core import dtype as dt
from internals.core.dtype import SCALAR_TYPE_NAME
from internals.core.geometry import geometry
from internals.core.tensor_impl import TensorImpl, array, empty_contiguous, make

_COMPLEX = {dt.float32: dt.complex64, dt.float64: dt.complex128}


def view_as_real(self: TensorImpl) -> Any:
    """A complex tensor as a real one with a last dimension of 2: real and imaginary part. Raises RuntimeError for real ones."""
    if not self.is_complex():
        raise RuntimeError("view_as_real is only supported for complex tensors")
    g = self._geometry
    strides = (*(2 * s for s in g.strides), 1)
    return make(self._storage, _retyped(self, (*g.sizes, 2), strides, g.dtype.to_real()), 2 * self._offset)


def view_as_complex(self: TensorImpl) -> Any:
    """A float tensor whose last dimension is 2 as a complex one. Raises RuntimeError when the pairs do not lie side by side."""
    g = self._geometry
    if g.dtype not in _COMPLEX:
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: "
            f"{SCALAR_TYPE_NAME[g.dtype]}"
        )
    if not g.sizes:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if g.sizes[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if g.strides[-1] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(s % 2 for s in g.strides[:-1]):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    if self._offset % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")
    strides = tuple(s // 2 for s in g.strides[:-1])
    return make(self._storage, _retyped(self, g.sizes[:-1], strides, _COMPLEX[g.dtype]), self._offset // 2)


def real(self: Any) -> Any:
    """The real part, as a view; a real tensor itself."""
    return ops.select_int(ops.view_as_real(self), -1, 0) if self.is_complex() else self


def imag(self: Any) -> Any:
    """The imaginary part, as a view. Raises RuntimeError for a real tensor."""
    if not self.is_complex():
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return ops.select_int(ops.view_as_real(self), -1, 1)


def conj(self: Any) -> Any:
    """The complex conjugate; a real tensor itself."""
    return ops.conj_physical(self) if self.is_complex() else self


def conj_physical(self: TensorImpl) -> Any:
    """The complex conjugate, computed; a copy of a real tensor."""
    t = empty_contiguous(self.shape, self.dtype)
    np.copyto(array(t), array(self).conj() if self.is_complex() else array(self))
    return t


def adjoint(self: Any) -> Any:
    """The last two dimensions transposed, and conjugated. Raises RuntimeError for a vector."""
    if self.dim() == 1:
        raise RuntimeError("tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor.")
    if self.dim() == 0:
        return conj(self)
    return conj(self.transpose(-2, -1))


def matrix_H(self: Any) -> Any:
    """The conjugate transpose of a matrix. Raises RuntimeError unless it has two dimensions (or none)."""
    if self.dim() not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {self.dim()}-D tensor."
            + (" For batches of matrices, consider using tensor.mH" if self.dim() > 2 else "")
        )
    return adjoint(self) if self.dim() else conj(self)


def _retyped(t: TensorImpl, sizes: Any, strides: Any, kind: dt.dtype) -> Any:
    g = t._geometry
    return geometry(sizes, strides, kind, g.device, g.keys)
