"""Pooling over windows of images and volumes: maximum, average, adaptive average
(`aten/src/ATen/native/Pool.h`, `Pooling.cpp`, `AveragePool{2d,3d}.cpp`,
`DilatedMaxPool{2d,3d}.cpp`).

All poolings walk over the offsets inside a window, not over the windows: offset (0, 0) of all
windows at once is one strided view of the padded input, and so on. So a 3×3 pool is nine array
operations, however large the image is. Sizes (N, C, H, W) get outputs (N, C, oH, oW), where

    oH = (H + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1

How the real one differs: PyTorch loops over the windows, vectorised over channels for channels-last
input.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache, partial, reduce
from itertools import product
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.dtype_checks import check_dtype, not_implemented
from internals.aten.native.memory_format import empty_as, suggests_channels_last
from internals.aten.native.windows import pad_spatial, unfold_windows
from internals.aten.on_device import on_device
from internals.core import dtype as dt
from internals.core.tensor_impl import Array, Tensor, array, empty_contiguous
from internals.machine_code.settings import use_compiled

COMPILED = 1 << 15  # number of elements from which on compiled kernels pay


def _max_pool(dims: int, self: Tensor, *how: Any) -> tuple[Any, Any]:
    """(values, indices); `how` is kernel size, stride, padding, dilation and ceil_mode."""
    kernel, stride, padding, dilation, size = max_pool_arguments(dims, self, *how)
    values, indices = (pooled(self, dims, size, d) for d in (self.dtype, dt.int64))
    if not self._geometry.stored:
        return on_device(
            "pooling.max_pool2d", (values, indices), self, kernel, stride, padding, dilation
        )
    if dims == 2 and use_compiled(self.numel(), COMPILED):
        kernels = compiled_for(self, values)
        if kernels and kernels.run_max_pool(
            self, values, indices, kernels.window_of(kernel, stride, padding, dilation)
        ):
            return values, indices
    x, lowest = batched(self, dims), lowest_of(self.dtype)
    # one (view, shift) for each offset in the window; a view is (N, C, oH, oW)
    offsets = list(_offsets(x, size, kernel, stride, padding, dilation, lowest))
    best = offsets[0][0].copy()
    for value, _ in offsets[1:]:
        np.maximum(best, value, out=best)
    starts = [np.arange(o) * s - p for o, s, p in zip(size, stride, padding)]
    start = _positions(starts, x.shape[2:])
    # padding is filled with `lowest`, and NaN equals nothing: where a window has no other element,
    # a comparison with the maximum finds a wrong position, or none
    if (best == lowest).any() or (x.dtype.kind == "f" and np.isnan(best).any()):
        # the first position of each window that is not in the padding before the image
        inside = [a - np.minimum(a, 0) // d * d for a, d in zip(starts, dilation)]
        position = _walk_through_windows(offsets, lowest, start, _positions(inside, x.shape[2:]))
    else:
        position = start + _first_equal(offsets, best)
    return fill(values, best), fill(indices, position)


# The maximum of every window of (N, C, H, W) or (C, H, W), and its position in the H·W plane as
# int64. Of equal values the first one counts; padding never does, NaN always. Raises RuntimeError
# for sizes that do not fit.
max_pool2d_with_indices = partial(_max_pool, 2)
# The same for (N, C, D, H, W) or (C, D, H, W), with positions in the D·H·W volume.
max_pool3d_with_indices = partial(_max_pool, 3)


def _first_equal(offsets: list[tuple[Any, Any]], best: Any) -> Any:
    """The distance, in elements, from the start of each window to its first maximum.

    The number of the offset is kept in a byte, and replaced by arithmetic rather than by a choice:
    the processor cannot predict where the maximum lies, so branches would cost several times as
    much.
    """
    number = np.zeros(best.shape, np.uint8 if len(offsets) < 256 else np.int64)
    for i in reversed(range(len(offsets))):  # backwards, so that the first of equals stays
        is_best = np.equal(offsets[i][0], best)
        number *= ~is_best
        number += is_best * number.dtype.type(i)
    return np.array([shift for _, shift in offsets]).take(number)


def _walk_through_windows(
    offsets: list[tuple[Any, Any]], lowest: float, start: Array, first: Array
) -> Any:
    """The positions of the maxima where some windows hold NaN, the last of which counts, or nothing
    larger than `lowest`; such a window gets the position `first`.
    """
    best = np.full(offsets[0][0].shape, lowest, offsets[0][0].dtype)
    position = first + np.zeros(best.shape, np.int64)
    for value, shift in offsets:
        better = (value > best) | np.isnan(value)
        np.copyto(best, value, where=better)
        np.copyto(position, start + shift, where=better)
    return position


def max_pool2d(
    self: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
) -> Any:
    """The values of `max_pool2d_with_indices`."""
    return ops.max_pool2d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode)[0]


def max_pool3d(
    self: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
) -> Any:
    """The values of `max_pool3d_with_indices`."""
    return ops.max_pool3d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode)[0]


def _avg_pool(
    dims: int,
    self: Tensor,
    kernel_size: Sequence[int],
    step: Sequence[int],
    around: Sequence[int],
    ceil_mode: bool,
    padded: bool,
    override: int | None,
) -> Any:
    """The mean of every window: its sum divided by `override`, or by its number of elements, which
    includes those in the padding if `padded`.
    """
    kernel, stride, padding, size = avg_pool_arguments(
        dims, self, kernel_size, step, around, ceil_mode, override
    )
    if dims == 3 and self.dtype not in (dt.float32, dt.float64, dt.int64):
        raise not_implemented("avg_pool3d_out_frame", self.dtype)
    out = pooled(self, dims, size, self.dtype)
    if not self._geometry.stored:
        return on_device(
            "pooling.avg_pool2d", out, self, kernel, stride, padding, (1, 1), override, padded
        )
    if dims == 2 and use_compiled(self.numel(), COMPILED):
        kernels = compiled_for(self, out)
        divisors = divisors_of(self, size, kernel, stride, padding, padded, override)
        if kernels and kernels.run_avg_pool(
            self, divisors, out, kernels.window_of(kernel, stride, padding, [1, 1])
        ):
            return out
    x = batched(self, dims)
    accumulate = np.float32 if self.dtype is dt.float16 else x.dtype  # half cannot hold the sums
    total = np.zeros((*x.shape[:2], *size), accumulate)
    for value, _ in _offsets(x, size, kernel, stride, padding, [1] * dims, 0):
        total += value
    divisor = override or window_sizes(size, x.shape[2:], kernel, stride, padding, padded)
    if self.dtype.category == dt.INTEGRAL:
        return fill(out, np.trunc(total / divisor))
    return fill(out, total / np.asarray(divisor, accumulate))


# The mean of every window. The divisor counts padding, if count_include_pad is true, but never the
# elements that ceil_mode adds beyond the padding.
avg_pool2d = partial(_avg_pool, 2)
# The same for volumes. Raises RuntimeError for one smaller than the window, NotImplementedError for
# dtypes other than float32, float64 and int64.
avg_pool3d = partial(_avg_pool, 3)


def _adaptive_avg_pool(dims: int, self: Tensor, output_size: Sequence[int]) -> Any:
    """Means over `output_size` windows that cover the image evenly, one axis after the other."""
    name = f"adaptive_avg_pool{dims}d"
    if len(output_size) != dims:
        raise RuntimeError(f"{name}: output_size must be {dims}")
    if any(s < 0 for s in output_size):
        got = ", ".join(map(str, output_size)) if dims == 2 else "{}, {},{}".format(*output_size)
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0 but received "
            f"{{{got}}}"
        )
    if self.dim() not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"{name}(): Expected {dims + 1}D or {dims + 2}D tensor, but got {list(self.shape)}"
        )
    check_nonempty(name, self, 2 if dims == 2 else self.dim() - 1)
    if not self.dtype.is_floating_point:
        raise not_implemented(name if dims == 2 else f"{name}_cpu", self.dtype)
    out = pooled(self, dims, output_size, self.dtype)
    if not self._geometry.stored:
        return on_device("pooling.avg_pool2d", out, self)
    if dims == 2 and use_compiled(self.numel(), COMPILED):
        kernels = compiled_for(self, out)
        if kernels and kernels.run(
            kernels.adaptive_pool, self, out, *self.shape[-2:], *output_size
        ):
            return out
    # a window is a product of intervals, so its mean is the mean over rows of means over columns
    x = wide(self)
    for axis, m in enumerate(output_size, -dims):
        x = window_means(x, axis, m)
    return fill(out, x)


_adaptive_avg_pool2d = partial(_adaptive_avg_pool, 2)
_adaptive_avg_pool3d = partial(_adaptive_avg_pool, 3)


def adaptive_avg_pool2d(self: Any, output_size: Sequence[int]) -> Any:
    """As `_adaptive_avg_pool2d`, whose derivative autograd knows; one window over the whole image
    is simply the mean.
    """
    if list(output_size) == [1, 1]:
        means = self.mean((-1, -2), True)
        n = self.shape[1]
        # strides of 1 × 1 images in channels-last order: all neighbours are channels
        return (
            means.as_strided(means.shape, [n, 1, n, n]) if suggests_channels_last(self) else means
        )
    return ops._adaptive_avg_pool2d(self, output_size)


def adaptive_avg_pool3d(self: Tensor, output_size: Sequence[int]) -> Any:
    """As `_adaptive_avg_pool3d`; one window over the whole volume is simply the mean."""
    if list(output_size) == [1, 1, 1] and self.dim() in (4, 5):
        return self.mean([-1, -2, -3], keepdim=True)
    return ops._adaptive_avg_pool3d(self, output_size)


def window_means(x: Array, axis: int, m: int) -> Any:
    """The means of `m` windows along `axis`, of size n: window i goes from floor(i·n/m) up to, but
    not including, ceil((i+1)·n/m). They overlap where m does not divide n.
    """
    n, i = x.shape[axis], np.arange(m)
    bounds = np.stack([i * n // max(m, 1), -(-(i + 1) * n // max(m, 1))], 1)
    # `reduceat` sums from each bound to the next: start to end of a window, then end to the next
    # start, which is of no use, hence `take(2 * i)`. A bound must be an index, and the last is n:
    # so one element is appended.
    padded = np.concatenate([x, np.zeros_like(x.take([0], axis))], axis)
    sums = np.add.reduceat(padded, bounds.ravel(), axis).take(2 * i, axis)
    lengths = (bounds[:, 1] - bounds[:, 0]).astype(x.dtype)
    return sums / lengths.reshape(-1, *[1] * (-1 - axis))


def _offsets(
    x: Array,
    size: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    fill: float,
) -> Iterator[tuple[Any, Any]]:
    """For each offset in the window, in row-major order: a view (N, C, oH, oW) of the elements that
    every window has there, and their distance from the window's start in the flattened image.
    """
    image = x.shape[2:]
    missing = beyond(size, image, kernel, stride, padding, dilation)
    # (N, C, kH, kW, oH, oW), and the same with three dimensions for volumes
    windows = unfold_windows(pad_spatial(x, padding, fill, missing), kernel, stride, dilation)
    inside = (..., *(slice(o) for o in size))
    for offset in product(*map(range, kernel)):
        steps = [i * d for i, d in zip(offset, dilation)]
        yield windows[(slice(None), slice(None), *offset)][inside], _positions(steps, image)


def beyond(
    size: Sequence[int],
    image: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> list[int]:
    """The number of elements by which the last of `size` windows reaches beyond the padded image,
    for each dimension: more than 0 only with ceil_mode.
    """
    rows = zip(size, stride, dilation, kernel, image, padding)
    return [max(0, (o - 1) * s + d * (k - 1) + 1 - (n + 2 * p)) for o, s, d, k, n, p in rows]


def _positions(axes: Sequence[Any], image: Sequence[int]) -> Any:
    """The offsets, in the flattened image, of all combinations of the coordinates along its axes:
    row * W + column. Each of `axes` is a number or an array of them.
    """
    total = axes[0]
    for axis, n in zip(axes[1:], image[1:]):
        total = total * n + axis if isinstance(axis, int) else np.add.outer(total * n, axis)
    return total


def window_sizes(
    size: Sequence[int],
    image: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    padded: bool,
) -> Any:
    """The number of elements that each window averages over, an array of `size`; with those in the
    padding if `padded`.
    """
    counts = []
    for o, n, k, s, p in zip(size, image, kernel, stride, padding):
        start = np.arange(o) * s - p
        end = np.minimum(start + k, n + p)  # ceil_mode's last window may reach further
        counts.append(end - start if padded else np.minimum(end, n) - np.maximum(start, 0))
    return reduce(np.multiply.outer, counts)


def compiled_for(*tensors: Any) -> Any:
    """The module of compiled kernels if they take these tensors, else None."""
    from internals.aten.compiled import pooling

    return pooling if pooling.fits(*tensors) else None


def divisors_of(
    t: Tensor,
    size: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    padded: bool,
    override: int | None,
) -> Any:
    """A table of the divisors for the sum of each of `size` windows over images like `t`."""
    sizes = (size, t.shape[-2:], kernel, stride, padding)
    return _divisors(tuple(map(tuple, sizes)), padded, override, t.dtype)


@lru_cache(maxsize=64)
def _divisors(sizes: tuple[Any, ...], padded: bool, override: int | None, dtype: dt.dtype) -> Any:
    """`divisors_of` by hashable arguments, so that the table is computed once for each."""
    from internals.aten.compiled.pooling import Table

    size, image, kernel, stride, padding = sizes
    counts = override or window_sizes(size, image, kernel, stride, padding, padded)
    return Table(np.ascontiguousarray(np.broadcast_to(counts, size), dtype.np))


def max_pool_arguments(
    dims: int,
    t: Tensor,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
    backward: str = "",
) -> tuple[list[int], list[int], list[int], list[int], list[int]]:
    """(kernel, stride, padding, dilation, size), each a list of `dims` numbers; `size` is that of
    the result's image.

    Raises RuntimeError for sizes that do not fit, NotImplementedError for bools and complex
    numbers.
    """
    name = f"max_pool{dims}d"
    kernel, stride, padding, dilation = _arguments(name, dims, kernel, stride, padding, dilation)
    _check_image(f"{name}_with_indices{backward}_out_cpu_template", dims, t)
    size = _output_size(dims, t, kernel, stride, padding, dilation, ceil_mode)
    check_dtype(name, t.dtype, dt.INTEGRAL, dt.FLOATING)
    return kernel, stride, padding, dilation, size


def avg_pool_arguments(
    dims: int,
    t: Tensor,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool,
    override: int | None,
    backward: str = "",
) -> tuple[list[int], list[int], list[int], list[int]]:
    """(kernel, stride, padding, size), each a list of `dims` numbers; `size` is that of the
    result's image.

    Raises RuntimeError for sizes that do not fit; with `dims` 2, NotImplementedError for complex
    numbers.
    """
    if override == 0:
        raise RuntimeError("divisor must be not zero")
    name = f"avg_pool{dims}d"
    kernel, stride, padding, dilation = _arguments(name, dims, kernel, stride, padding, [1])
    if dims == 2 and t.dim() not in (3, 4):  # the real one reads size(-3) before it checks
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-t.dim()}, {t.dim() - 1}], but "
            "got -3)"
        )
    _check_image(name + backward, dims, t)
    if dims == 3 and any(n < k for n, k in zip(t.shape[-3:], kernel)):
        raise RuntimeError(
            "input image (T: {} H: {} W: {}) smaller than kernel size (kT: {} kH: {} kW: "
            "{})".format(*t.shape[-3:], *kernel)
        )
    size = _output_size(dims, t, kernel, stride, padding, dilation, ceil_mode)
    if dims == 2 and t.dtype.is_complex:
        raise not_implemented(name, t.dtype)
    return kernel, stride, padding, size


def check_nonempty(name: str, t: Tensor, dims: int, what: str = "input") -> None:
    """Raises RuntimeError where one of the last `dims` sizes is 0."""
    for dim in range(t.dim() - dims, t.dim()):
        if t.shape[dim] == 0:
            raise RuntimeError(
                f"{name}(): Expected {what} to have non-zero size for non-batch dimensions, but "
                f"{what} has sizes {list(t.shape)} with dimension {dim} being empty"
            )


def lowest_of(d: dt.dtype) -> Any:
    """The lowest value of a dtype, which no maximum is below."""
    return -np.inf if d.is_floating_point else np.iinfo(d.np).min


def _arguments(
    name: str,
    dims: int,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> list[list[int]]:
    """[kernel, stride, padding, dilation], each a list of `dims` numbers; an empty stride is the
    kernel size. Raises RuntimeError for sizes that a window cannot have.
    """
    lists = []
    for value, what in (
        (kernel, "kernel_size"),
        (stride or kernel, "stride"),
        (padding, "padding"),
        (dilation, "dilation"),
    ):
        if len(value) not in (1, dims):
            count = "two" if dims == 2 else "three"
            raise RuntimeError(
                f"{name}: {what} must either be a single int, or a tuple of {count} ints"
            )
        lists.append(list(value) * (dims // len(value)))  # one number is for all dimensions
    kernel, stride, padding, dilation = lists
    if 0 in stride:
        raise RuntimeError("stride should not be zero")
    for numbers, what, letter in (
        (stride, "stride", "d"),
        (kernel, "kernel size", "k"),
        (dilation, "dilation", "dilation"),
    ):
        if min(numbers) <= 0:
            got = " ".join(f"{letter}{axis}: {n}" for axis, n in zip("THW"[-dims:], numbers))
            raise RuntimeError(f"{what} should be greater than zero, but got {got}")
    for k, p, d in zip(kernel, padding, dilation):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > (d * (k - 1) + 1) // 2:  # more padding would leave windows without an element
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={p}, "
                f"kernel_size={k} and dilation={d}"
            )
    return lists


def _output_size(
    dims: int,
    t: Tensor,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
) -> list[int]:
    """The size of the result's image. Raises RuntimeError where that is empty."""
    sizes = []
    for n, k, s, p, d in zip(t.shape[-dims:], kernel, stride, padding, dilation):
        # d * (k - 1) + 1 is the reach of a window; ceil_mode rounds the division up
        size = (n + 2 * p - d * (k - 1) - 1 + (s - 1 if ceil_mode else 0)) // s + 1
        # the last window must begin inside the image or its left padding
        sizes.append(size - 1 if ceil_mode and (size - 1) * s >= n + p else size)
    if min(sizes) < 1:
        before, after = (
            "x".join(map(str, (t.shape[-dims - 1], *s))) for s in (t.shape[-dims:], sizes)
        )
        raise RuntimeError(
            f"Given input size: ({before}). Calculated output size: ({after}). Output size is too "
            "small"
        )
    return sizes


def _check_image(name: str, dims: int, t: Tensor) -> None:
    """Raises RuntimeError unless `t` has channels and `dims` dimensions, or is a batch of those.
    Only the batch may be empty.
    """
    if t.dim() not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"non-empty {dims + 1}D or {dims + 2}D (batch mode) tensor expected for input"
        )
    if 0 in t.shape[-dims - 1 :]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but "
            f"got:{list(t.shape)}"
            if dims == 2  # of a volume the text names the length, not the dimension
            else (
                f"{name}(): Expected input's non-batch dimensions to have positive length, but "
                f"input has a shape of {list(t.shape)} and non-batch dimension 0 has length zero!"
            )
        )


def pooled(t: Tensor, dims: int, size: Sequence[int], dtype: dt.dtype) -> Any:
    """A new tensor with an image of `size` for each image of `t`, in the memory format of `t`;
    volumes are row-major.
    """
    sizes = (*t.shape[:-dims], *size)
    return empty_as(t, sizes, dtype) if dims == 2 else empty_contiguous(sizes, dtype, t.device)


def batched(t: Tensor, dims: int) -> Any:
    """The elements as (N, C, ...): an image without a batch becomes a batch of one."""
    x = array(t)
    return x if x.ndim == dims + 2 else x[None]


def wide(t: Any) -> Any:
    """The elements as an array; half precision as float32."""
    return array(t).astype(np.float32) if t.dtype is dt.float16 else array(t)


def fill(out: Tensor, a: Array) -> Any:
    """Copy an array into `out`, and return it. Where `out` has no batch, the array has one of 1,
    which numpy drops.
    """
    array(out)[...] = a
    return out
