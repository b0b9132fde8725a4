"""Layer, group and batch normalization (`aten/src/ATen/native/layer_norm.cpp`, `group_norm.cpp`,
`Normalization.cpp`).

All three subtract a mean and divide by a standard deviation,

    (x - mean) / sqrt(variance + eps) * weight + bias,

and differ in the elements that share a mean: the last dimensions of each sample, a group of
channels of each sample, or one channel over the whole batch. The `native_` kernels return, beside
the result, the mean and the reciprocal standard deviation, rstd, which the derivatives need again.

Batch normalization also keeps running averages for evaluation. It updates `running_mean` and
`running_var` in place, with the *unbiased* variance, although it divides by the biased one.

Large tensors are left to machine code (`aten/compiled/normalization.py` and `batch_norm.py`).

How the real one differs: layer_norm computes mean and variance in one pass (Welford), rows in
parallel; batch_norm chooses between this kernel, cuDNN, MIOpen and oneDNN.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.on_device import on_device
from internals.aten.writing import write_out, write_outs
from internals.core import dtype as dt
from internals.core.device import CPU
from internals.core.float_errors import quiet, restore
from internals.core.tensor_impl import Array, Tensor, array, empty_contiguous
from internals.machine_code.settings import settings, use_compiled

from .memory_format import empty_as, suggests_channels_last
from .normalization_checks import (
    check_batch_norm,
    check_both,
    check_elements_of_groups,
    check_floating,
    check_group_norm,
    check_layer_norm,
    check_mixed,
)
from .reduction_tools import sum_of_products

COMPILED = 1 << 14  # number of elements from which on batch normalization runs compiled


def native_layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
) -> tuple[Any, Any, Any]:
    """(output, mean, rstd), normalized over the last dimensions, whose sizes `normalized_shape`
    repeats; in mean and rstd these have size 1.
    """
    n = len(normalized_shape)
    check_layer_norm(input, list(normalized_shape), weight, bias)
    check_floating("LayerNormKernelImpl", input)
    statistics_dtype = check_mixed(input, weight, bias)
    # (*kept, *normalized_shape): a mean for each index of the dimensions in front
    kept = input.shape[: input.dim() - n]
    axes = tuple(range(len(kept), input.dim()))
    device = input._geometry.device
    output = empty_contiguous(input.shape, input.dtype, device)
    mean, rstd = (empty_contiguous((*kept, *(1,) * n), statistics_dtype, device) for _ in range(2))
    if input._geometry.stored >= settings.least and _compiled(
        "layer_norm", (input, weight, bias, eps), (output, mean, rstd)
    ):
        return output, mean, rstd
    if input._geometry.stored:
        _normalize(
            array(input),
            axes,
            eps,
            wide(weight),
            wide(bias),
            array(output),
            array(mean),
            array(rstd),
        )
    elif mean._geometry.stored:  # rows without elements: the mean is 0 / 0
        array(mean)[...] = array(rstd)[...] = np.nan
    else:
        on_device("normalization.layer_norm", (output, mean, rstd), input, weight, bias, eps)
    return output, mean, rstd


def native_group_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
) -> tuple[Any, Any, Any]:
    """(output, mean, rstd): N samples of C channels with HxW elements, the channels in `group`
    groups. mean and rstd are (N, group).
    """
    check_group_norm(input, C, group, weight, bias)
    check_elements_of_groups("X", input, N, C, HxW)
    check_floating("GroupNormKernelImpl", input)
    statistics_dtype = check_mixed(input, weight, bias)
    output = empty_as(input, input.shape)
    mean, rstd = (empty_contiguous((N, group), statistics_dtype, input.device) for _ in range(2))
    if input._geometry.stored >= settings.least and _compiled(
        "group_norm", (input, weight, bias, group, eps), (output, mean, rstd)
    ):
        return output, mean, rstd
    if input._geometry.stored:
        # parameters differ within a group, statistics do not: four dimensions let both broadcast
        rows = array(input).reshape(N, group, C // group, HxW)
        result = np.empty(rows.shape, input.dtype.np)
        w, b = (
            None if p is None else wide(p).reshape(1, group, C // group, 1) for p in (weight, bias)
        )
        statistics = (array(s).reshape(N, group, 1, 1) for s in (mean, rstd))
        _normalize(rows, (2, 3), eps, w, b, result, *statistics)
        array(output)[...] = result.reshape(input.shape)
    numbers = group, C // group, HxW
    return on_device(
        "normalization.group_norm", (output, mean, rstd), input, weight, bias, eps, numbers
    )


def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    out: Tensor | None = None,
) -> tuple[Any, Any, Any]:
    """(output, save_mean, save_invstd) for input (N, C, ...); the saved statistics (C) are empty in
    evaluation.

    In training, running_mean and running_var (if given) move towards the batch's statistics by
    `momentum`, in place. Evaluation leaves the `out` tensors of the statistics as they are, and
    raises RuntimeError unless they have one dimension.
    """
    check_floating("batch_norm", input)
    statistics_dtype = check_mixed(input, weight, bias, running_mean, running_var)
    channels = input.size(1)
    check_both(running_mean, running_var)
    check_batch_norm(channels, weight, bias, running_mean, running_var, training)
    output = empty_as(input, input.shape)
    saved = [
        empty_contiguous((channels if training else 0,), statistics_dtype, input.device)
        for _ in range(2)
    ]
    if input.device is not CPU:
        how = weight, bias, running_mean, running_var, training, momentum, eps
        return write_batch_norm(
            on_device("normalization.batch_norm", (output, *saved), input, *how), training, out
        )
    if use_compiled(input.numel(), COMPILED) and _compiled_batch_norm(
        input, weight, bias, running_mean, running_var, training, momentum, eps, output, saved
    ):
        return write_batch_norm((output, *saved), training, out)
    # (1, C, 1, ...): statistics and parameters broadcast over batch and space
    sizes = (1, channels, *(1,) * (input.dim() - 2))
    w, b = (None if p is None else wide(p).reshape(sizes) for p in (weight, bias))
    if training:
        axes = (0, *range(2, input.dim()))
        mean, rstd = (np.empty(sizes, wide(input).dtype) for _ in range(2))
        variance = _normalize(array(input), axes, eps, w, b, array(output), mean, rstd)
        for target, value in zip(saved, (mean, rstd)):
            array(target)[...] = value.reshape(channels)
        count = input.numel() // channels if channels else 0
        # PyTorch normalizes by the biased variance, but keeps the unbiased one for evaluation
        unbiased = variance.reshape(channels) * (count / (count - 1) if count > 1 else np.nan)
        for running, value in ((running_mean, mean.reshape(channels)), (running_var, unbiased)):
            if running is not None:
                r = array(running)
                r[...] = (1 - momentum) * r + momentum * value
    else:
        with np.errstate(all="ignore"):
            # everything is constant: one product and one sum per element, x * scale + shift
            x = wide(input)
            scale = 1 / np.sqrt(wide(running_var).reshape(sizes) + eps)
            scale = scale if w is None else scale * w
            shift = wide(running_mean).reshape(sizes) * -scale
            shift = shift if b is None else shift + b
            y = np.multiply(
                x,
                scale.astype(x.dtype, copy=False),
                out=array(output) if x is array(input) else None,
            )
            np.add(y, shift.astype(x.dtype, copy=False), out=array(output), casting="same_kind")
    return write_batch_norm((output, *saved), training, out)


def _compiled_batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Any,
    running_var: Tensor | None, training: bool, momentum: float, eps: float, output: Tensor,
    saved: list[Any],
) -> bool:  # fmt: skip
    """Fill `output` and `saved` by a compiled kernel. Returns False where there is none for these
    tensors, and numpy has to do it.
    """
    from internals.aten.compiled import batch_norm as compiled

    if not input.numel() or not compiled.fits(input, weight, bias, running_mean, running_var):
        return False
    if training:
        return compiled.run_train(
            input, weight, bias, (running_mean, running_var), momentum, eps, output, *saved
        )
    return compiled.run_evaluate(input, weight, bias, running_mean, running_var, eps, output)


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Any:
    """Normalize over the last dimensions, whose sizes `normalized_shape` repeats; then scale by
    `weight` and add `bias`.
    """
    return ops.native_layer_norm(input, normalized_shape, weight, bias, eps)[0]


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Any:
    """Normalize each sample's channels in `num_groups` groups of neighbours. Raises RuntimeError
    if the number of channels is not a multiple of that.
    """
    if input.dim() < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {input.dim()}"
        )
    check_group_norm(input, input.shape[1], num_groups, weight, bias)
    n, c = input.shape[:2]
    contiguous = input if suggests_channels_last(input) else input.contiguous()
    return ops.native_group_norm(
        contiguous, weight, bias, n, c, prod(input.shape[2:]), num_groups, eps
    )[0]


def batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
    running_var: Tensor | None, training: bool, momentum: float, eps: float, cudnn_enabled: bool,
) -> Any:  # fmt: skip
    """Normalize each channel over batch and space, by the batch's statistics (training) or the
    running ones.
    """
    if input.numel() == 0:  # nothing is checked, as in PyTorch
        scaled = input.clone() if weight is None else input * weight.select(0, 0)
        return scaled if bias is None else scaled + bias.select(0, 0)
    check_batch_norm(
        input.shape[1] if input.dim() > 1 else 0, weight, bias, running_mean, running_var, training
    )
    return ops.native_batch_norm(
        input, weight, bias, running_mean, running_var, training, momentum, eps
    )[0]


def write_batch_norm(
    results: tuple[Any, Any, Any], training: bool, out: Any
) -> tuple[Any, Any, Any]:
    """The results of native_batch_norm, written to the tensors of `out` if it is given. Evaluation
    fills only the first one; RuntimeError unless the others are 1-d.
    """
    if out is None:
        return results
    if training:
        return write_outs(out, results)
    for t in out[1:]:
        if t.dim() != 1:
            raise RuntimeError(f"TensorAccessor expected 1 dims but tensor has {t.dim()}")
    write_out(out[0], results[0])
    return out


def _normalize(
    x: Array,
    axes: tuple[int, ...],
    eps: float,
    weight: Array | None,
    bias: Array | None,
    out: Array,
    mean: Array,
    rstd: Array,
) -> Any:
    """Fill `out` with (x - mean) * rstd * weight + bias, where mean and rstd, which are filled too,
    are over `axes`. Returns the (biased) variance. All arrays broadcast.
    """
    x = x.astype(np.float32) if x.dtype == np.float16 else x
    number = x.dtype.type
    count = number(prod([x.shape[d] for d in axes]))
    token = quiet()
    center = np.add.reduce(x, axes, keepdims=True)
    center /= count
    # a second pass over the deviations loses no digits, unlike the mean of squares minus a square
    deviation = x - center
    variance = sum_of_products(deviation, deviation, axes)
    variance /= count
    scale = 1 / np.sqrt(variance + number(eps))
    mean[...], rstd[...] = center, scale
    if weight is not None and weight.shape == scale.shape:
        # batch norm: rstd and weight are constant over the same elements, so one product will do
        scale, weight = scale * weight, None
    deviation *= scale
    if weight is not None:
        deviation *= weight
    if bias is None:
        out[...] = deviation
    else:
        np.add(deviation, bias, out=out, casting="same_kind")
    restore(token)
    return variance


def _compiled(name: str, arguments: tuple[Any, ...], results: tuple[Tensor, ...]) -> bool:
    """Fill `results` by the kernel `name` of `compiled/normalization.py`. Returns False where numpy
    has to do it: other dtypes, few elements, operands that are not contiguous.
    """
    from internals.aten.compiled import normalization

    d, numel = arguments[0].dtype, arguments[0].numel()
    if (
        not numel
        or d not in (dt.float32, dt.float64)
        or not use_compiled(numel, normalization.THRESHOLD)
    ):
        return False
    if any(
        t is not None and (t.dtype is not d or not t.is_contiguous())
        for t in (*arguments[:3], *results)
    ):
        return False
    filled: bool = getattr(normalization, name)(*arguments, *results)
    return filled


def wide(t: Any) -> Any:
    """A parameter as an array, half precision as single; None stays None."""
    if t is None:
        return None
    a = array(t)
    return a.astype(np.float32) if a.dtype == np.float16 else a
