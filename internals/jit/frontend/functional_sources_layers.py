"""More of `nn.functional` as the compiler reads it: composed activations, sequences, channels, windows (`functional_sources.py`).

How the real one differs: these are operators there, with kernels of their own, or one Python source for both.
"""

# ruff: noqa: UP045  # `Optional` around a list of given length is what the compiler reads
# mypy: disable-error-code="valid-type,index,arg-type,misc,return-value,assignment,operator,union-attr,call-arg"
from __future__ import annotations

from typing import Optional

import internals as torch
from internals import Tensor

aten = torch.ops.aten
BroadcastingList1 = BroadcastingList2 = list  # one T, or a list of N of them


# Activations that are made of other operators


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    if alpha == 0.0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    if inplace:
        return aten.elu_(input, alpha, 1, 1 / alpha)
    return aten.elu(input, alpha, 1, 1 / alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    if inplace:
        return aten.elu_(input, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946)
    return aten.elu(input, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    if input.dim() == 0:
        weight = weight.reshape(input.size())
    elif input.dim() > 1 and weight.dim() == 1:
        weight = weight.reshape([1, -1] + [1] * (input.dim() - 2))
    return torch.where(input > 0, input, input * weight)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    if inplace:
        return input.masked_fill_(input <= threshold, value)
    return input.masked_fill(input <= threshold, value)


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    return input.masked_fill((input >= -lambd) & (input <= lambd), 0)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    if lambd < 0:
        raise RuntimeError("lambda must not be negative")
    return input - input.clamp(-lambd, lambd)


# Sequences, which are images of height 1


def max_pool1d(
    input: Tensor,
    kernel_size: BroadcastingList1[int],
    stride: Optional[BroadcastingList1[int]] = None,
    padding: BroadcastingList1[int] = 0,
    dilation: BroadcastingList1[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor:
    step = kernel_size if stride is None else stride
    image = input.unsqueeze(-2)
    sizes = [1, kernel_size[0]], [1, step[0]], [0, padding[0]], [1, dilation[0]]
    return aten.max_pool2d(image, sizes[0], sizes[1], sizes[2], sizes[3], ceil_mode).squeeze(-2)


def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: BroadcastingList1[int],
    stride: Optional[BroadcastingList1[int]] = None,
    padding: BroadcastingList1[int] = 0,
    dilation: BroadcastingList1[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    step = kernel_size if stride is None else stride
    image = input.unsqueeze(-2)
    sizes = [1, kernel_size[0]], [1, step[0]], [0, padding[0]], [1, dilation[0]]
    values, indices = aten.max_pool2d_with_indices(image, sizes[0], sizes[1], sizes[2], sizes[3], ceil_mode)
    return values.squeeze(-2), indices.squeeze(-2)


def avg_pool1d(
    input: Tensor,
    kernel_size: BroadcastingList1[int],
    stride: Optional[BroadcastingList1[int]] = None,
    padding: BroadcastingList1[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    step = kernel_size if stride is None else stride
    image = input.unsqueeze(-2)
    pooled = aten.avg_pool2d(image, [1, kernel_size[0]], [1, step[0]], [0, padding[0]], ceil_mode, count_include_pad)
    return pooled.squeeze(-2)


def adaptive_avg_pool1d(input: Tensor, output_size: BroadcastingList1[int]) -> Tensor:
    return aten.adaptive_avg_pool2d(input.unsqueeze(-2), [1, output_size[0]]).squeeze(-2)


def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: BroadcastingList1[int] = 1,
    padding: BroadcastingList1[int] = 0,
    output_padding: BroadcastingList1[int] = 0,
    groups: int = 1,
    dilation: BroadcastingList1[int] = 1,
) -> Tensor:
    image, kernel = input.unsqueeze(-2), weight.unsqueeze(-2)
    padded = torch.conv_transpose2d(
        image, kernel, bias, [1, stride[0]], [0, padding[0]], [0, output_padding[0]], groups, [1, dilation[0]]
    )
    return padded.squeeze(-2)


# Dropout of whole channels


# Normalization


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    n, c = input.size(0), input.size(1)
    joined = input.contiguous().view([1, n * c] + input.size()[2:])
    mean, var = _repeated(running_mean, n), _repeated(running_var, n)
    scale, shift = _repeated(weight, n), _repeated(bias, n)
    result = torch.batch_norm(joined, scale, shift, mean, var, use_input_stats, momentum, eps, False)
    if use_input_stats and running_mean is not None and mean is not None:
        running_mean.copy_(mean.view(n, c).mean(0))
    if use_input_stats and running_var is not None and var is not None:
        running_var.copy_(var.view(n, c).mean(0))
    return result.view(input.size())


def _repeated(t: Tensor | None, n: int) -> Tensor | None:
    if t is None:
        return None
    return t.repeat(n)


def rms_norm(
    input: Tensor, normalized_shape: list[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    dims = [-i - 1 for i in range(len(normalized_shape))]
    x = input.to(torch.float32) if input.dtype == torch.float16 else input
    if eps is None:
        eps = 2.220446049250313e-16 if x.dtype == torch.float64 else 1.1920928955078125e-07
    result = x * (x.square().mean(dims, keepdim=True) + eps).rsqrt()
    if weight is not None:
        result = result * weight
    return result.to(input.dtype)


# Products, distances, windows


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    result = torch.einsum("...i,oij,...j->...o", [input1, weight, input2])
    if bias is not None:
        result = result + bias
    return result


def unfold(
    input: Tensor,
    kernel_size: BroadcastingList2[int],
    dilation: BroadcastingList2[int] = 1,
    padding: BroadcastingList2[int] = 0,
    stride: BroadcastingList2[int] = 1,
) -> Tensor:
    return aten.im2col(input, kernel_size, dilation, padding, stride)


def fold(
    input: Tensor,
    output_size: BroadcastingList2[int],
    kernel_size: BroadcastingList2[int],
    dilation: BroadcastingList2[int] = 1,
    padding: BroadcastingList2[int] = 0,
    stride: BroadcastingList2[int] = 1,
) -> Tensor:
    return aten.col2im(input, output_size, kernel_size, dilation, padding, stride)


def interpolate(
    input: Tensor,
    size: Optional[BroadcastingList2[int]] = None,
    scale_factor: Optional[BroadcastingList2[float]] = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    return _resample(input, _spread(size, input), _spread_floats(scale_factor, input), mode, align_corners, antialias)


def _spread(size: list[int] | None, input: Tensor) -> list[int] | None:
    """As many sizes as there are spatial dimensions: one number was taken for two."""
    if size is None or len(size) == input.dim() - 2:
        return size
    return [size[0]] * (input.dim() - 2)


def _spread_floats(scales: list[float] | None, input: Tensor) -> list[float] | None:
    if scales is None or len(scales) == input.dim() - 2:
        return scales
    return [scales[0]] * (input.dim() - 2)


def _resample(
    input: Tensor,
    size: list[int] | None,
    scale_factor: list[float] | None,
    mode: str,
    align_corners: bool | None,
    antialias: bool,
) -> Tensor:
    dims = input.dim()
    corners = align_corners is not None and align_corners
    if mode == "nearest":
        if dims == 3:
            return aten.upsample_nearest1d(input, size, scale_factor)
        if dims == 5:
            return aten.upsample_nearest3d(input, size, scale_factor)
        return aten.upsample_nearest2d(input, size, scale_factor)
    if mode == "nearest-exact":
        if dims == 3:
            return aten._upsample_nearest_exact1d(input, size, scale_factor)
        if dims == 5:
            return aten._upsample_nearest_exact3d(input, size, scale_factor)
        return aten._upsample_nearest_exact2d(input, size, scale_factor)
    if mode == "linear" and dims == 3:
        return aten.upsample_linear1d(input, size, corners, scale_factor)
    if mode == "bilinear" and dims == 4:
        if antialias:
            return aten._upsample_bilinear2d_aa(input, size, corners, scale_factor)
        return aten.upsample_bilinear2d(input, size, corners, scale_factor)
    if mode == "bicubic" and dims == 4:
        if antialias:
            return aten._upsample_bicubic2d_aa(input, size, corners, scale_factor)
        return aten.upsample_bicubic2d(input, size, corners, scale_factor)
    if mode == "trilinear" and dims == 5:
        return aten.upsample_trilinear3d(input, size, corners, scale_factor)
    raise NotImplementedError(
        "a scripted interpolate has the modes nearest, nearest-exact, linear, bilinear, bicubic and trilinear"
    )


def upsample(
    input: Tensor,
    size: Optional[BroadcastingList2[int]] = None,
    scale_factor: Optional[BroadcastingList2[float]] = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    return interpolate(input, size, scale_factor, mode, align_corners)
