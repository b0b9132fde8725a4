"""Instance normalization: each channel of each sample is normalized by itself
(`torch/nn/modules/instancenorm.py`).

By default it has neither parameters nor running statistics, and computes the same in training and
in evaluation.

How the real one differs: the lazy layers are in the same file, and errors give advice about state
dicts older than version 0.4.
"""

from __future__ import annotations

import warnings
from typing import Any

from internals import Tensor
from internals.nn import functional as F
from internals.nn.modules.batchnorm import _NormBase


class _InstanceNorm(_NormBase):
    """(input - mean) / sqrt(variance + eps), with mean and variance over the positions of one
    channel of one sample.

    Raises ValueError for another number of dimensions or, if `affine`, of channels.
    """

    __constants__ = [*_NormBase.__constants__, "unbatched_dims"]
    unbatched_dims: int

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
        track_running_stats: bool = False, device: Any = None, dtype: Any = None, *,
        bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def forward(self, input: Tensor) -> Tensor:
        n = self.unbatched_dims  # of (C, *); a batch (N, C, *) has one more
        if input.dim() not in (n, n + 1):
            raise ValueError(f"expected {n}D or {n + 1}D input (got {input.dim()}D input)")
        self._check_channels(input, input.dim() - n)
        x = input.unsqueeze(0) if input.dim() == n else input
        momentum = 0.0 if self.momentum is None else self.momentum
        use_input = self.training or not self.track_running_stats
        result = F.instance_norm(
            x,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            use_input,
            momentum,
            self.eps,
        )
        return result.squeeze(0) if input.dim() == n else result

    def _check_channels(self, input: Tensor, dim: int) -> None:
        """Compare the number of channels: a difference matters only to parameters."""
        if input.shape[dim] == self.num_features:
            return
        if self.affine:
            raise ValueError(
                f"expected input's size at dim={dim} to match num_features ({self.num_features}), "
                f"but got: {input.shape[dim]}."
            )
        warnings.warn(
            f"input's size at dim={dim} does not match num_features. You can silence this warning "
            "by not passing in num_features, which is not used because affine=False",
            stacklevel=4,
        )


class InstanceNorm1d(_InstanceNorm):
    """Instance normalization of (N, C, L) or (C, L)."""

    unbatched_dims = 2


class InstanceNorm2d(_InstanceNorm):
    """Instance normalization of (N, C, H, W) or (C, H, W)."""

    unbatched_dims = 3


class InstanceNorm3d(_InstanceNorm):
    """Instance normalization of (N, C, D, H, W) or (C, D, H, W)."""

    unbatched_dims = 4
