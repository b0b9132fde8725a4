"""Transforms along one dimension (`aten/src/ATen/native/SpectralOps.cpp`).

Three operators do the work, along a dimension of n points (m = n // 2 + 1):

    _fft_c2c    complex (n) -> complex (n)              fft, ifft
    _fft_r2c    real (n) -> complex (m), or both halves rfft, ihfft; fft and ifft of real numbers
    _fft_c2r    complex (m) -> real (n)                 irfft, hfft

The spectrum of a real signal is its own conjugate mirror image, so half of it says all. `hfft` goes
the other way: the signal is symmetric, and its spectrum real.

How the real one differs: the three operators write into an `out=` tensor directly; here the result
is copied into it.
"""

from __future__ import annotations

from typing import Any

from internals._generated import ops
from internals.core.dtype import SCALAR_TYPE_NAME
from internals.core.tensor_impl import Tensor

from .arguments import check_points, divisor, promoted, resized, wrapped


def fft_fft(self: Tensor, n: int | None, dim: int, norm: str | None) -> Any:
    """The spectrum of `n` points along `dim`, complex. Raises RuntimeError for float16, n < 1 and
    an unknown norm, IndexError for a `dim` out of range.
    """
    if self.is_complex():
        return _c2c(self, n, dim, norm, forward=True)
    return _r2c("fft", self, n, dim, norm, forward=True, onesided=False)


def fft_ifft(self: Tensor, n: int | None, dim: int, norm: str | None) -> Any:
    """The inverse of `fft`. Raises the same errors."""
    if self.is_complex():
        return _c2c(self, n, dim, norm, forward=False)
    return _r2c("ifft", self, n, dim, norm, forward=False, onesided=False)


def fft_rfft(self: Tensor, n: int | None, dim: int, norm: str | None) -> Any:
    """The first half of the spectrum of a real signal, n // 2 + 1 numbers. Raises RuntimeError for
    a complex one, and as `fft`.
    """
    return _r2c("rfft", self, n, dim, norm, forward=True, onesided=True)


def fft_irfft(self: Tensor, n: int | None, dim: int, norm: str | None) -> Any:
    """The inverse of `rfft`: `n` real points, by default 2 (m - 1) for m complex numbers."""
    return _c2r(self, n, dim, norm, forward=False)


def fft_hfft(self: Tensor, n: int | None, dim: int, norm: str | None) -> Any:
    """The real spectrum of a signal of which half is given; the other half is its conjugate mirror
    image.
    """
    return _c2r(self, n, dim, norm, forward=True)


def fft_ihfft(self: Tensor, n: int | None, dim: int, norm: str | None) -> Any:
    """The inverse of `hfft`. Raises RuntimeError for a complex tensor."""
    return _r2c("ihfft", self, n, dim, norm, forward=False, onesided=True)


def _c2c(t: Tensor, n: int | None, dim: int, norm: str | None, forward: bool) -> Any:
    """The transform of a complex tensor along `dim`."""
    d = wrapped(dim, t)
    check_points(t.shape[d] if n is None else n)
    t = t if n is None else resized(t, [d], [n])
    return ops._fft_c2c(t, [d], divisor(norm, forward), forward)


def _r2c(
    name: str, t: Tensor, n: int | None, dim: int, norm: str | None, forward: bool, onesided: bool
) -> Any:
    """The transform of a real tensor; of real numbers, the inverse is the conjugate. Raises
    RuntimeError for a complex tensor.
    """
    if t.is_complex():
        raise RuntimeError(
            f"{name} expects a real input tensor, but got {SCALAR_TYPE_NAME[t.dtype]}"
        )
    t = promoted(t)
    d = wrapped(dim, t)
    check_points(t.shape[d] if n is None else n)
    t = t if n is None else resized(t, [d], [n])
    spectrum = ops._fft_r2c(t, [d], divisor(norm, forward), onesided)
    return spectrum if forward else ops.conj(spectrum)


def _c2r(t: Tensor, n: int | None, dim: int, norm: str | None, forward: bool) -> Any:
    """The transform of half a spectrum, or of half a signal if `forward`, to real numbers."""
    t = promoted(t, complex_wanted=True)
    d = wrapped(dim, t)
    points = 2 * (t.shape[d] - 1) if n is None else n
    check_points(points)
    t = t if n is None else resized(t, [d], [n // 2 + 1])
    return ops._fft_c2r(ops.conj(t) if forward else t, [d], divisor(norm, forward), points)
