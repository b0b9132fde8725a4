"""Maximum and average pooling of images and their gradients on the device
(`aten/src/ATen/native/cuda/{DilatedMaxPool2d,AveragePool2d}.cu`).

A thread of `kernels/pooling.py` computes each element of the result. Averages of integers, which
are truncated, are left to the CPU.

In all four functions `*how` are the arguments of `geometry_of` behind the two tensors: kernel,
stride, padding, and so on. Average pooling without them is adaptive.

How the real one differs: averages of integers raise an error ("avg_pool2d_out_cuda_frame" not
implemented for 'Long').
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from internals.aten.native.pooling import lowest_of
from internals.core import dtype as dt
from internals.core.tensor_impl import Tensor

from ..device_array import flat
from ..fallback import NoKernel
from ..kernels import pooling as kernels
from ..kernels.pooling import Pool, Strides
from ..language import Kernel
from ..launch import counted, launch_1d
from .opmath import acc_type, dtype_of


def max_pool2d(results: tuple[Any, Any], self: Any, *how: Any) -> None:
    """Fills `results`: the maxima (N, C, oH, oW), and their positions in the plane (int64)."""
    y, indices = results
    T, acc = self.dtype.np.type, acc_type(self.dtype)
    numbers = y.numel(), acc(lowest_of(self.dtype)), geometry_of(self, y, *how)
    launch_1d(max_pool(T), y.numel(), flat(y), flat(indices), flat(self), *numbers)


def max_pool2d_backward(result: Any, grad_output: Any, indices: Any, *how: Any) -> None:
    """result (N, C, H, W) = for each element, the sum of the gradients of the windows whose maximum
    it was.
    """
    if result.dtype.is_complex or result.dtype is dt.bool_:
        raise NoKernel
    pool, n = geometry_of(result, grad_output, *how), result.numel()
    kernel = _reaching(max_pool_backward(result.dtype.np.type), pool)
    launch_1d(
        kernel,
        n,
        flat(result),
        flat(grad_output),
        flat(indices),
        n,
        pool,
        four(grad_output),
        four(indices),
    )


def avg_pool2d(y: Any, self: Any, *how: Any) -> None:
    """y = the means over windows: (N, C, H, W) to (N, C, oH, oW)."""
    if not self.dtype.is_floating_point:
        raise NoKernel
    kernel = avg_pool(self.dtype.np.type, not how)
    launch_1d(kernel, y.numel(), flat(y), flat(self), y.numel(), geometry_of(self, y, *how))


def avg_pool2d_backward(result: Any, grad_output: Any, *how: Any) -> None:
    """result (N, C, H, W) = for each element, the sum of its shares of the windows' gradients."""
    if not result.dtype.is_floating_point:
        raise NoKernel
    pool, n = geometry_of(result, grad_output, *how), result.numel()
    kernel = avg_pool_backward(result.dtype.np.type, not how)
    launch_1d(
        _reaching(kernel, pool) if how else kernel, n, flat(result), flat(grad_output), n, pool
    )


def geometry_of(
    x: Tensor,
    y: Tensor,
    kernel: Sequence[int] = (0, 0),
    stride: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
    dilation: Sequence[int] = (1, 1),
    divisor: int | None = None,
    padded: bool = False,
) -> Pool:
    """The geometry of the windows of `y` (N, C, oH, oW) over `x` (N, C, H, W)."""
    sizes, places, kernel, stride, padding, dilation = (
        (int(a), int(b)) for a, b in (x.shape[-2:], y.shape[-2:], kernel, stride, padding, dilation)
    )
    override = divisor or 0
    return Pool(
        x.shape[-3],
        sizes,
        places,
        kernel,
        stride,
        padding,
        dilation,
        four(x),
        four(y),
        override,
        int(padded),
    )


def four(t: Tensor) -> Strides:
    """The strides of (N, C, H, W), or of (C, H, W) with 0 for the batch."""
    n, c, h, w = t.stride() if t.dim() == 4 else (0, *t.stride())
    return n, c, h, w


def _reaching(kernel: Kernel, how: Pool) -> Kernel:
    """`kernel` with an index type that holds positions in the padded image, which it divides by
    strides.
    """
    return counted(kernel, sum(map(max, (how.sizes, how.padding, how.stride))))


@cache
def max_pool(T: type) -> Kernel:
    return kernels.max_pool.bind(T=T, ACC=acc_type(dtype_of(T)))


@cache
def max_pool_backward(T: type) -> Kernel:
    return kernels.max_pool_backward.bind(T=T, ACC=acc_type(dtype_of(T)))


@cache
def avg_pool(T: type, adaptive: bool) -> Kernel:
    window = kernels.adaptive_window if adaptive else kernels.fixed_window
    return kernels.avg_pool.bind(T=T, ACC=acc_type(dtype_of(T)), WINDOW=window)


@cache
def avg_pool_backward(T: type, adaptive: bool) -> Kernel:
    window = kernels.adaptive_window if adaptive else kernels.fixed_window
    covering = kernels.adaptive_covering if adaptive else kernels.fixed_covering
    return kernels.avg_pool_backward.bind(
        T=T, ACC=acc_type(dtype_of(T)), WINDOW=window, COVERING=covering
    )
