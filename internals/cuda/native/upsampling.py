"""Nearest and bilinear resampling of images on the device (`aten/src/ATen/native/cuda/UpSample{Nearest,Bilinear}2d.cu`).

The other filters, and other numbers of dimensions, are left to the CPU.

How the real one differs: every filter has its kernels there, in one, two and three dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.native.memory_format import empty_as
from internals.aten.native.resampling_checks import check_gradient, check_input

from ..device_array import flat
from ..fallback import on_cpu
from ..kernels import upsampling as kernels
from ..kernels.upsampling import Resize
from ..language import Kernel
from ..launch import launch_1d
from .pooling import four

NEAREST, LINEAR = "nearest", "linear"


def upsample_nearest2d(self: Any, output_size: Sequence[int], scales_h: float | None, scales_w: float | None) -> Any:
    """(N, C, H, W) at (N, C, *output_size): element i of the output reads floor(i · H / output)."""
    check_input(self, output_size, 2, "upsample_nearest2d_out_frame")
    return _forward(NEAREST, self, output_size, False, (scales_h, scales_w))


def upsample_bilinear2d(
    self: Any, output_size: Sequence[int], align_corners: bool, scales_h: float | None, scales_w: float | None
) -> Any:
    """(N, C, H, W) at (N, C, *output_size), mixing the four nearest pixels by distance."""
    check_input(self, output_size, 2, "upsample_bilinear2d_out_frame")
    if not self.dtype.is_floating_point:  # bytes are rounded
        return on_cpu(ops.upsample_bilinear2d_op, self, output_size, align_corners, scales_h, scales_w)
    return _forward(LINEAR, self, output_size, align_corners, (scales_h, scales_w))


def upsample_nearest2d_backward(
    grad_output: Any,
    output_size: Sequence[int],
    input_size: Sequence[int],
    scales_h: float | None,
    scales_w: float | None,
) -> Any:
    """The adjoint of `upsample_nearest2d`: every pixel of the input gets the sum over the outputs that read it."""
    if not grad_output.dtype.is_floating_point:
        return on_cpu(ops.upsample_nearest2d_backward_op, grad_output, output_size, input_size, scales_h, scales_w)
    check_gradient(grad_output, output_size, input_size, 2)
    return _backward(NEAREST, grad_output, input_size, False, (scales_h, scales_w))


def upsample_bilinear2d_backward(
    grad_output: Any,
    output_size: Sequence[int],
    input_size: Sequence[int],
    align_corners: bool,
    scales_h: float | None,
    scales_w: float | None,
) -> Any:
    """The adjoint of `upsample_bilinear2d`: every pixel gets its share of the outputs that it is mixed into."""
    if not grad_output.dtype.is_floating_point:
        call = (grad_output, output_size, input_size, align_corners, scales_h, scales_w)
        return on_cpu(ops.upsample_bilinear2d_backward_op, *call)
    check_gradient(grad_output, output_size, input_size, 2)
    return _backward(LINEAR, grad_output, input_size, align_corners, (scales_h, scales_w))


def _forward(how: str, x: Any, sizes: Sequence[int], aligned: bool, scales: Sequence[float | None]) -> Any:
    y = empty_as(x, (*x.shape[:2], *sizes))
    n, T = y.numel(), x.dtype.np.type
    launch_1d(
        _kernel("upsample", how, T),
        n,
        flat(y),
        flat(x),
        n,
        *_steps(how, T, x, y, aligned, scales),
        _resize(x, y, aligned),
    )
    return y


def _backward(how: str, grad: Any, sizes: Sequence[int], aligned: bool, scales: Sequence[float | None]) -> Any:
    x = empty_as(grad, sizes)
    n, T = x.numel(), grad.dtype.np.type
    steps = _steps(how, T, x, grad, aligned, scales)
    launch_1d(_kernel("upsample_backward", how, T), n, flat(x), flat(grad), n, *steps, _resize(x, grad, aligned))
    return x


def _steps(how: str, T: Any, x: Any, y: Any, aligned: bool, scales: Sequence[float | None]) -> list[Any]:
    """How far it is in the image from one position of the result to the next, down and to the right."""
    acc, steps = _acc(how, T), []
    for n, m, scale in zip(x.shape[2:], y.shape[2:], scales):
        if n == m:
            steps.append(acc(1))
        elif aligned:
            steps.append(acc((n - 1) / (m - 1) if m > 1 else 0))
        else:
            steps.append(acc(1 / scale) if scale is not None and scale > 0 else acc(n / m))
    return steps


def _resize(x: Any, y: Any, aligned: bool) -> Resize:
    (h, w), (oh, ow) = x.shape[2:], y.shape[2:]
    return Resize(x.shape[1], (h, w), (oh, ow), four(x), four(y), int(aligned))


def _acc(how: str, T: Any) -> Any:
    """Positions of nearest are worked out in single precision, whatever the pixels are."""
    return np.float64 if T is np.float64 and how == LINEAR else np.float32


@cache
def _kernel(name: str, how: str, T: Any) -> Kernel:
    acc = _acc(how, T)
    source = getattr(kernels, how).bind(ACC=acc)
    if name == "upsample":
        value = T if how == NEAREST and T is not np.float16 else acc
        return kernels.upsample.bind(T=T, ACC=value, SOURCE=source, MIXES=how == LINEAR)
    total = np.float64 if T is np.float64 else np.float32
    readers, share = kernels.readers.bind(ACC=acc), kernels.share.bind(ACC=acc)
    return kernels.upsample_backward.bind(T=T, ACC=total, SOURCE=source, READERS=readers, SHARE=share)


def instances() -> list[tuple[Kernel, tuple[Any, ...]]]:
    """Kernels as they are launched, with the types of their arguments, for `ptx.compile_all`."""
    found: list[tuple[Kernel, tuple[Any, ...]]] = []
    resize = Resize(1, (1, 1), (1, 1), (1, 1, 1, 1), (1, 1, 1, 1), 0)
    for how, T in ((NEAREST, np.float32), (NEAREST, np.uint8), (LINEAR, np.float32), (LINEAR, np.float16)):
        acc, array = _acc(how, T), f"{np.dtype(T).name}[:]"
        for name in ("upsample", "upsample_backward")[: 1 if T is np.uint8 else 2]:
            found.append((_kernel(name, how, T), (array, array, int, acc, acc, resize)))
    return found
