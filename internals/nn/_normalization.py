"""Normalizations, as `nn.functional` offers them (`torch/nn/functional.py`).

How the real one differs: see `internals.nn.functional`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from internals._generated import functions as F
from internals._generated import nn_functions as nn
from internals.core.size import Size


def layer_norm(
    input: Any, normalized_shape: Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """Normalize over the last dimensions, whose sizes are `normalized_shape`; scale by `weight`, add `bias`."""
    return F.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Normalize each sample over groups of channels. Raises ValueError when a group has a single value."""
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    n, c, *space = input.shape
    _verify_batch_size([n * c // num_groups, num_groups, *space])
    return F.group_norm(input, num_groups, weight, bias, eps)


def batch_norm(
    input: Any, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None, training: bool = False,
    momentum: float = 0.1, eps: float = 1e-5,
) -> Any:  # fmt: skip
    """Normalize each channel, by the batch's statistics in training (updating the running ones in place), else by those.

    Raises ValueError when there is a single value per channel to train on, RuntimeError for sizes that do not fit.
    """
    if training:
        _verify_batch_size(input.shape)
    if training and eps <= 0.0:
        raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    if eps < 0.0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    return F.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, True)


def instance_norm(
    input: Any, running_mean: Any = None, running_var: Any = None, weight: Any = None, bias: Any = None,
    use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5,
) -> Any:  # fmt: skip
    """Normalize each channel of each sample by itself; the running statistics are averaged over the samples.

    Raises ValueError when a channel has a single value.
    """
    if use_input_stats and prod(input.shape[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 spatial element when training, got input size internals.Size({list(input.shape)})"
        )
    return F.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True)


def local_response_norm(input: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Any:
    """Divide each element of (N, C, *) by (k + alpha * mean of the squares) ** beta, over `size` neighbouring channels.

    Channels that are not there count as zeros. Raises ValueError for fewer than 3 dimensions.
    """
    if input.dim() < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {input.dim()} dimensions)")
    if input.numel() == 0:
        return input
    squares = input.mul(input)
    around = (size // 2, (size - 1) // 2)
    if input.dim() == 3:
        rows = nn.pad(squares.unsqueeze(1), (0, 0, *around))
        means = nn.avg_pool2d(rows, (size, 1), 1).squeeze(1)
    else:
        n, channels, height = input.shape[:3]
        rows = nn.pad(squares.view(n, 1, channels, height, -1), (0, 0, 0, 0, *around))
        means = nn.avg_pool3d(rows, (size, 1, 1), 1).squeeze(1).view(input.shape)
    return input / means.mul(alpha).add(k).pow(beta)


def rms_norm(input: Any, normalized_shape: Sequence[int], weight: Any = None, eps: float | None = None) -> Any:
    """Divide by the root of the mean square over the last dimensions, whose sizes are `normalized_shape`; scale by `weight`."""
    return F.rms_norm(input, normalized_shape, weight, eps)


def normalize(input: Any, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Any = None) -> Any:
    """`input` divided by its p-norm along `dim`, which counts as at least `eps`."""
    denom = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return input / denom if out is None else F.div(input, denom, out=out)


def _verify_batch_size(size: Sequence[int]) -> None:
    per_channel = size[0]
    for n in size[2:]:
        per_channel *= n
    if per_channel == 1:
        shown = f"internals.Size({list(size)})" if isinstance(size, Size) else size
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {shown}")
