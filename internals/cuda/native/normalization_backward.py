"""The gradients of layer, group and batch normalization on the device (`native/cuda/layer_norm_kernel.cu`, `Normalization.cu`).

How the real one differs: there is a kernel for each norm, and for layer norm one more for tall matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import prod
from typing import Any

from internals.aten.native.memory_format import empty_as, suggests_channels_last
from internals.aten.native.normalization_checks import (
    check_batch_norm_backward,
    check_group_norm_backward,
    check_layer_norm_backward,
)
from internals.core import dtype as dt
from internals.core.tensor_impl import empty_contiguous

from ..kernels import normalization as forward_kernels
from ..kernels import normalization_backward as kernels
from ..kernels.block_reduction import accumulator, block_total
from ..kernels.copy import offset_of
from ..kernels.reduction import evenly
from ..launch import counted, launch_1d
from .normalization import arrays, contiguous, dense, distance_of_channels, reciprocal_deviation
from .opmath import acc_type, dtype_of, scalar_type
from .reducing import Rows, as_rows, contiguous_rows, plan_for, processors

Numbers = tuple[int, int, int]  # groups, channels of a group, elements of a channel


def native_layer_norm_backward(
    grad_out: Any,
    input: Any,
    normalized_shape: Sequence[int],
    mean: Any,
    rstd: Any,
    weight: Any,
    bias: Any,
    output_mask: Sequence[bool],
) -> tuple[Any, Any, Any]:
    """(grad_input, grad_weight, grad_bias); None for those that `output_mask` does not ask for.

    Raises RuntimeError if it asks for that of a parameter which is None.
    """
    check_layer_norm_backward(grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask)
    columns = prod(normalized_shape)
    rows = input.numel() // columns if columns else 0
    g, x = grad_out.contiguous(), input.contiguous()
    dx = dw = db = None
    if output_mask[0]:
        dx = _rows_gradient("by_element", g, x, mean, rstd, weight, rows, (1, 1, 1))
    if output_mask[1] or output_mask[2]:
        layout = as_rows((rows, columns), (columns, 1), (0,))
        sums = _parameter_gradients("of_row", g, x, mean, rstd, layout, (1, 1, 1))
        dw, db = (
            _parameter(s, normalized_shape, p.dtype) if wanted else None
            for s, p, wanted in zip(sums, (weight, bias), output_mask[1:])
        )
    return dx, dw, db


def native_group_norm_backward(
    grad_out: Any,
    input: Any,
    mean: Any,
    rstd: Any,
    weight: Any,
    N: int,
    C: int,
    HxW: int,
    group: int,
    output_mask: Sequence[bool],
) -> tuple[Any, Any, Any]:
    """(grad_input, grad_weight, grad_bias) for N samples of C channels in `group` groups."""
    check_group_norm_backward(grad_out, input, mean, rstd, weight, N, C, HxW, group)
    g, x = grad_out.contiguous(), input.contiguous()
    numbers = (group, C // group, HxW)
    dx = dw = db = None
    if output_mask[0]:
        dx = _rows_gradient("by_group", g, x, mean, rstd, weight, N * group, numbers)
    if output_mask[1] or output_mask[2]:
        layout = as_rows((N, C, HxW), (C * HxW, HxW, 1), (0, 2))
        sums = _parameter_gradients("of_group", g, x, mean, rstd, layout, numbers)
        dw, db = (_parameter(s, (C,), mean.dtype) for s in sums)
    return dx, dw if output_mask[1] else None, db if output_mask[2] else None


def native_batch_norm_backward(
    grad_out: Any,
    input: Any,
    weight: Any,
    running_mean: Any,
    running_var: Any,
    save_mean: Any,
    save_invstd: Any,
    train: bool,
    eps: float,
    output_mask: Sequence[bool],
) -> tuple[Any, Any, Any]:
    """(grad_input, grad_weight, grad_bias) for (N, C, ...), normalized by the saved statistics or (not `train`) the running."""
    channels, T = input.size(1), acc_type(input.dtype)
    check_batch_norm_backward(grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train)
    order = suggests_channels_last(input)
    x, g = dense(input, order), dense(grad_out, order)
    mean, rstd = save_mean, save_invstd
    if not train:
        mean, rstd = running_mean, reciprocal_deviation(running_var, eps, dtype_of(T))
    dx = dw = db = None
    if output_mask[1] or output_mask[2] or output_mask[0] and train:
        layout = as_rows(tuple(x.shape), tuple(x.stride()), tuple(k for k in range(x.dim()) if k != 1))
        dw, db = _parameter_gradients("of_channel", g, x, mean, rstd, layout, (1, 1, 1))
    if output_mask[0]:
        dx = empty_as(input, input.shape)
        n, inner = input.numel(), distance_of_channels(x)
        types = {"T": T, "OUT": scalar_type(input.dtype), "weight_of": _weight_of(weight, T)}
        if train:
            tensors = [dx, g, x, *contiguous(mean, rstd, weight), dw, db]
            count = T(n // channels if channels else 0)
            launch_1d(kernels.channels_gradient.bind(**types), n, *arrays(tensors), count, n, channels, inner)
        else:
            tensors = [dx, g, *contiguous(rstd, weight)]
            launch_1d(kernels.scaled_gradient.bind(**types), n, *arrays(tensors), n, channels, inner)
    d = (save_mean if train else running_mean).dtype
    return (
        dx,
        _parameter(dw, (channels,), d) if output_mask[1] else None,
        _parameter(db, (channels,), d) if output_mask[2] else None,
    )


def _rows_gradient(channel: str, g: Any, x: Any, mean: Any, rstd: Any, weight: Any, rows: int, numbers: Numbers) -> Any:
    """The gradient of the input of a layer or group norm."""
    T = acc_type(x.dtype)
    out = empty_contiguous(x.shape, x.dtype, x.device)
    if x.numel():
        n = x.numel() // rows
        plan = plan_for(contiguous_rows(rows, n, 1), processors(x.device.index), False)
        kernel = rows_kernel(channel, plan.along_x, T, scalar_type(x.dtype), weight is None)
        tensors = [out, g, x, *contiguous(mean, rstd, weight)]
        counted(kernel, n)[plan.grid, plan.block](*arrays(tensors), rows, n, *numbers)
    return out


def _parameter_gradients(
    statistic: str, g: Any, x: Any, mean: Any, rstd: Any, layout: Rows, numbers: Numbers
) -> tuple[Any, Any]:
    """The sums of g * x̂ and of g for each row of `layout`, in the type that sums are taken in."""
    T = acc_type(x.dtype)
    plan = plan_for(layout, processors(x.device.index))
    dw, db = (empty_contiguous((plan.splits, layout.height), dtype_of(T), x.device) for _ in range(2))
    if layout.height:
        kernel = sums_kernel(statistic, plan.along_x, len(layout.gone) == 1, T)
        tensors = [dw, db, g, x, *contiguous(mean, rstd)]
        kernel = counted(kernel, max(layout.height, layout.length))
        kernel[plan.grid, plan.block](*arrays(tensors), layout.height, layout.length, *numbers, *layout)
    return (dw.sum(0), db.sum(0)) if plan.splits > 1 else (dw[0], db[0])


@cache
def rows_kernel(channel: str, along_x: bool, T: Any, OUT: Any, no_weight: bool) -> Any:
    return kernels.rows_gradient.bind(
        T=T,
        OUT=OUT,
        ALONG_X=along_x,
        pair_of_lanes=block_total(accumulator("pair", T, T), kernels.add_pairs, along_x),
        channel=getattr(forward_kernels, channel),
        weight_of=_weight_of(None if no_weight else 1, T),
    )


@cache
def sums_kernel(statistic: str, along_x: bool, is_even: bool, T: Any) -> Any:
    return kernels.parameter_gradients.bind(
        T=T,
        ALONG_X=along_x,
        pair_of_lanes=block_total(accumulator("pair", T, T), kernels.add_pairs, along_x),
        statistic=getattr(kernels, statistic),
        reach=evenly if is_even else offset_of,
    )


def _weight_of(weight: Any, T: Any) -> Any:
    return (forward_kernels.one if weight is None else forward_kernels.parameter).bind(T=T)


def _parameter(sums: Any, sizes: Sequence[int], d: dt.dtype) -> Any:
    return sums.to(d).reshape(tuple(sizes))


def instances() -> list[tuple[Any, tuple[Any, ...]]]:
    """Kernels of this file, with the types of their arguments."""
    found: list[tuple[Any, tuple[Any, ...]]] = []
    numbers = (int, int, int)
    for d in (dt.float16, dt.float32, dt.float64):
        T, OUT, x = acc_type(d), scalar_type(d), f"{d.name}[:]"
        sums = f"{dtype_of(T).name}[:]"
        for along_x in (True, False):
            types: tuple[Any, ...] = (x, x, x, x, x, x, int, int, *numbers)
            found.append((rows_kernel("by_element", along_x, T, OUT, False), types))
            found.append((rows_kernel("by_group", along_x, T, OUT, True), (*types[:5], int, *types[6:])))
            types = (sums, sums, x, x, x, x, int, int, *numbers)
            found.append((sums_kernel("of_row", along_x, True, T), (*types, (int,), (int,), (int,), (int,))))
            two = (int, int)
            found.append((sums_kernel("of_group", along_x, False, T), (*types, (int,), (int,), two, two)))
        named = {"T": T, "OUT": OUT}
        found.append(
            (
                kernels.channels_gradient.bind(**named, weight_of=_weight_of(1, T)),
                (x, x, x, x, x, x, sums, sums, T, *numbers),
            )
        )
        found.append((kernels.scaled_gradient.bind(**named, weight_of=_weight_of(None, T)), (x, x, x, int, *numbers)))
    return found
