"""The gradients of layer, group and batch normalization
(`native/cpu/{layer,group}_norm_kernel.cpp`, `Normalization.cpp`).

With x̂ = (x - mean) * rstd, where rstd is 1 / standard deviation, the output is x̂ * weight + bias.
So the gradient of bias is the sum of g, that of weight the sum of g * x̂. Mean and rstd depend on
the input too: adding a constant to it, or stretching it, changes nothing. So its gradient is
h = g * weight without the part that is constant and the part along x̂:

    rstd * (h - average of h - x̂ * average of h * x̂)

The averages are over the elements that were normalized together. A batch normalization in
evaluation uses constants: there the gradient is only rstd * h. All three norms run through
`_gradients`, on arrays whose sizes they choose so that everything broadcasts.

How the real one differs: it has a kernel for each, which sums in one pass, in threads, and in
double precision for batch norm.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from internals.aten.on_device import on_device
from internals.core import dtype as dt
from internals.core.device import CPU
from internals.core.float_errors import quiet, restore
from internals.core.tensor_impl import Tensor, array, empty_contiguous, from_array
from internals.machine_code.settings import settings, use_compiled

from .memory_format import empty_as
from .normalization import COMPILED, wide
from .normalization_checks import (
    check_batch_norm_backward,
    check_group_norm_backward,
    check_layer_norm_backward,
)
from .reduction_tools import sum_of_products


def native_layer_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    normalized_shape: Sequence[int],
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    output_mask: Sequence[bool],
) -> tuple[Any, Any, Any]:
    """(grad_input, grad_weight, grad_bias); None for those that `output_mask` does not ask for.

    Raises RuntimeError if it asks for the gradient of a parameter that is None.
    """
    check_layer_norm_backward(
        grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask
    )
    results = _new_gradients(input, normalized_shape, (weight, bias), output_mask)
    if input.device is not CPU:
        return on_device(
            "normalization_backward.layer_norm", results, grad_out, input, mean, rstd, weight
        )
    if (
        input.numel() >= settings.least
        and output_mask[0]
        and (weight is not None or not any(output_mask[1:]))
    ):
        sums = _compiled_layer_norm(grad_out, input, mean, rstd, weight, results[0])
        if sums is not None:
            return results[0], *_filled(results[1:], sums)
    # the last dimensions were normalized over; the parameters repeat along the others
    rows = input.dim() - len(normalized_shape)
    others, over = tuple(range(rows)), tuple(range(rows, input.dim()))
    operands = wide(grad_out), wide(input), wide(mean), wide(rstd), wide(weight)
    return _filled(results, _gradients(*operands, over, others, output_mask, True))


def native_group_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    output_mask: Sequence[bool],
) -> tuple[Any, Any, Any]:
    """(grad_input, grad_weight, grad_bias) for N samples of C channels in `group` groups."""
    check_group_norm_backward(grad_out, input, mean, rstd, weight, N, C, HxW, group)
    # the parameters have the dtype of the statistics
    results, given = (
        _new_gradients(input, (C,), (mean, mean), output_mask),
        (grad_out, input, mean, rstd, weight),
    )
    if input.device is not CPU:
        return on_device("normalization_backward.group_norm", results, *given, (N, C, HxW), group)
    # statistics are (N, group, 1, 1), parameters (1, group, C // group, 1)
    sizes = (N, group, C // group, HxW)
    g, x = (wide(t).reshape(sizes) for t in (grad_out, input))
    m, r = (wide(t).reshape(N, group, 1, 1) for t in (mean, rstd))
    w = None if weight is None else wide(weight).reshape(1, group, C // group, 1)
    return _filled(results, _gradients(g, x, m, r, w, (2, 3), (0, 3), output_mask, True))


def native_batch_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    weight: Any,
    running_mean: Any,
    running_var: Any,
    save_mean: Any,
    save_invstd: Any,
    train: bool,
    eps: float,
    output_mask: Sequence[bool],
) -> tuple[Any, Any, Any]:
    """(grad_input, grad_weight, grad_bias) for (N, C, ...), which was normalized by the saved
    statistics of the batch if `train`, else by the running ones.
    """
    n, channels = input.size(0), input.size(1)
    check_batch_norm_backward(
        grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train
    )
    saved = (save_mean, save_invstd) if train else (running_mean, running_var)
    if input.device is CPU and use_compiled(input.numel(), COMPILED):
        found = _compiled_batch_norm(grad_out, input, weight, *saved, train, eps, output_mask)
        if found is not None:
            return found
    # the statistics, and so the gradients, have the parameters' dtype
    results = _new_gradients(input, (channels,), saved[:1] * 2, output_mask)
    if input.device is not CPU:
        return on_device(
            "normalization_backward.batch_norm",
            results,
            grad_out,
            input,
            weight,
            *saved,
            train,
            eps,
        )
    # (N, C, rest), statistics and parameters (1, C, 1); -1 cannot be inferred without elements
    sizes = (n, channels, -1) if input.numel() else (n, channels, 0)
    g, x = (wide(t).reshape(sizes) for t in (grad_out, input))
    m, r = map(wide, saved)
    r = r if train else 1 / np.sqrt(r + eps)
    m, r, w = (
        None if p is None else p.reshape(1, channels, 1).astype(x.dtype, copy=False)
        for p in (m, r, wide(weight))
    )
    return _filled(results, _gradients(g, x, m, r, w, (0, 2), (0, 2), output_mask, train))


def _compiled_batch_norm(
    g: Tensor,
    x: Tensor,
    weight: Tensor | None,
    mean: Any,
    scale: Tensor,
    train: bool,
    eps: float,
    mask: Sequence[bool],
) -> Any:
    """The result of `native_batch_norm_backward`, from a compiled kernel; None where there is none.

    `scale` is the reciprocal standard deviation of the batch (`train`), or else the running
    variance."""
    from internals.aten.compiled import batch_norm as compiled

    rstd = scale if train else from_array((1 / np.sqrt(array(scale) + eps)).astype(scale.dtype.np))
    if not x.numel() or not compiled.fits(x, weight, mean, rstd, like=g):
        return None
    found = compiled.run_backward(g, x, weight, (mean, rstd), train, mask[0])
    return found and tuple(t if wanted else None for t, wanted in zip(found, mask))


def _gradients(
    g: Any,
    x: Any,
    mean: Any,
    rstd: Any,
    weight: Any,
    over: tuple[int, ...],
    others: tuple[int, ...],
    mask: Sequence[bool],
    follow_statistics: bool,
) -> tuple[Any, Any, Any]:
    """The gradients of input, weight and bias, for arrays that broadcast. `x` was normalized `over`
    some dimensions; the parameters are repeated along `others`.

    `follow_statistics` is False where mean and rstd are constants.
    """
    # batch norm: one weight and one rstd for all elements that were normalized together, so both
    # can wait until after the sums
    shared = others == over
    dx = dw = db = None
    token = quiet()
    # normal * missing is x̂: the factor rstd costs less on the sums than on every element of x
    normal, missing = x - mean, rstd
    if not shared:
        normal *= rstd
        missing = 1
    if mask[1]:
        dw = sum_of_products(g, normal, others) * missing
    if mask[2]:
        db = np.add.reduce(g, others, keepdims=True)
    if mask[0]:
        h = g if shared or weight is None else g * weight
        factor = rstd * weight if shared and weight is not None else rstd
        dx = h * factor
    if mask[0] and follow_statistics:
        # along: the sum of h * x̂; level: the sum of h; both are divided by -count and added to dx
        count = -x.dtype.type(prod([x.shape[d] for d in over]))
        if shared and dw is not None and db is not None:  # the same sums, as h is g
            along, level = dw, db
        else:
            along, level = (
                sum_of_products(h, normal, over) * missing,
                np.add.reduce(h, over, keepdims=True),
            )
        normal *= along * missing * factor / count
        dx += normal
        dx += level * factor / count
    restore(token)
    return dx, dw, db


def _compiled_layer_norm(
    g: Tensor, x: Tensor, mean: Tensor, rstd: Tensor, weight: Tensor | None, dx: Tensor
) -> Any:
    """Fill `dx` by machine code and return the gradients of weight and bias as arrays; None where
    numpy has to do it: other dtypes, few elements, operands that are not contiguous.
    """
    from internals.aten.compiled.normalization import THRESHOLD, layer_norm_backward

    d = x.dtype
    given = [t for t in (g, x, mean, rstd, weight, dx) if t is not None]
    if not x.numel() or d not in (dt.float32, dt.float64) or not use_compiled(x.numel(), THRESHOLD):
        return None
    if any(t.dtype is not d or not t.is_contiguous() for t in given):
        return None
    rows = mean.numel()
    if (
        g.shape != x.shape
        or rstd.numel() != rows
        or (weight is not None and weight.numel() * rows != x.numel())
    ):
        return None
    return layer_norm_backward(g, x, mean, rstd, weight, dx)


def _new_gradients(
    input: Tensor, sizes: Sequence[int], parameters: Sequence[Any], mask: Sequence[bool]
) -> Any:
    """New tensors for the gradients: like `input`, and of `sizes` with the parameters' dtypes. None
    for each that `mask` does not ask for, and for a parameter that is None.
    """
    dx = empty_as(input, input.shape) if mask[0] else None
    asked = [t if wanted else None for t, wanted in zip(parameters, mask[1:])]
    return dx, *[
        None if t is None else empty_contiguous(tuple(sizes), t.dtype, input.device) for t in asked
    ]


def _filled(results: Sequence[Any], gradients: Sequence[Any]) -> Any:
    """`results`, into which the gradients were copied; where a result is None, both are skipped."""
    for t, gradient in zip(results, gradients):
        if t is not None:
            array(t)[...] = gradient.reshape(t.shape)
    return results
