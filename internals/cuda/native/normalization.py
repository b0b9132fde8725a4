"""Layer, group and batch normalization on the device (`native/cuda/layer_norm_kernel.cu`, `Normalization.cu`).

How the real one differs: batch norm and group norm may be cuDNN's; the statistics of half-precision input are always single.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import nan, prod
from typing import Any

from internals._generated import ops
from internals.aten.native.memory_format import empty_as, suggests_channels_last
from internals.aten.native.normalization import write_batch_norm
from internals.aten.native.normalization_checks import (
    check_batch_norm,
    check_both,
    check_elements_of_groups,
    check_floating,
    check_group_norm,
    check_layer_norm,
    check_mixed,
)
from internals.core import dtype as dt
from internals.core.formats import channels_last
from internals.core.tensor_impl import empty_contiguous

from ..device_array import flat
from ..kernels import normalization as kernels
from ..kernels import reduction_functors as functors
from ..kernels.block_reduction import accumulator, block_total
from ..kernels.functors import add
from ..launch import counted, launch_1d
from .opmath import acc_type, dtype_of, scalar_type
from .reducing import Reduction, contiguous_rows, examples, plan_for, processors, reduce


def native_layer_norm(
    input: Any, normalized_shape: Sequence[int], weight: Any, bias: Any, eps: float
) -> tuple[Any, Any, Any]:
    """(output, mean, rstd) over the last len(normalized_shape) dimensions, which must have just those sizes."""
    n = len(normalized_shape)
    check_layer_norm(input, list(normalized_shape), weight, bias)
    check_floating("LayerNormKernelImpl", input)
    d = check_mixed(input, weight, bias)
    kept = input.shape[: input.dim() - n]
    output = empty_contiguous(input.shape, input.dtype, input.device)
    mean, rstd = (empty_contiguous((*kept, *(1,) * n), d, input.device) for _ in range(2))
    if input.numel():
        _normalize_rows("by_element", output, mean, rstd, input, weight, bias, prod(kept), eps, (1, 1, 1))
    elif mean.numel():
        ops.fill__Scalar(mean, nan)
        ops.fill__Scalar(rstd, nan)
    return output, mean, rstd


def native_group_norm(
    input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Any, Any, Any]:
    """(output, mean, rstd): N samples of C channels with HxW elements, the channels in `group` groups. mean is (N, group)."""
    check_group_norm(input, C, group, weight, bias)
    check_elements_of_groups("X", input, N, C, HxW)
    check_floating("GroupNormKernelImpl", input)
    d = check_mixed(input, weight, bias)
    output = empty_as(input, input.shape)
    mean, rstd = (empty_contiguous((N, group), d, input.device) for _ in range(2))
    if input.numel():
        result = output if output.is_contiguous() else empty_contiguous(input.shape, input.dtype, input.device)
        numbers = (group, C // group, HxW)
        _normalize_rows("by_group", result, mean, rstd, input, weight, bias, N * group, eps, numbers)
        if result is not output:
            ops.copy_(output, result, False)
    return output, mean, rstd


def native_batch_norm(
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
    out: Any = None,
) -> tuple[Any, Any, Any]:
    """(output, save_mean, save_invstd) for input (N, C, ...); the saved statistics are empty in evaluation.

    In training, running_mean and running_var (if given) move towards the batch's statistics by `momentum`, in place.
    """
    check_floating("batch_norm", input)
    d = check_mixed(input, weight, bias, running_mean, running_var)
    channels, T = input.size(1), acc_type(input.dtype)
    check_both(running_mean, running_var)
    check_batch_norm(channels, weight, bias, running_mean, running_var, training)
    output = empty_as(input, input.shape)
    saved = [empty_contiguous((channels if training else 0,), d, input.device) for _ in range(2)]
    x = dense(input)
    if training:
        mean, rstd, variance = (empty_contiguous((channels,), dtype_of(T), input.device) for _ in range(3))
        reduce(_statistics(T), x, [k for k in range(x.dim()) if k != 1], (mean, rstd, variance), T(eps))
        for target, value in zip(saved, (mean, rstd)):
            ops.copy_(target, value, False)
        count = input.numel() // channels if channels else 0
        for running, value, factor in (
            (running_mean, mean, 1),
            (running_var, variance, count / (count - 1) if count > 1 else nan),
        ):
            if running is not None:
                _move_average(running, value, momentum, factor, T)
    else:
        mean, rstd = running_mean, reciprocal_deviation(running_var, eps, dtype_of(T))
    if input.numel():
        kernel = _bound(kernels.normalize_channels, weight, bias, T=T, OUT=scalar_type(input.dtype))
        n, inner = input.numel(), distance_of_channels(x)
        tensors = [output, x, *contiguous(mean, rstd, weight, bias)]
        launch_1d(kernel, n, *arrays(tensors), n, channels, inner)
    return write_batch_norm((output, *saved), training, out)


def dense(input: Any, channels_last_order: bool | None = None) -> Any:
    """`input` without gaps, NHWC or row-major: in the order asked for, or else the one its strides suggest."""
    if suggests_channels_last(input) if channels_last_order is None else channels_last_order:
        return input.contiguous(memory_format=channels_last)
    return input.contiguous()


def distance_of_channels(x: Any) -> int:
    """How many elements lie between two channels of a dense tensor (N, C, ...)."""
    return 1 if suggests_channels_last(x) else prod(x.shape[2:])


def contiguous(*tensors: Any) -> list[Any]:
    """Each of them in row-major order. Keep the list until the launch: memory that is let go of is given out again."""
    return [t if t is None else t.contiguous() for t in tensors]


def arrays(tensors: Sequence[Any]) -> list[Any]:
    """What the kernels take for them; 0 for None."""
    return [0 if t is None else flat(t) for t in tensors]


def reciprocal_deviation(variance: Any, eps: float, d: dt.dtype) -> Any:
    """1 / sqrt(variance + eps), computed as `d`."""
    return (variance.to(d) + eps).rsqrt()


def _normalize_rows(
    channel: str, output: Any, mean: Any, rstd: Any, input: Any, weight: Any, bias: Any, rows: int, eps: float,
    numbers: tuple[int, int, int],
) -> None:  # fmt: skip
    n, T = input.numel() // rows, acc_type(input.dtype)
    plan = plan_for(contiguous_rows(rows, n, 1), processors(input.device.index), False)
    kernel = rows_kernel(
        channel, plan.along_x, T, scalar_type(input.dtype), scalar_type(mean.dtype), weight is None, bias is None
    )
    tensors = contiguous(output, mean, rstd, input, weight, bias)
    counted(kernel, n)[plan.grid, plan.block](*arrays(tensors), rows, n, T(eps), *numbers)


@cache
def rows_kernel(channel: str, along_x: bool, T: Any, OUT: Any, STATISTIC: Any, no_weight: bool, no_bias: bool) -> Any:
    return kernels.normalize_rows.bind(
        T=T,
        OUT=OUT,
        STATISTIC=STATISTIC,
        ALONG_X=along_x,
        sum_of_lanes=block_total(accumulator("number", T), add, along_x),
        channel=getattr(kernels, channel),
        weight_of=(kernels.one if no_weight else kernels.parameter).bind(T=T),
        bias_of=(kernels.zero if no_bias else kernels.parameter).bind(T=T),
    )


def _bound(kernel: Any, weight: Any, bias: Any, **types: Any) -> Any:
    T = types["T"]
    return kernel.bind(
        weight_of=(kernels.one if weight is None else kernels.parameter).bind(T=T),
        bias_of=(kernels.zero if bias is None else kernels.parameter).bind(T=T),
        **types,
    )


def _move_average(running: Any, value: Any, momentum: float, factor: float, T: Any) -> None:
    """`running` moves towards factor * value."""
    target = running if running.is_contiguous() else running.contiguous()
    n = running.numel()
    kernel = kernels.move_average.bind(T=T, OUT=scalar_type(running.dtype))
    launch_1d(kernel, n, flat(target), flat(value), T(momentum), T(factor), n)
    if target is not running:
        ops.copy_(running, target, False)


@cache
def _statistics(T: Any) -> Reduction:
    """Mean, reciprocal deviation and variance in one pass."""
    return Reduction(
        accumulator("triple", T),
        functors.no_moments.bind(T=T),
        functors.fold_moments.bind(T=T, R=T),
        functors.merge_moments.bind(T=T),
        kernels.write_statistics.bind(T=T),
    )


def instances() -> list[tuple[Any, tuple[Any, ...]]]:
    """Kernels of this file, with the types of their arguments."""
    found: list[tuple[Any, tuple[Any, ...]]] = []
    for d in (dt.float16, dt.float32, dt.float64):
        T, OUT, x = acc_type(d), scalar_type(d), f"{d.name}[:]"
        for along_x in (True, False):
            types: tuple[Any, ...] = (x, x, x, x, x, int, int, int, T, int, int, int)
            found.append((rows_kernel("by_element", along_x, T, OUT, OUT, False, True), types))
            types = (x, x, x, x, x, x, int, int, T, int, int, int)
            found.append((rows_kernel("by_group", along_x, T, OUT, OUT, False, False), types))
        wide_array = f"{dtype_of(T).name}[:]"
        types = (x, x, wide_array, wide_array, int, int, int, int, int)
        found.append((_bound(kernels.normalize_channels, None, None, T=T, OUT=OUT), types))
        found.append((kernels.move_average.bind(T=T, OUT=OUT), (x, wide_array, T, T, int)))
        found += examples(_statistics(T), d.name, (dtype_of(T).name,) * 3, T)
    return found
