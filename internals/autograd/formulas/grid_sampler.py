"""The second derivative of sampling at the points of a grid
(`torch/csrc/autograd/FunctionsManual.cpp`).

A value is a sum over elements, times weights that depend on the grid: `sum(weight * element)`. The
gradient of the image is made of the weights, that of the grid of their slopes; so the derivatives
of these gradients are made of slopes and of second derivatives. All are written in operators, on
the taps of `internals.aten.native.grid_taps`, and so have derivatives themselves.

How the real one differs: a function each for two and for three dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

from internals._generated import ops
from internals.aten.native.grid_taps import taps

if TYPE_CHECKING:
    from internals._tensor import Tensor
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
    """The gradients of grad_output, input and grid, from those of the image's gradient and of the
    grid's; None for either.
    """
    of_image, of_grid = grads
    results: list[Any] = [None, None, None]
    options = interpolation, padding, align_corners
    if of_image is not None:
        # the image's gradient is linear in grad_output: back means sampling again
        sample = ops.grid_sampler_2d if input.dim() == 4 else ops.grid_sampler_3d
        back = ops.grid_sampler_2d_backward if input.dim() == 4 else ops.grid_sampler_3d_backward
        results[0] = sample(of_image, grid, *options)
        results[2] = back(grad_output, of_image, grid, *options, [False, True])[1]
    if of_grid is not None:
        for i, part in enumerate(_through_derivatives(of_grid, grad_output, input, grid, *options)):
            results[i] = part if results[i] is None else results[i] + part
    return tuple(r if wanted else None for r, wanted in zip(results, mask))  # type: ignore[return-value]


def _through_derivatives(
    of_grid: Tensor,
    grad_output: Tensor,
    input: Tensor,
    grid: Tensor,
    interpolation: int,
    padding: int,
    align_corners: bool,
) -> tuple[Any, Any, Any]:
    """The gradients of `sum(of_grid * gradient of the grid)`, for every combination of taps."""
    dims, (n, c) = input.dim() - 2, input.shape[:2]
    sizes, points = input.shape[:1:-1], prod(grid.shape[1:-1])
    x, g = input.reshape([n, c, prod(sizes)]), grad_output.reshape([n, c, points])
    along = [d.squeeze(-1) for d in grid.reshape([n, points, dims]).split(1, -1)]
    step = [d.squeeze(-1) for d in of_grid.reshape([n, points, dims]).split(1, -1)]
    to_output, to_input, to_grid = g * 0, x * 0, [d * 0 for d in along]
    for combination in product(
        *(taps(along[d], sizes[d], interpolation, padding, align_corners) for d in range(dims))
    ):
        inside, place = combination[0].inside, along[0].detach() * 0
        for tap in combination[1:]:
            inside = inside & tap.inside
        for tap, size in zip(reversed(combination), reversed(sizes)):
            place = place * size + tap.index.detach().where(inside, place * 0)
        index = place.long().unsqueeze(1).expand([n, c, points])
        element = x.gather(2, index) * inside.unsqueeze(1)
        slope = sum(step[a] * _derivative(combination, [a]) for a in range(dims))
        to_output = to_output + element * slope.unsqueeze(1)
        to_input = to_input.scatter_add(2, index, g * (slope * inside).unsqueeze(1))
        felt = (element * g).sum(1)
        for b in range(dims):
            to_grid[b] = to_grid[b] + felt * sum(
                step[a] * _derivative(combination, [a, b]) for a in range(dims)
            )
    return (
        to_output.reshape(grad_output.shape),
        to_input.reshape(input.shape),
        ops.stack(to_grid, -1).reshape(grid.shape),
    )


def _derivative(combination: Sequence[Tap], by: list[int]) -> Any:
    """The derivative of the product of weights by the dimensions in `by`: one or two."""
    return prod((tap.weight, tap.slope, tap.bend)[by.count(d)] for d, tap in enumerate(combination))
