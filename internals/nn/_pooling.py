"""Pooling in one to three dimensions, as `nn.functional` offers it (`torch/nn/functional.py`).

How the real one differs: see `internals.nn.functional`.
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
    function = F.max_pool1d_with_indices if return_indices else F.max_pool1d
    return function(input, kernel_size, [] if stride is None else stride, padding, dilation, ceil_mode)


def max_pool1d_with_indices(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """`max_pool1d(..., return_indices=True)`."""
    return max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def max_pool2d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest element of every window; with `return_indices`, also where it was in the H * W plane."""
    function = nn.max_pool2d_with_indices if return_indices else F.max_pool2d
    return function(input, kernel_size, [] if stride is None else stride, padding, dilation, ceil_mode)


def max_pool2d_with_indices(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """`max_pool2d(..., return_indices=True)`."""
    return max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def max_pool3d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest element of every window of a volume; with `return_indices`, also where it was in D * H * W."""
    function = nn.max_pool3d_with_indices if return_indices else F.max_pool3d
    return function(input, kernel_size, [] if stride is None else stride, padding, dilation, ceil_mode)


def max_pool3d_with_indices(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """`max_pool3d(..., return_indices=True)`."""
    return max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def avg_pool1d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:  # fmt: skip
    """The mean of every window of (N, C, L) or (C, L)."""
    return F.avg_pool1d(input, kernel_size, [] if stride is None else stride, padding, ceil_mode, count_include_pad)


def avg_pool3d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None,
) -> Any:  # fmt: skip
    """The mean of every window of (N, C, D, H, W) or (C, D, H, W)."""
    step = [] if stride is None else stride
    return nn.avg_pool3d(input, kernel_size, step, padding, ceil_mode, count_include_pad, divisor_override)


def adaptive_avg_pool2d(input: Any, output_size: Any) -> Any:
    """Mean pooling to `output_size`: one number, or a pair in which None keeps the input's size."""
    return nn.adaptive_avg_pool2d(input, _output_size(input, output_size))


def adaptive_avg_pool3d(input: Any, output_size: Any) -> Any:
    """Mean pooling to `output_size`: one number, or three in which None keeps the input's size."""
    return nn.adaptive_avg_pool3d(input, _output_size(input, output_size))


def adaptive_max_pool1d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """The maxima of `output_size` windows of (N, C, L) or (C, L); with `return_indices`, also where they were."""
    result = F.adaptive_max_pool1d(input, output_size)
    return result if return_indices else result[0]


def adaptive_max_pool2d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """The maxima of windows that cover (N, C, H, W) or (C, H, W) evenly; with `return_indices`, also where they were."""
    result = nn.adaptive_max_pool2d(input, _output_size(input, output_size))
    return result if return_indices else result[0]


def adaptive_max_pool3d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """The maxima of windows that cover (N, C, D, H, W) or (C, D, H, W) evenly; with `return_indices`, also where they were."""
    result = nn.adaptive_max_pool3d(input, _output_size(input, output_size))
    return result if return_indices else result[0]


def adaptive_max_pool1d_with_indices(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """`adaptive_max_pool1d(..., return_indices=True)`."""
    return adaptive_max_pool1d(input, output_size, True)


def adaptive_max_pool2d_with_indices(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """`adaptive_max_pool2d(..., return_indices=True)`."""
    return adaptive_max_pool2d(input, output_size, True)


def adaptive_max_pool3d_with_indices(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """`adaptive_max_pool3d(..., return_indices=True)`."""
    return adaptive_max_pool3d(input, output_size, True)


def _output_size(input: Any, output_size: Any) -> Any:
    if isinstance(output_size, (list, tuple)):
        if input.dim() <= len(output_size):
            raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")
        sizes = input.shape[-len(output_size) :]
        output_size = [n if n is not None else d for n, d in zip(output_size, sizes)]
    return output_size
