"""Sampling an image at the points of a grid: `grid_sample`, `affine_grid`
(`torch/nn/functional.py`).

How the real one differs: see `internals.nn.functional`.
"""

from __future__ import annotations

import warnings

from internals._generated import functions as F
from internals._tensor import Tensor


def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:  # fmt: skip
    """The values of `input` (N, C, H, W) at the points (x, y) of `grid` (N, H', W', 2):
    (N, C, H', W'). For a volume (N, C, D, H, W) the points are (x, y, z).

    Coordinates -1 and 1 are the edges of the image, or with `align_corners` the centers of its
    outermost pixels. `mode` is "bilinear", "nearest" or "bicubic" (images only); `padding_mode`
    "zeros", "border" or "reflection". Raises ValueError for other words.
    """
    modes = {"bilinear": 0, "nearest": 1, "bicubic": 2}
    paddings = {"zeros": 0, "border": 1, "reflection": 2}
    if mode not in modes:
        raise ValueError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', "
            f"but got: '{mode}'"
        )
    if padding_mode not in paddings:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or "
            "'reflection', but got: "
            f"'{padding_mode}'"
        )
    corners = _corners(align_corners)
    return F.grid_sampler(input, grid, modes[mode], paddings[padding_mode], corners)


def affine_grid(theta: Tensor, size: list[int], align_corners: bool | None = None) -> Tensor:
    """The grid (N, H, W, 2) with which `grid_sample` transforms images by the matrices `theta`
    (N, 2, 3); `size` is (N, C, H, W). For volumes `theta` is (N, 3, 4).

    Raises ValueError for a `theta` of another shape or an integer dtype and for sizes that are not
    positive, NotImplementedError for other numbers of dimensions.
    """
    corners = _corners(align_corners)
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    dims = len(size) - 2
    if dims != 2 and dims != 3:
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
            f"respectively. Got size {size}."
        )
    if theta.dim() != 3 or theta.size(-2) != dims or theta.size(-1) != dims + 1:
        raise ValueError(
            f"Expected a batch of {dims}D affine matrices of shape Nx{dims}x{dims + 1} for size "
            f"{size}. Got {theta.size()}."
        )
    if corners and min(size[2:]) == 1:
        warnings.warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when "
            "align_corners=True. This is not an intended use case of affine_grid. See the "
            "documentation of affine_grid for details.",
            stacklevel=2,
        )
    elif min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    return F.affine_grid_generator(theta, size, corners)


def _corners(align_corners: bool | None) -> bool:
    """`align_corners`; False, with a warning, if it is omitted."""
    if align_corners is not None:
        return align_corners
    warnings.warn(
        "Default grid_sample and affine_grid behavior has changed to align_corners=False since "
        "1.3.0. Please specify align_corners=True if the old behavior is desired. See the "
        "documentation of grid_sample for details.",
        stacklevel=3,
    )
    return False
