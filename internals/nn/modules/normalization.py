"""Normalizations that do not depend on the batch: `LayerNorm`, `GroupNorm`, ...
(`torch/nn/modules/normalization.py`).

They compute the same in training and in evaluation, and have no buffers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals import Tensor, empty
from internals.core.dtype import dtype
from internals.nn import functional as F, init
from internals.nn.module import Module
from internals.nn.modules._functions import CrossMapLRN2d as _cross_map_lrn2d
from internals.nn.modules._options import _Options
from internals.nn.parameter import Parameter


class _ResponseNorm(_Options):
    """The printed form of the two local response normalizations."""

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class LocalResponseNorm(_ResponseNorm):
    """Divides each element by (k + alpha * mean of squares) ** beta, where the mean is over `size`
    neighbouring channels, as in AlexNet.
    """

    __constants__ = ["size", "alpha", "beta", "k"]

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__(size=size, alpha=alpha, beta=beta, k=k)

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)


class CrossMapLRN2d(_ResponseNorm):
    """The older form of `LocalResponseNorm`, for (N, C, H, W) only, as Torch7 had it
    (`_functions.py`).
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__(size=size, alpha=alpha, beta=beta, k=k)

    def forward(self, input: Tensor) -> Tensor:
        return _cross_map_lrn2d.apply(input, self.size, self.alpha, self.beta, self.k)


class LayerNorm(_Options):
    """Normalizes to mean 0 and variance 1 over the last dimensions, whose sizes are
    `normalized_shape`; then scales and shifts each element.

    `weight` and `bias` have the normalized shape and are initially 1 and 0.
    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(
        self, normalized_shape: int | Sequence[int], eps: float = 1e-5,
        elementwise_affine: bool = True, bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            normalized_shape=_shape(normalized_shape), eps=eps,
            elementwise_affine=elementwise_affine,
        )  # fmt: skip
        _affine(
            self,
            self.normalized_shape,
            elementwise_affine,
            elementwise_affine and bias,
            device,
            dtype,
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        _reset(self)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class GroupNorm(_Options):
    """Normalizes each sample of (N, C, *) to mean 0 and variance 1 over each group of channels;
    then scales and shifts each channel.

    `weight` and `bias` (C) are initially 1 and 0. Raises ValueError unless `num_channels` is
    divisible by `num_groups`.
    """

    __constants__ = ["num_groups", "num_channels", "eps", "affine"]

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True,
        device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        if num_channels % num_groups != 0:
            raise ValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            )
        super().__init__(num_groups=num_groups, num_channels=num_channels, eps=eps, affine=affine)
        _affine(self, (num_channels,), affine, affine and bias, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        _reset(self)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(_Options):
    """Divides by the root mean square over the last dimensions, then scales by `weight`.

    Unlike `LayerNorm` it neither subtracts the mean nor adds a bias. With `eps=None` the machine
    epsilon of the dtype is used.
    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(
        self, normalized_shape: Sequence[int], eps: float | None = None,
        elementwise_affine: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            normalized_shape=_shape(normalized_shape), eps=eps,
            elementwise_affine=elementwise_affine,
        )  # fmt: skip
        weight = (
            Parameter(empty(self.normalized_shape, device=device, dtype=dtype))
            if elementwise_affine
            else None
        )
        self.register_parameter("weight", weight)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.elementwise_affine:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


def _shape(normalized_shape: int | Sequence[int]) -> tuple[int, ...]:
    """A single size as a tuple of one."""
    return (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)


def _affine(
    module: Module,
    shape: tuple[int, ...],
    weight: bool,
    bias: bool,
    device: Any,
    dtype: dtype | None,
) -> None:
    """Register `weight` and `bias` of a shape, uninitialized, or None where one is not wanted."""
    for name, wanted in (("weight", weight), ("bias", bias)):
        module.register_parameter(
            name, Parameter(empty(shape, device=device, dtype=dtype)) if wanted else None
        )


def _reset(module: Module) -> None:
    """Start as the plain normalization: weight 1, bias 0."""
    if module.weight is not None:
        init.ones_(module.weight)
    if module.bias is not None:
        init.zeros_(module.bias)
