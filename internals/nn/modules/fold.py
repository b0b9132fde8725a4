"""`Unfold` and `Fold`: the windows of a convolution as columns, and back
(`torch/nn/modules/fold.py`).

A convolution is a product of its weights with these columns.
"""

from __future__ import annotations

from typing import Any

from internals import Tensor
from internals.nn import functional as F
from internals.nn.modules._options import _Options


class Unfold(_Options):
    """(N, C, H, W) to (N, C * kernel elements, windows)."""

    __constants__ = _shown = ["kernel_size", "dilation", "padding", "stride"]

    def __init__(
        self, kernel_size: int, dilation: int = 1, padding: int = 0, stride: int = 1
    ) -> None:
        super().__init__(kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)


class Fold(_Options):
    """(N, C * kernel elements, windows) to (N, C, *output_size). Elements of different windows at
    the same position are added.
    """

    __constants__ = _shown = ["output_size", "kernel_size", "dilation", "padding", "stride"]

    def __init__(
        self,
        output_size: Any,
        kernel_size: Any,
        dilation: Any = 1,
        padding: Any = 0,
        stride: Any = 1,
    ) -> None:
        super().__init__(
            output_size=output_size, kernel_size=kernel_size, dilation=dilation, padding=padding,
            stride=stride,
        )  # fmt: skip

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(
            input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride
        )
