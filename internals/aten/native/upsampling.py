"""The operators of resampling (`aten/src/ATen/native/UpSample{Nearest,Linear,Trilinear,Bicubic}*.cpp`).

One name for each filter and number of dimensions; behind all of them is `resample`. An operator comes with its gradient, an
operator too, and with a form that takes scale factors (`vec`), which `interpolate` calls.

How the real one differs: each has a kernel of its own. Nearest and bilinear for images are in `resampling.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals._generated import ops

from .resampling import resample, resample_backward
from .resampling_checks import sizes_and_scales

Sizes = Sequence[int]
Scale = float | None


def upsample_nearest1d(self: Any, output_size: Sizes, scales: Scale) -> Any:
    return resample(self, output_size, "nearest", False, [scales])


def upsample_nearest1d_backward(grad_output: Any, output_size: Sizes, input_size: Sizes, scales: Scale) -> Any:
    return resample_backward(grad_output, output_size, input_size, "nearest", False, [scales])


def upsample_nearest1d_vec(input: Any, output_size: Sizes | None, scale_factors: Sequence[float] | None) -> Any:
    sizes, scales = sizes_and_scales(input, output_size, scale_factors, 1)
    return ops.upsample_nearest1d(input, sizes, *scales)


def upsample_nearest3d(self: Any, output_size: Sizes, scales_d: Scale, scales_h: Scale, scales_w: Scale) -> Any:
    return resample(self, output_size, "nearest", False, [scales_d, scales_h, scales_w])


def upsample_nearest3d_backward(
    grad_output: Any, output_size: Sizes, input_size: Sizes, scales_d: Scale, scales_h: Scale, scales_w: Scale
) -> Any:
    return resample_backward(grad_output, output_size, input_size, "nearest", False, [scales_d, scales_h, scales_w])


def upsample_nearest3d_vec(input: Any, output_size: Sizes | None, scale_factors: Sequence[float] | None) -> Any:
    sizes, scales = sizes_and_scales(input, output_size, scale_factors, 3)
    return ops.upsample_nearest3d(input, sizes, *scales)


def _upsample_nearest_exact1d(self: Any, output_size: Sizes, scales: Scale) -> Any:
    return resample(self, output_size, "exact", False, [scales])


def _upsample_nearest_exact1d_backward(grad_output: Any, output_size: Sizes, input_size: Sizes, scales: Scale) -> Any:
    return resample_backward(grad_output, output_size, input_size, "exact", False, [scales])


def _upsample_nearest_exact1d_vec(input: Any, output_size: Sizes | None, scale_factors: Sequence[float] | None) -> Any:
    sizes, scales = sizes_and_scales(input, output_size, scale_factors, 1)
    return ops._upsample_nearest_exact1d(input, sizes, *scales)


def _upsample_nearest_exact2d(self: Any, output_size: Sizes, scales_h: Scale, scales_w: Scale) -> Any:
    return resample(self, output_size, "exact", False, [scales_h, scales_w])


def _upsample_nearest_exact2d_backward(
    grad_output: Any, output_size: Sizes, input_size: Sizes, scales_h: Scale, scales_w: Scale
) -> Any:
    return resample_backward(grad_output, output_size, input_size, "exact", False, [scales_h, scales_w])


def _upsample_nearest_exact2d_vec(input: Any, output_size: Sizes | None, scale_factors: Sequence[float] | None) -> Any:
    sizes, scales = sizes_and_scales(input, output_size, scale_factors, 2)
    return ops._upsample_nearest_exact2d(input, sizes, *scales)


def _upsample_nearest_exact3d(self: Any, output_size: Sizes, scales_d: Scale, scales_h: Scale, scales_w: Scale) -> Any:
    return resample(self, output_size, "exact", False, [scales_d, scales_h, scales_w])


def _upsample_nearest_exact3d_backward(
    grad_output: Any, output_size: Sizes, input_size: Sizes, scales_d: Scale, scales_h: Scale, scales_w: Scale
) -> Any:
    return resample_backward(grad_output, output_size, input_size, "exact", False, [scales_d, scales_h, scales_w])


def _upsample_nearest_exact3d_vec(input: Any, output_size: Sizes | None, scale_factors: Sequence[float] | None) -> Any:
    sizes, scales = sizes_and_scales(input, output_size, scale_factors, 3)
    return ops._upsample_nearest_exact3d(input, sizes, *scales)


def upsample_linear1d(self: Any, output_size: Sizes, align_corners: bool, scales: Scale) -> Any:
    return resample(self, output_size, "linear", align_corners, [scales])


def upsample_linear1d_backward(
    grad_output: Any, output_size: Sizes, input_size: Sizes, align_corners: bool, scales: Scale
) -> Any:
    return resample_backward(grad_output, output_size, input_size, "linear", align_corners, [scales])


def upsample_linear1d_vec(
    input: Any, output_size: Sizes | None, align_corners: bool, scale_factors: Sequence[float] | None
) -> Any:
    sizes, scales = sizes_and_scales(input, output_size, scale_factors, 1)
    return ops.upsample_linear1d(input, sizes, align_corners, *scales)


def upsample_trilinear3d(
    self: Any, output_size: Sizes, align_corners: bool, scales_d: Scale, scales_h: Scale, scales_w: Scale
) -> Any:
    return resample(self, output_size, "linear", align_corners, [scales_d, scales_h, scales_w])


def upsample_trilinear3d_backward(
    grad_output: Any,
    output_size: Sizes,
    input_size: Sizes,
    align_corners: bool,
    scales_d: Scale,
    scales_h: Scale,
    scales_w: Scale,
) -> Any:
    return resample_backward(grad_output, output_size, input_size, "linear", align_corners, [scales_d, scales_h, scales_w])


def upsample_trilinear3d_vec(
    input: Any, output_size: Sizes | None, align_corners: bool, scale_factors: Sequence[float] | None
) -> Any:
    sizes, scales = sizes_and_scales(input, output_size, scale_factors, 3)
    return ops.upsample_trilinear3d(input, sizes, align_corners, *scales)


def upsample_bicubic2d(self: Any, output_size: Sizes, align_corners: bool, scales_h: Scale, scales_w: Scale) -> Any:
    return resample(self, output_size, "cubic", align_corners, [scales_h, scales_w])


def upsample_bicubic2d_backward(
    grad_output: Any, output_size: Sizes, input_size: Sizes, align_corners: bool, scales_h: Scale, scales_w: Scale
) -> Any:
    return resample_backward(grad_output, output_size, input_size, "cubic", align_corners, [scales_h, scales_w])


def upsample_bicubic2d_vec(
    input: Any, output_size: Sizes | None, align_corners: bool, scale_factors: Sequence[float] | None
) -> Any:
    sizes, scales = sizes_and_scales(input, output_size, scale_factors, 2)
    return ops.upsample_bicubic2d(input, sizes, align_corners, *scales)


def _upsample_bilinear2d_aa(
    self: Any, output_size: Sizes, align_corners: bool, scales_h: Scale, scales_w: Scale
) -> Any:
    return resample(self, output_size, "linear_aa", align_corners, [scales_h, scales_w])


def _upsample_bilinear2d_aa_backward(
    grad_output: Any, output_size: Sizes, input_size: Sizes, align_corners: bool, scales_h: Scale, scales_w: Scale
) -> Any:
    return resample_backward(grad_output, output_size, input_size, "linear_aa", align_corners, [scales_h, scales_w])


def _upsample_bilinear2d_aa_vec(
    input: Any, output_size: Sizes | None, align_corners: bool, scale_factors: Sequence[float] | None
) -> Any:
    sizes, scales = sizes_and_scales(input, output_size, scale_factors, 2)
    return ops._upsample_bilinear2d_aa(input, sizes, align_corners, *scales)


def _upsample_bicubic2d_aa(self: Any, output_size: Sizes, align_corners: bool, scales_h: Scale, scales_w: Scale) -> Any:
    return resample(self, output_size, "cubic_aa", align_corners, [scales_h, scales_w])


def _upsample_bicubic2d_aa_backward(
    grad_output: Any, output_size: Sizes, input_size: Sizes, align_corners: bool, scales_h: Scale, scales_w: Scale
) -> Any:
    return resample_backward(grad_output, output_size, input_size, "cubic_aa", align_corners, [scales_h, scales_w])


def _upsample_bicubic2d_aa_vec(
    input: Any, output_size: Sizes | None, align_corners: bool, scale_factors: Sequence[float] | None
) -> Any:
    sizes, scales = sizes_and_scales(input, output_size, scale_factors, 2)
    return ops._upsample_bicubic2d_aa(input, sizes, align_corners, *scales)


def _upsample_lanczos2d_aa(self: Any, output_size: Sizes, align_corners: bool, scales_h: Scale, scales_w: Scale) -> Any:
    return resample(self, output_size, "lanczos_aa", align_corners, [scales_h, scales_w])


def _upsample_lanczos2d_aa_backward(
    grad_output: Any, output_size: Sizes, input_size: Sizes, align_corners: bool, scales_h: Scale, scales_w: Scale
) -> Any:
    return resample_backward(grad_output, output_size, input_size, "lanczos_aa", align_corners, [scales_h, scales_w])


def _upsample_lanczos2d_aa_vec(
    input: Any, output_size: Sizes | None, align_corners: bool, scale_factors: Sequence[float] | None
) -> Any:
    sizes, scales = sizes_and_scales(input, output_size, scale_factors, 2)
    return ops._upsample_lanczos2d_aa(input, sizes, align_corners, *scales)
