"""Checks of the sizes and dtypes of resampling (`upsample_{1,2,3}d_common_check` and
`compute_output_size` in `aten/src/ATen/native/UpSample.h`).

How the real one differs: a scale factor that is not finite raises the same error there, but where
the size is converted to an integer.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

from internals.aten.dtype_checks import not_implemented
from internals.core import dtype as dt
from internals.core.tensor_impl import Tensor

from .gradient_checks import check_grad_output


def check_input(t: Tensor, output_size: Sequence[int], dims: int, kernel: str) -> None:
    """Raises RuntimeError unless `t` is (N, C, ...) with `dims` more sizes, all of them positive,
    and NotImplementedError, naming `kernel`, unless the dtype is a floating one or uint8.
    """
    _check_sizes(t.shape, output_size, dims)
    if t.shape[1] == 0:
        raise RuntimeError(
            f"Non-empty {dims + 2}D data tensor expected but got a tensor with sizes "
            f"{list(t.shape)}"
        )
    if not (t.dtype.is_floating_point or t.dtype is dt.uint8):
        raise not_implemented(kernel, t.dtype)


def check_gradient(
    grad: Tensor, output_size: Sequence[int], input_size: Sequence[int], dims: int
) -> None:
    """Raises RuntimeError unless `grad` is (N, C, *output_size), for an input of `input_size`
    (N, C, ...).
    """
    _check_sizes(input_size, output_size, dims)
    expected = [*input_size[:2], *output_size]
    if dims == 1:
        check_grad_output(grad, expected)
    elif grad.dim() != dims + 2:
        raise RuntimeError(
            f"Expected grad_output to be a tensor of dimension {dims + 2} but got: dimension "
            f"{grad.dim()}"
        )
    for dim, n in enumerate(expected):
        if grad.shape[dim] != n:
            raise RuntimeError(
                f"Expected grad_output to have the same shape as output; output.size({dim}) = {n} "
                f"but got grad_output.size({dim}) = {grad.shape[dim]}"
            )


def sizes_and_scales(
    t: Tensor, output_size: Any, scale_factors: Any, dims: int
) -> tuple[list[int], list[float | None]]:
    """(sizes, scales) of a resampling of `t`, for the `.vec` overloads, which `interpolate` calls.

    Either `output_size` is given, and the scales are None, or `scale_factors`, and the sizes are
    those of `t` times them, rounded down. Raises RuntimeError for both or neither.
    """
    if (output_size is None) == (scale_factors is None):
        raise RuntimeError("Must specify exactly one of output_size and scale_factors")
    given = scale_factors if output_size is None else output_size
    if not len(given) == dims == t.dim() - 2:
        what = "scale_factors" if output_size is None else "output_size"
        raise RuntimeError(
            f"Expected {dims} numbers in {what} and an input of {dims + 2} dimensions, but got "
            f"{list(given)} and an input of sizes {list(t.shape)}"
        )
    if output_size is not None:
        return list(output_size), [None] * dims
    if not all(map(isfinite, scale_factors)):
        raise RuntimeError("value cannot be converted to type int64_t without overflow")
    return [int(n * s) for n, s in zip(t.shape[2:], scale_factors)], list(scale_factors)


def _check_sizes(input_size: Sequence[int], output_size: Sequence[int], dims: int) -> None:
    """Raises RuntimeError unless the input is (N, C, ...) with `dims` more sizes, the output has
    `dims` sizes, and all of them are positive.
    """
    if len(output_size) != dims:
        raise RuntimeError(
            f"It is expected output_size equals to {dims}, but got size {len(output_size)}"
        )
    if len(input_size) != dims + 2:
        raise RuntimeError(
            f"It is expected input_size equals to {dims + 2}, but got size {len(input_size)}"
        )
    if min(*input_size[2:], *output_size) <= 0:
        axes, joined = "DHW"[3 - dims :], " and " if dims == 1 else " "
        before, after = (
            ", ".join(f"{a}: {n}" for a, n in zip(axes, s)) for s in (input_size[2:], output_size)
        )
        raise RuntimeError(
            "Input and output sizes should be greater than 0, but got input "
            f"({before}){joined}output ({after})"
        )
