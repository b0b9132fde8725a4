"""Nearest and bilinear resampling of images on the device
(`aten/src/ATen/native/cuda/UpSample{Nearest,Bilinear}2d.cu`).

Images are (N, C, H, W). Other filters, and other numbers of dimensions, are left to the CPU.

How the real one differs: it has kernels for every filter, in one, two and three dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from internals.core.tensor_impl import Tensor

from ..device_array import flat
from ..fallback import NoKernel
from ..kernels import upsampling as kernels
from ..kernels.upsampling import Resize
from ..language import Kernel
from ..launch import launch_1d
from .pooling import four

NEAREST, LINEAR = "nearest", "linear"


def _forward(how: str, y: Any, x: Any, aligned: bool, scales: Sequence[float | None]) -> None:
    """y = x resized to the size of y. `scales` are the factors for height and width, if given."""
    if how == LINEAR and not x.dtype.is_floating_point:  # uint8 is rounded, which the CPU does
        raise NoKernel
    n, T = y.numel(), x.dtype.np.type
    steps = _steps(how, T, x, y, aligned, scales)
    launch_1d(_kernel("upsample", how, T), n, flat(y), flat(x), n, *steps, _resize(x, y, aligned))


def _backward(how: str, x: Any, grad: Any, aligned: bool, scales: Sequence[float | None]) -> None:
    """x = the gradient of the input: each pixel's share of the gradients of all elements of the
    result that read it.
    """
    if not grad.dtype.is_floating_point:
        raise NoKernel
    n, T = x.numel(), grad.dtype.np.type
    steps = _steps(how, T, x, grad, aligned, scales)
    launch_1d(
        _kernel("upsample_backward", how, T),
        n,
        flat(x),
        flat(grad),
        n,
        *steps,
        _resize(x, grad, aligned),
    )


nearest, linear = partial(_forward, NEAREST), partial(_forward, LINEAR)
nearest_backward, linear_backward = partial(_backward, NEAREST), partial(_backward, LINEAR)


def _steps(
    how: str, T: type, x: Tensor, y: Tensor, aligned: bool, scales: Sequence[float | None]
) -> list[Any]:
    """The distance in the image between neighbouring positions of the result, down and to the
    right, in pixels.
    """
    acc, steps = _acc(how, T), []
    for n, m, scale in zip(x.shape[2:], y.shape[2:], scales):
        if n == m:
            steps.append(acc(1))
        elif aligned:  # first and last pixel lie on the first and last element
            steps.append(acc((n - 1) / (m - 1) if m > 1 else 0))
        else:
            steps.append(acc(1 / scale) if scale is not None and scale > 0 else acc(n / m))
    return steps


def _resize(x: Tensor, y: Tensor, aligned: bool) -> Resize:
    """The geometry of resizing `x` (N, C, h, w) to `y` (N, C, oh, ow)."""
    (h, w), (oh, ow) = x.shape[2:], y.shape[2:]
    return Resize(x.shape[1], (h, w), (oh, ow), four(x), four(y), int(aligned))


def _acc(how: str, T: type) -> Any:
    """The type of positions: float64 for linear on float64, else float32. PyTorch computes those of
    nearest in single precision for every dtype.
    """
    return np.float64 if T is np.float64 and how == LINEAR else np.float32


@cache
def _kernel(name: str, how: str, T: type) -> Kernel:
    """The kernel `name` with the filter `how` for images of type T."""
    acc = _acc(how, T)
    source = getattr(kernels, how).bind(ACC=acc)
    if name == "upsample":
        # nearest copies pixels, so it reads them as they are
        value = T if how == NEAREST and T is not np.float16 else acc
        return kernels.upsample.bind(T=T, ACC=value, SOURCE=source, MIXES=how == LINEAR)
    total = np.float64 if T is np.float64 else np.float32
    readers, share = kernels.readers.bind(ACC=acc), kernels.share.bind(ACC=acc)
    return kernels.upsample_backward.bind(
        T=T, ACC=total, SOURCE=source, READERS=readers, SHARE=share
    )
