"""The lazy layers: linear, convolutions, batch and instance normalization
(`torch/nn/modules/{linear,conv,batchnorm,instancenorm}.py`).

Each takes the arguments of the ordinary layer except the size of the input, and becomes that layer
with the first call (`lazy.py`).
"""

from __future__ import annotations

from typing import Any

import internals
from internals import Tensor, no_grad, tensor
from internals.core.dtype import dtype
from internals.nn.modules.batchnorm import BatchNorm1d, BatchNorm2d, BatchNorm3d
from internals.nn.modules.conv import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from internals.nn.modules.instancenorm import InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from internals.nn.modules.lazy import LazyModuleMixin
from internals.nn.modules.linear import Linear
from internals.nn.parameter import UninitializedBuffer, UninitializedParameter


class _Lazy(LazyModuleMixin):
    """A lazy layer, which becomes its second base class: `class LazyConv1d(_LazyConv, Conv1d)`."""

    def __init_subclass__(cls) -> None:
        if cls.cls_to_become is None and len(cls.__bases__) > 1:
            cls.cls_to_become = cls.__bases__[1]


class LazyLinear(_Lazy, Linear):
    """`Linear` whose `in_features` is the last size of its first input."""

    def __init__(
        self, out_features: int, bias: bool = True, device: Any = None, dtype: dtype | None = None
    ) -> None:
        super().__init__(0, 0, False)  # sizes 0: the parameters are replaced below
        self.out_features = out_features
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        if self.has_uninitialized_params():
            with no_grad():
                self.in_features = input.shape[-1]
                self.weight.materialize((self.out_features, self.in_features))
                if self.bias is not None:
                    self.bias.materialize((self.out_features,))
                self.reset_parameters()
        if self.in_features == 0:  # the parameters were loaded
            if input.shape[-1] != self.weight.shape[-1]:
                raise AssertionError(
                    f"The in_features inferred from input: {input.shape[-1]} is not equal to "
                    "in_features from self.weight: "
                    f"{self.weight.shape[-1]}"
                )
            self.in_features = input.shape[-1]


class _LazyConvXdMixin(_Lazy):
    """A convolution whose `in_channels` are those of its first input.

    Raises RuntimeError for another number of dimensions, ValueError for channels that `groups` does
    not divide.
    """

    def _set_out_channels(
        self: Any, out_channels: int, bias: bool, device: Any, dtype: Any
    ) -> None:
        self.out_channels = out_channels
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self: Any) -> None:
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self: Any, input: Tensor, *args: Any, **kwargs: Any) -> None:
        if not self.has_uninitialized_params():
            return
        self.in_channels = self._get_in_channels(input)
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        # (in, out / groups, *kernel) if transposed, else (out, in / groups, *kernel)
        channels = self.in_channels, self.out_channels
        rows, columns = channels if self.transposed else channels[::-1]
        self.weight.materialize((rows, columns // self.groups, *self.kernel_size))
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()

    def _get_in_channels(self: Any, input: Tensor) -> int:
        """The channels of (N, C, *) or (C, *), which come before the kernel's dimensions."""
        unbatched = len(self.kernel_size) + 1
        if input.dim() not in (unbatched, unbatched + 1):
            raise RuntimeError(
                f"Expected {unbatched}D (unbatched) or {unbatched + 1}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {input.shape}"
            )
        return int(input.shape[-unbatched])


class _LazyConv(_LazyConvXdMixin):
    """The constructor of a convolution, without `in_channels`."""

    def __init__(
        self, out_channels: int, kernel_size: int, stride: int = 1, padding: int | str = 0,
        dilation: int = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros",
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype
        )
        self._set_out_channels(out_channels, bias, device, dtype)


class _LazyConvTranspose(_LazyConvXdMixin):
    """The constructor of a transposed convolution, without `in_channels`."""

    def __init__(
        self, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        output_padding: Any = 0, groups: int = 1, bias: bool = True, dilation: Any = 1,
        padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            0,
            0,
            kernel_size,
            stride,
            padding,
            output_padding,
            groups,
            False,
            dilation,
            padding_mode,
            device,
            dtype,
        )
        self._set_out_channels(out_channels, bias, device, dtype)


class LazyConv1d(_LazyConv, Conv1d):
    """`Conv1d` without `in_channels`."""


class LazyConv2d(_LazyConv, Conv2d):
    """`Conv2d` without `in_channels`."""


class LazyConv3d(_LazyConv, Conv3d):
    """`Conv3d` without `in_channels`."""


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    """`ConvTranspose1d` without `in_channels`."""


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """`ConvTranspose2d` without `in_channels`."""


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    """`ConvTranspose3d` without `in_channels`."""


class _LazyNormBase(_Lazy):
    """A normalization whose `num_features` are the channels of its first input.

    By default it has parameters and running statistics, even as an instance normalization.
    """

    def __init__(
        self: Any, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, device: Any = None, dtype: Any = None, *,
        bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=False)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = tensor(0, dtype=internals.long, device=device)

    def reset_parameters(self: Any) -> None:
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self: Any, input: Tensor) -> None:
        if self.has_uninitialized_params():
            self.num_features = int(input.shape[1])
            for t in (self.weight, self.bias, self.running_mean, self.running_var):
                if t is not None:
                    t.materialize((self.num_features,))
            self.reset_parameters()


class LazyBatchNorm1d(_LazyNormBase, BatchNorm1d):
    """`BatchNorm1d` without `num_features`."""


class LazyBatchNorm2d(_LazyNormBase, BatchNorm2d):
    """`BatchNorm2d` without `num_features`."""


class LazyBatchNorm3d(_LazyNormBase, BatchNorm3d):
    """`BatchNorm3d` without `num_features`."""


class LazyInstanceNorm1d(_LazyNormBase, InstanceNorm1d):
    """`InstanceNorm1d` without `num_features`."""


class LazyInstanceNorm2d(_LazyNormBase, InstanceNorm2d):
    """`InstanceNorm2d` without `num_features`."""


class LazyInstanceNorm3d(_LazyNormBase, InstanceNorm3d):
    """`InstanceNorm3d` without `num_features`."""
