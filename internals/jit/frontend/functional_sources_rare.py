"""Pooling backwards, fractional and by p-norms, grids and the like, as the compiler reads them (`functional_sources.py`).

How the real one differs: see there.
"""

# ruff: noqa: UP045  # `Optional` around a list of given length is what the compiler reads
# mypy: disable-error-code="valid-type,index,arg-type,misc,return-value,assignment,operator,union-attr,call-arg"
from __future__ import annotations

from typing import Optional

import internals as torch
from internals import Tensor

from .functional_sources_layers import interpolate

aten = torch.ops.aten
BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = list  # one T, or a list of N of them


def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: BroadcastingList3[int],
    stride: Optional[BroadcastingList3[int]] = None,
    padding: BroadcastingList3[int] = 0,
    dilation: BroadcastingList3[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    step = kernel_size if stride is None else stride
    return aten.max_pool3d_with_indices(input, kernel_size, step, padding, dilation, ceil_mode)


def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: BroadcastingList1[int],
    stride: Optional[BroadcastingList1[int]] = None,
    padding: BroadcastingList1[int] = 0,
    output_size: Optional[BroadcastingList1[int]] = None,
) -> Tensor:
    step = kernel_size if stride is None else stride
    size = _unpooled_size(input, kernel_size, step, padding, output_size)
    return aten.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), size + [1]).squeeze(-1)


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: BroadcastingList2[int],
    stride: Optional[BroadcastingList2[int]] = None,
    padding: BroadcastingList2[int] = 0,
    output_size: Optional[BroadcastingList2[int]] = None,
) -> Tensor:
    step = kernel_size if stride is None else stride
    return aten.max_unpool2d(input, indices, _unpooled_size(input, kernel_size, step, padding, output_size))


def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: BroadcastingList3[int],
    stride: Optional[BroadcastingList3[int]] = None,
    padding: BroadcastingList3[int] = 0,
    output_size: Optional[BroadcastingList3[int]] = None,
) -> Tensor:
    step = kernel_size if stride is None else stride
    size = _unpooled_size(input, kernel_size, step, padding, output_size)
    return aten.max_unpool3d(input, indices, size, step, padding)


def _unpooled_size(
    input: Tensor, kernel: list[int], stride: list[int], padding: list[int], output_size: list[int] | None
) -> list[int]:
    n = len(kernel)
    sizes = input.size()
    default = [(sizes[len(sizes) - n + d] - 1) * stride[d] + kernel[d] - 2 * padding[d] for d in range(n)]
    if output_size is None:
        return default
    if len(output_size) == n + 2:
        output_size = output_size[2:]
    if len(output_size) != n:
        raise ValueError(
            f"output_size should be a sequence containing {n} or {n + 2} elements, but it has a length of '{len(output_size)}'"
        )
    for d in range(n):
        least, most = default[d] - stride[d], default[d] + stride[d]
        if output_size[d] <= least or output_size[d] >= most:
            raise ValueError(f'invalid output_size "{output_size}" (dim {d} must be between {least} and {most})')
    return output_size


def fractional_max_pool2d(
    input: Tensor,
    kernel_size: BroadcastingList2[int],
    output_size: Optional[BroadcastingList2[int]] = None,
    output_ratio: Optional[BroadcastingList2[float]] = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Tensor:
    return fractional_max_pool2d_with_indices(
        input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )[0]


def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: BroadcastingList2[int],
    output_size: Optional[BroadcastingList2[int]] = None,
    output_ratio: Optional[BroadcastingList2[float]] = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    size = _fractional_size(2, input, output_size, output_ratio)
    return aten.fractional_max_pool2d(input, kernel_size, size, _samples(2, input, _random_samples))


def fractional_max_pool3d(
    input: Tensor,
    kernel_size: BroadcastingList3[int],
    output_size: Optional[BroadcastingList3[int]] = None,
    output_ratio: Optional[BroadcastingList3[float]] = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Tensor:
    return fractional_max_pool3d_with_indices(
        input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )[0]


def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: BroadcastingList3[int],
    output_size: Optional[BroadcastingList3[int]] = None,
    output_ratio: Optional[BroadcastingList3[float]] = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    size = _fractional_size(3, input, output_size, output_ratio)
    return aten.fractional_max_pool3d(input, kernel_size, size, _samples(3, input, _random_samples))


def _fractional_size(dims: int, input: Tensor, size: list[int] | None, ratio: list[float] | None) -> list[int]:
    if size is not None:
        return size
    if ratio is None:
        raise ValueError(f"fractional_max_pool{dims}d requires specifying either an output_size or an output_ratio")
    return [int(input.size(d - dims) * ratio[d]) for d in range(dims)]


def _samples(dims: int, input: Tensor, given: Tensor | None) -> Tensor:
    if given is not None:
        return given
    n = 1 if input.dim() == dims + 1 else input.size(0)
    return torch.rand([n, input.size(-dims - 1), dims], dtype=input.dtype, device=input.device)


def lp_pool1d(
    input: Tensor,
    norm_type: float,
    kernel_size: BroadcastingList1[int],
    stride: Optional[BroadcastingList1[int]] = None,
    ceil_mode: bool = False,
) -> Tensor:
    step = kernel_size if stride is None else stride
    if norm_type == float("inf"):
        return torch.max_pool1d(input.abs(), kernel_size, step, 0, 1, ceil_mode)
    if norm_type == -float("inf"):
        return -torch.max_pool1d(-input.abs(), kernel_size, step, 0, 1, ceil_mode)
    return _norm_of_mean(aten.avg_pool1d(input.pow(norm_type), kernel_size, step, 0, ceil_mode), kernel_size, norm_type)


def lp_pool2d(
    input: Tensor,
    norm_type: float,
    kernel_size: BroadcastingList2[int],
    stride: Optional[BroadcastingList2[int]] = None,
    ceil_mode: bool = False,
) -> Tensor:
    step = kernel_size if stride is None else stride
    if norm_type == float("inf"):
        return torch.max_pool2d(input.abs(), kernel_size, step, 0, 1, ceil_mode)
    if norm_type == -float("inf"):
        return -torch.max_pool2d(-input.abs(), kernel_size, step, 0, 1, ceil_mode)
    return _norm_of_mean(aten.avg_pool2d(input.pow(norm_type), kernel_size, step, 0, ceil_mode), kernel_size, norm_type)


def lp_pool3d(
    input: Tensor,
    norm_type: float,
    kernel_size: BroadcastingList3[int],
    stride: Optional[BroadcastingList3[int]] = None,
    ceil_mode: bool = False,
) -> Tensor:
    step = kernel_size if stride is None else stride
    if norm_type == float("inf"):
        return torch.max_pool3d(input.abs(), kernel_size, step, 0, 1, ceil_mode)
    if norm_type == -float("inf"):
        return -torch.max_pool3d(-input.abs(), kernel_size, step, 0, 1, ceil_mode)
    return _norm_of_mean(aten.avg_pool3d(input.pow(norm_type), kernel_size, step, 0, ceil_mode), kernel_size, norm_type)


def _norm_of_mean(mean: Tensor, kernel: list[int], p: float) -> Tensor:
    size = 1
    for k in kernel:
        size *= k
    return (mean.sign() * mean.abs().relu()).mul(size).pow(1.0 / p)


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    if input.dim() < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {input.dim()} dimensions)")
    if input.numel() == 0:
        return input
    squares = input.mul(input)
    before, after = size // 2, (size - 1) // 2
    if input.dim() == 3:
        rows = aten.pad(squares.unsqueeze(1), [0, 0, before, after])
        means = aten.avg_pool2d(rows, [size, 1], 1).squeeze(1)
    else:
        rows = aten.pad(
            squares.view([input.size(0), 1, input.size(1), input.size(2), -1]), [0, 0, 0, 0, before, after]
        )
        means = aten.avg_pool3d(rows, [size, 1, 1], 1).squeeze(1).view(input.size())
    return input / means.mul(alpha).add(k).pow(beta)


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    modes, paddings = {"bilinear": 0, "nearest": 1, "bicubic": 2}, {"zeros": 0, "border": 1, "reflection": 2}
    if mode not in modes:
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in paddings:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'"
        )
    corners = align_corners is not None and align_corners
    return torch.grid_sampler(input, grid, modes[mode], paddings[padding_mode], corners)


def affine_grid(theta: Tensor, size: list[int], align_corners: bool | None = None) -> Tensor:
    dims = len(size) - 2
    if dims != 2 and dims != 3:
        raise NotImplementedError(
            f"affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size {size}."
        )
    if theta.dim() != 3 or theta.size(-2) != dims or theta.size(-1) != dims + 1:
        raise ValueError(
            f"Expected a batch of {dims}D affine matrices of shape Nx{dims}x{dims + 1} for size {size}. Got {theta.size()}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    return torch.affine_grid_generator(theta, size, align_corners is not None and align_corners)


def upsample_nearest(
    input: Tensor,
    size: Optional[BroadcastingList2[int]] = None,
    scale_factor: Optional[BroadcastingList2[float]] = None,
) -> Tensor:
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(
    input: Tensor,
    size: Optional[BroadcastingList2[int]] = None,
    scale_factor: Optional[BroadcastingList2[float]] = None,
) -> Tensor:
    return interpolate(input, size, scale_factor, "bilinear", True)


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    if inplace:
        return torch.rrelu_(input, lower, upper, training)
    return torch.rrelu(input, lower, upper, training)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    noise = -torch.empty_like(logits).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one_hot = torch.zeros_like(logits).scatter_(dim, index, 1.0)
    return one_hot - soft.detach() + soft
