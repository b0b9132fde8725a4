"""Pooling layers: each reduces windows of its input to one element
(`torch/nn/modules/pooling.py`).

Unless a stride is given, it is the size of the window, so windows do not overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals import Tensor
from internals.nn import functional as F
from internals.nn.modules._options import _Options
from internals.nn.modules.utils import _ntuple, _single


class _MaxPoolNd(_Options):
    """Max pooling; with `return_indices`, `forward` also returns the index of each maximum, as
    `_MaxUnpoolNd` needs it.
    """

    __constants__ = ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"]
    _shown = ["kernel_size", "stride", "padding", "dilation", "ceil_mode"]

    def __init__(
        self, kernel_size: int, stride: int | None = None, padding: int = 0, dilation: int = 1,
        return_indices: bool = False, ceil_mode: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(
            kernel_size=kernel_size, stride=kernel_size if stride is None else stride,
            padding=padding, dilation=dilation, return_indices=return_indices, ceil_mode=ceil_mode,
        )  # fmt: skip


class MaxPool1d(_MaxPoolNd):
    """The largest element of every window: (N, C, L) to (N, C, L')."""

    def forward(self, input: Tensor):  # type: ignore[no-untyped-def]
        return F.max_pool1d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            self.ceil_mode,
            self.return_indices,
        )


class MaxPool2d(_MaxPoolNd):
    """The largest element of every window: (N, C, H, W) to (N, C, H', W').

    H' = (H + 2 padding - dilation (KH - 1) - 1) // stride + 1, rounded up with `ceil_mode`.
    """

    def forward(self, input: Tensor):  # type: ignore[no-untyped-def]
        return F.max_pool2d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            self.ceil_mode,
            self.return_indices,
        )


class MaxPool3d(_MaxPoolNd):
    """The largest element of every window: (N, C, D, H, W) to (N, C, D', H', W'), sizes as for
    `MaxPool2d`.
    """

    def forward(self, input: Tensor):  # type: ignore[no-untyped-def]
        return F.max_pool3d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            self.ceil_mode,
            self.return_indices,
        )


class _MaxUnpoolNd(_Options):
    """Puts each maximum back at its index, from max pooling with `return_indices`; zeros elsewhere.

    Several sizes may be pooled to the same; `forward(input, indices, output_size=None)` can choose
    one. Raises ValueError for a size that is not among them.
    """

    _shown = ["kernel_size", "stride", "padding"]
    _dims: int

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        parse = _ntuple(self._dims)
        stride = kernel_size if stride is None else stride
        super().__init__(
            kernel_size=parse(kernel_size), stride=parse(stride), padding=parse(padding)
        )


class MaxUnpool1d(_MaxUnpoolNd):
    """The partial inverse of `MaxPool1d`: (N, C, L') to (N, C, L)."""

    _dims = 1

    def forward(
        self, input: Tensor, indices: Tensor, output_size: list[int] | None = None
    ) -> Tensor:
        return F.max_unpool1d(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )


class MaxUnpool2d(_MaxUnpoolNd):
    """The partial inverse of `MaxPool2d`: (N, C, H', W') to (N, C, H, W)."""

    _dims = 2

    def forward(
        self, input: Tensor, indices: Tensor, output_size: list[int] | None = None
    ) -> Tensor:
        return F.max_unpool2d(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )


class MaxUnpool3d(_MaxUnpoolNd):
    """The partial inverse of `MaxPool3d`: (N, C, D', H', W') to (N, C, D, H, W)."""

    _dims = 3

    def forward(
        self, input: Tensor, indices: Tensor, output_size: list[int] | None = None
    ) -> Tensor:
        return F.max_unpool3d(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )


class _AvgPoolNd(_Options):
    """Mean pooling."""

    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"]
    _shown = ["kernel_size", "stride", "padding"]


class AvgPool1d(_AvgPoolNd):
    """The mean of every window: (N, C, L) to (N, C, L'). Padding counts as zeros unless
    `count_include_pad` is False.
    """

    def __init__(
        self, kernel_size: int, stride: Any = None, padding: int = 0, ceil_mode: bool = False,
        count_include_pad: bool = True
    ) -> None:  # fmt: skip
        super().__init__(
            kernel_size=_single(kernel_size),
            stride=_single(kernel_size if stride is None else stride), padding=_single(padding),
            ceil_mode=ceil_mode, count_include_pad=count_include_pad,
        )  # fmt: skip

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
        )


class _DividedAvgPoolNd(_AvgPoolNd):
    """Mean pooling that may divide the sums by `divisor_override` instead of the window's size."""

    __constants__ = [*_AvgPoolNd.__constants__, "divisor_override"]

    def __init__(
        self, kernel_size: int, stride: int | None = None, padding: int = 0,
        ceil_mode: bool = False, count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            kernel_size=kernel_size, stride=kernel_size if stride is None else stride,
            padding=padding, ceil_mode=ceil_mode, count_include_pad=count_include_pad,
            divisor_override=divisor_override,
        )  # fmt: skip


class AvgPool2d(_DividedAvgPoolNd):
    """The mean of every window: (N, C, H, W) to (N, C, H', W')."""

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool2d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode,
            self.count_include_pad, self.divisor_override,
        )  # fmt: skip


class AvgPool3d(_DividedAvgPoolNd):
    """The mean of every window: (N, C, D, H, W) to (N, C, D', H', W')."""

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool3d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode,
            self.count_include_pad, self.divisor_override,
        )  # fmt: skip


class _AdaptiveAvgPoolNd(_Options):
    """Mean pooling with windows that are chosen so that the result has `output_size`."""

    __constants__ = _shown = ["output_size"]

    def __init__(self, output_size: int | Sequence[int]) -> None:
        super().__init__(output_size=output_size)


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Means of windows that cover (N, C, L): (N, C, output_size)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Means of windows that cover (N, C, H, W): (N, C, *output_size).

    A single number stands for both sizes; None keeps the input's size.
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Means of windows that cover (N, C, D, H, W): (N, C, *output_size)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool3d(input, self.output_size)


class _AdaptiveMaxPoolNd(_Options):
    """Max pooling with windows that are chosen so that the result has `output_size`.

    With `return_indices`, `forward` also returns the index of each maximum.
    """

    __constants__ = ["output_size", "return_indices"]
    _shown = ["output_size"]

    def __init__(self, output_size: int | Sequence[int], return_indices: bool = False) -> None:
        super().__init__(output_size=output_size, return_indices=return_indices)


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Maxima of windows that cover (N, C, L): (N, C, output_size)."""

    def forward(self, input: Tensor):  # type: ignore[no-untyped-def]
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Maxima of windows that cover (N, C, H, W): (N, C, *output_size)."""

    def forward(self, input: Tensor):  # type: ignore[no-untyped-def]
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Maxima of windows that cover (N, C, D, H, W): (N, C, *output_size)."""

    def forward(self, input: Tensor):  # type: ignore[no-untyped-def]
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)


class _LPPoolNd(_Options):
    """The p-norm of every window, where p is `norm_type`: (sum of x ** p) ** (1 / p).

    1 gives the sum, infinity the maximum of absolute values.
    """

    __constants__ = _shown = ["norm_type", "kernel_size", "stride", "ceil_mode"]

    def __init__(
        self,
        norm_type: float,
        kernel_size: int | Sequence[int],
        stride: Sequence[int] | None = None,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__(
            norm_type=norm_type, kernel_size=kernel_size, stride=stride, ceil_mode=ceil_mode,
        )  # fmt: skip


class LPPool1d(_LPPoolNd):
    """p-norms of the windows of (N, C, L)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool1d(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )


class LPPool2d(_LPPoolNd):
    """p-norms of the windows of (N, C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool2d(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )


class LPPool3d(_LPPoolNd):
    """p-norms of the windows of (N, C, D, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool3d(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )


class _FractionalMaxPoolNd(_Options):
    """Max pooling with windows at pseudo-random positions, as many as the result's size requires.

    That is either `output_size`, or the input's size times `output_ratio` (between 0 and 1).
    `_random_samples` (N, C, dimensions) replaces the random numbers. Raises ValueError if neither
    or both are given, and for other ratios.
    """

    __constants__ = ["kernel_size", "return_indices", "output_size", "output_ratio"]

    _dims: int

    def __init__(
        self, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
        return_indices: bool = False, _random_samples: Any = None,
    ) -> None:  # fmt: skip
        name, parse = type(self).__name__, _ntuple(self._dims)
        if name == "FractionalMaxPool3d" and min(parse(kernel_size)) <= 0:
            raise ValueError(f"kernel_size must be greater than 0, but got {kernel_size}")
        if output_size is None and output_ratio is None:
            raise ValueError(
                f"{name} requires specifying either an output size, or a pooling ratio"
            )
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if output_ratio is not None and not all(0 < r < 1 for r in parse(output_ratio)):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")
        super().__init__(
            kernel_size=parse(kernel_size), return_indices=return_indices,
            output_size=None if output_size is None else parse(output_size),
            output_ratio=None if output_ratio is None else parse(output_ratio),
        )  # fmt: skip
        self.register_buffer("_random_samples", _random_samples)


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """(N, C, H, W) to (N, C, *output_size), or to `output_ratio` times the size."""

    _dims = 2

    def forward(self, input: Tensor):  # type: ignore[no-untyped-def]
        return F.fractional_max_pool2d(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            self._random_samples,
        )


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """(N, C, D, H, W) to (N, C, *output_size), or to `output_ratio` times the size."""

    _dims = 3

    def forward(self, input: Tensor):  # type: ignore[no-untyped-def]
        return F.fractional_max_pool3d(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            self._random_samples,
        )
