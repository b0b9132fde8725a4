"""The frequencies of a spectrum, and shifting it so that they are in ascending order
(`aten/src/ATen/native/SpectralOps.cpp`).

A spectrum begins with frequency 0, then come the positive frequencies, then the negative ones.

How the real one differs: `fftfreq` writes both ranges into one tensor, without `cat`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals._generated import ops
from internals.aten.writing import range_out
from internals.core import dtype as dt
from internals.core.device import device
from internals.core.dtype import dtype
from internals.core.formats import layout
from internals.core.geometry import wrap_dim
from internals.core.tensor_impl import Tensor


def fft_fftfreq(
    n: int,
    d: float,
    dtype: dtype | None,
    layout: layout | None,
    device: device | None,
    pin_memory: bool | None,
    out: Tensor | None = None,
) -> Any:
    """The frequencies of the `fft` of `n` points at distance `d`: 0, 1, ..., then the negative
    ones, all divided by n d.

    Raises RuntimeError for an integer dtype, and a negative n.
    """
    if out is not None:
        return range_out(out, fft_fftfreq(n, d, dtype or out.dtype, layout, device, pin_memory))
    options = _options("fftfreq", dtype, layout, device, pin_memory)
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    positive = ops.arange((n + 1) // 2, *options)
    negative = ops.arange_start(-(n // 2), 0, *options)
    return ops.mul_Scalar(ops.cat([positive, negative], 0), _inverse(n * d))


def fft_rfftfreq(
    n: int,
    d: float,
    dtype: dtype | None,
    layout: layout | None,
    device: device | None,
    pin_memory: bool | None,
    out: Tensor | None = None,
) -> Any:
    """The n // 2 + 1 frequencies of `rfft`, none of them negative. Raises RuntimeError for an
    integer dtype.
    """
    if out is not None:
        return range_out(out, fft_rfftfreq(n, d, dtype or out.dtype, layout, device, pin_memory))
    options = _options("rfftfreq", dtype, layout, device, pin_memory)
    return ops.mul_Scalar(ops.arange(n // 2 + 1, *options), _inverse(n * d))


def fft_fftshift(self: Tensor, dim: Sequence[int] | None) -> Any:
    """`self` rolled so that frequency 0 is in the middle of `dim`, by default of all dimensions."""
    dims = _dims(self, dim)
    return ops.roll(self, [self.size(d) // 2 for d in dims], dims)


def fft_ifftshift(self: Tensor, dim: Sequence[int] | None) -> Any:
    """The inverse of `fftshift`, also for odd sizes."""
    dims = _dims(self, dim)
    return ops.roll(self, [(self.size(d) + 1) // 2 for d in dims], dims)


def _dims(t: Tensor, dim: Sequence[int] | None) -> list[int]:
    """The dimensions counted from the front; all for None."""
    return list(range(t.dim())) if dim is None else [wrap_dim(d, t.dim()) for d in dim]


def _options(name: str, dtype: dtype | None, *others: Any) -> tuple[Any, ...]:
    """The tensor options with the dtype filled in. Raises RuntimeError for an integer dtype."""
    checked_dtype = dtype or dt.get_default_dtype()
    if not (checked_dtype.is_floating_point or checked_dtype.is_complex):
        raise RuntimeError(f"{name} requires a floating point or complex dtype")
    return checked_dtype, *others


def _inverse(x: float) -> float:
    """1 / x, and infinity for 0, where Python would raise."""
    return 1 / x if x else float("inf")
