"""Padding layers: constant, reflected, replicated, circular (`torch/nn/modules/padding.py`).

`padding` is one number for all sides, or (left, right) in one dimension, (left, right, top, bottom)
in two, (left, right, top, bottom, front, back) in three.
"""

from __future__ import annotations

from collections.abc import Sequence

from internals import Tensor
from internals.nn import functional as F
from internals.nn.modules._options import _Options
from internals.nn.modules.utils import _ntuple


class _PadNd(_Options):
    """A call of `F.pad` with its `mode`; `padding` has `sides` numbers, two per dimension."""

    __constants__ = ["padding", "mode"]
    mode: str
    sides: int

    def __init__(self, padding: Sequence[int]) -> None:
        super().__init__(padding=_ntuple(self.sides)(padding))

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPadNd(_PadNd):
    """Padding with a `value`."""

    __constants__ = ["padding", "value", "mode"]
    mode = "constant"

    def __init__(self, padding: Sequence[int], value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self.mode, self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Adds `value` at both ends of the last dimension."""

    sides = 2


class ConstantPad2d(_ConstantPadNd):
    """Adds `value` around the last two dimensions."""

    sides = 4


class ConstantPad3d(_ConstantPadNd):
    """Adds `value` around the last three dimensions."""

    sides = 6


class _ZeroPadNd(_ConstantPadNd):
    """Padding with the value 0."""

    def __init__(self, padding: Sequence[int]) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_ZeroPadNd, ConstantPad1d):
    """Adds zeros at both ends of the last dimension."""


class ZeroPad2d(_ZeroPadNd, ConstantPad2d):
    """Adds zeros around the last two dimensions."""


class ZeroPad3d(_ZeroPadNd, ConstantPad3d):
    """Adds zeros around the last three dimensions."""


class ReflectionPad1d(_PadNd):
    """Mirrors (N, C, L) at its first and last element, which are not repeated: abc to cbabcba."""

    mode, sides = "reflect", 2


class ReflectionPad2d(_PadNd):
    """Mirrors (N, C, H, W) at its outermost rows and columns, which are not repeated."""

    mode, sides = "reflect", 4


class ReflectionPad3d(_PadNd):
    """Mirrors (N, C, D, H, W) at its outermost planes, which are not repeated."""

    mode, sides = "reflect", 6


class ReplicationPad1d(_PadNd):
    """Repeats the first and last element of (N, C, L): abc to aaabccc."""

    mode, sides = "replicate", 2


class ReplicationPad2d(_PadNd):
    """Repeats the outermost rows and columns of (N, C, H, W)."""

    mode, sides = "replicate", 4


class ReplicationPad3d(_PadNd):
    """Repeats the outermost planes of (N, C, D, H, W)."""

    mode, sides = "replicate", 6


class CircularPad1d(_PadNd):
    """Continues (N, C, L) or (C, L) with its other end: abc to bcabcab.

    Raises ValueError unless there are 2 or 3 dimensions.
    """

    mode, sides = "circular", 2

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (2, 3):
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")
        return F.pad(input, self.padding, self.mode)


class CircularPad2d(_PadNd):
    """Continues (N, C, H, W) or (C, H, W) with its opposite edges.

    Raises ValueError unless there are 3 or 4 dimensions.
    """

    mode, sides = "circular", 4

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(f"expected 3D or 4D input (got {input.dim()}D input)")
        return F.pad(input, self.padding, self.mode)


class CircularPad3d(_PadNd):
    """Continues (N, C, D, H, W) or (C, D, H, W) with its opposite faces.

    Raises ValueError unless there are 4 or 5 dimensions.
    """

    mode, sides = "circular", 6

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (4, 5):
            raise ValueError(f"expected 4D or 5D input (got {input.dim()}D input)")
        return F.pad(input, self.padding, self.mode)
