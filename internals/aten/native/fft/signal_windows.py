"""Windows: curves that fade a frame of a signal in and out
(`aten/src/ATen/native/TensorFactories.cpp`).

Of N points k = 0, 1, ..., N - 1, a symmetric window ends as it begins. A periodic window is the
symmetric one of N + 1 points without its last: put end to end, it repeats without a doubled point,
as spectral analysis needs it. Hamming's is alpha - beta cos(2 pi k / (N - 1)), by default with
alpha = 0.54 and beta = 0.46; Hann's has alpha = beta = 1/2. The `options` are dtype, layout, device
and pin_memory.

How the real one differs: the arithmetic is done in place.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from internals._generated import ops
from internals.aten.dtype_checks import TYPE_META_NAME
from internals.aten.native.factories import empty, ones
from internals.core import dtype as dt
from internals.core.tensor_impl import Tensor


def bartlett_window(window_length: int, *options: Any) -> Any:
    """The periodic Bartlett window."""
    return bartlett_window_periodic(window_length, True, *options)


def bartlett_window_periodic(window_length: int, periodic: bool, *options: Any) -> Any:
    """A triangle from 0 to 1 and back. Raises RuntimeError, as all windows do, for a negative
    length and for integer dtypes.
    """

    def triangle(k: Tensor, n: int) -> Any:
        rising = k * (2 / (n - 1))
        half = ((n - 1) >> 1) + 1  # the points up to the middle
        return ops.cat([rising.narrow(0, 0, half), rising.narrow(0, half, n - half) * -1 + 2], 0)

    return _window("bartlett_window", window_length, periodic, triangle, options)


def blackman_window(window_length: int, *options: Any) -> Any:
    """The periodic Blackman window."""
    return blackman_window_periodic(window_length, True, *options)


def blackman_window_periodic(window_length: int, periodic: bool, *options: Any) -> Any:
    """0.42 - 0.5 cos(2 t) + 0.08 cos(4 t), where t goes from 0 to pi."""

    def curve(k: Tensor, n: int) -> Any:
        angle = k * (math.pi / (n - 1))
        return (angle * 4).cos() * 0.08 - (angle * 2).cos() * 0.5 + 0.42

    return _window("blackman_window", window_length, periodic, curve, options)


def hann_window(window_length: int, *options: Any) -> Any:
    """The periodic Hann window."""
    return hann_window_periodic(window_length, True, *options)


def hann_window_periodic(window_length: int, periodic: bool, *options: Any) -> Any:
    """1/2 - cos(2 pi k / (N - 1)) / 2."""
    return _window("hann_window", window_length, periodic, _cosine(0.5, 0.5), options)


def hamming_window(window_length: int, *options: Any) -> Any:
    """The periodic Hamming window."""
    return hamming_window_periodic(window_length, True, *options)


def hamming_window_periodic(window_length: int, periodic: bool, *options: Any) -> Any:
    """0.54 - 0.46 cos(2 pi k / (N - 1))."""
    return hamming_window_periodic_alpha(window_length, periodic, 0.54, *options)


def hamming_window_periodic_alpha(
    window_length: int, periodic: bool, alpha: float, *options: Any
) -> Any:
    """alpha - 0.46 cos(2 pi k / (N - 1))."""
    return hamming_window_periodic_alpha_beta(window_length, periodic, alpha, 0.46, *options)


def hamming_window_periodic_alpha_beta(
    window_length: int, periodic: bool, alpha: float, beta: float, *options: Any
) -> Any:
    """alpha - beta cos(2 pi k / (N - 1))."""
    return _window("hamming_window", window_length, periodic, _cosine(alpha, beta), options)


def kaiser_window(window_length: int, *options: Any) -> Any:
    """The periodic Kaiser window with beta = 12."""
    return kaiser_window_beta(window_length, True, 12.0, *options)


def kaiser_window_periodic(window_length: int, periodic: bool, *options: Any) -> Any:
    """The Kaiser window with beta = 12."""
    return kaiser_window_beta(window_length, periodic, 12.0, *options)


def kaiser_window_beta(window_length: int, periodic: bool, beta: float, *options: Any) -> Any:
    """I0(beta sqrt(1 - x²)) / I0(beta), where x goes from -1 to 1, and I0 is the modified Bessel
    function of order 0.
    """

    def curve(k: Tensor, n: int) -> Any:
        x = k * (2 / (n - 1)) - 1
        return ops.i0((1 - x * x).clamp_min(0).sqrt() * beta) / ops.i0(
            ops.full_like(k, beta, *[None] * 5)
        )

    return _window("kaiser_window", window_length, periodic, curve, options)


def _cosine(alpha: float, beta: float) -> Callable[[Any, int], Any]:
    """The curve alpha - beta cos(2 pi k / (n - 1)) as a function of k and n."""
    return lambda k, n: (k * (2 * math.pi / (n - 1))).cos() * -beta + alpha


def _window(
    name: str, n: int, periodic: bool, curve: Callable[[Any, int], Any], options: tuple[Any, ...]
) -> Any:
    """`curve(k, n)` for k = 0, 1, ..., n - 1; if it is periodic, of n + 1 points without the last.

    Raises RuntimeError for a negative `n` and for integer dtypes.
    """
    result_dtype = options[0] or dt.get_default_dtype()
    if not (result_dtype.is_floating_point or result_dtype.is_complex):
        described = (
            f"TensorOptions(dtype={TYPE_META_NAME[result_dtype]}, device={options[2] or 'cpu'}, "
            "layout=Strided (default), requires_grad=false (default), pinned_memory=false, "
            "memory_format=(nullopt))"
        )
        raise RuntimeError(f"{name} expects floating point dtypes, got: {described}")
    if n < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={n}")
    options = (result_dtype, *options[1:])
    if n < 2:
        return empty((0,), *options) if n == 0 else ones((1,), *options)
    k = ops.arange(n + periodic, *options)
    values = curve(k, n + periodic)
    return values.narrow(0, 0, n) if periodic else values
