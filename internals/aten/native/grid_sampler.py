"""Values of an image or a volume at the points of a grid, and the grids of affine maps
(`aten/src/ATen/native/GridSampler.cpp`, `AffineGridGenerator.cpp`): the parts of a spatial
transformer.

A point's value is a weighted sum of the elements around it (`grid_taps.py`). It is linear in the
image and, between two elements, smooth in the grid, so both have gradients.

How the real one differs: it has one kernel for two dimensions, vectorised over points, one for
three, and cuDNN's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from math import prod
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.dtype_checks import check_dtype, check_same_dtype
from internals.core.dtype import FLOATING
from internals.core.tensor_impl import Array, Tensor, array, empty_contiguous, from_array

from .gradient_checks import check_sizes
from .grid_taps import CUBIC, Tap, taps


def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Any:
    """`grid_sampler_2d` or `grid_sampler_3d`, depending on the number of dimensions. Raises
    RuntimeError for others.
    """
    if input.dim() not in (4, 5) or grid.dim() != input.dim():
        _check_sizes(input, grid)
        raise RuntimeError(
            "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but "
            f"got input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    sample = ops.grid_sampler_2d if input.dim() == 4 else ops.grid_sampler_3d
    return sample(input, grid, interpolation_mode, padding_mode, align_corners)


def _sample(
    dims: int, name: str, input: Tensor, grid: Tensor, interpolation: int, padding: int, align: bool
) -> Any:
    """The values at the points of the grid, (N, C, *grid sizes)."""
    _check(dims, name, input, grid, interpolation)
    x = array(input).reshape(*input.shape[:2], prod(input.shape[2:]))
    # The image as (N, C, elements), the grid as (N, points). For each combination of taps, one
    # element for each point is added, times the product of the weights in all dimensions.
    total = np.zeros((*input.shape[:2], prod(grid.shape[1:-1])), _compute_dtype(x.dtype))
    for positions, inside, combination in _combinations(
        dims, input, grid, interpolation, padding, align
    ):
        weight = prod(tap.weight for tap in combination)
        total += _elements(x, positions, inside) * weight[:, None]
    out = empty_contiguous([*input.shape[:2], *grid.shape[1:-1]], input.dtype)
    array(out)[...] = total.reshape(out.shape)
    return out


# (N, C, H, W) at the points (x, y) of (N, H', W', 2): (N, C, H', W'). -1 and 1 are the edges; x
# runs along W. `interpolation_mode` 0 bilinear, 1 nearest, 2 bicubic; `padding_mode` 0 zeros, 1
# border, 2 reflection. Raises RuntimeError for sizes that do not fit, NotImplementedError for a
# dtype that is not floating.
grid_sampler_2d = partial(_sample, 2, "grid_sampler_2d_cpu_kernel_impl")
# (N, C, D, H, W) at the points (x, y, z) of (N, D', H', W', 3): (N, C, D', H', W'). There is no
# bicubic mode.
grid_sampler_3d = partial(_sample, 3, "grid_sampler3d_cpu")


def _gradients(
    dims: int,
    grad_output: Tensor,
    input: Any,
    grid: Any,
    interpolation: int,
    padding: int,
    align: bool,
    output_mask: Sequence[bool],
) -> tuple[Any, Any]:
    """The gradients of input and grid; None for those that `output_mask` does not ask for."""
    _check(dims, f"grid_sampler_{dims}d_backward", input, grid, interpolation)
    n, c = input.shape[:2]
    check_sizes(
        f"grid_sampler_{dims}d_backward", "grad_output", grad_output, (n, c, *grid.shape[1:-1])
    )
    check_same_dtype(input, grad_output)
    x = array(input).reshape(n, c, prod(input.shape[2:]))
    g = array(grad_output).reshape(n, c, prod(grid.shape[1:-1]))
    dx = np.zeros((n, x.shape[2], c), _compute_dtype(x.dtype))
    dgrid = np.zeros((n, g.shape[2], dims), _compute_dtype(x.dtype))
    sample = np.arange(n)[:, None]
    for positions, inside, combination in _combinations(
        dims, input, grid, interpolation, padding, align
    ):
        if output_mask[0]:
            weight = prod(tap.weight for tap in combination)
            # positions repeat, so np.add.at; it indexes (N, elements, C), with C last
            part = np.where(inside[:, None], g * weight[:, None], 0)
            np.add.at(dx, (sample, positions), part.transpose(0, 2, 1))
        if output_mask[1]:
            product_with_gradient = (_elements(x, positions, inside) * g).sum(1)
            # the product rule: in dimension d the derivative of the weight, the weight elsewhere
            for d in range(dims):
                derivative = prod(
                    tap.slope if i == d else tap.weight for i, tap in enumerate(combination)
                )
                dgrid[:, :, d] += product_with_gradient * derivative
    gradients = []
    for like, gradient, wanted in (
        (input, dx.transpose(0, 2, 1), output_mask[0]),
        (grid, dgrid, output_mask[1]),
    ):
        out = empty_contiguous(like.shape, like.dtype) if wanted else None
        if out is not None:
            array(out)[...] = gradient.reshape(out.shape)
        gradients.append(out)
    return gradients[0], gradients[1]


# The gradients of the image and of the grid; None for those that `output_mask` does not ask for.
grid_sampler_2d_backward = partial(_gradients, 2)
# The gradients of the volume and of the grid; None for those that `output_mask` does not ask for.
grid_sampler_3d_backward = partial(_gradients, 3)


def _elements(x: Array, positions: Array, inside: Array) -> Any:
    """The elements (N, C, points) of x (N, C, elements) at `positions` (N, points); 0 for
    those outside.
    """
    return np.where(inside[:, None], np.take_along_axis(x, positions[:, None], 2), 0)


def _combinations(
    dims: int, input: Tensor, grid: Tensor, interpolation: int, padding: int, align: bool
) -> Iterator[tuple[Any, Any, tuple[Tap, ...]]]:
    """For every combination of taps: the element's position in the flattened image, whether it is
    inside, both (N, points), and the taps of x, y (and z).
    """
    points = array(grid).reshape(grid.shape[0], prod(grid.shape[1:-1]), dims)
    points = points.astype(_compute_dtype(points.dtype), copy=False)
    sizes = input.shape[:1:-1]  # x belongs to the last dimension
    with np.errstate(invalid="ignore"):
        along = [taps(points[..., d], sizes[d], interpolation, padding, align) for d in range(dims)]
    for combination in product(*along):
        inside = np.logical_and.reduce([tap.inside for tap in combination])
        positions = np.zeros(inside.shape, np.int64)
        # row-major: (z * H + y) * W + x
        for tap, size in zip(reversed(combination), reversed(sizes)):
            positions = positions * size + np.where(inside, tap.index, 0).astype(np.int64)
        yield positions, inside, combination


def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Any:
    """The points (N, H, W, 2) of an image of `size` (N, C, H, W), mapped by `theta` (N, 2, 3); or
    the points (N, D, H, W, 3) of a volume (N, C, D, H, W), mapped by `theta` (N, 3, 4).

    Raises RuntimeError for other sizes.
    """
    if len(size) not in (4, 5):
        raise RuntimeError("AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.")
    n, space = size[0], list(size[2:])
    points = array(theta) if theta.dim() == 3 else None
    if points is None or points.shape != (n, len(space), len(space) + 1):
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{n}, "
            f"{len(space) + 1}] but got: {list(theta.shape)}"
        )
    check_dtype("linspace_cpu", theta.dtype, FLOATING)
    # (H * W, 3) @ (N, 3, 2): the last column of theta is the translation, which meets the 1
    base = _base_grid(space, align_corners, _compute_dtype(points.dtype))
    out = empty_contiguous([n, *space, points.shape[1]], theta.dtype)
    array(out)[...] = (base.reshape(-1, base.shape[-1]) @ points.transpose(0, 2, 1)).reshape(
        out.shape
    )
    return out


def affine_grid_generator_backward(grad: Tensor, size: Sequence[int], align_corners: bool) -> Any:
    """The gradient of `theta`, (N, 2, 3) or (N, 3, 4), a sum over the points. Raises RuntimeError
    for other sizes.
    """
    if len(size) not in (4, 5):
        raise RuntimeError("AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.")
    check_sizes("affine_grid_generator_backward", "grad", grad, (size[0], *size[2:], len(size) - 2))
    check_dtype("linspace_cpu", grad.dtype, FLOATING)
    space = size[2:]
    base = from_array(_base_grid(space, align_corners, grad.dtype.np)).to(grad.device)
    points = grad.reshape([size[0], prod(space), len(space)])
    return points.transpose(1, 2).matmul(base.reshape([prod(space), len(space) + 1]))


def _base_grid(space: Sequence[int], align_corners: bool, dtype: Any) -> Any:
    """The coordinates x, y (and z) of every element, and 1: (*space, dims + 1)."""
    grid = np.ones((*space, len(space) + 1), dtype)
    for d, n in enumerate(reversed(space)):
        steps = np.linspace(-1, 1, n) if n > 1 else np.zeros(n)
        # without align_corners -1 and 1 are the outer edges, half an element from the first middle
        if not align_corners and n:
            steps = steps * (n - 1) / n
        grid[..., d] = steps.astype(dtype).reshape(-1, *[1] * d)
    return grid


def _compute_dtype(dtype: Any) -> Any:
    """The dtype to compute in: single precision for half, else itself."""
    return np.dtype(np.float32) if dtype == np.float16 else dtype


def _check(dims: int, name: str, input: Tensor, grid: Tensor, interpolation: int) -> None:
    """Raises RuntimeError for sizes or dtypes that do not fit and for bicubic in three dimensions,
    NotImplementedError unless floating.
    """
    _check_sizes(input, grid)
    if input.dim() != dims + 2 or grid.dim() != dims + 2:
        raise RuntimeError(
            f"grid_sampler(): expected {dims + 2}D input and grid with same number of dimensions, "
            f"but got input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if dims == 3 and interpolation == CUBIC:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    check_dtype(name, input.dtype, FLOATING)
    check_same_dtype(input, grid)


def _check_sizes(input: Tensor, grid: Tensor) -> None:
    """Raises RuntimeError for batches or coordinates that do not fit, and for an empty image."""
    if not input.dim() or not grid.dim() or input.shape[0] != grid.shape[0]:
        raise RuntimeError(
            "grid_sampler(): expected grid and input to have same batch size, but got input with "
            f"sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if grid.shape[-1] != input.dim() - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {input.dim() - 2} in last dimension, but "
            f"got grid with sizes {list(grid.shape)}"
        )
    for i in range(2, input.dim()):
        if input.shape[i] == 0:
            raise RuntimeError(
                "grid_sampler(): expected input to have non-empty spatial dimensions, but input "
                f"has sizes {list(input.shape)} with dimension {i} being empty"
            )
