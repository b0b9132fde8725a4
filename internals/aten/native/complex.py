"""Complex numbers as pairs of real ones (`aten/src/ATen/native/ComplexHelper.h`, `UnaryOps.cpp`).

A complex element is two adjacent floats, so `view_as_real` is a view with one more dimension, of
size 2 and stride 1, and `real` and `imag` select from it: writing to them writes to the complex
tensor.

How the real one differs: `conj` is a view too, with a bit that makes readers conjugate, and the
imaginary part of that is a view with a bit that makes readers negate; `resolve_conj` and
`resolve_neg` do the deferred computation. Here it is done at once, so that `is_conj` and `is_neg`
are always false, and writing to a conjugate leaves the original alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from internals._generated import ops
from internals._generated.fast_lane import unary
from internals.aten.dtype_checks import not_implemented
from internals.aten.tensor_iterator import TensorIterator
from internals.core import dtype as dt
from internals.core.dtype import SCALAR_TYPE_NAME
from internals.core.geometry import geometry
from internals.core.tensor_impl import Array, Tensor, empty_contiguous, make

from . import linear_algebra, loops
from .pointwise_unary import sign

_COMPLEX = {dt.float32: dt.complex64, dt.float64: dt.complex128}


def view_as_real(self: Tensor) -> Any:
    """A complex tensor (*) as a view (*, 2) of real and imaginary parts. Raises RuntimeError for a
    real one.
    """
    if not self.is_complex():
        raise RuntimeError("view_as_real is only supported for complex tensors")
    g = self._geometry
    # strides and offset count elements, which are now half as large
    strides = (*(2 * s for s in g.strides), 1)
    return make(
        self._storage, _retyped(self, (*g.sizes, 2), strides, g.dtype.to_real()), 2 * self._offset
    )


def view_as_complex(self: Tensor) -> Any:
    """A float tensor (*, 2) as a complex view (*). Raises RuntimeError for other sizes and dtypes,
    and unless each pair is adjacent in memory and starts at an even offset.
    """
    g = self._geometry
    if g.dtype not in _COMPLEX:
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a "
            "tensor of scalar type: "
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
    return make(
        self._storage, _retyped(self, g.sizes[:-1], strides, _COMPLEX[g.dtype]), self._offset // 2
    )


def real(self: Tensor) -> Any:
    """The real part, as a view; of a real tensor, itself."""
    return ops.select_int(ops.view_as_real(self), -1, 0) if self.is_complex() else self


def imag(self: Tensor) -> Any:
    """The imaginary part, as a view. Raises RuntimeError for a real tensor."""
    if not self.is_complex():
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return ops.select_int(ops.view_as_real(self), -1, 1)


def conj(self: Any) -> Any:
    """The complex conjugate; of a real tensor, itself."""
    return ops._conj(self) if self.is_complex() else self


def _conj(self: Tensor) -> Any:
    """The complex conjugate of a complex tensor, in new memory. Raises RuntimeError for a real
    one.
    """
    if self._geometry.dtype.category != dt.COMPLEX:
        raise RuntimeError("_conj is only for complex tensors; conj takes real ones as well")
    return unary(np.conjugate, self, None, "same")


def conj_physical(self: Tensor) -> Any:
    """The complex conjugate in new memory; of a real tensor, itself."""
    return ops._conj_physical(self) if self.is_complex() else self


def _conj_physical(self: Tensor, out: Tensor | None = None) -> Any:
    """The complex conjugate; of a real tensor, a copy."""
    return TensorIterator((self,), out, "same").run(
        np.conjugate if self.is_complex() else loops.copy
    )


def conj_physical_out(self: Tensor, out: Tensor) -> Any:
    """The complex conjugate, written to `out`."""
    return _conj_physical(self, out)


def conj_physical_(self: Tensor) -> Any:
    """Conjugate in place; a real tensor stays as it is."""
    return _conj_physical(self, self) if self.is_complex() else self


def resolve(self: Tensor) -> Any:
    """The tensor itself: no conjugation or negation is ever deferred (`resolve_conj`,
    `resolve_neg`).
    """
    return self


def never(self: Tensor) -> bool:
    """False: no conjugation or negation is ever deferred (`is_conj`, `is_neg`)."""
    return False


def angle(self: Tensor, out: Tensor | None = None) -> Any:
    """The angle of a number in the complex plane, from -pi to pi, as a real tensor. Of real numbers
    it is 0 or pi, and NaN for NaN.
    """
    if self.is_complex():
        out = empty_contiguous(self.shape, self.dtype.to_real()) if out is None else out
        result = None if out.is_complex() else self.dtype.to_real()
        return TensorIterator((self,), out, "common", result).run(_direction)
    return TensorIterator((self,), out, "float").run(_real_direction)


def sgn(self: Tensor, out: Tensor | None = None) -> Any:
    """z / |z|, and 0 for 0: the sign of a real number; of a complex one, the number of absolute
    value 1 in its direction.
    """
    return TensorIterator((self,), out, "same").run(_unit) if self.is_complex() else sign(self, out)


def isreal(self: Tensor) -> Any:
    """A bool tensor that says which elements have no imaginary part."""
    if self.is_complex():
        return ops.eq_Scalar(ops.imag(self), 0)
    return ops.ones_like(self, dt.bool_, None, None, None, None)


def vdot(self: Tensor, other: Tensor, out: Tensor | None = None) -> Any:
    """The sum of the products of two vectors, the first of them conjugated; a 0-d tensor. Raises
    RuntimeError as `dot`.
    """
    return linear_algebra.dot(_conj(self) if self.is_complex() else self, other, out)


def adjoint(self: Tensor) -> Any:
    """The last two dimensions transposed, and conjugated. Raises RuntimeError for a vector."""
    return _conjugate_transpose(self, "adjoint()")


def mH(self: Tensor) -> Any:
    """`adjoint`, as a property."""
    return _conjugate_transpose(self, "mH")


def matrix_H(self: Tensor) -> Any:
    """`Tensor.H`: the conjugate transpose of a matrix. Raises RuntimeError unless it has two
    dimensions (or none).
    """
    if self.dim() not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {self.dim()}-D tensor."
            + (" For batches of matrices, consider using tensor.mH" if self.dim() > 2 else "")
        )
    return adjoint(self)


def _conjugate_transpose(self: Tensor, name: str) -> Any:
    """(..., m, n) as (..., n, m), conjugated. Raises RuntimeError for a vector."""
    if self.dim() == 1:
        raise RuntimeError(
            f"tensor.{name} is only supported on matrices or batches of matrices. Got 1-D tensor."
        )
    return conj(self.transpose(-2, -1)) if self.dim() else conj(self)


def _from_two(
    name: str, loop: Callable[..., Any], a: Tensor, b: Tensor, out: Tensor | None = None
) -> Any:
    """A complex tensor from two real ones of one dtype. Raises RuntimeError for other dtypes."""
    names = [SCALAR_TYPE_NAME[t.dtype] for t in (a, b)]
    if not (a.is_floating_point() and b.is_floating_point()):
        raise RuntimeError(
            f"Expected both inputs to be Half, Float or Double tensors but got {names[0]} and "
            f"{names[1]}"
        )
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {names[0]} but got scalar type {names[1]} for second "
            "argument"
        )
    if a.dtype not in _COMPLEX:
        raise not_implemented(name, a.dtype)
    result = _COMPLEX[a.dtype]
    if out is not None and out.dtype is not result:
        raise RuntimeError(
            f"Expected object of scalar type {SCALAR_TYPE_NAME[result]} but got scalar type "
            f"{SCALAR_TYPE_NAME[out.dtype]} for argument 'out'"
        )
    return TensorIterator((a, b), out, "common", result).run(loop)


def _pair(real: Array, imag: Array, out: Array) -> None:
    """real + i imag."""
    out.real, out.imag = real, imag


# real + i imag, of float32 or float64. Raises RuntimeError for other dtypes, two different ones,
# and an `out` of another.
complex = partial(_from_two, "complex_cpu", _pair)


def _from_polar(absolute: Array, direction: Array, out: Array) -> None:
    """absolute * (cos(direction) + i sin(direction))."""
    np.multiply(absolute, np.cos(direction), out=out.real)
    np.multiply(absolute, np.sin(direction), out=out.imag)


# The complex number with absolute value `abs` and angle `angle`. Raises as `complex` does.
polar = partial(_from_two, "polar_cpu", _from_polar)


def _unit(a: Array, out: Array) -> None:
    """a / |a|, and 0 for 0."""
    length = np.abs(a)
    for result_part, part in ((out.real, a.real), (out.imag, a.imag)):
        # part by part: complex division would turn some infinities into NaN in both parts
        np.copyto(result_part, np.where(length == 0, 0, part / length))


def _direction(a: Array, out: Array) -> None:
    """The angle of complex numbers."""
    np.copyto(out, np.arctan2(a.imag, a.real))


def _real_direction(a: Array, out: Array) -> None:
    """The angle of real numbers: pi below 0, else 0, also for -0.0, unlike numpy's `angle`."""
    np.copyto(out, np.where(np.isnan(a), a, np.where(a < 0, np.pi, 0)), casting="same_kind")


def _retyped(t: Tensor, sizes: Sequence[int], strides: Sequence[int], dtype: dt.dtype) -> Any:
    """A geometry like that of `t`, with other sizes, strides and dtype."""
    g = t._geometry
    return geometry(sizes, strides, dtype, g.device, g.keys)
