"""Pooling of volumes: maximum, average, adaptive average (`aten/src/ATen/native/{DilatedMaxPool3d,AveragePool3d}.cpp`, `Pool.h`).

As for images (`pooling.py`), the loop is over the places inside a window, not over the windows: place (0, 0, 0) of all windows
at once is one strided view of the padded volume. The gradients walk over the same views, and add to them.

How the real one differs: it loops over the windows, in threads. Where dilation leaves a window no element inside the volume, the
index points outside it, and PyTorch writes there; here that gradient goes nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.dtype_checks import not_implemented
from internals.core import dtype as dt
from internals.core.dtype import SCALAR_TYPE_NAME
from internals.core.tensor_impl import array, empty_contiguous, snapshot

from .pooling import check_places, lowest_of, window_means, window_sizes
from .pooling_backward import check_adaptive_gradient, check_pool_gradient


def max_pool3d_with_indices(
    self: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> tuple[Any, Any]:
    """The maximum of every window of (N, C, D, H, W) or (C, D, H, W), and its position in the D·H·W volume as int64.

    Padding never wins. The first of equal values does; NaN always does. Raises RuntimeError for sizes that do not fit.
    """
    kernel, step, around, apart = _arguments("max_pool3d", kernel_size, stride, padding, dilation)
    _check_volume("max_pool3d_with_indices_out_cpu_template", self)
    if self.dtype.category in (dt.BOOL, dt.COMPLEX):
        raise not_implemented("max_pool3d", self.dtype)
    volume = self.shape[-3:]
    sizes = (*self.shape[:-3], *_output_size(self, kernel, step, around, apart, ceil_mode))
    values, indices = (empty_contiguous(sizes, d, self.device) for d in (self.dtype, dt.int64))
    if not self._geometry.stored:
        return values, indices
    best, place = array(values), array(indices)
    best[...] = lowest_of(self.dtype)
    starts = [np.arange(o) * s - p for o, s, p in zip(sizes[-3:], step, around)]
    first_inside = [start - np.minimum(start, 0) // d * d for start, d in zip(starts, apart)]
    place[...] = _position(first_inside, volume)
    padded = _pad(array(self), sizes[-3:], kernel, step, around, apart, lowest_of(self.dtype))
    for offset, window in _places(sizes[-3:], kernel, step, apart):
        value = padded[window]
        better = (value > best) | (value != value)  # NaN is not itself
        np.copyto(best, value, where=better)
        np.copyto(place, _position([s + i for s, i in zip(starts, offset)], volume), where=better)
    return values, indices


def max_pool3d_with_indices_backward(
    grad_output: Any, self: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, indices: Any
) -> Any:
    """Each gradient at the place in the D·H·W volume where its maximum was, which `indices` tells."""
    kernel, step, around, apart = _arguments("max_pool3d", kernel_size, stride, padding, dilation)
    _check_volume("max_pool3d_with_indices_backward_out_cpu_template", self)
    check_pool_gradient(grad_output, self, _output_size(self, kernel, step, around, apart, ceil_mode), indices)
    return scatter_to_places(grad_output, indices, self.shape, 3)


def max_pool3d(self: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> Any:
    """The values of `max_pool3d_with_indices`."""
    return ops.max_pool3d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode)[0]


def avg_pool3d(
    self: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool, divisor_override: int | None
) -> Any:
    """The mean of every window. The divisor counts padding, unless told otherwise, but never what ceil_mode adds beyond it."""
    kernel, step, around, apart = _arguments("avg_pool3d", kernel_size, stride, padding, [1])
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    _check_volume("avg_pool3d", self)
    if any(n < k for n, k in zip(self.shape[-3:], kernel)):
        raise RuntimeError(
            "input image (T: {} H: {} W: {}) smaller than kernel size (kT: {} kH: {} kW: {})".format(*self.shape[-3:], *kernel)
        )
    if self.dtype not in (dt.float32, dt.float64, dt.int64):
        raise not_implemented("avg_pool3d_out_frame", self.dtype)
    size = _output_size(self, kernel, step, around, apart, ceil_mode)
    out = empty_contiguous((*self.shape[:-3], *size), self.dtype, self.device)
    if not self._geometry.stored:
        return out
    padded = _pad(array(self), size, kernel, step, around, apart, 0)
    total = sum(padded[window] for _, window in _places(size, kernel, step, apart))
    divisor = divisor_override or window_sizes(size, self.shape[-3:], kernel, step, around, count_include_pad)
    mean = total / np.asarray(divisor, array(self).dtype)
    array(out)[...] = mean if self.dtype.is_floating_point else np.trunc(mean)
    return out


def avg_pool3d_backward(
    grad_output: Any, self: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool,
    divisor_override: int | None,
) -> Any:  # fmt: skip
    """Each gradient, over its window's divisor, at all elements of the window."""
    kernel, step, around, apart = _arguments("avg_pool3d", kernel_size, stride, padding, [1])
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    _check_volume("avg_pool3d_backward", self)
    check_pool_gradient(grad_output, self, _output_size(self, kernel, step, around, apart, ceil_mode))
    g, volume = array(grad_output), self.shape[-3:]
    size = g.shape[-3:]
    divisor = divisor_override or window_sizes(size, volume, kernel, step, around, count_include_pad)
    part = g / np.asarray(divisor, g.dtype)
    padded = _pad(np.zeros(self.shape, g.dtype), size, kernel, step, around, apart, 0)
    for _, window in _places(size, kernel, step, apart):
        padded[window] += part
    out = empty_contiguous(self.shape, self.dtype)
    array(out)[...] = padded[(..., *(slice(p, p + n) for p, n in zip(around, volume)))]
    return out


def adaptive_avg_pool3d(self: Any, output_size: Sequence[int]) -> Any:
    """Means over `output_size` windows that cover (N, C, D, H, W) or (C, D, H, W) evenly."""
    if len(output_size) != 3:
        raise RuntimeError("adaptive_avg_pool3d: output_size must be 3")
    if any(n < 0 for n in output_size):
        raise RuntimeError(
            "adaptive_avg_pool3d: elements of output_size must be greater than or equal to 0 but received "
            + "{{{}, {},{}}}".format(*output_size)
        )
    if list(output_size) == [1, 1, 1] and self.dim() in (4, 5):
        return self.mean([-1, -2, -3], keepdim=True)
    return ops._adaptive_avg_pool3d(self, output_size)


def _adaptive_avg_pool3d(self: Any, output_size: Sequence[int]) -> Any:
    """The same, one axis after the other."""
    if self.dim() not in (4, 5):
        raise RuntimeError(f"adaptive_avg_pool3d(): Expected 4D or 5D tensor, but got {list(self.shape)}")
    check_places("adaptive_avg_pool3d", self, self.dim() - 1)
    if not self.dtype.is_floating_point:
        raise not_implemented("adaptive_avg_pool3d_cpu", self.dtype)
    x = array(self).astype(np.float32) if self.dtype is dt.float16 else array(self)
    for axis, m in zip((-3, -2, -1), output_size):
        x = window_means(x, axis, m)
    out = empty_contiguous(x.shape, self.dtype)
    array(out)[...] = x
    return out


def _adaptive_avg_pool3d_backward(grad_output: Any, self: Any) -> Any:
    """Each gradient, over its window's size, at all elements of the window."""
    check_adaptive_gradient("adaptive_avg_pool3d_backward", 3, grad_output, self, "gradOutput_")
    g = array(grad_output).astype(np.float32) if self.dtype is dt.float16 else array(grad_output)
    for axis in (-3, -2, -1):
        n, m = self.shape[axis], g.shape[axis]
        source = np.moveaxis(g, axis, 0)
        target = np.zeros((n, *source.shape[1:]), g.dtype)
        for i in range(m):
            start, end = i * n // m, -(-(i + 1) * n // m)
            target[start:end] += source[i] / g.dtype.type(end - start)
        g = np.moveaxis(target, 0, axis)
    out = empty_contiguous(self.shape, self.dtype)
    array(out)[...] = g
    return out


def scatter_to_places(grad_output: Any, indices: Any, sizes: Sequence[int], dim: int) -> Any:
    """Zeros of `sizes`, plus each gradient at its index, which counts within the last `dim` dimensions."""
    size = prod(sizes[-dim:])
    planes = prod(sizes[:-dim])
    windows = prod(grad_output.shape[-dim:])
    for t, what in ((grad_output, "grad_output"), (indices, "indices")):
        if t.shape != grad_output.shape or t.shape[:-dim] != sizes[:-dim]:
            expected = [*sizes[:-dim], *grad_output.shape[-dim:]]
            raise RuntimeError(f"expected sizes {expected} for `{what}` but got sizes {list(t.shape)}")
    if indices.dtype is not dt.int64:
        raise RuntimeError(f"expected scalar type Long but found {SCALAR_TYPE_NAME[indices.dtype]}")
    g = array(grad_output).reshape(planes, windows)
    places = snapshot(indices).reshape(planes, windows)
    inside = (places >= 0) & (places < size)  # but for windows whose elements all lie in the padding
    places = places + (np.arange(planes) * size)[:, None]
    total = np.zeros(planes * size, np.float32 if grad_output.dtype is dt.float16 else g.dtype)
    np.add.at(total, places[inside], g[inside])
    out = empty_contiguous(sizes, grad_output.dtype)
    array(out)[...] = total.reshape(tuple(sizes))
    return out


def _pad(x: Any, size: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, fill: Any) -> Any:
    """A copy of `x` with `fill` around it, and as much more behind it as the last windows reach."""
    reach = [(o - 1) * s + d * (k - 1) + 1 for o, s, d, k in zip(size, stride, dilation, kernel)]
    whole = [max(n + 2 * p, r) for n, p, r in zip(x.shape[-3:], padding, reach)]
    padded = np.full((*x.shape[:-3], *whole), fill, x.dtype)
    inner: Any = tuple(slice(p, p + n) for p, n in zip(padding, x.shape[-3:]))
    padded[(..., *inner)] = x
    return padded


def _places(size: Any, kernel: Any, stride: Any, dilation: Any) -> Iterator[tuple[Any, Any]]:
    """For each place in the window: how far from its first element it lies, and the padded elements there, as an index."""
    for place in np.ndindex(*kernel):
        offset = [i * d for i, d in zip(place, dilation)]
        yield offset, (..., *(slice(i, i + (o - 1) * s + 1, s) for i, o, s in zip(offset, size, stride)))


def _position(axes: Any, volume: Any) -> Any:
    """The number in the D·H·W volume of every combination of a layer, a row and a column."""
    layer, row, column = axes
    return (layer[:, None, None] * volume[1] + row[:, None]) * volume[2] + column


def _arguments(name: str, kernel: Any, stride: Any, padding: Any, dilation: Any) -> tuple[list[int], ...]:
    """Three numbers for each; an empty stride is the kernel size. Raises RuntimeError for what no window can be."""
    triples = []
    for value, what in ((kernel, "kernel_size"), (stride or kernel, "stride"), (padding, "padding"), (dilation, "dilation")):
        if len(value) not in (1, 3):
            raise RuntimeError(f"{name}: {what} must either be a single int, or a tuple of three ints")
        triples.append(list(value) * (3 // len(value)))
    if 0 in triples[1]:
        raise RuntimeError("stride should not be zero")
    if min(triples[1]) < 0:
        raise RuntimeError("stride should be greater than zero, but got dT: {} dH: {} dW: {}".format(*triples[1]))
    for triple, what in zip((triples[0], triples[3]), ("kernel size", "dilation")):
        if any(n <= 0 for n in triple):
            raise RuntimeError(f"{what} should be greater than zero, but got {triple}")
    for k, p, d in zip(triples[0], triples[2], triples[3]):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > (d * (k - 1) + 1) // 2:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and dilation={d}"
            )
    return tuple(triples)


def _check_volume(name: str, t: Any) -> None:
    if t.dim() not in (4, 5):
        raise RuntimeError("non-empty 4D or 5D (batch mode) tensor expected for input")
    if 0 in t.shape[t.dim() - 4 :]:  # the text names the length, not the dimension
        raise RuntimeError(
            f"{name}(): Expected input's non-batch dimensions to have positive length, but input has a shape of {list(t.shape)} "
            "and non-batch dimension 0 has length zero!"
        )


def _output_size(t: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> list[int]:
    sizes = []
    for n, k, s, p, d in zip(t.shape[-3:], kernel, stride, padding, dilation):
        size = (n + 2 * p - d * (k - 1) - 1 + (s - 1 if ceil_mode else 0)) // s + 1
        sizes.append(size - 1 if ceil_mode and (size - 1) * s >= n + p else size)
    if min(sizes) < 1:
        before, after = ("x".join(map(str, (t.shape[-4], *s))) for s in (t.shape[-3:], sizes))
        raise RuntimeError(f"Given input size: ({before}). Calculated output size: ({after}). Output size is too small")
    return sizes
