"""Pooling and transposed convolution of sequences, by way of their two-dimensional twins.

A sequence (N, C, L) is an image (N, C, 1, L) of height 1. PyTorch does the same in several of these
(`aten/src/ATen/native/Pool.cpp`, `AdaptiveAveragePooling.cpp`, `Convolution.cpp`).

How the real one differs: `max_pool1d` has a kernel of its own for when no gradient is needed.
"""

from __future__ import annotations

from typing import Any

from internals._generated import functions as F
from internals._generated import nn_functions as nn


def max_pool1d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest element of every window of (N, C, L) or (C, L); with `return_indices`, also where it was."""
    if input.dim() not in (2, 3):
        raise RuntimeError(
            "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:"
            f"{list(input.shape)}"
        )
    kernel = _one(kernel_size, "max_pool1d", "kernel_size")
    step = kernel if stride is None else _one(stride, "max_pool1d", "stride")
    sizes = (
        [1, kernel],
        [1, step],
        [0, _one(padding, "max_pool1d", "padding")],
        [1, _one(dilation, "max_pool1d", "dilation")],
    )
    image = input.unsqueeze(-2)
    if return_indices:
        values, indices = nn.max_pool2d_with_indices(image, *sizes, ceil_mode)
        return values.squeeze(-2), indices.squeeze(-2)
    return F.max_pool2d(image, *sizes, ceil_mode).squeeze(-2)


def avg_pool1d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:  # fmt: skip
    """The mean of every window of (N, C, L) or (C, L)."""
    _check_dims(input, "avg_pool1d")
    kernel = _one(kernel_size, "avg_pool1d", "kernel_size")
    step = kernel if stride in (None, (), []) else _one(stride, "avg_pool1d", "stride")
    before = _one(padding, "avg_pool1d", "padding")
    image = input.unsqueeze(-2)
    return nn.avg_pool2d(image, [1, kernel], [1, step], [0, before], ceil_mode, count_include_pad).squeeze(-2)


def adaptive_avg_pool1d(input: Any, output_size: Any) -> Any:
    """Mean pooling of (N, C, L) or (C, L) to `output_size` places."""
    _check_dims(input, "adaptive_avg_pool1d")
    size = _one(output_size, "adaptive_avg_pool1d", "output_size")
    return nn.adaptive_avg_pool2d(input.unsqueeze(-2), [1, size]).squeeze(-2)


def conv_transpose1d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: int = 1,
    dilation: Any = 1,
) -> Any:  # fmt: skip
    """The transpose of `conv1d`: `input` (N, C, L) or (C, L), `weight` (C, out channels / groups, K)."""
    name = "conv_transpose1d"
    return F.conv_transpose2d(
        input.unsqueeze(-2),
        weight.unsqueeze(-2),
        bias,
        [1, _one(stride, name, "stride")],
        [0, _one(padding, name, "padding")],
        [0, _one(output_padding, name, "output_padding")],
        groups,
        [1, _one(dilation, name, "dilation")],
    ).squeeze(-2)


def _one(value: Any, function: str, argument: str) -> int:
    """An int, or the only element of a sequence."""
    if isinstance(value, int):
        return value
    if len(value) != 1:
        raise RuntimeError(f"{function}() argument '{argument}' should contain one int (got {len(value)})")
    return value[0]


def _check_dims(input: Any, function: str) -> None:
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {input.dim()}-dimensional tensor for argument #1 'self' "
            f"(while checking arguments for {function})"
        )
