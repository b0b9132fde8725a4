"""The second derivative of sampling at the points of a grid
(`torch/csrc/autograd/FunctionsManual.cpp`).

An output is a weighted sum of image elements, `sum(weight * element)`, and the weights depend on
the grid. The gradient of the image needs the weights, that of the grid their first derivatives; so
the derivatives of these two gradients need first and second derivatives of the weights. All are
written in operators, on the taps of `internals.aten.native.grid_taps`, and can be differentiated
further.

How the real one differs: a function each for two and for three dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

from internals._generated import ops
from internals.aten.native.grid_taps import taps
from internals.core.tensor_impl import Tensor

if TYPE_CHECKING:
    from internals.aten.native.grid_taps import Tap


def grid_sampler_double_backward(
    grads: Sequence[Tensor | None],
    grad_output: Tensor,
    input: Tensor,
    grid: Tensor,
    interpolation: int,
    padding: int,
    align_corners: bool,
    mask: Sequence[bool],
) -> tuple[Any, Any, Any]:
    """The gradients of `grid_sampler_2d_backward`'s (grad_output, input, grid), or of the 3d one's.

    `grads` are the gradients of its two results, the gradient of the image and that of the grid;
    either may be None. `mask` says which of the three are wanted; the others are None.
    """
    of_image, of_grid = grads
    sums: list[Any] = [None, None, None]
    options = interpolation, padding, align_corners
    if of_image is not None:
        # Sampling is linear in the image, and the image's gradient is its adjoint, applied to
        # grad_output; the adjoint's adjoint is sampling: `of_image` at the same points.
        sample = ops.grid_sampler_2d if input.dim() == 4 else ops.grid_sampler_3d
        back = ops.grid_sampler_2d_backward if input.dim() == 4 else ops.grid_sampler_3d_backward
        sums[0] = sample(of_image, grid, *options)
        sums[2] = back(grad_output, of_image, grid, *options, [False, True])[1]
    if of_grid is not None:
        for i, part in enumerate(_through_derivatives(of_grid, grad_output, input, grid, *options)):
            sums[i] = part if sums[i] is None else sums[i] + part
    return tuple(r if keep else None for r, keep in zip(sums, mask))  # type: ignore[return-value]


def _through_derivatives(
    of_grid: Tensor,
    grad_output: Tensor,
    input: Tensor,
    grid: Tensor,
    interpolation: int,
    padding: int,
    align_corners: bool,
) -> tuple[Any, Any, Any]:
    """The gradients of `sum(of_grid * gradient of the grid)` by grad_output, input and grid, summed
    over all combinations of taps, one tap for each dimension.
    """
    dims, (n, c) = input.dim() - 2, input.shape[:2]
    # a grid names x before y before z, so sizes are (W, H) or (W, H, D)
    sizes, points = input.shape[:1:-1], prod(grid.shape[1:-1])
    # x: (N, C, W * H * D), g: (N, C, points); along, step: for each dimension (N, points)
    x, g = input.reshape([n, c, prod(sizes)]), grad_output.reshape([n, c, points])
    along = [d.squeeze(-1) for d in grid.reshape([n, points, dims]).split(1, -1)]
    step = [d.squeeze(-1) for d in of_grid.reshape([n, points, dims]).split(1, -1)]
    to_output, to_input, to_grid = g * 0, x * 0, [d * 0 for d in along]
    for combination in product(
        *(taps(along[d], sizes[d], interpolation, padding, align_corners) for d in range(dims))
    ):
        # the position of this element in its flattened image, z * H * W + y * W + x; 0 for a tap
        # outside, whose element is multiplied by 0 below
        inside, position = combination[0].inside, along[0].detach() * 0
        for tap in combination[1:]:
            inside = inside & tap.inside
        for tap, size in zip(reversed(combination), reversed(sizes)):
            position = position * size + tap.index.detach().where(inside, position * 0)
        index = position.long().unsqueeze(1).expand([n, c, points])
        element = x.gather(2, index) * inside.unsqueeze(1)  # (N, C, points)
        # how fast this element's weight changes as the point moves by `step`: (N, points)
        slope = sum(step[a] * _derivative(combination, [a]) for a in range(dims))
        to_output = to_output + element * slope.unsqueeze(1)
        to_input = to_input.scatter_add(2, index, g * (slope * inside).unsqueeze(1))
        weight_grad = (element * g).sum(1)  # what a change of the weight would change: (N, points)
        for b in range(dims):
            to_grid[b] = to_grid[b] + weight_grad * sum(
                step[a] * _derivative(combination, [a, b]) for a in range(dims)
            )
    return (
        to_output.reshape(grad_output.shape),
        to_input.reshape(input.shape),
        ops.stack(to_grid, -1).reshape(grid.shape),
    )


def _derivative(combination: Sequence[Tap], by: list[int]) -> Any:
    """The derivative of the product of weights by the one or two dimensions in `by`.

    Each weight depends on its own dimension only, so each factor is differentiated as often as its
    dimension occurs in `by`: 0, 1 or 2 times.
    """
    return prod((tap.weight, tap.slope, tap.bend)[by.count(d)] for d, tap in enumerate(combination))
