"""More of `nn.functional` as the compiler reads it: composed activations, sequences, channels, windows (`functional_sources.py`).

How the real one differs: these are operators there, with kernels of their own, or one Python source for both.
"""

# ruff: noqa: UP045  # `Optional` around a list of given length is what the compiler reads
# mypy: disable-error-code="valid-type,index,arg-type,misc,return-value,assignment,operator,union-attr,call-arg"
from __future__ import annotations

from typing import Optional

import internals as torch
from internals import Tensor

aten = torch.ops.aten
BroadcastingList1 = BroadcastingList2 = list  # one T, or a list of N of them


def unfold(
    input: Tensor,
    kernel_size: BroadcastingList2[int],
    dilation: BroadcastingList2[int] = 1,
    padding: BroadcastingList2[int] = 0,
    stride: BroadcastingList2[int] = 1,
) -> Tensor:
    return aten.im2col(input, kernel_size, dilation, padding, stride)


def fold(
    input: Tensor,
    output_size: BroadcastingList2[int],
    kernel_size: BroadcastingList2[int],
    dilation: BroadcastingList2[int] = 1,
    padding: BroadcastingList2[int] = 0,
    stride: BroadcastingList2[int] = 1,
) -> Tensor:
    return aten.col2im(input, output_size, kernel_size, dilation, padding, stride)


def interpolate(
    input: Tensor,
    size: Optional[BroadcastingList2[int]] = None,
    scale_factor: Optional[BroadcastingList2[float]] = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    return _resample(input, _spread(size, input), _spread_floats(scale_factor, input), mode, align_corners, antialias)


def _spread(size: list[int] | None, input: Tensor) -> list[int] | None:
    """As many sizes as there are spatial dimensions: one number was taken for two."""
    if size is None or len(size) == input.dim() - 2:
        return size
    return [size[0]] * (input.dim() - 2)


def _spread_floats(scales: list[float] | None, input: Tensor) -> list[float] | None:
    if scales is None or len(scales) == input.dim() - 2:
        return scales
    return [scales[0]] * (input.dim() - 2)


def _resample(
    input: Tensor,
    size: list[int] | None,
    scale_factor: list[float] | None,
    mode: str,
    align_corners: bool | None,
    antialias: bool,
) -> Tensor:
    dims = input.dim()
    corners = align_corners is not None and align_corners
    if mode == "nearest":
        if dims == 3:
            return aten.upsample_nearest1d(input, size, scale_factor)
        if dims == 5:
            return aten.upsample_nearest3d(input, size, scale_factor)
        return aten.upsample_nearest2d(input, size, scale_factor)
    if mode == "nearest-exact":
        if dims == 3:
            return aten._upsample_nearest_exact1d(input, size, scale_factor)
        if dims == 5:
            return aten._upsample_nearest_exact3d(input, size, scale_factor)
        return aten._upsample_nearest_exact2d(input, size, scale_factor)
    if mode == "linear" and dims == 3:
        return aten.upsample_linear1d(input, size, corners, scale_factor)
    if mode == "bilinear" and dims == 4:
        if antialias:
            return aten._upsample_bilinear2d_aa(input, size, corners, scale_factor)
        return aten.upsample_bilinear2d(input, size, corners, scale_factor)
    if mode == "bicubic" and dims == 4:
        if antialias:
            return aten._upsample_bicubic2d_aa(input, size, corners, scale_factor)
        return aten.upsample_bicubic2d(input, size, corners, scale_factor)
    if mode == "trilinear" and dims == 5:
        return aten.upsample_trilinear3d(input, size, corners, scale_factor)
    raise NotImplementedError(
        "a scripted interpolate has the modes nearest, nearest-exact, linear, bilinear, bicubic and trilinear"
    )


def upsample(
    input: Tensor,
    size: Optional[BroadcastingList2[int]] = None,
    scale_factor: Optional[BroadcastingList2[float]] = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    return interpolate(input, size, scale_factor, mode, align_corners)
