"""Batch normalization: `BatchNorm1d`, `BatchNorm2d`, `BatchNorm3d`
(`torch/nn/modules/batchnorm.py`).

In training a channel is normalized by the mean and variance of the batch, and running averages of
both are kept as buffers: saved with the module, moved with it, but not trained. In evaluation the
running averages are used instead of the batch's.

How the real one differs: the lazy layers are in the same file; `SyncBatchNorm` combines the
statistics of several processes, while here there is only one.
"""

from __future__ import annotations

from typing import Any

import internals
from internals import Tensor, ones, tensor, zeros
from internals.core.dtype import dtype
from internals.nn import functional as F
from internals.nn.modules._options import _Options
from internals.nn.modules.normalization import _affine, _reset


class _NormBase(_Options):
    """Parameters `weight` (C), initially 1, and `bias` (C), initially 0; buffers `running_mean`
    (C), `running_var` (C) and `num_batches_tracked` ().
    """

    _version = 2  # state dicts of version 1 had no num_batches_tracked
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1,
        affine: bool = True, track_running_stats: bool = True, device: Any = None,
        dtype: dtype | None = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(
            num_features=num_features, eps=eps, momentum=momentum, affine=affine,
            track_running_stats=track_running_stats,
        )  # fmt: skip
        _affine(self, (num_features,), affine, affine and bias, device, dtype)
        tracked = track_running_stats
        self.register_buffer(
            "running_mean", zeros(num_features, device=device, dtype=dtype) if tracked else None
        )
        self.register_buffer(
            "running_var", ones(num_features, device=device, dtype=dtype) if tracked else None
        )
        count = tensor(0, dtype=internals.long, device=device) if tracked else None
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Set the running mean to 0, the variance to 1 and the number of batches to 0."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        self.reset_running_stats()
        _reset(self)

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_NormBase):
    """(input - mean) / sqrt(variance + eps) * weight + bias, for each channel (dimension 1).

    The running averages move by `momentum` towards the batch's; with `momentum=None` they are the
    plain mean of all batches so far. With `track_running_stats=False` the batch's statistics are
    used in evaluation too.
    """

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        factor = 0.0 if self.momentum is None else self.momentum
        tracked = self.training and self.track_running_stats
        if tracked and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # mean of n = mean of n - 1, moved by 1/n towards the new one
                factor = 1.0 / float(self.num_batches_tracked)
        use_batch = self.training or (self.running_mean is None and self.running_var is None)
        given = tracked or not self.training  # in training, pass them only to have them updated
        mean, var = (self.running_mean, self.running_var) if given else (None, None)
        return F.batch_norm(input, mean, var, self.weight, self.bias, use_batch, factor, self.eps)

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool,
        missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        """Load the state; version 1 had no `num_batches_tracked`, so the current one is kept."""
        version = local_metadata.get("version")
        if (version is None or version < 2) and self.track_running_stats:
            state_dict.setdefault(prefix + "num_batches_tracked", self.num_batches_tracked)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class BatchNorm1d(_BatchNorm):
    """Batch normalization of (N, C) or (N, C, L). Raises ValueError for other numbers of
    dimensions.
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in (2, 3):
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")


class BatchNorm2d(_BatchNorm):
    """Batch normalization of (N, C, H, W). Raises ValueError for other numbers of dimensions."""

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 4:
            raise ValueError(f"expected 4D input (got {input.dim()}D input)")


class BatchNorm3d(_BatchNorm):
    """Batch normalization of (N, C, D, H, W). Raises ValueError for other numbers of dimensions."""

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 5:
            raise ValueError(f"expected 5D input (got {input.dim()}D input)")


class SyncBatchNorm(_BatchNorm):
    """Batch normalization of (N, C, *) across several processes; in one process, an ordinary one.

    Raises ValueError for fewer than 2 dimensions, or no channels.
    """

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1,
        affine: bool = True, track_running_stats: bool = True, process_group: Any = None,
        device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.shape[1] == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    @classmethod
    def convert_sync_batchnorm(cls, module: Any, process_group: Any = None) -> Any:
        """The tree with every batch normalization replaced by a `SyncBatchNorm` that has the same
        parameters and buffers.
        """
        result = module
        if isinstance(module, _BatchNorm):
            result = SyncBatchNorm(
                module.num_features, module.eps, module.momentum, module.affine,
                module.track_running_stats, process_group, bias=module.bias is not None,
            )  # fmt: skip
            if module.affine:
                result.weight, result.bias = module.weight, module.bias
            for name in ("running_mean", "running_var", "num_batches_tracked", "training"):
                setattr(result, name, getattr(module, name))
        for name, child in module.named_children():
            result.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return result
