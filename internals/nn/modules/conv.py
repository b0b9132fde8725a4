"""Convolutions: `Conv1d`, `Conv2d`, `Conv3d`, and their transposes (`torch/nn/modules/conv.py`).

They differ only in the number of dimensions; `_ConvNd` has the parameters and the printed form.
Its base class `_Options` keeps the options of the constructor as attributes; `__constants__` names
those that are constants in a script. `forward` stands in every class, because a script compiles it
as it is written, and each calls another operator: `conv1d`, `conv2d` or `conv3d`.

How the real one differs: the lazy layers are in the same file.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

from internals import Tensor, empty
from internals.core.dtype import dtype
from internals.nn import functional as F, init
from internals.nn.modules._options import _Options
from internals.nn.modules.linear import add_bias, reset_bias
from internals.nn.modules.utils import _pair, _reverse_repeat_tuple, _single, _triple
from internals.nn.parameter import Parameter

# An option of a layer with one, two or three dimensions: a number for all of them, or one for each.
Size1 = int | Sequence[int]
Size2 = int | Sequence[int]
Size3 = int | Sequence[int]

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(_Options):
    """Parameters of a convolution: `weight` (out_channels, in_channels / groups, *kernel_size),
    `bias` (out_channels).

    If transposed, `weight` is (in_channels, out_channels / groups, *kernel_size). Both are
    initially uniform in ±1 / sqrt(fan_in). Raises ValueError for channels that `groups` does not
    divide, and for unknown words for the padding.
    """

    __constants__ = [
        "stride", "padding", "dilation", "groups", "padding_mode", "output_padding", "in_channels",
        "out_channels", "kernel_size",
    ]  # fmt: skip

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: tuple[int, ...],
        stride: tuple[int, ...], padding: str | tuple[int, ...], dilation: tuple[int, ...],
        transposed: bool, output_padding: tuple[int, ...], groups: int, bias: bool,
        padding_mode: str, device: Any = None, dtype: dtype | None = None,
    ) -> None:  # fmt: skip
        if transposed and padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        _check_padding(padding, stride, padding_mode)
        super().__init__(
            in_channels=in_channels, out_channels=out_channels, kernel_size=kernel_size,
            stride=stride, padding=padding, dilation=dilation, transposed=transposed,
            output_padding=output_padding, groups=groups, padding_mode=padding_mode,
            _reversed_padding_repeated_twice=_padding_for_pad(padding, kernel_size, dilation),
        )  # fmt: skip
        rows, columns = (in_channels, out_channels) if transposed else (out_channels, in_channels)
        self.weight = Parameter(
            empty((rows, columns // groups, *kernel_size), device=device, dtype=dtype)
        )
        add_bias(self, out_channels, bias, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        # with slope sqrt(5) the bound is sqrt(3) * sqrt(2 / 6) / sqrt(fan_in) = 1 / sqrt(fan_in)
        init.kaiming_uniform_(self.weight, a=sqrt(5))
        reset_bias(self.weight, self.bias)

    def extra_repr(self) -> str:
        s = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}"
        )
        if self.padding != (0,) * len(self.padding):
            s += f", padding={self.padding}"
        if self.dilation != (1,) * len(self.dilation):
            s += f", dilation={self.dilation}"
        if self.output_padding != (0,) * len(self.output_padding):
            s += f", output_padding={self.output_padding}"
        if self.groups != 1:
            s += f", groups={self.groups}"
        if self.bias is None:
            s += ", bias=False"
        if self.padding_mode != "zeros":
            s += f", padding_mode={self.padding_mode}"
        return s


class Conv1d(_ConvNd):
    """Slides `out_channels` kernels of shape (in_channels / groups, K) over sequences: (N, C, L) to
    (N, out_channels, L').

    `padding` is a number, "valid" or "same"; `padding_mode` is "zeros", "reflect", "replicate" or
    "circular".
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Size1, stride: Size1 = 1,
        padding: str | Size1 = 0, dilation: Size1 = 1, groups: int = 1, bias: bool = True,
        padding_mode: str = "zeros", device: Any = None, dtype: dtype | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            in_channels, out_channels, _single(kernel_size), _single(stride),
            padding if isinstance(padding, str) else _single(padding), _single(dilation), False,
            (0,), groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, self.padding_mode)
            return F.conv1d(input, weight, bias, self.stride, (0,), self.dilation, self.groups)
        return F.conv1d(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)


class Conv2d(_ConvNd):
    """Slides `out_channels` kernels of shape (in_channels / groups, KH, KW) over images:
    (N, C, H, W) to (N, out_channels, H', W').

    H' = (H + 2 padding - dilation (KH - 1) - 1) // stride + 1. `padding` is a number, a pair,
    "valid" or "same".
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Size2, stride: Size2 = 1,
        padding: str | Size2 = 0, dilation: Size2 = 1, groups: int = 1, bias: bool = True,
        padding_mode: str = "zeros", device: Any = None, dtype: dtype | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            in_channels, out_channels, _pair(kernel_size), _pair(stride),
            padding if isinstance(padding, str) else _pair(padding), _pair(dilation), False, (0, 0),
            groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, self.padding_mode)
            return F.conv2d(input, weight, bias, self.stride, (0, 0), self.dilation, self.groups)
        return F.conv2d(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)


class Conv3d(_ConvNd):
    """Slides `out_channels` kernels of shape (in_channels / groups, KD, KH, KW) over volumes.

    (N, C, D, H, W) to (N, out_channels, D', H', W'), with sizes as for `Conv2d`. `padding` is a
    number, three numbers, "valid" or "same".
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Size3, stride: Size3 = 1,
        padding: str | Size3 = 0, dilation: Size3 = 1, groups: int = 1, bias: bool = True,
        padding_mode: str = "zeros", device: Any = None, dtype: dtype | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            in_channels, out_channels, _triple(kernel_size), _triple(stride),
            padding if isinstance(padding, str) else _triple(padding), _triple(dilation), False,
            (0, 0, 0), groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, self.padding_mode)
            return F.conv3d(input, weight, bias, self.stride, (0, 0, 0), self.dilation, self.groups)
        return F.conv3d(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)


class _ConvTransposeNd(_ConvNd):
    """The gradient of a convolution with respect to its input, used as a layer: each element of the
    input is multiplied by a kernel, and the products are added up where they overlap.
    """

    def _output_padding(self, input: Tensor, output_size: list[int] | None) -> list[int]:
        """The number of elements to add at the end of each dimension, to reach `output_size`.

        A strided convolution maps several sizes to one, so its transpose has to choose among them.
        Raises ValueError for a size that is not possible.
        """
        if output_size is None:
            return [int(k) for k in self.output_padding]
        dims = len(self.kernel_size)
        leading = 2 if input.dim() == dims + 2 else 1  # (N, C, ...) or (C, ...)
        if len(output_size) == leading + dims:
            output_size = output_size[leading:]
        if len(output_size) != dims:
            raise ValueError(
                f"ConvTranspose{dims}D: for {input.dim()}D input, output_size must have {dims} or "
                f"{leading + dims} elements (got {len(output_size)})"
            )
        sizes = [int(n) for n in input.shape[leading:]]
        stride, padding = [int(s) for s in self.stride], [int(p) for p in self.padding]
        reach = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size)]
        smallest = [(sizes[i] - 1) * stride[i] - 2 * padding[i] + reach[i] + 1 for i in range(dims)]
        largest = [smallest[i] + stride[i] - 1 for i in range(dims)]
        for i in range(dims):
            if output_size[i] < smallest[i] or output_size[i] > largest[i]:
                raise ValueError(
                    f"requested an output size of {output_size}, but valid sizes range from "
                    f"{smallest} to {largest} (for an input of {input.shape[2:]})"
                )
        return [output_size[i] - smallest[i] for i in range(dims)]


class ConvTranspose1d(_ConvTransposeNd):
    """The transpose of `Conv1d`: (N, C, L) to (N, out_channels, L').

    L' = (L - 1) stride - 2 padding + dilation (K - 1) + output_padding + 1.
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Size1, stride: Size1 = 1,
        padding: Size1 = 0, output_padding: Size1 = 0, groups: int = 1, bias: bool = True,
        dilation: Size1 = 1, padding_mode: str = "zeros", device: Any = None,
        dtype: dtype | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            in_channels, out_channels, _single(kernel_size), _single(stride), _single(padding),
            _single(dilation), True, _single(output_padding), groups, bias, padding_mode, device,
            dtype,
        )  # fmt: skip

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        extra = self._output_padding(input, output_size)
        return F.conv_transpose1d(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            extra,
            self.groups,
            self.dilation,
        )


class ConvTranspose2d(_ConvTransposeNd):
    """The transpose of `Conv2d`: (N, C, H, W) to (N, out_channels, H', W').

    H' = (H - 1) stride - 2 padding + dilation (KH - 1) + output_padding + 1.
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Size2, stride: Size2 = 1,
        padding: Size2 = 0, output_padding: Size2 = 0, groups: int = 1, bias: bool = True,
        dilation: Size2 = 1, padding_mode: str = "zeros", device: Any = None,
        dtype: dtype | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            in_channels, out_channels, _pair(kernel_size), _pair(stride), _pair(padding),
            _pair(dilation), True, _pair(output_padding), groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        extra = self._output_padding(input, output_size)
        return F.conv_transpose2d(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            extra,
            self.groups,
            self.dilation,
        )


class ConvTranspose3d(_ConvTransposeNd):
    """The transpose of `Conv3d`: (N, C, D, H, W) to (N, out_channels, D', H', W'), with sizes as
    for `ConvTranspose2d`.
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Size3, stride: Size3 = 1,
        padding: Size3 = 0, output_padding: Size3 = 0, groups: int = 1, bias: bool = True,
        dilation: Size3 = 1, padding_mode: str = "zeros", device: Any = None,
        dtype: dtype | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            in_channels, out_channels, _triple(kernel_size), _triple(stride), _triple(padding),
            _triple(dilation), True, _triple(output_padding), groups, bias, padding_mode, device,
            dtype,
        )  # fmt: skip

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        extra = self._output_padding(input, output_size)
        return F.conv_transpose3d(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            extra,
            self.groups,
            self.dilation,
        )


def _padding_for_pad(
    padding: str | tuple[int, ...], kernel_size: Sequence[int], dilation: Sequence[int]
) -> list[int]:
    """The padding in the order of `F.pad`: (before, after) of the last dimension first.

    For "same" an odd total puts one element more after than before.
    """
    if not isinstance(padding, str):
        return list(_reverse_repeat_tuple(padding, 2))
    totals = [d * (k - 1) if padding == "same" else 0 for d, k in zip(dilation, kernel_size)]
    return [n for total in reversed(totals) for n in (total // 2, total - total // 2)]


def _check_padding(
    padding: str | tuple[int, ...], stride: Sequence[int], padding_mode: str
) -> None:
    """Raise ValueError for an unknown word, and for "same" with a stride."""
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise ValueError(
                f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}"
            )
        if padding == "same" and any(s != 1 for s in stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
    if padding_mode not in _PADDING_MODES:
        modes = "{" + ", ".join(map(repr, _PADDING_MODES)) + "}"
        raise ValueError(
            f"padding_mode must be one of {modes}, but got padding_mode='{padding_mode}'"
        )
