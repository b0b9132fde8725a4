"""Layer, group and batch normalization on the device
(`aten/src/ATen/native/cuda/layer_norm_kernel.cu`, `Normalization.cu`).

Layer and group norm launch one kernel, with a row for each block. Batch norm launches a reduction
for its statistics, one that moves the running averages, and one that normalizes.

How the real one differs: batch norm and group norm may be cuDNN's; the statistics of half-precision
input are always single.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import nan, prod
from typing import Any

from internals._generated import ops
from internals.aten.native.memory_format import suggests_channels_last
from internals.core import dtype as dt
from internals.core.formats import channels_last
from internals.core.tensor_impl import Tensor, empty_contiguous

from ..device_array import flat
from ..kernels import normalization as kernels, reduction_functors as functors
from ..kernels.block_reduction import accumulator, block_total
from ..kernels.functors import add
from ..launch import counted, launch_1d
from .opmath import acc_type, dtype_of, scalar_type
from .reducing import Reduction, contiguous_rows, plan_for, processors, reduce, write_back

Results = tuple[Any, Any, Any]


def layer_norm(
    results: Results, input: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
) -> None:
    """Fills `results`: (output, mean, rstd), where the latter two have one element for each row."""
    output, mean, rstd = results
    if input.numel():
        _normalize_rows(
            "by_element", output, mean, rstd, input, weight, bias, mean.numel(), eps, (1, 1, 1)
        )
    else:
        ops.fill__Scalar(mean, nan)
        ops.fill__Scalar(rstd, nan)


def group_norm(
    results: Results,
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
    numbers: tuple[int, int, int],
) -> None:
    """Fills `results`: (output, mean, rstd), where the latter two are (N, groups). `numbers`:
    groups, channels of a group, elements of a channel.
    """
    output, mean, rstd = results
    if not input.numel():
        return
    result = (
        output
        if output.is_contiguous()
        else empty_contiguous(input.shape, input.dtype, input.device)
    )
    _normalize_rows("by_group", result, mean, rstd, input, weight, bias, mean.numel(), eps, numbers)
    write_back((result,), (output,))


def batch_norm(
    results: Results, input: Tensor, weight: Tensor | None, bias: Tensor | None,
    running_mean: Tensor | None, running_var: Tensor | None, training: bool, momentum: float,
    eps: float,
) -> None:  # fmt: skip
    """Fills `results`: (output, mean, rstd). In training the statistics are those of the batch, and
    the running ones are updated in place; otherwise the running ones are used.
    """
    output, *saved = results
    channels, T, x = input.size(1), acc_type(input.dtype), dense(input)
    if training:
        mean, rstd, variance = (
            empty_contiguous((channels,), dtype_of(T), input.device) for _ in range(3)
        )
        reduce(
            _statistics(T), x, [k for k in range(x.dim()) if k != 1], (mean, rstd, variance), T(eps)
        )
        write_back((mean, rstd), saved)
        # the batch is normalized by its biased variance; the running one is unbiased
        count = input.numel() // channels if channels else 0
        unbiased = count / (count - 1) if count > 1 else nan
        for running, value, factor in ((running_mean, mean, 1), (running_var, variance, unbiased)):
            if running is not None:
                _move_average(running, value, momentum, factor, T)
    else:
        mean, rstd = running_mean, reciprocal_deviation(running_var, eps, dtype_of(T))
    kernel = _bound(kernels.normalize_channels, weight, bias, T=T, OUT=scalar_type(input.dtype))
    n, inner = input.numel(), distance_of_channels(x)
    tensors = [output, x, *contiguous(mean, rstd, weight, bias)]
    launch_1d(kernel, n, *arrays(tensors), n, channels, inner)


def dense(input: Tensor, channels_last_order: bool | None = None) -> Any:
    """`input` without gaps, NHWC or row-major: in the order asked for, or else in the one that its
    strides suggest.
    """
    if suggests_channels_last(input) if channels_last_order is None else channels_last_order:
        return input.contiguous(memory_format=channels_last)
    return input.contiguous()


def distance_of_channels(x: Tensor) -> int:
    """The stride of the channels of a dense tensor (N, C, ...)."""
    return 1 if suggests_channels_last(x) else prod(x.shape[2:])


def contiguous(*tensors: Any) -> list[Any]:
    """Each tensor in row-major order. Keep the list until the launch: the memory of a copy that has
    been freed is given to the next tensor.
    """
    return [t if t is None else t.contiguous() for t in tensors]


def arrays(tensors: Sequence[Any]) -> list[Any]:
    """The kernels' arguments for the tensors; 0 for None."""
    return [0 if t is None else flat(t) for t in tensors]


def reciprocal_deviation(variance: Any, eps: float, d: dt.dtype) -> Any:
    """1 / sqrt(variance + eps), computed as `d`."""
    return (variance.to(d) + eps).rsqrt()


def _normalize_rows(
    channel: str, output: Tensor, mean: Tensor, rstd: Tensor, input: Tensor, weight: Tensor | None,
    bias: Tensor | None, rows: int, eps: float, numbers: tuple[int, int, int],
) -> None:  # fmt: skip
    """Launches `normalize_rows` on `input` as (rows, n); `channel` names the function that finds an
    element's weight.
    """
    n, T = input.numel() // rows, acc_type(input.dtype)
    plan = plan_for(contiguous_rows(rows, n, 1), processors(input.device.index), False)
    kernel = rows_kernel(
        channel,
        plan.along_x,
        T,
        scalar_type(input.dtype),
        scalar_type(mean.dtype),
        weight is None,
        bias is None,
    )
    tensors = contiguous(output, mean, rstd, input, weight, bias)
    counted(kernel, n)[plan.grid, plan.block](*arrays(tensors), rows, n, T(eps), *numbers)


@cache
def rows_kernel(
    channel: str, along_x: bool, T: type, OUT: type, STATISTIC: Any, no_weight: bool, no_bias: bool
) -> Any:
    """The kernel for layer or group norm with these types, with or without a weight and a bias."""
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


def _bound(kernel: Any, weight: Tensor | None, bias: Tensor | None, **types: Any) -> Any:
    """`kernel` with its types, and with or without a weight and a bias."""
    T = types["T"]
    return kernel.bind(
        weight_of=(kernels.one if weight is None else kernels.parameter).bind(T=T),
        bias_of=(kernels.zero if bias is None else kernels.parameter).bind(T=T),
        **types,
    )


def _move_average(running: Tensor, value: Tensor, momentum: float, factor: float, T: type) -> None:
    """Moves `running` towards factor * value, in place."""
    target = running if running.is_contiguous() else running.contiguous()
    n = running.numel()
    kernel = kernels.move_average.bind(T=T, OUT=scalar_type(running.dtype))
    launch_1d(kernel, n, flat(target), flat(value), T(momentum), T(factor), n)
    if target is not running:
        ops.copy_(running, target, False)


@cache
def _statistics(T: type) -> Reduction:
    """The reduction to mean, rstd and variance of each channel, in one pass (Welford)."""
    return Reduction(
        accumulator("triple", T),
        functors.no_moments.bind(T=T),
        functors.fold_moments.bind(T=T, R=T),
        functors.merge_moments.bind(T=T),
        kernels.write_statistics.bind(T=T),
    )
