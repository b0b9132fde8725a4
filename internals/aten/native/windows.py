"""Sliding windows over the spatial dimensions of an array, which convolution, pooling and unfold
share (`im2col.h`).

`unfold_windows` is a *view*: strides let every window overlap its neighbours without copying an
element. `fold_windows` is its adjoint: it adds windows back to the positions that they came from.

`unfold_windows` of (N, C, H, W) is (N, C, kH, kW, oH, oW), where [..., i, j, y, x] is the element
at row y * stride + i * dilation, and column x * stride + j * dilation.

How the real one differs: `im2col` copies the windows, and pooling loops over them directly.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from internals.aten.dtype_checks import not_implemented
from internals.aten.on_device import on_device
from internals.core.device import CPU
from internals.core.tensor_impl import Array, Tensor, array, empty_contiguous


def pad_spatial(
    x: Array, padding: Sequence[int], value: Any = 0, extra: Sequence[int] | None = None
) -> Any:
    """`x` (N, C, *S) with `padding` elements of `value` at both ends of each spatial dimension,
    `extra` more at the far end.
    """
    after = [p + e for p, e in zip(padding, extra)] if extra else list(padding)
    if not any(padding) and not any(after):
        return x
    return np.pad(x, [(0, 0), (0, 0), *zip(padding, after)], constant_values=value)


def unfold_windows(
    x: Array, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> Any:
    """A view of `x` (N, C, *S) as (N, C, *kernel, *positions): one entry per kernel offset and
    window position.
    """
    spatial = x.shape[2:]
    positions = [
        (s - d * (k - 1) - 1) // st + 1 for s, k, st, d in zip(spatial, kernel, stride, dilation)
    ]
    # the next window is `stride` elements away, the next element of a window `dilation`; a
    # dimension of size 1 never moves, and its stride might point outside of x
    steps = x.strides[2:]
    between = [t * st if p > 1 else 0 for t, st, p in zip(steps, stride, positions)]
    within = [t * d if k > 1 else 0 for t, d, k in zip(steps, dilation, kernel)]
    return np.lib.stride_tricks.as_strided(
        x,
        (*x.shape[:2], *kernel, *positions),
        (*x.strides[:2], *within, *between),
        writeable=False,
    )


def fold_windows(
    windows: Array,
    size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> Any:
    """Windows (N, C, *kernel, *positions), added up into an array (N, C, *size) padded by
    `padding`, whose padding is then cut off.
    """
    kernel = windows.shape[2 : 2 + len(size)]
    shares = (windows[(slice(None), slice(None), *offset)] for offset in np.ndindex(*kernel))
    shape = (*windows.shape[:2], *windows.shape[2 + len(size) :])
    return fold_offsets(shares, kernel, shape, size, stride, padding, dilation)


def fold_offsets(
    shares: Iterable[Any],
    kernel: Sequence[int],
    shape: Sequence[int],
    size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> Any:
    """`fold_windows` for windows that come one kernel offset at a time: each share is an array of
    `shape` (N, C, *positions).
    """
    total: Any = None
    for offset, share in zip(np.ndindex(*kernel), shares):
        if total is None:
            total = np.zeros((*shape[:2], *(s + 2 * p for s, p in zip(size, padding))), share.dtype)
        # the elements that have this offset in their windows: every `stride`-th one
        target: Any = tuple(
            slice(o * d, o * d + (count - 1) * s + 1, s)
            for o, d, count, s in zip(offset, dilation, shape[2:], stride)
        )
        if all(shape[2:]):
            total[(slice(None), slice(None), *target)] += share
    return total[(slice(None), slice(None), *(slice(p, p + s) for p, s in zip(padding, size)))]


def im2col(
    self: Tensor,
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Any:
    """`nn.functional.unfold`: the windows of (N, C, H, W) as columns (N, C · kH · kW, windows).
    Raises RuntimeError for sizes that do not fit.
    """
    places = im2col_window_counts(self, kernel_size, dilation, padding, stride)
    rows = self.shape[-3] * kernel_size[0] * kernel_size[1]
    out = empty_contiguous((*self.shape[:-3], rows, places[0] * places[1]), self.dtype, self.device)
    if not self._geometry.stored:
        return on_device(
            "windows.im2col", out, self, kernel_size, dilation, padding, stride, places
        )
    x = array(self) if self.dim() == 4 else array(self)[None]
    windows = unfold_windows(pad_spatial(x, padding), kernel_size, stride, dilation)
    array(out).reshape(windows.shape)[...] = windows  # (N, C, kH, kW, oH, oW): the only copy
    return out


def col2im(
    self: Tensor,
    output_size: Sequence[int],
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Any:
    """The adjoint of `im2col`: columns (N, C · kH · kW, windows), added up into
    (N, C, *output_size). Raises RuntimeError for sizes that do not fit.
    """
    places = col2im_window_counts(self, output_size, kernel_size, dilation, padding, stride)
    channels = self.shape[-2] // (kernel_size[0] * kernel_size[1])
    out = empty_contiguous((*self.shape[:-2], channels, *output_size), self.dtype, self.device)
    if not self._geometry.stored:
        return on_device(
            "windows.col2im", out, self, kernel_size, dilation, padding, stride, places
        )
    windows = array(self).reshape(-1, channels, *kernel_size, *places)
    array(out)[...] = fold_windows(windows, output_size, stride, padding, dilation)
    return out


def im2col_window_counts(
    t: Tensor,
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> list[int]:
    """The number of windows along each of the two dimensions. Raises RuntimeError or IndexError for
    sizes that do not fit.
    """
    _check_pairs(kernel_size, dilation, padding, stride)
    if t.dim() < 3:
        dims = max(t.dim(), 1)
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-dims}, {dims - 1}], but got "
            f"{dims})"
        )
    if t.dim() > 4 or 0 in t.shape[-3:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
            "dimensions for input, but got: "
            f"{list(t.shape)}"
        )
    # a window reaches over d * (k - 1) + 1 elements; the first one starts at -p
    places = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, d, p, s in zip(t.shape[-2:], kernel_size, dilation, padding, stride)
    ]
    if min(places) < 1:
        raise RuntimeError(
            f"Given input with spatial size {tuple(t.shape[-2:])}, "
            f"kernel_size={tuple(kernel_size)}, dilation={tuple(dilation)}, "
            f"padding={tuple(padding)}, calculated shape of the array of sliding blocks as "
            f"{tuple(places)}, but its components must be at least one."
        )
    return places


def col2im_window_counts(
    t: Tensor,
    output_size: Sequence[int],
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> list[int]:
    """The number of windows along each of the two dimensions of the output. Raises RuntimeError
    unless `t` has as many columns.
    """
    if len(output_size) != 2:
        raise RuntimeError(
            f"It is expected output_size equals to 2, but got size {len(output_size)}"
        )
    _check_pairs(kernel_size, dilation, padding, stride)
    if t.dim() not in (2, 3) or 0 in t.shape[-2:]:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and "
            f"non-zero dimensions for input, but got: {list(t.shape)}"
        )
    if not (t.dtype.is_floating_point or t.dtype.is_complex):
        raise not_implemented("col2im_out_cpu" if t.device is CPU else "col2im_out_cuda", t.dtype)
    rows, columns = t.shape[-2:]
    if rows % (kernel_size[0] * kernel_size[1]):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, "
            f"but got input.size(1)={rows} and kernel_size={tuple(kernel_size)}."
        )
    places = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, d, p, s in zip(output_size, kernel_size, dilation, padding, stride)
    ]
    if columns != places[0] * places[1]:
        raise RuntimeError(
            f"Given output_size={tuple(output_size)}, kernel_size={tuple(kernel_size)}, "
            f"dilation={tuple(dilation)}, padding={tuple(padding)}, stride={tuple(stride)}, "
            "expected size of input's dimension 2 to match the calculated number of sliding "
            f"blocks {places[0]} * {places[1]} = {places[0] * places[1]}, but got "
            f"input.size(2)={columns}."
        )
    return places


def _check_pairs(
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> None:
    """Raises RuntimeError unless each is a pair of positive numbers; padding may be 0."""
    pairs = {"kernel_size": kernel_size, "dilation": dilation, "padding": padding, "stride": stride}
    for name, pair in pairs.items():
        if len(pair) != 2:
            raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(pair)}")
    for name in ("kernel_size", "dilation", "stride"):
        pair, key = pairs[name], name.partition("_")[0]
        if min(pair) <= 0:
            raise RuntimeError(
                f"{name.replace('_', ' ')} should be greater than zero, but got {key}_height: "
                f"{pair[0]} {key}_width: {pair[1]}"
            )
    if min(padding) < 0:
        raise RuntimeError(
            f"padding should be non-negative, but got pad_height: {padding[0]} pad_width: "
            f"{padding[1]}"
        )
