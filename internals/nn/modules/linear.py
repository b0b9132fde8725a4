"""Linear layers: `Identity`, `Linear`, `Bilinear` (`torch/nn/modules/linear.py`).

How the real one differs: `LazyLinear` is in the same file.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

from internals import Tensor, empty
from internals.nn import functional as F, init
from internals.nn.module import Module
from internals.nn.modules._options import _Options
from internals.nn.parameter import Parameter


class Identity(Module):
    """Returns its input. The constructor takes any arguments, so it can replace any layer."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(_Options):
    """input @ weight.T + bias: (*, in_features) to (*, out_features).

    `weight` (out_features, in_features) and `bias` (out_features) are initially uniform in
    ±1 / sqrt(in_features).
    """

    __constants__ = ["in_features", "out_features"]

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(in_features=in_features, out_features=out_features)
        self.weight = Parameter(empty((out_features, in_features), device=device, dtype=dtype))
        add_bias(self, out_features, bias, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialize: with a = sqrt(5), the bound of `kaiming_uniform_` is 1 / sqrt(in_features).

        That is sqrt(3) * sqrt(2 / (1 + 5)) / sqrt(in_features).
        """
        init.kaiming_uniform_(self.weight, a=sqrt(5))
        reset_bias(self.weight, self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class NonDynamicallyQuantizableLinear(Linear):
    """`Linear` as it is used in attention; by its class, dynamic quantization skips it."""


class Bilinear(_Options):
    """input1 @ weight[o] @ input2 + bias[o] for each output o: (*, in1_features) and
    (*, in2_features) to (*, out_features).

    `weight` (out, in1, in2) and `bias` (out) are initially uniform in ±1 / sqrt(in1_features).
    Raises ValueError unless `in1_features` is positive.
    """

    __constants__ = ["in1_features", "in2_features", "out_features"]

    def __init__(
        self, in1_features: int, in2_features: int, out_features: int, bias: bool = True,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            in1_features=in1_features, in2_features=in2_features, out_features=out_features,
        )  # fmt: skip
        self.weight = Parameter(
            empty((out_features, in1_features, in2_features), device=device, dtype=dtype)
        )
        add_bias(self, out_features, bias, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.in1_features <= 0:
            raise ValueError(
                f"in1_features must be > 0, but got (in1_features={self.in1_features})"
            )
        bound = 1 / sqrt(self.in1_features)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


def add_bias(module: Module, features: int, wanted: bool, device: Any, dtype: Any) -> None:
    """Register `bias` (features), uninitialized, or None if it is not `wanted`."""
    bias = Parameter(empty(features, device=device, dtype=dtype)) if wanted else None
    module.register_parameter("bias", bias)


def reset_bias(weight: Tensor, bias: Tensor | None) -> None:
    """Fill `bias` uniformly in ±1 / sqrt(fan_in), where fan_in is that of `weight`."""
    if bias is None:
        return
    fan_in, _ = init._calculate_fan_in_and_fan_out(weight)
    bound = 1 / sqrt(fan_in) if fan_in > 0 else 0
    init.uniform_(bias, -bound, bound)
