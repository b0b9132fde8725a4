"""Activations as layers: each calls the function of its name
(`torch/nn/modules/activation.py`). Only `PReLU` has a parameter.

With `inplace=True` the input is overwritten, which saves memory; autograd raises an error where the
input is still needed. `MultiheadAttention`, which PyTorch has in this file, is only imported here.
"""

from __future__ import annotations

import warnings
from typing import Any

from internals import Tensor, empty
from internals.nn import functional as F, init as _init
from internals.nn.module import Module
from internals.nn.modules._options import _Options
from internals.nn.modules.attention import MultiheadAttention as MultiheadAttention
from internals.nn.parameter import Parameter


class _MayBeInplace(_Options):
    """An activation whose printed form shows `inplace` only if it is True."""

    def extra_repr(self) -> str:
        shown = super().extra_repr(), "inplace=True" if self.inplace else ""
        return ", ".join(filter(None, shown))


class _Inplace(_MayBeInplace):
    """An activation whose only option is `inplace`."""

    __constants__ = ["inplace"]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)


class ReLU(_Inplace):
    """max(input, 0)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, self.inplace)


class SiLU(_Inplace):
    """input * sigmoid(input), also called swish."""

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, self.inplace)


class Mish(_Inplace):
    """input * tanh(softplus(input))."""

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, self.inplace)


class SELU(_Inplace):
    """elu scaled such that activations keep mean 0 and variance 1 from layer to layer."""

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)


class Hardsigmoid(_Inplace):
    """clamp(input / 6 + 1/2, 0, 1): a piecewise linear approximation of sigmoid."""

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class Hardswish(_Inplace):
    """input * hardsigmoid(input)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class Hardtanh(_MayBeInplace):
    """`input` clamped to [min_val, max_val]. Raises AssertionError unless the second is greater."""

    __constants__ = ["min_val", "max_val", "inplace"]
    _shown = ["min_val", "max_val"]

    def __init__(
        self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False,
        min_value: float | None = None, max_value: float | None = None,
    ) -> None:  # fmt: skip
        if min_value is not None:
            warnings.warn(
                "keyword argument `min_value` is deprecated and renamed to `min_val`",
                FutureWarning,
                stacklevel=2,
            )
            min_val = min_value
        if max_value is not None:
            warnings.warn(
                "keyword argument `max_value` is deprecated and renamed to `max_val`",
                FutureWarning,
                stacklevel=2,
            )
            max_val = max_value
        super().__init__(min_val=min_val, max_val=max_val, inplace=inplace)
        if max_val <= min_val:
            raise AssertionError(f"max_val ({max_val}) must be greater than min_val ({min_val})")

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)


class ReLU6(Hardtanh):
    """`input` clamped to [0, 6]."""

    _shown = []

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)


class LeakyReLU(_MayBeInplace):
    """`input` where positive, negative_slope * input elsewhere."""

    __constants__ = ["inplace", "negative_slope"]
    _shown = ["negative_slope"]

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__(negative_slope=negative_slope, inplace=inplace)

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)


class RReLU(_MayBeInplace):
    """leaky_relu with a slope between `lower` and `upper`: in training a random one for each
    negative element, else their mean.
    """

    __constants__ = ["lower", "upper", "inplace"]
    _shown = ["lower", "upper"]

    def __init__(
        self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False
    ) -> None:
        super().__init__(lower=lower, upper=upper, inplace=inplace)

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class PReLU(_Options):
    """leaky_relu with a learned slope: `weight` has one element, or one per channel, initially
    `init`.
    """

    __constants__ = _shown = ["num_parameters"]

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(num_parameters=num_parameters, init=init)
        self.weight = Parameter(empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        _init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)


class ELU(_MayBeInplace):
    """`input` where positive, alpha * (exp(input) - 1) elsewhere."""

    __constants__ = ["alpha", "inplace"]
    _shown = ["alpha"]

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(alpha=alpha, inplace=inplace)

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)


class CELU(ELU):
    """`input` where positive, alpha * (exp(input / alpha) - 1) elsewhere."""

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)


class Threshold(_MayBeInplace):
    """`input` where it is greater than `threshold`, `value` elsewhere."""

    __constants__ = ["threshold", "value", "inplace"]
    _shown = ["threshold", "value"]

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(threshold=threshold, value=value, inplace=inplace)

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)


class GELU(_Options):
    """input * Φ(input), where Φ is the cumulative normal distribution.

    `approximate="tanh"` is the approximation with which early models such as GPT-2 were trained.
    """

    __constants__ = ["approximate"]

    def __init__(self, approximate: str = "none") -> None:
        super().__init__(approximate=approximate)

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Softplus(_Options):
    """log(1 + exp(beta * input)) / beta, a smooth relu; where beta * input exceeds `threshold`,
    `input` itself, to which it is equal up to rounding.
    """

    __constants__ = _shown = ["beta", "threshold"]

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__(beta=beta, threshold=threshold)

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)


class Hardshrink(_Options):
    """`input`, with elements between -lambd and lambd set to 0."""

    __constants__ = ["lambd"]

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__(lambd=lambd)

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return f"{self.lambd}"


class Softshrink(Hardshrink):
    """`input` moved towards 0 by `lambd`; elements that would change sign become 0."""

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)


class GLU(_Options):
    """The first half of `input` along `dim`, times the sigmoid of the second half."""

    __constants__ = _shown = ["dim"]

    def __init__(self, dim: int = -1) -> None:
        super().__init__(dim=dim)

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)


class Sigmoid(Module):
    """1 / (1 + exp(-input))."""

    def forward(self, input: Tensor) -> Tensor:
        return input.sigmoid()


class Tanh(Module):
    """tanh(input)."""

    def forward(self, input: Tensor) -> Tensor:
        return input.tanh()


class LogSigmoid(Module):
    """log(sigmoid(input))."""

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Softsign(Module):
    """input / (1 + |input|)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Tanhshrink(Module):
    """input - tanh(input)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class _AlongDim(_Options):
    """A kind of softmax along `dim`; if it is omitted, the number of dimensions determines it, with
    a warning.
    """

    __constants__ = _shown = ["dim"]

    def __init__(self, dim: int | None = None) -> None:
        super().__init__(dim=dim)


class Softmax(_AlongDim):
    """exp(input) divided by its sum along `dim`: positive numbers that sum to 1."""

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim, _stacklevel=5)


class LogSoftmax(_AlongDim):
    """The logarithm of `Softmax`."""

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim, _stacklevel=5)


class Softmin(_AlongDim):
    """softmax(-input)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    """Softmax over the channels, at every pixel of (N, C, H, W) or (C, H, W).

    Raises ValueError for other numbers of dimensions.
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(
                f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead"
            )
        return F.softmax(input, -3, _stacklevel=5)
