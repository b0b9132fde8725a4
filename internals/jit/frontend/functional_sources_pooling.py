"""Pooling by adaptive windows and of volumes, as the compiler reads it (`functional_sources.py`).

How the real one differs: see there.
"""

# ruff: noqa: UP045  # `Optional` around a list of given length is what the compiler reads
# mypy: disable-error-code="valid-type,index,arg-type,misc,return-value,assignment,operator,union-attr,call-arg"
from __future__ import annotations

from typing import Optional

import internals as torch
from internals import Tensor

aten = torch.ops.aten
BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = list  # one T, or a list of N of them


def adaptive_avg_pool3d(input: Tensor, output_size: BroadcastingList3[int]) -> Tensor:
    return aten.adaptive_avg_pool3d(input, output_size)


def adaptive_max_pool1d(
    input: Tensor, output_size: BroadcastingList1[int], return_indices: bool = False
) -> Tensor:
    return aten.adaptive_max_pool1d(input, output_size)[0]


def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: BroadcastingList1[int], return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    return aten.adaptive_max_pool1d(input, output_size)


def adaptive_max_pool2d(
    input: Tensor, output_size: BroadcastingList2[int], return_indices: bool = False
) -> Tensor:
    return aten.adaptive_max_pool2d(input, output_size)[0]


def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: BroadcastingList2[int], return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    return aten.adaptive_max_pool2d(input, output_size)


def adaptive_max_pool3d(
    input: Tensor, output_size: BroadcastingList3[int], return_indices: bool = False
) -> Tensor:
    return aten.adaptive_max_pool3d(input, output_size)[0]


def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: BroadcastingList3[int], return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    return aten.adaptive_max_pool3d(input, output_size)


def avg_pool3d(
    input: Tensor,
    kernel_size: BroadcastingList3[int],
    stride: Optional[BroadcastingList3[int]] = None,
    padding: BroadcastingList3[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    step = kernel_size if stride is None else stride
    return aten.avg_pool3d(input, kernel_size, step, padding, ceil_mode, count_include_pad, divisor_override)


def max_pool3d(
    input: Tensor,
    kernel_size: BroadcastingList3[int],
    stride: Optional[BroadcastingList3[int]] = None,
    padding: BroadcastingList3[int] = 0,
    dilation: BroadcastingList3[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor:
    step = kernel_size if stride is None else stride
    return aten.max_pool3d(input, kernel_size, step, padding, dilation, ceil_mode)
