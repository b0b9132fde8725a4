"""Pooling of sequences and volumes, made of pooling of images (`aten/src/ATen/native/{Pooling,AveragePool3d,MaxPooling}.cpp`).

A sequence (N, C, L) is an image of height 1. A volume (N, C, D, H, W) is pooled twice: over H and W as D images, then over D,
with H and W together as the other side of an image of width H * W. That is right because a window's maximum is the maximum of
its layers' maxima, and the same goes for its sum.

How the real one differs: sequences are images there too, apart from `max_pool1d` when no gradient is needed; volumes have
kernels and derivatives of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals._generated import functions as F
from internals._generated import nn_functions as nn
from internals._generated import ops
from internals.aten.native.pooling import window_sizes
from internals.core.tensor_impl import from_array


def max_pool1d(self: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> Any:
    """The largest element of every window of (N, C, L) or (C, L)."""
    image, kernel, step, around, apart = _sequence_to_pool(self, kernel_size, stride, padding, dilation)
    return F.max_pool2d(image, kernel, step, around, apart, ceil_mode).squeeze(-2)


def max_pool1d_with_indices(
    self: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> tuple[Any, Any]:
    """The largest element of every window of (N, C, L) or (C, L), and where it was."""
    image, kernel, step, around, apart = _sequence_to_pool(self, kernel_size, stride, padding, dilation)
    values, indices = nn.max_pool2d_with_indices(image, kernel, step, around, apart, ceil_mode)
    return values.squeeze(-2), indices.squeeze(-2)


def avg_pool1d(
    self: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool
) -> Any:
    """The mean of every window of (N, C, L) or (C, L)."""
    for value, name in ((kernel_size, "kernel_size"), (stride or [1], "stride"), (padding, "padding")):
        check_one(value, "avg_pool1d", name)
    _check_dims(self, "avg_pool1d")
    sizes = [1, *kernel_size], [1, *(stride or kernel_size)], [0, *padding]
    return nn.avg_pool2d(self.unsqueeze(-2), *sizes, ceil_mode, count_include_pad).squeeze(-2)


def adaptive_avg_pool1d(self: Any, output_size: Sequence[int]) -> Any:
    """Mean pooling of (N, C, L) or (C, L) to `output_size` places."""
    check_one(output_size, "adaptive_avg_pool1d", "output_size")
    _check_dims(self, "adaptive_avg_pool1d")
    return nn.adaptive_avg_pool2d(self.unsqueeze(-2), [1, *output_size]).squeeze(-2)


def max_pool3d(self: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> Any:
    """The largest element of every window of (N, C, D, H, W) or (C, D, H, W)."""
    kernel, step, around, apart = (
        _three(v, "max_pool3d", name)
        for v, name in zip(
            (kernel_size, stride or kernel_size, padding, dilation), ("kernel_size", "stride", "padding", "dilation")
        )
    )
    layers = _layers(self, "max_pool3d")
    layers = F.max_pool2d(layers, kernel[1:], step[1:], around[1:], apart[1:], ceil_mode)
    columns = layers.flatten(-2).unsqueeze(1)
    columns = F.max_pool2d(columns, [kernel[0], 1], [step[0], 1], [around[0], 0], [apart[0], 1], ceil_mode)
    return columns.reshape([*self.shape[:-3], columns.shape[-2], *layers.shape[-2:]])


def avg_pool3d(
    self: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Any:
    """The mean of every window of (N, C, D, H, W) or (C, D, H, W)."""
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    kernel, step, around = (
        _three(v, "avg_pool3d", name)
        for v, name in ((kernel_size, "kernel_size"), (stride or kernel_size, "stride"), (padding, "padding"))
    )
    layers = _layers(self, "avg_pool3d")
    layers = nn.avg_pool2d(layers, kernel[1:], step[1:], around[1:], ceil_mode, True, 1)
    columns = layers.flatten(-2).unsqueeze(1)
    columns = nn.avg_pool2d(columns, [kernel[0], 1], [step[0], 1], [around[0], 0], ceil_mode, True, 1)
    size = [columns.shape[-2], *layers.shape[-2:]]
    sums = columns.reshape([*self.shape[:-3], *size])
    if divisor_override:
        return sums / divisor_override
    counts = window_sizes(size, self.shape[-3:], kernel, step, around, count_include_pad)
    return sums / from_array(counts.astype(self.dtype.np)).to(self.device)


def adaptive_avg_pool3d(self: Any, output_size: Sequence[int]) -> Any:
    """Means over `output_size` windows that cover (N, C, D, H, W) or (C, D, H, W) evenly."""
    if self.dim() not in (4, 5):
        raise RuntimeError(f"adaptive_avg_pool3d(): Expected 4D or 5D tensor, but got {list(self.shape)}")
    layers = ops._adaptive_avg_pool2d(_layers(self, "adaptive_avg_pool3d"), output_size[1:])
    columns = ops._adaptive_avg_pool2d(layers.flatten(-2).unsqueeze(1), [output_size[0], output_size[1] * output_size[2]])
    return columns.reshape([*self.shape[:-3], *output_size])


def _sequence_to_pool(t: Any, *sizes: Any) -> tuple[Any, ...]:
    """(…, L) as an image of height 1, and the window's sizes, padding and so on to go with it."""
    if t.dim() not in (2, 3):
        raise RuntimeError(
            "max_pool1d() Expected 2D or 3D input tensor, but got []"
            if t.dim() == 0
            else "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:"
            f"{list(t.shape)}"
        )
    for value, name in zip(sizes, ("kernel_size", "stride", "padding", "dilation")):
        if len(value) > 1:
            raise RuntimeError(
                f"max_pool1d() {name} must be an int, list of ints or tuple of ints of size 1 but got size {len(value)}"
            )
    kernel, stride, padding, dilation = sizes
    return t.unsqueeze(-2), [1, *kernel], [1, *(stride or kernel)], [0, *padding], [1, *dilation]


def _layers(t: Any, name: str) -> Any:
    """A volume's layers: (N * C, D, H, W)."""
    if t.dim() not in (4, 5):
        raise RuntimeError(f"{name}: Expected 4D or 5D (batch mode) tensor for input, but got: {list(t.shape)}")
    return t.reshape([-1, *t.shape[-3:]])


def _three(value: Any, name: str, what: str) -> list[int]:
    if len(value) not in (1, 3):
        raise RuntimeError(f"{name}: {what} must either be a single int, or a tuple of three ints")
    return list(value) * (3 // len(value))


def check_one(value: Any, name: str, what: str) -> None:
    if len(value) != 1:
        raise RuntimeError(f"{name}() argument '{what}' should contain one int (got {len(value)})")


def _check_dims(t: Any, name: str) -> None:
    if t.dim() not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {t.dim()}-dimensional tensor for argument #1 'self' "
            f"(while checking arguments for {name})"
        )
