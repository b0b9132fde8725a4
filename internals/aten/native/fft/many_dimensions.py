"""Transforms along several dimensions (`aten/src/ATen/native/SpectralOps.cpp`).

For real signals, only the last of the dimensions is halved. The functions that end in 2 are those
that end in n, with the last two dimensions as default.

How the real one differs: an `out=` tensor is written to by the leaf operators.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals._generated import ops
from internals.core.dtype import SCALAR_TYPE_NAME
from internals.core.tensor_impl import Tensor

from .arguments import check_any, divisor, promoted, resized, shape_and_dims, shape_and_dims_of_half

Sizes = Sequence[int] | None


def fft_fftn(self: Tensor, s: Sizes, dim: Sizes, norm: str | None) -> Any:
    """The spectrum over `dim`, by default all dimensions, of sizes `s`.

    Raises RuntimeError for float16, where `s` and `dim` do not fit, for dimensions given twice, and
    an unknown norm.
    """
    shape, dims = shape_and_dims(self, s, dim)
    return ops._fft_c2c(resized(promoted(self, True), dims, shape), dims, divisor(norm, True), True)


def fft_ifftn(self: Tensor, s: Sizes, dim: Sizes, norm: str | None) -> Any:
    """The inverse of `fftn`. Raises the same errors."""
    shape, dims = shape_and_dims(self, s, dim)
    return ops._fft_c2c(
        resized(promoted(self, True), dims, shape), dims, divisor(norm, False), False
    )


def fft_rfftn(self: Tensor, s: Sizes, dim: Sizes, norm: str | None) -> Any:
    """Half of the spectrum of real numbers, (..., n // 2 + 1) for (..., n). Raises RuntimeError for
    complex ones and without dimensions, and as `fftn`.
    """
    if self.is_complex():
        raise RuntimeError(
            f"rfftn expects a real-valued input tensor, but got {SCALAR_TYPE_NAME[self.dtype]}"
        )
    t = promoted(self)
    shape, dims = shape_and_dims(t, s, dim)
    check_any("rfftn", dims)
    return ops._fft_r2c(resized(t, dims, shape), dims, divisor(norm, True), True)


def fft_irfftn(self: Tensor, s: Sizes, dim: Sizes, norm: str | None) -> Any:
    """The inverse of `rfftn`, real. Raises RuntimeError without dimensions, and as `fftn`."""
    shape, dims, points = shape_and_dims_of_half("irfftn", self, s, dim)
    return ops._fft_c2r(
        resized(promoted(self, True), dims, shape), dims, divisor(norm, False), points
    )


def fft_hfftn(self: Tensor, s: Sizes, dim: Sizes, norm: str | None) -> Any:
    """The real spectrum of a signal that is Hermitian-symmetric about the origin, of which half is
    given. Raises as `irfftn`.
    """
    shape, dims, points = shape_and_dims_of_half("hfftn", self, s, dim)
    t = resized(promoted(self, True), dims, shape)
    normalization = divisor(norm, True)
    if len(dims) > 1:
        t = ops._fft_c2c(t, dims[:-1], normalization, True)
    # c2r transforms back; of the conjugate, back is forward, since the result is real
    return ops._fft_c2r(ops.conj(t), dims[-1:], normalization, points)


def fft_ihfftn(self: Tensor, s: Sizes, dim: Sizes, norm: str | None) -> Any:
    """The inverse of `hfftn`. Raises RuntimeError for complex numbers, and without dimensions."""
    if self.is_complex():
        raise RuntimeError(
            f"Only supports floating-point dtypes, but found: {SCALAR_TYPE_NAME[self.dtype]}"
        )
    t = promoted(self)
    shape, dims = shape_and_dims(t, s, dim)
    check_any("ihfftn", dims)
    normalization = divisor(norm, False)
    half = ops._fft_r2c(resized(t, dims, shape), dims[-1:], normalization, True)
    if len(dims) == 1:
        return ops.conj(half)
    return ops._fft_c2c(ops.conj_physical(half), dims[:-1], normalization, False)


def fft_fft2(self: Tensor, s: Sizes, dim: Sizes, norm: str | None) -> Any:
    """`fftn` of the last two dimensions, unless `dim` names others."""
    return fft_fftn(self, s, dim, norm)


def fft_ifft2(self: Tensor, s: Sizes, dim: Sizes, norm: str | None) -> Any:
    """`ifftn` of the last two dimensions, unless `dim` names others."""
    return fft_ifftn(self, s, dim, norm)


def fft_rfft2(self: Tensor, s: Sizes, dim: Sizes, norm: str | None) -> Any:
    """`rfftn` of the last two dimensions, unless `dim` names others."""
    return fft_rfftn(self, s, dim, norm)


def fft_irfft2(self: Tensor, s: Sizes, dim: Sizes, norm: str | None) -> Any:
    """`irfftn` of the last two dimensions, unless `dim` names others."""
    return fft_irfftn(self, s, dim, norm)


def fft_hfft2(self: Tensor, s: Sizes, dim: Sizes, norm: str | None) -> Any:
    """`hfftn` of the last two dimensions, unless `dim` names others."""
    return fft_hfftn(self, s, dim, norm)


def fft_ihfft2(self: Tensor, s: Sizes, dim: Sizes, norm: str | None) -> Any:
    """`ihfftn` of the last two dimensions, unless `dim` names others."""
    return fft_ihfftn(self, s, dim, norm)
