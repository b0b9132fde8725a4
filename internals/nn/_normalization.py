"""Normalizations, as `nn.functional` offers them (`torch/nn/functional.py`).

How the real one differs: see `internals.nn.functional`.
"""

from __future__ import annotations

from internals._generated import functions as F, nn_functions as nn
from internals._tensor import Tensor


def layer_norm(
    input: Tensor, normalized_shape: list[int], weight: Tensor | None = None,
    bias: Tensor | None = None, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """Normalize over the last dimensions, whose sizes are `normalized_shape`; scale by `weight`,
    add `bias`.
    """
    return F.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """Normalize each sample of (N, C, ...) over each of `num_groups` groups of channels.

    Raises ValueError when a group has a single value.
    """
    if input.dim() < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {input.dim()}"
        )
    n, c = input.size(0), input.size(1)
    _verify_batch_size([n * c // num_groups, num_groups] + list(input.size()[2:]))
    return F.group_norm(input, num_groups, weight, bias, eps)


def batch_norm(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None,
    weight: Tensor | None = None, bias: Tensor | None = None, training: bool = False,
    momentum: float = 0.1, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """Normalize each channel: in training by the statistics of the batch, which also update the
    running ones in place, otherwise by the running ones.

    Raises ValueError when a channel has a single value in training, RuntimeError for sizes that do
    not fit.
    """
    if training:
        _verify_batch_size(input.size())
    if training and eps <= 0.0:
        raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    if eps < 0.0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    return F.batch_norm(
        input, weight, bias, running_mean, running_var, training, momentum, eps, True
    )


def instance_norm(
    input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None,
    weight: Tensor | None = None, bias: Tensor | None = None, use_input_stats: bool = True,
    momentum: float = 0.1, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """Normalize each channel of each sample by itself; the running statistics are averaged over the
    samples.

    Raises ValueError when a channel has a single value.
    """
    if use_input_stats:
        _verify_spatial_size(input.size())
    return F.instance_norm(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True
    )


def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """Divide each element of (N, C, *) by (k + alpha * mean of the squares) ** beta.

    The mean is over `size` neighbouring channels; beyond the first and last, zeros count. Raises
    ValueError for fewer than 3 dimensions.
    """
    if input.dim() < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality input (got {input.dim()} dimensions)"
        )
    if input.numel() == 0:
        return input
    # The mean over channels is an average pooling of which the channels are a spatial dimension:
    # (N, C, L) becomes (N, 1, C, L), (N, C, H, ...) becomes (N, 1, C, H, rest).
    squares = input.mul(input)
    before, after = size // 2, (size - 1) // 2
    if input.dim() == 3:
        rows = nn.pad(squares.unsqueeze(1), [0, 0, before, after])
        means = nn.avg_pool2d(rows, [size, 1], 1).squeeze(1)
    else:
        sizes = [input.size(0), 1, input.size(1), input.size(2), -1]
        rows = nn.pad(squares.view(sizes), [0, 0, 0, 0, before, after])
        means = nn.avg_pool3d(rows, [size, 1, 1], 1).squeeze(1).view(input.size())
    return input / means.mul(alpha).add(k).pow(beta)


def rms_norm(
    input: Tensor, normalized_shape: list[int], weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:  # fmt: skip
    """Divide by the root of the mean square over the last dimensions, whose sizes are
    `normalized_shape`, and scale by `weight`.
    """
    return F.rms_norm(input, normalized_shape, weight, eps)


def normalize(
    input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Tensor:
    """`input` divided by its p-norm along `dim`, or by `eps` where the norm is smaller."""
    denom = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    if out is None:
        return input / denom
    return F.div(input, denom, out=out)


def _verify_batch_size(size: list[int]) -> None:
    """Raise ValueError if a channel of (N, C, ...) has one value: its variance would be 0."""
    per_channel = size[0]
    for i in range(len(size) - 2):
        per_channel *= size[i + 2]
    if per_channel == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {size}"
        )


def _verify_spatial_size(size: list[int]) -> None:
    """Raise ValueError if a channel of one sample has one value: its variance would be 0."""
    per_channel = 1
    for i in range(2, len(size)):
        per_channel *= size[i]
    if per_channel == 1:
        raise ValueError(
            f"Expected more than 1 spatial element when training, got input size {size}"
        )
