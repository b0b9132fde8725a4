"""Normalizations composed of other operators: by instance, and by the root mean square
(`aten/src/ATen/native/{Normalization,layer_norm}.cpp`).

As they call operators only, their derivatives follow from those of the operators.

How the real one differs: `rms_norm` may run as one fused kernel, `_fused_rms_norm`, on GPUs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals._generated import functions as F
from internals.aten.dtype_checks import not_implemented
from internals.core.dtype import finfo, float16, float32
from internals.core.tensor_impl import Tensor

from .memory_format import suggests_channels_last


def instance_norm(
    input: Tensor, weight: Any, bias: Any, running_mean: Any, running_var: Any,
    use_input_stats: bool, momentum: float, eps: float, cudnn_enabled: bool,
) -> Any:  # fmt: skip
    """Normalize each channel of each sample by itself: `batch_norm` of (1, N * C, ...), with the
    running statistics averaged over N.
    """
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError(
            "Expected running_mean and running_var to be defined when use_input_stats is false"
        )
    n, c, *space = input.shape
    # (C) repeated to (N * C), as each sample's channels are now channels of their own
    scale, shift, mean, var = (
        None if t is None else t.repeat(n) for t in (weight, bias, running_mean, running_var)
    )
    joined = input.contiguous().view(1, n * c, *space)
    result = F.batch_norm(joined, scale, shift, mean, var, use_input_stats, momentum, eps, False)
    if use_input_stats and mean is not None and var is not None:
        running_mean.copy_(mean.view(n, c).mean(0))
        running_var.copy_(var.view(n, c).mean(0))
    return result.view(input.shape)


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, eps: float | None
) -> Any:
    """Divide by the root of the mean square over the last dimensions, whose sizes are
    `normalized_shape`; scale by `weight`.

    `eps` is the machine epsilon unless given (half precision computes in single). Raises
    RuntimeError for sizes that do not fit, ValueError for too few dimensions.
    """
    shape = list(normalized_shape)
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
            "element, but got normalized_shape = []"
        )
    if weight is not None and list(weight.shape) != shape:
        raise RuntimeError(
            "Expected weight to be of same shape as normalized_shape, but got weight of shape "
            f"{list(weight.shape)} and normalized_shape = {shape}"
        )
    if input.dim() < len(shape):
        raise ValueError(
            f"Input tensor must have at least {len(shape)} dimensions, but got {input.dim()}"
        )
    if list(input.shape[-len(shape) :]) != shape:
        raise RuntimeError(
            f"Given normalized_shape={shape}, expected input with shape "
            f"[*{', '.join(map(str, shape))}], but got input of size{list(input.shape)}"
        )
    if not input.is_floating_point():
        raise not_implemented("rms_norm", input.dtype)
    x = input.to(float32) if input.dtype is float16 else input  # squares of half precision overflow
    eps = finfo(x.dtype).eps if eps is None else eps
    result = x * (x.square().mean(list(range(-len(shape), 0)), keepdim=True) + eps).rsqrt()
    result = (result if weight is None else result * weight).to(input.dtype)
    return result if suggests_channels_last(input) else result.contiguous()
