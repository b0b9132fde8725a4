"""The gradients of the poolings (`aten/src/ATen/native/{DilatedMaxPool2d,AveragePool2d,AdaptiveAveragePooling}.cpp`).

A maximum hands its gradient to the one element it was, an average to all its window's elements in equal parts. Where windows
overlap the parts add up.

How the real one differs: loops over the windows, plane by plane, in threads. Where dilation leaves a window no element inside the
image, max pooling's index points behind the plane, and PyTorch writes there; here that gradient goes nowhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from internals.aten.dtype_checks import not_implemented
from internals.aten.on_device import on_device
from internals.core import dtype as dt
from internals.core.dtype import SCALAR_TYPE_NAME
from internals.core.tensor_impl import array, snapshot
from internals.machine_code.settings import use_compiled

from .gradient_checks import check_result, check_same_dtype
from .memory_format import empty_as
from .pooling import (
    COMPILED,
    avg_pool2d_arguments,
    check_places,
    compiled_for,
    divisors_of,
    fill,
    max_pool2d_arguments,
    window_sizes,
)


def max_pool2d_with_indices_backward(
    grad_output: Any,
    self: Any,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
    indices: Any,
) -> Any:
    """Each gradient at the place in the H·W plane where its maximum was, which `indices` tells."""
    kernel, stride, padding, dilation, size = max_pool2d_arguments(self, kernel_size, stride, padding, dilation, ceil_mode)
    check_pool_gradient(grad_output, self, size, indices)
    plane = self.shape[-2] * self.shape[-1]
    result = empty_as(self, self.shape)
    if not self._geometry.stored:
        how = kernel, stride, padding, dilation
        return on_device("pooling.max_pool2d_backward", result, grad_output, indices, *how)
    if use_compiled(self.numel(), COMPILED) and _agree(grad_output, self) and indices.shape == grad_output.shape:
        kernels = compiled_for(grad_output, indices, result) if indices.dtype is dt.int64 else None
        pooled = prod(grad_output.shape[-2:])
        if kernels and kernels.run(kernels.max_pool_backward, grad_output, indices, result, plane, pooled):
            return result
    g = _wide(grad_output)
    planes = self.numel() // plane if plane else 0
    windows = g.shape[-2] * g.shape[-1]
    g, places = g.reshape(planes, windows), snapshot(indices).reshape(planes, windows)
    inside = (places >= 0) & (places < plane)  # but for windows whose elements all lie in the padding
    places = places + (np.arange(planes) * plane)[:, None]
    if not inside.all():
        g, places = g[inside], places[inside]
    dx = np.zeros(planes * plane, g.dtype)
    if all(s > d * (k - 1) for s, d, k in zip(stride, dilation, kernel)):  # no two windows share an element
        dx[places.reshape(-1)] = g.reshape(-1)
    else:
        np.add.at(dx, places.reshape(-1), g.reshape(-1))
    return fill(result, dx.reshape(self.shape))


def avg_pool2d_backward(
    grad_output: Any,
    self: Any,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Any:
    """Each gradient, over its window's divisor, at all elements of the window."""
    kernel, stride, padding, size = avg_pool2d_arguments(self, kernel_size, stride, padding, ceil_mode, divisor_override)
    check_pool_gradient(grad_output, self, size)
    if self.dtype.category != dt.FLOATING and self.dtype is not dt.int64:
        raise not_implemented("avg_pool2d_backward", self.dtype)
    result = empty_as(self, self.shape)
    if not self._geometry.stored:
        how = kernel, stride, padding, (1, 1), divisor_override, count_include_pad
        return on_device("pooling.avg_pool2d_backward", result, grad_output, *how)
    if use_compiled(self.numel(), COMPILED) and _agree(grad_output, self):
        kernels = compiled_for(grad_output, result)
        divisors = divisors_of(self, size, kernel, stride, padding, count_include_pad, divisor_override)
        window = (*kernel, *self.shape[-2:], *size, *padding, *stride)
        if kernels and kernels.run(kernels.avg_pool_backward, grad_output, divisors, result, *window):
            return result
    g = _wide(grad_output)
    image = self.shape[-2:]
    divisor = divisor_override or window_sizes(size, image, kernel, stride, padding, count_include_pad)
    g = g / np.asarray(divisor, g.dtype)
    for axis in (-2, -1):  # the sum over a window's offsets is a sum over rows, then over columns
        g = _spread(g, axis, image[axis], kernel[axis], stride[axis], padding[axis])
    return fill(result, g)


def _adaptive_avg_pool2d_backward(grad_output: Any, self: Any) -> Any:
    """Each gradient, over its window's size, at all elements of the window; the windows are those of `_adaptive_avg_pool2d`."""
    check_adaptive_gradient("adaptive_avg_pool2d_backward", 2, grad_output, self, "grad_output")
    result = empty_as(self, self.shape)
    if not self._geometry.stored:
        return on_device("pooling.avg_pool2d_backward", result, grad_output)
    if use_compiled(self.numel(), COMPILED) and _agree(grad_output, self):
        kernels = compiled_for(grad_output, result)
        sizes = *self.shape[-2:], *grad_output.shape[-2:]
        if kernels and kernels.run(kernels.adaptive_pool_backward, grad_output, result, *sizes):
            return result
    g = _wide(grad_output)
    for axis in (-2, -1):
        n, m = self.shape[axis], g.shape[axis]
        dx = np.zeros((*g.shape[:axis], n, *g.shape[axis:][1:]), g.dtype)
        source, target = np.moveaxis(g, axis, 0), np.moveaxis(dx, axis, 0)
        for i in range(m):
            start, end = i * n // m, -(-(i + 1) * n // m)
            target[start:end] += source[i] / g.dtype.type(end - start)
        g = dx
    return fill(result, g)


def check_pool_gradient(grad_output: Any, self: Any, size: Sequence[int], indices: Any = None) -> None:
    """Raises RuntimeError unless `grad_output`, and `indices`, may belong to windows over `self` of which there are `size`."""
    check_same_dtype(self, grad_output)
    for t in (grad_output,) if indices is None else (grad_output, indices):
        check_result(t, [*self.shape[: -len(size)], *size])
    if indices is not None and indices.dtype is not dt.int64:
        raise RuntimeError(f"expected scalar type Long but found {SCALAR_TYPE_NAME[indices.dtype]}")


def check_adaptive_gradient(name: str, dims: int, grad_output: Any, self: Any, what: str) -> None:
    """Raises RuntimeError unless `grad_output` may come from windows over `self`, NotImplementedError for other dtypes."""
    check_places(name, grad_output, grad_output.dim() - 1, "grad_output")
    if self.dim() not in (dims + 1, dims + 2):
        raise RuntimeError(f"{name}(): Expected {dims + 1}D or {dims + 2}D tensor, but got {list(self.shape)}")
    if grad_output.dim() != self.dim():
        raise RuntimeError(
            f"{name}_out_cpu_template: Expected dimensions {self.dim()} for `{what}` but got dimensions {grad_output.dim()}"
        )
    if grad_output.dtype is not self.dtype:
        raise RuntimeError(
            f"expected dtype {SCALAR_TYPE_NAME[self.dtype]} for `grad_output` but got dtype {SCALAR_TYPE_NAME[grad_output.dtype]}"
        )
    check_planes(name, dims, grad_output, self)
    if not self.dtype.is_floating_point:
        raise not_implemented(name, self.dtype)


def check_planes(name: str, dims: int, grad_output: Any, self: Any) -> None:
    """Raises RuntimeError unless there is a plane of gradients for each plane of the image. PyTorch takes that for granted."""
    if self.dim() not in (dims + 1, dims + 2) or grad_output.shape[:-dims] != self.shape[:-dims]:
        expected = [*self.shape[:-dims], *grad_output.shape[-dims:]]
        raise RuntimeError(f"{name}(): expected grad_output to have sizes {expected}, but got {list(grad_output.shape)}")


def _spread(g: Any, axis: int, n: int, kernel: int, stride: int, padding: int) -> Any:
    """Add element i of `g` along `axis` to the positions from i * stride - padding on, `kernel` of them, that are in 0 .. n."""
    m = g.shape[axis]
    reach = max(n + 2 * padding, (m - 1) * stride + kernel)
    dx = np.zeros((*g.shape[:axis], reach, *g.shape[axis:][1:]), g.dtype)
    target, source = np.moveaxis(dx, axis, 0), np.moveaxis(g, axis, 0)
    for offset in range(kernel):
        target[offset : offset + (m - 1) * stride + 1 : stride] += source
    return np.moveaxis(target[padding : padding + n], 0, axis)


def _agree(grad_output: Any, self: Any) -> bool:
    """Whether there is a plane of gradients for each plane of the image, of one dtype: what machine code takes for granted."""
    return grad_output.dtype is self.dtype and grad_output.shape[:-2] == self.shape[:-2]


def _wide(t: Any) -> Any:
    a = array(t)
    return a.astype(np.float32) if t.dtype is dt.float16 else a
