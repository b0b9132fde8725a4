"""The gradients of a convolution (`convolution_backward` in
`aten/src/ATen/native/Convolution.cpp`).

Convolution is linear in its input and in its weight, so each gradient is again a sum of products.
The input's gradient is the transposed convolution of the output's gradient; the weight's correlates
the output's gradient with the input; the bias's is a sum. For a transposed convolution, input and
output exchange their roles.

How the real one differs: like `convolution` it chooses among many backends; gradients that were not
asked for are undefined tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from internals.aten.dtype_checks import check_same_dtype
from internals.aten.on_device import on_device
from internals.core import dtype as dt
from internals.core.device import CPU
from internals.core.tensor_impl import Array, Tensor, array, empty_contiguous, from_array
from internals.machine_code.settings import use_compiled

from .convolution import COMPILED, compiled_fits, forward, input_gradient, weight_gradient, work
from .convolution_checks import checked_arguments, empty_gradients
from .gradient_checks import check_sizes
from .memory_format import empty_as


def convolution_backward(
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    bias_sizes: Sequence[int] | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    output_mask: Sequence[bool],
) -> tuple[Any, Any, Any]:
    """(grad_input, grad_weight, grad_bias); None for those that `output_mask` does not ask for.

    `weight` is (O, C/groups, *K), or transposed (C, O/groups, *K). Raises RuntimeError for sizes or
    dtypes that do not fit.
    """
    stride, padding, dilation, sizes = checked_arguments(
        input, weight, None, stride, padding, dilation, transposed, output_padding, groups
    )
    check_sizes("convolution_backward", "grad_output", grad_output, sizes)
    check_same_dtype(input, grad_output)
    how = stride, padding, dilation
    if not input.shape[1]:
        return empty_gradients(input, weight, bias_sizes, output_mask)
    if input.device is not CPU:
        results = (
            empty_as(input, input.shape) if output_mask[0] else None,
            empty_contiguous(weight.shape, weight.dtype, weight.device) if output_mask[1] else None,
            empty_contiguous((sizes[1],), weight.dtype, weight.device) if output_mask[2] else None,
        )
        operands = grad_output, input, weight
        return on_device(
            "convolution.convolution_backward", results, *operands, how, transposed, groups
        )
    dx = dw = db = None
    places = (input if transposed else grad_output).numel()
    # `small` is what the plain convolution would return, with a result for each of `places`
    small, large = (input, grad_output) if transposed else (grad_output, input)
    compiled = use_compiled(work(places, weight, groups), COMPILED) and compiled_fits(input, weight)
    if compiled and _agree(small, large, weight, how, groups):
        from internals.aten.compiled.convolution_gradients import gradients

        return gradients(grad_output, input, weight, how, transposed, groups, output_mask)
    dy, x, w = (_computable(t) for t in (grad_output, input, weight))
    if output_mask[0]:
        dx = (
            forward(dy, w, *how, groups)
            if transposed
            else input_gradient(dy, w, x.shape, *how, groups)
        )
    if output_mask[1]:
        small, large = (x, dy) if transposed else (dy, x)
        dw = weight_gradient(small, large, w.shape[2:], *how, groups)
    if output_mask[2]:
        db = dy.sum((0, *range(2, dy.ndim)))
    return _tensor(dx, input), _tensor(dw, weight), _tensor(db, weight)


def _agree(
    small: Tensor,
    large: Tensor,
    weight: Tensor,
    how: Sequence[Sequence[int]],
    groups: int,
) -> bool:
    """Whether a convolution of `large` has the sizes of `small`, and all dtypes are equal. Machine
    code, which checks no bounds, relies on it.
    """
    dimensions = zip(large.shape[2:], weight.shape[2:], *how)
    sizes = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in dimensions]
    expected = [large.shape[0], weight.shape[0], *sizes]
    fits = list(small.shape) == expected and large.shape[1] == weight.shape[1] * groups
    return fits and small.dtype is large.dtype is weight.dtype


def _computable(t: Tensor) -> Any:
    """The tensor's array; half precision as float32."""
    a = array(t)
    return a.astype(np.float32) if t.dtype is dt.float16 else a


def _tensor(gradient: Array | None, like: Tensor) -> Any:
    """A gradient as a tensor with the dtype of `like`; None stays None."""
    return None if gradient is None else from_array(gradient.astype(like.dtype.np, copy=False))
