"""The arguments of the transforms, checked and completed (`aten/src/ATen/native/SpectralOps.cpp`).

`n` and `s` cut a tensor or pad it with zeros at the end; omitted or -1, they are its sizes. The
inverse of a transform of real numbers cannot know whether there were 2 (m - 1) or 2 m - 1 points
for m complex ones: its default is the even number.

How the real one differs: half precision is supported on GPUs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals._generated import ops
from internals.core import dtype as dt
from internals.core.dtype import SCALAR_TYPE_NAME, dtype
from internals.core.geometry import wrap_dim
from internals.core.tensor_impl import Tensor

# what a result is divided by: nothing, the square root of the number of points, their number
NOT_DIVIDED, BY_ROOT, BY_NUMBER = 0, 1, 2


def spectral_dtype(kind: dtype, complex_wanted: bool) -> dtype:
    """The dtype to transform in: integers become the default dtype, and reals complex if
    `complex_wanted`. Raises RuntimeError for float16.
    """
    if kind.is_complex:
        return kind
    if not kind.is_floating_point:
        kind = dt.get_default_dtype()
    if kind not in (dt.float32, dt.float64):
        raise RuntimeError(f"Unsupported dtype {SCALAR_TYPE_NAME[kind]}")
    return kind.to_complex() if complex_wanted else kind


def promoted(t: Tensor, complex_wanted: bool = False) -> Any:
    """The tensor in its `spectral_dtype`."""
    kind = spectral_dtype(t.dtype, complex_wanted)
    return t if kind is t.dtype else t.to(kind)


def divisor(norm: str | None, forward: bool) -> int:
    """One of the three constants above, for PyTorch's name of a norm; None means "backward". Raises
    RuntimeError for an unknown name.
    """
    if norm is None or norm == "backward":
        return NOT_DIVIDED if forward else BY_NUMBER
    if norm == "forward":
        return BY_NUMBER if forward else NOT_DIVIDED
    if norm == "ortho":
        return BY_ROOT
    raise RuntimeError(f'Invalid normalization mode: "{norm}"')


def wrapped(dim: int, t: Tensor) -> int:
    """A dimension counted from the front. Raises IndexError if there is none, also for a 0-d
    tensor.
    """
    if not t.dim():
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return wrap_dim(dim, t.dim())


def check_points(n: int) -> None:
    """Raises RuntimeError for less than one point."""
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")


def resized(t: Tensor, dims: Sequence[int], sizes: Sequence[int]) -> Any:
    """`t` cut, or padded with zeros at the end, to `sizes` in the dimensions `dims`."""
    # constant_pad_nd takes [before, after] for each dimension, the last dimension first
    padding = [0] * (2 * t.dim())
    for d, n in zip(dims, sizes):
        if t.shape[d] < n:
            padding[2 * (t.dim() - 1 - d) + 1] = n - t.shape[d]
        elif t.shape[d] > n:
            t = ops.slice_Tensor(t, d, 0, n, 1)
    return ops.constant_pad_nd(t, padding, 0) if any(padding) else t


def shape_and_dims(
    t: Tensor, s: Sequence[int] | None, dim: Sequence[int] | None
) -> tuple[list[int], list[int]]:
    """(sizes, dimensions) of a transform: `s` alone means the last dimensions, neither means all.

    Raises IndexError for dimensions that do not exist, RuntimeError for repeated dimensions, where
    the two do not fit, and for sizes below 1.
    """
    dims = None if dim is None else [wrapped(d, t) for d in dim]
    if dims is not None and len(set(dims)) < len(dims):
        raise RuntimeError("FFT dims must be unique")
    if s is not None:
        if dims is not None and len(dims) != len(s):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
        if len(s) > t.dim():
            raise RuntimeError(
                f"Got shape with {len(s)} values but input tensor only has {t.dim()} dimensions."
            )
        dims = list(range(t.dim() - len(s), t.dim())) if dims is None else dims
        shape = [t.shape[d] if n == -1 else n for n, d in zip(s, dims)]
    else:
        dims = list(range(t.dim())) if dims is None else dims
        shape = [t.shape[d] for d in dims]
    for n in shape:
        check_points(n)
    return shape, dims


def shape_and_dims_of_half(
    name: str, t: Tensor, s: Sequence[int] | None, dim: Sequence[int] | None
) -> tuple[list[int], list[int], int]:
    """`shape_and_dims` for half of a spectrum, and the number of real points in its last dimension.
    Raises RuntimeError without dimensions, and as `shape_and_dims`.
    """
    shape, dims = shape_and_dims(t, s, dim)
    check_any(name, dims)
    points = 2 * (t.shape[dims[-1]] - 1) if s is None or s[-1] == -1 else shape[-1]
    check_points(points)
    return [*shape[:-1], points // 2 + 1], dims, points


def check_any(name: str, dims: Sequence[int]) -> None:
    """Raises RuntimeError if there are no dimensions to transform."""
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
