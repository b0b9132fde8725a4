"""Pooling in one to three dimensions, as `nn.functional` offers it (`torch/nn/functional.py`).

How the real one differs: see `internals.nn.functional`.
"""

# mypy: disable-error-code="assignment"
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from internals._generated import functions as F
from internals._generated import nn_functions as nn
from internals._tensor import Tensor
from internals.functional.scripting import (
    BooleanDispatch,
    BroadcastingList1,
    BroadcastingList2,
    BroadcastingList3,
    annotate,
    boolean_dispatch,
    is_scripting,
)


def by_indices(
    place: int, if_true: Callable[..., Any], if_false: Callable[..., Any]
) -> BooleanDispatch:
    return BooleanDispatch("return_indices", place, False, if_true, if_false)


def max_pool1d_with_indices(
    input: Tensor, kernel_size: BroadcastingList1[int],
    stride: BroadcastingList1[int] | None = None, padding: BroadcastingList1[int] = 0,
    dilation: BroadcastingList1[int] = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`max_pool1d(..., return_indices=True)`."""
    if stride is None:
        stride = annotate(list[int], [])
    return F.max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def _max_pool1d(
    input: Tensor, kernel_size: BroadcastingList1[int],
    stride: BroadcastingList1[int] | None = None, padding: BroadcastingList1[int] = 0,
    dilation: BroadcastingList1[int] = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Tensor:  # fmt: skip
    """The largest element of every window of (N, C, L) or (C, L); with `return_indices`, also where it was."""
    if stride is None:
        stride = annotate(list[int], [])
    return F.max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode)


max_pool1d = boolean_dispatch("max_pool1d", by_indices(6, max_pool1d_with_indices, _max_pool1d))


def max_pool2d_with_indices(
    input: Tensor, kernel_size: BroadcastingList2[int],
    stride: BroadcastingList2[int] | None = None, padding: BroadcastingList2[int] = 0,
    dilation: BroadcastingList2[int] = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`max_pool2d(..., return_indices=True)`."""
    if stride is None:
        stride = annotate(list[int], [])
    return nn.max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def _max_pool2d(
    input: Tensor, kernel_size: BroadcastingList2[int],
    stride: BroadcastingList2[int] | None = None, padding: BroadcastingList2[int] = 0,
    dilation: BroadcastingList2[int] = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Tensor:  # fmt: skip
    """The largest element of every window of (N, C, H, W) or (C, H, W).

    With `return_indices` also where it was, in the H * W plane.
    """
    if stride is None:
        stride = annotate(list[int], [])
    return F.max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode)


max_pool2d = boolean_dispatch("max_pool2d", by_indices(6, max_pool2d_with_indices, _max_pool2d))


def max_pool3d_with_indices(
    input: Tensor, kernel_size: BroadcastingList3[int],
    stride: BroadcastingList3[int] | None = None, padding: BroadcastingList3[int] = 0,
    dilation: BroadcastingList3[int] = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`max_pool3d(..., return_indices=True)`."""
    if stride is None:
        stride = annotate(list[int], [])
    return nn.max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def _max_pool3d(
    input: Tensor, kernel_size: BroadcastingList3[int],
    stride: BroadcastingList3[int] | None = None, padding: BroadcastingList3[int] = 0,
    dilation: BroadcastingList3[int] = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Tensor:  # fmt: skip
    """The largest element of every window of (N, C, D, H, W) or (C, D, H, W).

    With `return_indices` also where it was, in the D * H * W volume.
    """
    if stride is None:
        stride = annotate(list[int], [])
    return F.max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode)


max_pool3d = boolean_dispatch("max_pool3d", by_indices(6, max_pool3d_with_indices, _max_pool3d))


def avg_pool1d(
    input: Tensor, kernel_size: BroadcastingList1[int],
    stride: BroadcastingList1[int] | None = None, padding: BroadcastingList1[int] = 0,
    ceil_mode: bool = False, count_include_pad: bool = True,
) -> Tensor:  # fmt: skip
    """The mean of every window of (N, C, L) or (C, L)."""
    if stride is None:
        stride = annotate(list[int], [])
    return F.avg_pool1d(input, kernel_size, stride, padding, ceil_mode, count_include_pad)


def avg_pool3d(
    input: Tensor, kernel_size: BroadcastingList3[int],
    stride: BroadcastingList3[int] | None = None, padding: BroadcastingList3[int] = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    """The mean of every window of (N, C, D, H, W) or (C, D, H, W)."""
    if stride is None:
        stride = annotate(list[int], [])
    return nn.avg_pool3d(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def adaptive_avg_pool2d(input: Tensor, output_size: BroadcastingList2[int]) -> Tensor:
    """Mean pooling to `output_size`: one number, or a pair in which None keeps the input's size."""
    if not is_scripting():
        output_size = _with_sizes(input, output_size)
    return nn.adaptive_avg_pool2d(input, output_size)


def adaptive_avg_pool3d(input: Tensor, output_size: BroadcastingList3[int]) -> Tensor:
    """Mean pooling to `output_size`: one number, or three in which None keeps the input's size."""
    if not is_scripting():
        output_size = _with_sizes(input, output_size)
    return nn.adaptive_avg_pool3d(input, output_size)


def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: BroadcastingList1[int], return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """`adaptive_max_pool1d(..., return_indices=True)`."""
    return F.adaptive_max_pool1d(input, output_size)


def _adaptive_max_pool1d(
    input: Tensor, output_size: BroadcastingList1[int], return_indices: bool = False
) -> Tensor:
    """The maxima of windows that cover (N, C, L) or (C, L) evenly; with `return_indices`, also where they were."""
    return adaptive_max_pool1d_with_indices(input, output_size)[0]


adaptive_max_pool1d = boolean_dispatch(
    "adaptive_max_pool1d", by_indices(2, adaptive_max_pool1d_with_indices, _adaptive_max_pool1d)
)


def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: BroadcastingList2[int], return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """`adaptive_max_pool2d(..., return_indices=True)`."""
    if not is_scripting():
        output_size = _with_sizes(input, output_size)
    return nn.adaptive_max_pool2d(input, output_size)


def _adaptive_max_pool2d(
    input: Tensor, output_size: BroadcastingList2[int], return_indices: bool = False
) -> Tensor:
    """The maxima of windows that cover (N, C, H, W) or (C, H, W) evenly; with `return_indices`, also where they were."""
    return adaptive_max_pool2d_with_indices(input, output_size)[0]


adaptive_max_pool2d = boolean_dispatch(
    "adaptive_max_pool2d", by_indices(2, adaptive_max_pool2d_with_indices, _adaptive_max_pool2d)
)


def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: BroadcastingList3[int], return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """`adaptive_max_pool3d(..., return_indices=True)`."""
    if not is_scripting():
        output_size = _with_sizes(input, output_size)
    return nn.adaptive_max_pool3d(input, output_size)


def _adaptive_max_pool3d(
    input: Tensor, output_size: BroadcastingList3[int], return_indices: bool = False
) -> Tensor:
    """The maxima of windows that cover (N, C, D, H, W) or (C, D, H, W) evenly; with `return_indices`, also where they were."""
    return adaptive_max_pool3d_with_indices(input, output_size)[0]


adaptive_max_pool3d = boolean_dispatch(
    "adaptive_max_pool3d", by_indices(2, adaptive_max_pool3d_with_indices, _adaptive_max_pool3d)
)


def _with_sizes(input: Tensor, output_size: Any) -> Any:
    """`output_size`, with the input's where Python may say None."""
    if isinstance(output_size, (list, tuple)):
        if input.dim() <= len(output_size):
            raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")
        sizes = input.shape[-len(output_size) :]
        output_size = [n if n is not None else d for n, d in zip(output_size, sizes)]
    return output_size
