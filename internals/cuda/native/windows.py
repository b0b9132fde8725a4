"""`nn.Unfold` and `nn.Fold` on the device (`aten/src/ATen/native/cuda/Im2Col.cu`, `Col2Im.cu`).

How the real one differs: images are taken one after the other, with a launch for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.native.windows import col2im_places, im2col_places
from internals.core.tensor_impl import empty_contiguous

from ..device_array import flat
from ..fallback import on_cpu
from ..kernels import windows as kernels
from ..kernels.convolution import Windows, window_element
from ..language import Kernel
from ..launch import counted, launch_1d
from .convolution import has_kernel
from .opmath import acc_type, dtype_of
from .pooling import four

Pair = Sequence[int]


def im2col(self: Any, kernel_size: Pair, dilation: Pair, padding: Pair, stride: Pair) -> Any:
    """The windows of (N, C, H, W) as columns (N, C · kernel, windows). Raises RuntimeError for sizes that do not fit."""
    if not has_kernel(self.dtype):
        return on_cpu(ops.im2col_op, self, kernel_size, dilation, padding, stride)
    places = im2col_places(self, kernel_size, dilation, padding, stride)
    taps, windows = kernel_size[0] * kernel_size[1], places[0] * places[1]
    rows = self.shape[-3] * taps
    out = empty_contiguous((*self.shape[:-3], rows, windows), self.dtype, self.device)
    how = _geometry(self.shape[-2:], places, kernel_size, stride, padding, dilation, four(self), self.shape[-3])
    n = out.numel()
    launch_1d(_im2col(self.dtype.np.type), n, flat(out), flat(self), n, rows, windows, how)
    return out


def col2im(self: Any, output_size: Pair, kernel_size: Pair, dilation: Pair, padding: Pair, stride: Pair) -> Any:
    """The adjoint of `im2col`: columns (N, C · kernel, windows) added up into (N, C, *output_size)."""
    if self.dtype.is_complex:
        return on_cpu(ops.col2im_op, self, output_size, kernel_size, dilation, padding, stride)
    places = col2im_places(self, output_size, kernel_size, dilation, padding, stride)
    channels = self.shape[-2] // (kernel_size[0] * kernel_size[1])
    out = empty_contiguous((*self.shape[:-2], channels, *output_size), self.dtype, self.device)
    how = _geometry(output_size, places, kernel_size, stride, padding, dilation, (0, 0, 0, 0), 1)
    n, windows = out.numel(), places[0] * places[1]
    kernel = counted(_col2im(self.dtype.np.type), sum(map(max, (how.sizes, how.padding, how.stride))))
    launch_1d(kernel, n, flat(out), flat(self.contiguous()), n, windows, how)
    return out


def _geometry(
    sizes: Pair, places: Pair, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair, image: Any, channels: int
) -> Windows:
    """Windows over an image; the columns as (image and channel, element of the kernel, *places)."""
    size, place, k, s, p, d = ((int(a), int(b)) for a, b in (sizes, places, kernel, stride, padding, dilation))
    taps, windows = k[0] * k[1], place[0] * place[1]
    return Windows(size, place, k, s, p, d, image, (taps * windows, windows, place[1], 1), taps, channels, 1)


@cache
def _im2col(T: Any) -> Kernel:
    return kernels.im2col.bind(T=T, WINDOW_ELEMENT=window_element.bind(ACC=T))


@cache
def _col2im(T: Any) -> Kernel:
    return kernels.col2im.bind(T=T, ACC=acc_type(dtype_of(T)))


def instances() -> list[tuple[Kernel, tuple[Any, ...]]]:
    """Kernels as they are launched, with the types of their arguments, for `ptx.compile_all`."""
    pair = (1, 1)
    how = _geometry(pair, pair, pair, pair, pair, pair, (1, 1, 1, 1), 1)
    arrays = ("float32[:]", "float32[:]")
    return [(_im2col(np.float32), (*arrays, int, int, int, how)), (_col2im(np.float32), (*arrays, int, int, how))]
