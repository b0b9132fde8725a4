"""Padding, resampling and unfolding (`torch/nn/functional.py`).

How the real one differs: its `interpolate` has an overload for each type of `size` and
`scale_factor`, where the compiler here always has lists.
"""

# mypy: disable-error-code="assignment,arg-type"
from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from internals._generated import functions as F, nn_functions as nn
from internals._tensor import Tensor
from internals.core.tensor_impl import TensorImpl
from internals.functional.scripting import BroadcastingList2, is_scripting

from .modules.utils import _pair


def pad(
    input: Tensor, pad: list[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """`input` enlarged at its borders.

    `pad` holds (before, after) for the last dimension, then for the one before it, and so on.
    `mode`: "constant" (filled with `value`), "reflect", "replicate" or "circular".
    """
    return nn.pad(input, pad, mode, value)


def unfold(
    input: Tensor, kernel_size: BroadcastingList2[int], dilation: BroadcastingList2[int] = 1,
    padding: BroadcastingList2[int] = 0, stride: BroadcastingList2[int] = 1,
) -> Tensor:  # fmt: skip
    """Every window of (N, C, H, W) as a column: (N, C * kernel elements, windows)."""
    return nn.im2col(input, _pair(kernel_size), _pair(dilation), _pair(padding), _pair(stride))


def fold(
    input: Tensor, output_size: BroadcastingList2[int], kernel_size: BroadcastingList2[int],
    dilation: BroadcastingList2[int] = 1, padding: BroadcastingList2[int] = 0,
    stride: BroadcastingList2[int] = 1,
) -> Tensor:  # fmt: skip
    """The columns of `unfold` put back into (N, C, *output_size); elements of overlapping windows
    are added.
    """
    size, kernel = _pair(output_size), _pair(kernel_size)
    return nn.col2im(input, size, kernel, _pair(dilation), _pair(padding), _pair(stride))


def upsample(
    input: Tensor, size: BroadcastingList2[int] | None = None,
    scale_factor: BroadcastingList2[float] | None = None, mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:  # fmt: skip
    """The old name of `interpolate`."""
    warnings.warn(
        "`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(
    input: Tensor, size: BroadcastingList2[int] | None = None,
    scale_factor: BroadcastingList2[float] | None = None,
) -> Tensor:  # fmt: skip
    """The old name of `interpolate(mode="nearest")`."""
    warnings.warn(
        "`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(
    input: Tensor, size: BroadcastingList2[int] | None = None,
    scale_factor: BroadcastingList2[float] | None = None,
) -> Tensor:  # fmt: skip
    """The old name of `interpolate(mode="bilinear", align_corners=True)`."""
    warnings.warn(
        "`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def interpolate(
    input: Tensor, size: BroadcastingList2[int] | None = None,
    scale_factor: BroadcastingList2[float] | None = None, mode: str = "nearest",
    align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:  # fmt: skip
    """Resample the spatial dimensions to `size`, or by `scale_factor`.

    `mode`: "nearest", "nearest-exact", "area" for (N, C, L), (N, C, H, W) and (N, C, D, H, W);
    "linear" for the first, "bilinear" and "bicubic" for the second, "trilinear" for the third.
    `antialias` averages when an image is made smaller.

    With `recompute_scale_factor` the factors only determine the output sizes, and the ratio of the
    sizes is the scale. Raises ValueError for contradicting arguments, NotImplementedError for a
    mode that does not suit the number of dimensions.
    """
    if align_corners is not None:
        if mode == "nearest" or mode == "area" or mode == "nearest-exact":
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: linear | "
                "bilinear | bicubic | trilinear"
            )
    corners = align_corners is not None and align_corners
    recomputed = recompute_scale_factor is not None and recompute_scale_factor
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if recomputed and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if not is_scripting():
        size, scale_factor = _lists(input, size, scale_factor)
    sizes, factors = _one_for_each(size, input), _factor_for_each(scale_factor, input)
    # without factors, the operators derive the scale from the sizes; "area" knows only sizes
    if recomputed or mode == "area":
        if factors is not None:
            sizes = [int(input.size(i + 2) * factors[i]) for i in range(len(factors))]
        factors = None
    if antialias:
        if input.dim() != 4 or (mode != "bilinear" and mode != "bicubic" and mode != "lanczos"):
            raise ValueError(
                "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and "
                "requires a 4-D tensor as input"
            )
        return _antialiased(input, mode, sizes, factors, corners)
    return _resample(input, mode, sizes, factors, corners)


def _antialiased(
    input: Tensor, mode: str, sizes: list[int] | None, factors: list[float] | None, corners: bool
) -> Tensor:
    """Resample (N, C, H, W) with a filter that widens as the image gets smaller."""
    if mode == "bilinear":
        return nn._upsample_bilinear2d_aa(input, sizes, corners, factors)
    if mode == "bicubic":
        return nn._upsample_bicubic2d_aa(input, sizes, corners, factors)
    return nn._upsample_lanczos2d_aa(input, sizes, corners, factors)


def _resample(
    input: Tensor, mode: str, sizes: list[int] | None, factors: list[float] | None, corners: bool
) -> Tensor:
    """Call the operator for `mode` and the number of dimensions: one of `sizes` and `factors` is
    None.
    """
    dims = input.dim()  # 3: (N, C, L), 4: (N, C, H, W), 5: (N, C, D, H, W)
    if dims == 3:
        if mode == "nearest":
            return nn.upsample_nearest1d(input, sizes, factors)
        if mode == "nearest-exact":
            return nn._upsample_nearest_exact1d(input, sizes, factors)
        if mode == "area" and sizes is not None:
            return F.adaptive_avg_pool1d(input, sizes)
        if mode == "linear":
            return nn.upsample_linear1d(input, sizes, corners, factors)
    if dims == 4:
        if mode == "nearest":
            return nn.upsample_nearest2d(input, sizes, factors)
        if mode == "nearest-exact":
            return nn._upsample_nearest_exact2d(input, sizes, factors)
        if mode == "area" and sizes is not None:
            return nn.adaptive_avg_pool2d(input, sizes)
        if mode == "bilinear":
            return nn.upsample_bilinear2d(input, sizes, corners, factors)
        if mode == "bicubic":
            return nn.upsample_bicubic2d(input, sizes, corners, factors)
        if mode == "lanczos":
            raise ValueError("lanczos mode is only supported with antialias=True")
    if dims == 5:
        if mode == "nearest":
            return nn.upsample_nearest3d(input, sizes, factors)
        if mode == "nearest-exact":
            return nn._upsample_nearest_exact3d(input, sizes, factors)
        if mode == "area" and sizes is not None:
            return nn.adaptive_avg_pool3d(input, sizes)
        if mode == "trilinear":
            return nn.upsample_trilinear3d(input, sizes, corners, factors)
    needed = 3 if mode == "linear" else 4 if mode == "bilinear" else 5 if mode == "trilinear" else 0
    if dims >= 3 and dims <= 5 and needed != 0:
        raise NotImplementedError(f"Got {dims}D input, but {mode} mode needs {needed}D input")
    raise NotImplementedError(
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {dims}D) for the modes: "
        "nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got "
        f"{mode})"
    )


def _one_for_each(size: list[int] | None, input: Tensor) -> list[int] | None:
    """A size for each spatial dimension: the compiler turns a single number into two equal ones."""
    if size is None or len(size) == input.dim() - 2:
        return size
    if len(size) != 2 or size[0] != size[1]:
        raise ValueError(
            f"Expected one number for each spatial dimension of {input.size()[2:]} and output size "
            f"of {size}."
        )
    return [size[0]] * (input.dim() - 2)


def _factor_for_each(factors: list[float] | None, input: Tensor) -> list[float] | None:
    """A scale factor for each spatial dimension, like `_one_for_each`."""
    if factors is None or len(factors) == input.dim() - 2:
        return factors
    if len(factors) != 2 or factors[0] != factors[1]:
        raise ValueError(
            f"Expected one number for each spatial dimension of {input.size()[2:]} and "
            f"scale_factor of {factors}."
        )
    return [factors[0]] * (input.dim() - 2)


def _lists(
    input: Tensor, size: int | Sequence[int] | None, scale_factor: float | None
) -> tuple[Any, Any]:
    """(output sizes, None) or (None, scale factors), with one entry for each spatial dimension.

    In Python each may be given as one number. Raises ValueError for another number of entries,
    TypeError for sizes that are not integers.
    """
    dim = input.dim() - 2
    if size is not None:
        if not isinstance(size, (list, tuple)):
            return [size] * dim, None
        if len(size) != dim:
            raise ValueError(
                "Input and output must have the same number of spatial dimensions, but got input "
                f"with spatial dimensions of {list(input.shape[2:])} and output size of {size}. "
                "Please provide input tensor in (N, C, d1, d2, ...,dK) format and output size in "
                "(o1, o2, ...,oK) format."
            )
        if not all(_is_integer(n) for n in size):
            raise TypeError(
                "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, "
                f"int, int], but got size with types {[type(n) for n in size]}"
            )
        return size, None
    if not isinstance(scale_factor, (list, tuple)):
        return None, [scale_factor] * dim
    if len(scale_factor) != dim:
        raise ValueError(
            "Input and scale_factor must have the same number of spatial dimensions, but got "
            f"input with spatial dimensions of {list(input.shape[2:])} and scale_factor of shape "
            f"{scale_factor}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and "
            "scale_factor in (s1, s2, ...,sK) format."
        )
    return None, scale_factor


def _is_integer(n: object) -> bool:
    """Whether a size is an int, a numpy integer or an integer tensor."""
    return isinstance(n, (int, np.integer)) or (
        isinstance(n, TensorImpl) and not n.is_floating_point()
    )
