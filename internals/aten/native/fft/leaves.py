"""The three transforms that all others are made of (`aten/src/ATen/native/mkl/SpectralOps.cpp`).

r2c transforms real numbers to complex ones; with `onesided` it returns only the first half of the
last dimension, since the other half is its mirror image. c2r is its inverse, c2c goes from complex
to complex, forward or back. `normalization` says what the result is divided by: 0 nothing, 1 the
square root of the number of points, 2 their number.

The memory order of the result is PyTorch's: the transformed dimensions are innermost.

How the real one differs: MKL or pocketfft is compiled in, and plans are cached; more than three
dimensions are transformed in several calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from internals.aten.deferred import fft
from internals.aten.native.factories import empty_strided
from internals.core.dtype import SCALAR_TYPE_NAME, dtype, float16
from internals.core.geometry import wrap_dim
from internals.core.tensor_impl import Array, Tensor, array, from_array

# scipy's names for dividing by nothing, the root, the number: in the forward transform, and back
FORWARD = ("backward", "ortho", "forward")
BACK = ("forward", "ortho", "backward")


def _fft_r2c(self: Tensor, dim: Sequence[int], normalization: int, onesided: bool) -> Any:
    """The transform of real numbers: n of them give n // 2 + 1 complex ones in the last of `dim` if
    `onesided`, else n. Raises RuntimeError for a tensor that is not floating, and for float16.
    """
    if not self.is_floating_point():
        raise RuntimeError(
            f"_fft_r2c expects a floating point tensor, but got {SCALAR_TYPE_NAME[self.dtype]}"
        )
    if self.dtype is float16:
        raise RuntimeError("MKL FFT doesn't support tensors of type: Half")
    dims = _wrapped(dim, self, normalization)
    points = self.shape[dims[-1]]

    def transform(a: Array) -> Any:
        half = fft.rfftn(a, axes=dims, norm=FORWARD[normalization])
        return half if onesided else _with_mirror_image(half, dims, points)

    sizes = {dims[-1]: points // 2 + 1} if onesided else {}
    return _result(self, dims, sizes, self.dtype.to_complex(), transform)


def _with_mirror_image(half: Array, dims: Sequence[int], points: int) -> Any:
    """The whole spectrum: the value at -k, in all of `dims`, is the conjugate of that at k."""
    # In the last dimension frequency j of the missing ones is -(points - j). In the others, -k is
    # position n - k, and 0 stays: a flip, then a roll by one.
    *others, last = dims
    mirror = half.take(range(points - half.shape[last], 0, -1), axis=last).conj()
    for d in others:
        mirror = np.roll(np.flip(mirror, d), 1, d)
    return np.concatenate([half, mirror], axis=last)


def _fft_c2r(self: Tensor, dim: Sequence[int], normalization: int, last_dim_size: int) -> Any:
    """The inverse of a onesided `_fft_r2c`, with `last_dim_size` real points in the last of `dim`.
    Raises RuntimeError for real tensors.
    """
    _check_complex("_fft_c2r", self)
    dims = _wrapped(dim, self, normalization)
    if last_dim_size < 1:
        raise RuntimeError(f"Invalid number of data points ({last_dim_size}) specified")
    points = [*(self.shape[d] for d in dims[:-1]), last_dim_size]
    return _result(
        self,
        dims,
        {dims[-1]: last_dim_size},
        self.dtype.to_real(),
        lambda a: fft.irfftn(a, s=points, axes=dims, norm=BACK[normalization]),
    )


def _fft_c2c(self: Tensor, dim: Sequence[int], normalization: int, forward: bool) -> Any:
    """The transform of complex numbers, forward or back; without dimensions a copy. Raises
    RuntimeError for real tensors.
    """
    _check_complex("_fft_c2c", self)
    if not dim:
        return from_array(array(self))
    dims = sorted(_wrapped(dim, self, normalization), key=lambda d: -self.stride()[d])
    transform, norm = (fft.fftn, FORWARD) if forward else (fft.ifftn, BACK)
    return _result(
        self, dims, {}, self.dtype, lambda a: transform(a, axes=dims, norm=norm[normalization])
    )


def _result(
    t: Tensor,
    dims: Sequence[int],
    sizes: dict[int, int],
    result_dtype: dtype,
    transform: Callable[..., Any],
) -> Any:
    """`transform` of the array of `t`, in a tensor with the transformed dimensions innermost;
    `sizes` maps the dimensions whose sizes change to their new sizes.

    Raises RuntimeError where the input is empty and the result would not be.
    """
    shape = [sizes.get(d, n) for d, n in enumerate(t.shape)]
    # from outermost to innermost: the other dimensions in their memory order, then `dims`
    others = sorted((d for d in range(t.dim()) if d not in dims), key=lambda d: -t.stride()[d])
    strides, step = [0] * t.dim(), 1
    for d in reversed([*others, *dims]):
        strides[d] = step
        step *= max(shape[d], 1)
    out = empty_strided(shape, strides, result_dtype, None, None, None)
    if t.numel():
        array(out)[...] = transform(array(t))
    elif out.numel():
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {[-1, *(t.shape[d] for d in dims)]} "
            "because the unspecified dimension size -1 can be any value and is ambiguous"
        )
    return out


def _wrapped(dim: Sequence[int], t: Tensor, normalization: int) -> list[int]:
    """The dimensions counted from the front. Raises RuntimeError for none, for repeated ones, and
    for an unknown normalization.
    """
    if not 0 <= normalization < len(FORWARD):
        raise RuntimeError(f"the normalization of a transform is 0, 1 or 2, not {normalization}")
    dims = [wrap_dim(d, t.dim()) for d in dim]
    if not dims or not t.dim():
        raise RuntimeError(
            "a transform needs a dimension"
            if t.dim()
            else "a number without dimensions has no transform"
        )
    if len(set(dims)) != len(dims):
        raise RuntimeError("FFT dims must be unique.")
    return dims


def _check_complex(name: str, t: Tensor) -> None:
    """Raises RuntimeError for a real tensor."""
    if not t.is_complex():
        raise RuntimeError(f"{name} expects a complex tensor, but got {SCALAR_TYPE_NAME[t.dtype]}")
