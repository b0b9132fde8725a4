"""The gradients of layer, group and batch normalization on the device
(`aten/src/ATen/native/cuda/layer_norm_kernel.cu`, `Normalization.cu`).

The formulas are in `kernels/normalization_backward.py`. `results` are the gradients of input,
weight and bias; None for one that is not needed.

How the real one differs: there is a kernel for each norm, and for layer norm one more for tall
matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from internals._generated import ops
from internals.aten.native.memory_format import suggests_channels_last
from internals.core.tensor_impl import Tensor, empty_contiguous

from ..kernels import normalization as forward_kernels, normalization_backward as kernels
from ..kernels.block_reduction import accumulator, block_total
from ..kernels.copy import offset_of
from ..kernels.reduction import evenly
from ..launch import counted, launch_1d
from .normalization import arrays, contiguous, dense, distance_of_channels, reciprocal_deviation
from .opmath import acc_type, dtype_of, scalar_type
from .reducing import Rows, as_rows, contiguous_rows, plan_for, processors, write_back

Numbers = tuple[int, int, int]  # groups, channels of a group, elements of a channel


Results = tuple[Any, Any, Any]


def layer_norm(
    results: Results,
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
) -> None:
    """Fills `results` for layer norm; mean and rstd have one element for each row."""
    dx, dw, db = results
    g, x, rows = grad_out.contiguous(), input.contiguous(), mean.numel()
    if dx is not None:
        _rows_gradient(dx, "by_element", g, x, mean, rstd, weight, (1, 1, 1))
    parameter = db if dw is None else dw
    if parameter is not None:
        # (rows, columns), summed over its rows
        columns = parameter.numel()
        layout = as_rows((rows, columns), (columns, 1), (0,))
        _write((dw, db), _parameter_gradients("of_row", g, x, mean, rstd, layout, (1, 1, 1)))


def group_norm(
    results: Results,
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    sizes: Sequence[int],
    group: int,
) -> None:
    """Fills `results` for group norm. `sizes` are (N, channels, elements of a channel), `group` is
    the number of groups; mean and rstd are (N, groups).
    """
    dx, dw, db = results
    g, x = grad_out.contiguous(), input.contiguous()
    n, channels, each = sizes
    numbers = (group, channels // group, each)
    if dx is not None:
        _rows_gradient(dx, "by_group", g, x, mean, rstd, weight, numbers)
    if dw is not None or db is not None:
        # (n, channels, each), summed over all but the channels
        layout = as_rows((n, channels, each), (channels * each, each, 1), (0, 2))
        _write((dw, db), _parameter_gradients("of_group", g, x, mean, rstd, layout, numbers))


def batch_norm(
    results: Results,
    grad_out: Tensor,
    input: Tensor,
    weight: Tensor | None,
    mean: Tensor,
    scale: Tensor,
    train: bool,
    eps: float,
) -> None:
    """`scale` is rstd of the batch in training (`train`), otherwise the running variance."""
    dx, channels, T = results[0], input.size(1), acc_type(input.dtype)
    order = suggests_channels_last(input)
    x, g = dense(input, order), dense(grad_out, order)
    rstd = scale if train else reciprocal_deviation(scale, eps, dtype_of(T))
    # in training, the gradient of the input needs the sums of g * x̂ and g too
    sums: Any = ()
    if train or results[1] is not None or results[2] is not None:
        layout = as_rows(
            tuple(x.shape), tuple(x.stride()), tuple(k for k in range(x.dim()) if k != 1)
        )
        sums = _parameter_gradients("of_channel", g, x, mean, rstd, layout, (1, 1, 1))
        _write(results[1:], sums)
    if dx is None:
        return
    n, inner = input.numel(), distance_of_channels(x)
    types = {"T": T, "OUT": scalar_type(input.dtype), "weight_of": _weight_of(weight, T)}
    if train:
        tensors = [dx, g, x, *contiguous(mean, rstd, weight), *sums]
        count = T(n // channels if channels else 0)
        launch_1d(
            kernels.channels_gradient.bind(**types), n, *arrays(tensors), count, n, channels, inner
        )
    else:
        tensors = [dx, g, *contiguous(rstd, weight)]
        launch_1d(kernels.scaled_gradient.bind(**types), n, *arrays(tensors), n, channels, inner)


def _rows_gradient(
    dx: Tensor,
    channel: str,
    g: Tensor,
    x: Tensor,
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    numbers: Numbers,
) -> None:
    """The gradient of the input of a layer or group norm."""
    T, rows = acc_type(x.dtype), mean.numel()
    if x.numel():
        out = dx if dx.is_contiguous() else empty_contiguous(x.shape, x.dtype, x.device)
        n = x.numel() // rows
        plan = plan_for(contiguous_rows(rows, n, 1), processors(x.device.index), False)
        kernel = rows_kernel(channel, plan.along_x, T, scalar_type(x.dtype), weight is None)
        tensors = [out, g, x, *contiguous(mean, rstd, weight)]
        counted(kernel, n)[plan.grid, plan.block](*arrays(tensors), rows, n, *numbers)
        write_back((out,), (dx,))


def _write(results: Sequence[Any], sums: Sequence[Any]) -> None:
    """Copies the sums to the gradients that are needed, in their shape and dtype."""
    for t, total in zip(results, sums):
        if t is not None:
            ops.copy_(t, total.reshape(t.shape), False)


def _parameter_gradients(
    statistic: str, g: Tensor, x: Tensor, mean: Tensor, rstd: Tensor, layout: Rows, numbers: Numbers
) -> tuple[Any, Any]:
    """The sums of g * x̂ and of g for each row of `layout`, as two vectors of the accumulation's
    dtype. A row that was split has several partial sums, which are added here.
    """
    T = acc_type(x.dtype)
    plan = plan_for(layout, processors(x.device.index))
    dw, db = (
        empty_contiguous((plan.splits, layout.height), dtype_of(T), x.device) for _ in range(2)
    )
    if layout.height:
        kernel = sums_kernel(statistic, plan.along_x, len(layout.gone) == 1, T)
        tensors = [dw, db, g, x, *contiguous(mean, rstd)]
        kernel = counted(kernel, max(layout.height, layout.length))
        kernel[plan.grid, plan.block](
            *arrays(tensors), layout.height, layout.length, *numbers, *layout
        )
    return (dw.sum(0), db.sum(0)) if plan.splits > 1 else (dw[0], db[0])


@cache
def rows_kernel(channel: str, along_x: bool, T: type, OUT: type, no_weight: bool) -> Any:
    """The kernel for the gradient of the input of a layer or group norm."""
    return kernels.rows_gradient.bind(
        T=T,
        OUT=OUT,
        ALONG_X=along_x,
        pair_of_lanes=block_total(accumulator("pair", T, T), kernels.add_pairs, along_x),
        channel=getattr(forward_kernels, channel),
        weight_of=_weight_of(None if no_weight else 1, T),
    )


@cache
def sums_kernel(statistic: str, along_x: bool, is_even: bool, T: type) -> Any:
    """The kernel for the gradients of weight and bias; `is_even`: a row has a single dimension."""
    return kernels.parameter_gradients.bind(
        T=T,
        ALONG_X=along_x,
        pair_of_lanes=block_total(accumulator("pair", T, T), kernels.add_pairs, along_x),
        statistic=getattr(kernels, statistic),
        reach=evenly if is_even else offset_of,
    )


def _weight_of(weight: int | Tensor | None, T: type) -> Any:
    return (forward_kernels.one if weight is None else forward_kernels.parameter).bind(T=T)
