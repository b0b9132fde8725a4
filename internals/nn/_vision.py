"""Padding, resampling and unfolding, as `nn.functional` offers them (`torch/nn/functional.py`).

How the real one differs: see `internals.nn.functional`.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from internals._generated import functions as F
from internals._generated import nn_functions as nn
from internals.core.tensor_impl import TensorImpl

_INTERPOLATING = ("linear", "bilinear", "bicubic", "trilinear")
_DIMS = {"linear": 3, "bilinear": 4, "trilinear": 5}
_NEAREST = {
    (3, "nearest"): nn.upsample_nearest1d,
    (4, "nearest"): nn.upsample_nearest2d,
    (5, "nearest"): nn.upsample_nearest3d,
    (3, "nearest-exact"): nn._upsample_nearest_exact1d,
    (4, "nearest-exact"): nn._upsample_nearest_exact2d,
    (5, "nearest-exact"): nn._upsample_nearest_exact3d,
}
_AREA = {3: F.adaptive_avg_pool1d, 4: nn.adaptive_avg_pool2d, 5: nn.adaptive_avg_pool3d}
_WEIGHTED = {
    (3, "linear"): nn.upsample_linear1d,
    (4, "bilinear"): nn.upsample_bilinear2d,
    (5, "trilinear"): nn.upsample_trilinear3d,
    (4, "bicubic"): nn.upsample_bicubic2d,
}
_ANTIALIASED = {
    (4, "bilinear"): nn._upsample_bilinear2d_aa,
    (4, "bicubic"): nn._upsample_bicubic2d_aa,
    (4, "lanczos"): nn._upsample_lanczos2d_aa,
}


def pad(input: Any, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Any:
    """`pad` holds (before, after) for the last dimension, then for the one before it, and so on.

    `mode`: "constant" (filled with `value`), "reflect", "replicate" or "circular".
    """
    return nn.pad(input, pad, mode, value)


def unfold(input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """Every window of (N, C, H, W) as a column: (N, C * kernel elements, places)."""
    return nn.im2col(input, _pair(kernel_size), _pair(dilation), _pair(padding), _pair(stride))


def fold(input: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """The columns of `unfold` put back as (N, C, *output_size); where windows overlapped, their elements are added."""
    return nn.col2im(input, _pair(output_size), _pair(kernel_size), _pair(dilation), _pair(padding), _pair(stride))


def upsample(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Any:
    """The old name of `interpolate`."""
    warnings.warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """The old name of `interpolate(mode="nearest")`."""
    warnings.warn("`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """The old name of `interpolate(mode="bilinear", align_corners=True)`."""
    warnings.warn("`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def interpolate(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None, antialias: bool = False,
) -> Any:  # fmt: skip
    """Resample the spatial dimensions to `size`, or by `scale_factor`.

    `mode`: "nearest", "nearest-exact", "area" for (N, C, L), (N, C, H, W) and (N, C, D, H, W); "linear" for the first, "bilinear"
    and "bicubic" for the second, "trilinear" for the third. `antialias` averages when an image gets smaller.

    With `recompute_scale_factor` the sizes that follow from the factors decide, not the factors themselves. Raises ValueError
    for contradicting arguments, NotImplementedError for a mode that does not go with the number of dimensions.
    """
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError(
                f"align_corners option can only be set with the interpolating modes: {' | '.join(_INTERPOLATING)}"
            )
    elif align_corners is None:
        align_corners = False
    output_size, factors = _size_or_factors(input, size, scale_factor)
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if factors is not None and (recompute_scale_factor or mode == "area"):
        output_size, factors = [int(n * s) for n, s in zip(input.shape[2:], factors)], None
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and input.dim() == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    return _resample(input, mode, output_size, factors, align_corners, antialias)


def _resample(input: Any, mode: str, output_size: Any, factors: Any, align_corners: Any, antialias: bool) -> Any:
    dims = input.dim()
    if (dims, mode) in _NEAREST:
        return _NEAREST[dims, mode](input, output_size, factors)
    if dims in _AREA and mode == "area":
        return _AREA[dims](input, output_size)
    if dims == 4 and mode == "lanczos" and not antialias:
        raise ValueError("lanczos mode is only supported with antialias=True")
    by_weights = _ANTIALIASED if antialias else _WEIGHTED
    if (dims, mode) in by_weights:
        return by_weights[dims, mode](input, output_size, align_corners, factors)
    if dims in (3, 4, 5) and mode in _DIMS and dims != _DIMS[mode]:
        raise NotImplementedError(f"Got {dims}D input, but {mode} mode needs {_DIMS[mode]}D input")
    raise NotImplementedError(
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {dims}D) for the modes: nearest | linear | bilinear | "
        f"bicubic | trilinear | lanczos | area | nearest-exact (got {mode})"
    )


def _size_or_factors(input: Any, size: Any, scale_factor: Any) -> tuple[Any, Any]:
    """(output sizes, None) or (None, scale factors), one entry for each spatial dimension."""
    dim = input.dim() - 2
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        if not isinstance(size, (list, tuple)):
            return [size] * dim, None
        if len(size) != dim:
            raise ValueError(
                "Input and output must have the same number of spatial dimensions, but got input with spatial dimensions of "
                f"{list(input.shape[2:])} and output size of {size}. Please provide input tensor in (N, C, d1, d2, ...,dK) "
                "format and output size in (o1, o2, ...,oK) format."
            )
        if not all(_is_integer(n) for n in size):
            raise TypeError(
                "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], but got size with "
                f"types {[type(n) for n in size]}"
            )
        return size, None
    if scale_factor is not None:
        if not isinstance(scale_factor, (list, tuple)):
            return None, [scale_factor] * dim
        if len(scale_factor) != dim:
            raise ValueError(
                "Input and scale_factor must have the same number of spatial dimensions, but got input with spatial dimensions "
                f"of {list(input.shape[2:])} and scale_factor of shape {scale_factor}. Please provide input tensor in (N, C, d1, "
                "d2, ...,dK) format and scale_factor in (s1, s2, ...,sK) format."
            )
        return None, scale_factor
    raise ValueError("either size or scale_factor should be defined")


def _is_integer(n: Any) -> bool:
    return isinstance(n, (int, np.integer)) or (isinstance(n, TensorImpl) and not n.is_floating_point())


def _pair(value: Any) -> Any:
    return [value, value] if isinstance(value, int) else value
