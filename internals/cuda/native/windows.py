"""`nn.Unfold` and `nn.Fold` on the device (`aten/src/ATen/native/cuda/Im2Col.cu`, `Col2Im.cu`).

`im2col` takes an image (N, C, H, W) to columns (N, C * taps, windows), where `taps` are the
elements of the kernel; `col2im` takes them back, and adds where windows overlap.

How the real one differs: it has a launch for each image.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from ..device_array import flat
from ..fallback import NoKernel
from ..kernels import windows as kernels
from ..kernels.convolution import Windows, window_element
from ..language import Kernel
from ..launch import counted, launch_1d
from .convolution import has_kernel
from .opmath import acc_type, dtype_of
from .pooling import four

Pair = Sequence[int]


def im2col(
    out: Any,
    self: Any,
    kernel_size: Pair,
    dilation: Pair,
    padding: Pair,
    stride: Pair,
    places: Pair,
) -> None:
    """out (N, C * taps, windows) = the windows of `self` (N, C, H, W); `places` are the numbers of
    windows down and to the right.
    """
    if not has_kernel(self.dtype):
        raise NoKernel
    how = _geometry(
        self.shape[-2:], places, kernel_size, stride, padding, dilation, four(self), self.shape[-3]
    )
    n, (rows, windows) = out.numel(), out.shape[-2:]
    launch_1d(_im2col(self.dtype.np.type), n, flat(out), flat(self), n, rows, windows, how)


def col2im(
    out: Any,
    self: Any,
    kernel_size: Pair,
    dilation: Pair,
    padding: Pair,
    stride: Pair,
    places: Pair,
) -> None:
    """out (N, C, H, W) = for each pixel, the sum of its elements in the columns `self`."""
    if self.dtype.is_complex:
        raise NoKernel
    # each channel of each image counts as an image: then the columns are (N * C, taps, windows)
    how = _geometry(out.shape[-2:], places, kernel_size, stride, padding, dilation, (0, 0, 0, 0), 1)
    n, windows = out.numel(), places[0] * places[1]
    kernel = counted(
        _col2im(self.dtype.np.type), sum(map(max, (how.sizes, how.padding, how.stride)))
    )
    launch_1d(kernel, n, flat(out), flat(self.contiguous()), n, windows, how)


def _geometry(
    sizes: Pair,
    places: Pair,
    kernel: Pair,
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    image: Any,
    channels: int,
) -> Windows:
    """The geometry of windows over an image with `channels`. Its y is the columns, as (image and
    channel, element of the kernel, *places).
    """
    size, place, k, s, p, d = (
        (int(a), int(b)) for a, b in (sizes, places, kernel, stride, padding, dilation)
    )
    taps, windows = k[0] * k[1], place[0] * place[1]
    return Windows(
        size, place, k, s, p, d, image, (taps * windows, windows, place[1], 1), taps, channels, 1
    )


@cache
def _im2col(T: type) -> Kernel:
    return kernels.im2col.bind(T=T, WINDOW_ELEMENT=window_element.bind(ACC=T))


@cache
def _col2im(T: type) -> Kernel:
    return kernels.col2im.bind(T=T, ACC=acc_type(dtype_of(T)))
