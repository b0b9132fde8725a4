"""Pooling over 2-d windows: maximum, average, adaptive average (`aten/src/ATen/native/{Pooling,AveragePool2d}.cpp`, `Pool.h`).

Both poolings walk over the offsets inside a window, not over the windows: offset (0, 0) of all windows at once is one strided
view of the padded input, and so on, so a 3×3 pool is nine array operations however large the image is.

How the real one differs: PyTorch loops over the windows, vectorised over channels for channels-last input, and keeps separate
kernels for the gradients.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache, reduce
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.dtype_checks import not_implemented
from internals.aten.native.memory_format import empty_as, suggests_channels_last
from internals.aten.native.windows import pad_spatial, unfold_windows
from internals.aten.on_device import on_device
from internals.core import dtype as dt
from internals.core.dtype import SCALAR_TYPE_NAME
from internals.core.tensor_impl import array
from internals.machine_code.settings import use_compiled

COMPILED = 1 << 15  # from how many elements on compiled kernels pay


def max_pool2d_with_indices(
    self: Any, kernel_size: Sequence[int], stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], ceil_mode: bool
) -> tuple[Any, Any]:
    """The maximum of every window of (N, C, H, W) or (C, H, W), and its position in the H·W plane as int64.

    Padding never wins. The first of equal values does; NaN always does. Raises RuntimeError for sizes that do not fit.
    """
    kernel, stride, padding, dilation, (rows, columns) = max_pool2d_arguments(
        self, kernel_size, stride, padding, dilation, ceil_mode
    )
    values, indices = (empty_as(self, (*self.shape[:-2], rows, columns), d) for d in (self.dtype, dt.int64))
    if not self._geometry.stored:
        return on_device("pooling.max_pool2d", (values, indices), self, kernel, stride, padding, dilation)
    if use_compiled(self.numel(), COMPILED):
        kernels = compiled_for(self, values)
        if kernels and kernels.run_max_pool(self, values, indices, kernels.window_of(kernel, stride, padding, dilation)):
            return values, indices
    x, lowest = _batched(self), lowest_of(self.dtype)
    offsets = list(_offsets(x, (rows, columns), kernel, stride, padding, dilation, lowest))
    best = offsets[0][0].copy()
    for value, _ in offsets[1:]:
        np.maximum(best, value, out=best)
    if (best == lowest).any() or (x.dtype.kind == "f" and np.isnan(best).any()):
        first = _first_inside((rows, columns), x.shape[2:], stride, padding, dilation)
        place = _walk_through_windows(offsets, lowest, first)
    else:
        place = _first_equal(offsets, best)
    return fill(values, best), fill(indices, place)


def _first_equal(offsets: list[tuple[Any, Any]], best: Any) -> Any:
    """The position of the first element of each window that is its maximum.

    Which offset it is at is kept in a byte, and replaced by arithmetic: the processor cannot foresee where the maximum lies,
    so choosing element by element would cost several times as much.
    """
    number = np.zeros(best.shape, np.uint8 if len(offsets) < 256 else np.int64)
    for i in reversed(range(len(offsets))):
        is_best = np.equal(offsets[i][0], best)
        number *= ~is_best
        number += is_best * number.dtype.type(i)
    shift = np.array([position[0, 0] for _, position in offsets])  # a position is the window's first plus that of its offset
    return (offsets[0][1] - shift[0]) + shift.take(number)


def _walk_through_windows(offsets: list[tuple[Any, Any]], lowest: Any, first: Any) -> Any:
    """`_first_equal` where some windows hold NaN, the last of which wins, or nothing larger than `lowest`, where `first` does."""
    best = np.full(offsets[0][0].shape, lowest, offsets[0][0].dtype)
    place = first + np.zeros(best.shape, np.int64)
    for value, position in offsets:
        better = (value > best) | np.isnan(value)
        np.copyto(best, value, where=better)
        np.copyto(place, position, where=better)
    return place


def max_pool2d(
    self: Any, kernel_size: Sequence[int], stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], ceil_mode: bool
) -> Any:
    """The values of `max_pool2d_with_indices`."""
    return ops.max_pool2d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode)[0]


def avg_pool2d(
    self: Any,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Any:
    """The mean of every window. The divisor counts padding, unless told otherwise, but never what ceil_mode adds beyond it."""
    kernel, stride, padding, size = avg_pool2d_arguments(self, kernel_size, stride, padding, ceil_mode, divisor_override)
    out = empty_as(self, (*self.shape[:-2], *size))
    if not self._geometry.stored:
        how = kernel, stride, padding, (1, 1), divisor_override, count_include_pad
        return on_device("pooling.avg_pool2d", out, self, *how)
    if use_compiled(self.numel(), COMPILED):
        kernels = compiled_for(self, out)
        divisors = divisors_of(self, size, kernel, stride, padding, count_include_pad, divisor_override)
        if kernels and kernels.run_avg_pool(self, divisors, out, kernels.window_of(kernel, stride, padding, [1, 1])):
            return out
    x = _batched(self)
    accumulate = np.float32 if self.dtype is dt.float16 else x.dtype
    total = np.zeros((*x.shape[:2], *size), accumulate)
    for value, _ in _offsets(x, size, kernel, stride, padding, [1, 1], 0):
        total += value
    divisor = divisor_override or window_sizes(size, x.shape[2:], kernel, stride, padding, count_include_pad)
    if self.dtype.category == dt.INTEGRAL:
        return fill(out, np.trunc(total / divisor))
    return fill(out, total / np.asarray(divisor, accumulate))


def _adaptive_avg_pool2d(self: Any, output_size: Sequence[int]) -> Any:
    """Means over `output_size` windows that cover the image evenly: over rows, then over columns."""
    if len(output_size) != 2:
        raise RuntimeError("adaptive_avg_pool2d: output_size must be 2")
    if any(s < 0 for s in output_size):
        raise RuntimeError(
            "adaptive_avg_pool2d: elements of output_size must be greater than or equal to 0 but received "
            f"{{{', '.join(map(str, output_size))}}}"
        )
    if self.dim() not in (3, 4):
        raise RuntimeError(f"adaptive_avg_pool2d(): Expected 3D or 4D tensor, but got {list(self.shape)}")
    check_places("adaptive_avg_pool2d", self, 2)
    if not self.dtype.is_floating_point:
        raise not_implemented("adaptive_avg_pool2d", self.dtype)
    out = empty_as(self, (*self.shape[:-2], *output_size))
    if not self._geometry.stored:
        return on_device("pooling.avg_pool2d", out, self)
    if use_compiled(self.numel(), COMPILED):
        kernels = compiled_for(self, out)
        if kernels and kernels.run(kernels.adaptive_pool, self, out, *self.shape[-2:], *output_size):
            return out
    x = array(self)
    dtype = np.float32 if self.dtype is dt.float16 else x.dtype
    for axis, m in zip((-2, -1), output_size):
        x = window_means(x.astype(dtype, copy=False), axis, m)
    return fill(out, x)


def adaptive_avg_pool2d(self: Any, output_size: Sequence[int]) -> Any:
    """As `_adaptive_avg_pool2d`, the leaf that autograd knows; one window over the whole image is simply the mean."""
    if list(output_size) == [1, 1]:
        means = self.mean((-1, -2), True)
        n = self.shape[1]
        return means.as_strided(means.shape, [n, 1, n, n]) if suggests_channels_last(self) else means
    return ops._adaptive_avg_pool2d(self, output_size)


def window_means(x: Any, axis: int, m: int) -> Any:
    """The means of `m` windows along `axis`, number i of which goes from floor(i·n/m) to ceil((i+1)·n/m)."""
    n, i = x.shape[axis], np.arange(m)
    bounds = np.stack([i * n // max(m, 1), -(-(i + 1) * n // max(m, 1))], 1)
    padded = np.concatenate([x, np.zeros_like(x.take([0], axis))], axis)  # reduceat wants every bound to be an index
    sums = np.add.reduceat(padded, bounds.ravel(), axis).take(2 * i, axis)
    lengths = (bounds[:, 1] - bounds[:, 0]).astype(x.dtype)
    return sums / lengths.reshape(-1, *[1] * (-1 - axis))


def _offsets(
    x: Any,
    size: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    fill: Any,
) -> Iterator[tuple[Any, Any]]:
    """For each offset in the window: what lies there in every window, and its position in the H·W plane."""
    height, width = x.shape[2:]
    missing = [
        max(0, (o - 1) * s + d * (k - 1) + 1 - (n + 2 * p))
        for o, s, d, k, n, p in zip(size, stride, dilation, kernel, x.shape[2:], padding)
    ]
    windows = unfold_windows(pad_spatial(x, padding, fill, missing), kernel, stride, dilation)
    rows = np.arange(size[0])[:, None] * stride[0] - padding[0]
    columns = np.arange(size[1]) * stride[1] - padding[1]
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            position = (rows + i * dilation[0]) * width + columns + j * dilation[1]
            yield windows[:, :, i, j, : size[0], : size[1]], position


def _first_inside(
    size: Sequence[int], image: Sequence[int], stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int]
) -> Any:
    """The position of each window's first element that is not padding."""
    starts = []
    for o, s, p, d in zip(size, stride, padding, dilation):
        start = np.arange(o) * s - p
        starts.append(start + np.where(start < 0, -(start // d) * d, 0))
    return starts[0][:, None] * image[1] + starts[1]


def window_sizes(
    size: Sequence[int], image: Sequence[int], kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int], padded: bool
) -> Any:
    """How many elements each window averages over."""
    counts = []
    for o, n, k, s, p in zip(size, image, kernel, stride, padding):
        start = np.arange(o) * s - p
        end = np.minimum(start + k, n + p)
        counts.append(end - start if padded else np.minimum(end, n) - np.maximum(start, 0))
    return reduce(np.multiply.outer, counts)


def compiled_for(*tensors: Any) -> Any:
    """The module of compiled kernels if it has some for these tensors, else None."""
    from internals.aten.compiled import pooling

    return pooling if pooling.fits(*tensors) else None


def divisors_of(
    t: Any,
    size: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    padded: bool,
    override: int | None,
) -> Any:
    """What the sum of each of `size` windows over images like `t` is divided by, as a table."""
    sizes = (size, t.shape[-2:], kernel, stride, padding)
    return _divisors(tuple(map(tuple, sizes)), padded, override, t.dtype)


@lru_cache(maxsize=64)
def _divisors(sizes: tuple[Any, ...], padded: bool, override: int | None, dtype: dt.dtype) -> Any:
    from internals.aten.compiled.pooling import Table

    size, image, kernel, stride, padding = sizes
    counts = override or window_sizes(size, image, kernel, stride, padding, padded)
    return Table(np.ascontiguousarray(np.broadcast_to(counts, size), dtype.np))


def max_pool2d_arguments(
    t: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> tuple[list[int], list[int], list[int], list[int], tuple[int, ...]]:
    """Pairs for all four, and the size of the result's plane. Raises RuntimeError for sizes that do not fit."""
    kernel, stride, padding, dilation = pool_arguments("max_pool2d", kernel, stride, padding, dilation)
    if t.dtype.category in (dt.BOOL, dt.COMPLEX):
        raise NotImplementedError(f"\"max_pool2d\" not implemented for '{SCALAR_TYPE_NAME[t.dtype]}'")
    check_image(t)
    return kernel, stride, padding, dilation, _output_size(t.shape[-3:], kernel, stride, padding, dilation, ceil_mode)


def avg_pool2d_arguments(
    t: Any, kernel: Any, stride: Any, padding: Any, ceil_mode: bool, divisor_override: int | None
) -> tuple[list[int], list[int], list[int], tuple[int, ...]]:
    """Pairs for all three, and the size of the result's plane.

    Raises RuntimeError for sizes that do not fit, NotImplementedError for complex numbers.
    """
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    kernel, stride, padding, dilation = pool_arguments("avg_pool2d", kernel, stride, padding, [1])
    if t.dim() not in (3, 4):
        raise IndexError(f"Dimension out of range (expected to be in range of [{-t.dim()}, {t.dim() - 1}], but got -3)")
    check_image(t)
    if t.dtype.is_complex:
        raise not_implemented("avg_pool2d", t.dtype)
    return kernel, stride, padding, _output_size(t.shape[-3:], kernel, stride, padding, dilation, ceil_mode)


def check_places(name: str, t: Any, dims: int, what: str = "input") -> None:
    """Raises RuntimeError where one of the last `dims` sizes is 0."""
    for dim in range(t.dim() - dims, t.dim()):
        if t.shape[dim] == 0:
            raise RuntimeError(
                f"{name}(): Expected {what} to have non-zero size for non-batch dimensions, but {what} has sizes {list(t.shape)} "
                f"with dimension {dim} being empty"
            )


def lowest_of(d: dt.dtype) -> Any:
    """What no maximum is smaller than."""
    return -np.inf if d.is_floating_point else np.iinfo(d.np).min


def pool_arguments(name: str, kernel: Any, stride: Any, padding: Any, dilation: Any) -> tuple[list[int], ...]:
    """Pairs for all four; an empty stride is the kernel size."""
    pairs = []
    for value, what in ((kernel, "kernel_size"), (stride or kernel, "stride"), (padding, "padding"), (dilation, "dilation")):
        if len(value) not in (1, 2):
            raise RuntimeError(f"{name}: {what} must either be a single int, or a tuple of two ints")
        pairs.append(list(value) * (2 // len(value)))
    kernel, stride, padding, dilation = pairs
    if any(k <= 0 for k in kernel):
        raise RuntimeError(f"kernel size should be greater than zero, but got kH: {kernel[0]} kW: {kernel[1]}")
    if any(s == 0 for s in stride):
        raise RuntimeError("stride should not be zero")
    if min(stride) < 0:
        raise RuntimeError(f"stride should be greater than zero, but got dH: {stride[0]} dW: {stride[1]}")
    if any(d <= 0 for d in dilation):
        raise RuntimeError(f"dilation should be greater than zero, but got dilationH: {dilation[0]} dilationW: {dilation[1]}")
    for k, p, d in zip(kernel, padding, dilation):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > (d * (k - 1) + 1) // 2:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and dilation={d}"
            )
    return kernel, stride, padding, dilation


def _batched(t: Any) -> Any:
    x = array(t)
    return x if x.ndim == 4 else x[None]


def check_image(t: Any) -> None:
    """Raises RuntimeError for what is not (N, C, H, W) or (C, H, W), or has nothing in it but for N."""
    if t.dim() not in (3, 4):
        raise RuntimeError("non-empty 3D or 4D (batch mode) tensor expected for input")
    if 0 in t.shape[-3:]:
        raise RuntimeError(
            f"Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:{list(t.shape)}"
        )


def _output_size(
    plane: Sequence[int], kernel: list[int], stride: list[int], padding: list[int], dilation: Sequence[int], ceil_mode: bool
) -> tuple[int, ...]:
    """The size of the result's plane for an input of (C, H, W)."""
    sizes = []
    for n, k, s, p, d in zip(plane[1:], kernel, stride, padding, dilation):
        size = (n + 2 * p - d * (k - 1) - 1 + (s - 1 if ceil_mode else 0)) // s + 1
        if ceil_mode and (size - 1) * s >= n + p:  # the last window must begin inside the image or its left padding
            size -= 1
        sizes.append(size)
    if min(sizes) < 1:
        c, h, w = plane
        raise RuntimeError(
            f"Given input size: ({c}x{h}x{w}). Calculated output size: ({c}x{sizes[0]}x{sizes[1]}). Output size is too small"
        )
    return tuple(sizes)


def fill(out: Any, a: Any) -> Any:
    """`out` with the elements of an array, which has one batch if there is none in `out`."""
    array(out)[...] = a
    return out
