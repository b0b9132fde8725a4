"""Poolings of images and their gradients on the device (`aten/src/ATen/native/cuda/{DilatedMaxPool2d,AveragePool2d}.cu`).

Arguments are checked by the functions of the CPU's poolings; a thread of `kernels/pooling.py` makes each element of the result.
Averages of ints, which are truncated, are left to the CPU.

How the real one differs: averages of ints are refused there ("avg_pool2d_out_cuda_frame" not implemented for 'Long').
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.native.memory_format import empty_as
from internals.aten.native.pooling import (
    avg_pool2d_arguments,
    check_adaptive_avg_pool2d,
    lowest_of,
    max_pool2d_arguments,
)
from internals.aten.native.pooling_backward import check_adaptive_gradient, check_pool_gradient
from internals.core import dtype as dt

from ..device_array import flat
from ..fallback import on_cpu
from ..kernels import pooling as kernels
from ..kernels.pooling import Pool, Strides
from ..language import Kernel
from ..launch import counted, launch_1d
from .opmath import acc_type, dtype_of


def max_pool2d_with_indices(
    self: Any,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
) -> tuple[Any, Any]:
    """The maximum of every window of (N, C, H, W) or (C, H, W), and its position in the H·W plane as int64."""
    kernel, stride, padding, dilation, size = max_pool2d_arguments(
        self, kernel_size, stride, padding, dilation, ceil_mode
    )
    y = empty_as(self, (*self.shape[:-2], *size))
    indices = empty_as(self, y.shape, dt.int64)
    T, acc = self.dtype.np.type, acc_type(self.dtype)
    how = geometry_of(self, y, kernel, stride, padding, dilation)
    launch_1d(max_pool(T), y.numel(), flat(y), flat(indices), flat(self), y.numel(), acc(lowest_of(self.dtype)), how)
    return y, indices


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
    if self.dtype.is_complex or self.dtype is dt.bool_:
        call = (grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices)
        return on_cpu(ops.max_pool2d_with_indices_backward_op, *call)
    result = empty_as(self, self.shape)
    how = geometry_of(result, grad_output, kernel, stride, padding, dilation)
    arrays, n = (flat(result), flat(grad_output), flat(indices)), result.numel()
    launch_1d(_reaching(max_pool_backward(self.dtype.np.type), how), n, *arrays, n, how, four(grad_output), four(indices))
    return result


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
    if not self.dtype.is_floating_point:
        call = (self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
        return on_cpu(ops.avg_pool2d_op, *call)
    kernel, stride, padding, size = avg_pool2d_arguments(
        self, kernel_size, stride, padding, ceil_mode, divisor_override
    )
    y = empty_as(self, (*self.shape[:-2], *size))
    how = geometry_of(self, y, kernel, stride, padding, (1, 1), divisor_override, count_include_pad)
    launch_1d(avg_pool(self.dtype.np.type, False), y.numel(), flat(y), flat(self), y.numel(), how)
    return y


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
    if not self.dtype.is_floating_point:
        call = (grad_output, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
        return on_cpu(ops.avg_pool2d_backward_op, *call)
    kernel, stride, padding, size = avg_pool2d_arguments(self, kernel_size, stride, padding, ceil_mode, divisor_override)
    check_pool_gradient(grad_output, self, size)
    result = empty_as(self, self.shape)
    how = geometry_of(result, grad_output, kernel, stride, padding, (1, 1), divisor_override, count_include_pad)
    n = result.numel()
    backward = _reaching(avg_pool_backward(self.dtype.np.type, False), how)
    launch_1d(backward, n, flat(result), flat(grad_output), n, how)
    return result


def _adaptive_avg_pool2d(self: Any, output_size: Sequence[int]) -> Any:
    """Means over `output_size` windows that cover the image evenly."""
    check_adaptive_avg_pool2d(self, output_size)
    y = empty_as(self, (*self.shape[:-2], *output_size))
    launch_1d(avg_pool(self.dtype.np.type, True), y.numel(), flat(y), flat(self), y.numel(), geometry_of(self, y))
    return y


def _adaptive_avg_pool2d_backward(grad_output: Any, self: Any) -> Any:
    """Each gradient, over its window's size, at all elements of the window."""
    if not self.dtype.is_floating_point:
        return on_cpu(ops._adaptive_avg_pool2d_backward_op, grad_output, self)
    check_adaptive_gradient("adaptive_avg_pool2d_backward", 2, grad_output, self, "grad_output")
    result = empty_as(self, self.shape)
    n, how = result.numel(), geometry_of(result, grad_output)
    launch_1d(avg_pool_backward(self.dtype.np.type, True), n, flat(result), flat(grad_output), n, how)
    return result


def geometry_of(
    x: Any,
    y: Any,
    kernel: Sequence[int] = (0, 0),
    stride: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
    dilation: Sequence[int] = (1, 1),
    divisor: int | None = None,
    padded: bool = False,
) -> Pool:
    """How the windows that make `y` lie over `x`."""
    sizes, places, kernel, stride, padding, dilation = (
        (int(a), int(b)) for a, b in (x.shape[-2:], y.shape[-2:], kernel, stride, padding, dilation)
    )
    override = divisor or 0
    return Pool(x.shape[-3], sizes, places, kernel, stride, padding, dilation, four(x), four(y), override, int(padded))


def four(t: Any) -> Strides:
    """The strides of (N, C, H, W), or of (C, H, W) with a batch of one before it."""
    n, c, h, w = t.stride() if t.dim() == 4 else (0, *t.stride())
    return n, c, h, w


def _reaching(kernel: Kernel, how: Pool) -> Kernel:
    """`kernel`, which divides positions in the padded image by strides."""
    return counted(kernel, sum(map(max, (how.sizes, how.padding, how.stride))))


@cache
def max_pool(T: Any) -> Kernel:
    return kernels.max_pool.bind(T=T, ACC=acc_type(dtype_of(T)))


@cache
def max_pool_backward(T: Any) -> Kernel:
    return kernels.max_pool_backward.bind(T=T, ACC=acc_type(dtype_of(T)))


@cache
def avg_pool(T: Any, adaptive: bool) -> Kernel:
    window = kernels.adaptive_window if adaptive else kernels.fixed_window
    return kernels.avg_pool.bind(T=T, ACC=acc_type(dtype_of(T)), WINDOW=window)


@cache
def avg_pool_backward(T: Any, adaptive: bool) -> Kernel:
    window = kernels.adaptive_window if adaptive else kernels.fixed_window
    covering = kernels.adaptive_covering if adaptive else kernels.fixed_covering
    return kernels.avg_pool_backward.bind(T=T, ACC=acc_type(dtype_of(T)), WINDOW=window, COVERING=covering)


def instances() -> list[tuple[Kernel, tuple[Any, ...]]]:
    """Kernels as they are launched, with the types of their arguments, for `ptx.compile_all`."""
    found: list[tuple[Kernel, tuple[Any, ...]]] = []
    pair, strides = (1, 1), (1, 1, 1, 1)
    how = Pool(1, pair, pair, pair, pair, pair, pair, strides, strides, 0, 0)
    for T in (np.float32, np.float16):
        array = f"{np.dtype(T).name}[:]"
        found.append((max_pool(T), (array, "int64[:]", array, int, acc_type(dtype_of(T)), how)))
        found.append((max_pool_backward(T), (array, array, "int64[:]", int, how, strides, strides)))
        for adaptive in (False, True):
            found.append((avg_pool(T, adaptive), (array, array, int, how)))
            found.append((avg_pool_backward(T, adaptive), (array, array, int, how)))
    return found
