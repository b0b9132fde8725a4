"""Pooling in one to three dimensions: maximum, mean, p-norm, fractional, adaptive, and unpooling
(`torch/nn/functional.py`).

A function that can also return indices comes in two variants, one per result type, as the compiler
needs; `boolean_dispatch` chooses by `return_indices`.

How the real one differs: see `internals.nn.functional`.
"""

# mypy: disable-error-code="assignment,arg-type"
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from internals._generated import functions as F, nn_functions as nn
from internals._tensor import Tensor
from internals.functional.scripting import (
    BooleanDispatch,
    BroadcastingList1,
    BroadcastingList2,
    BroadcastingList3,
    annotate,
    boolean_dispatch,
    is_scripting,
)

from .modules.utils import _pair, _single, _triple


def by_indices(
    place: int, if_true: Callable[..., Any], if_false: Callable[..., Any]
) -> BooleanDispatch:
    """The choice between two functions by `return_indices`, the argument at position `place`."""
    return BooleanDispatch("return_indices", place, False, if_true, if_false)


def max_pool1d_with_indices(
    input: Tensor, kernel_size: BroadcastingList1[int],
    stride: BroadcastingList1[int] | None = None, padding: BroadcastingList1[int] = 0,
    dilation: BroadcastingList1[int] = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`max_pool1d(..., return_indices=True)`."""
    if stride is None:
        stride = annotate(list[int], [])
    return F.max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def _max_pool1d(
    input: Tensor, kernel_size: BroadcastingList1[int],
    stride: BroadcastingList1[int] | None = None, padding: BroadcastingList1[int] = 0,
    dilation: BroadcastingList1[int] = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Tensor:  # fmt: skip
    """The largest element of every window of (N, C, L) or (C, L); with `return_indices`, also its
    index in L.
    """
    if stride is None:
        stride = annotate(list[int], [])
    return F.max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode)


max_pool1d = boolean_dispatch("max_pool1d", by_indices(6, max_pool1d_with_indices, _max_pool1d))


def max_pool2d_with_indices(
    input: Tensor, kernel_size: BroadcastingList2[int],
    stride: BroadcastingList2[int] | None = None, padding: BroadcastingList2[int] = 0,
    dilation: BroadcastingList2[int] = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`max_pool2d(..., return_indices=True)`."""
    if stride is None:
        stride = annotate(list[int], [])
    return nn.max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def _max_pool2d(
    input: Tensor, kernel_size: BroadcastingList2[int],
    stride: BroadcastingList2[int] | None = None, padding: BroadcastingList2[int] = 0,
    dilation: BroadcastingList2[int] = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Tensor:  # fmt: skip
    """The largest element of every window of (N, C, H, W) or (C, H, W).

    With `return_indices`, also its index in the flattened H * W plane.
    """
    if stride is None:
        stride = annotate(list[int], [])
    return F.max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode)


max_pool2d = boolean_dispatch("max_pool2d", by_indices(6, max_pool2d_with_indices, _max_pool2d))


def max_pool3d_with_indices(
    input: Tensor, kernel_size: BroadcastingList3[int],
    stride: BroadcastingList3[int] | None = None, padding: BroadcastingList3[int] = 0,
    dilation: BroadcastingList3[int] = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`max_pool3d(..., return_indices=True)`."""
    if stride is None:
        stride = annotate(list[int], [])
    return nn.max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def _max_pool3d(
    input: Tensor, kernel_size: BroadcastingList3[int],
    stride: BroadcastingList3[int] | None = None, padding: BroadcastingList3[int] = 0,
    dilation: BroadcastingList3[int] = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Tensor:  # fmt: skip
    """The largest element of every window of (N, C, D, H, W) or (C, D, H, W).

    With `return_indices`, also its index in the flattened D * H * W volume.
    """
    if stride is None:
        stride = annotate(list[int], [])
    return F.max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode)


max_pool3d = boolean_dispatch("max_pool3d", by_indices(6, max_pool3d_with_indices, _max_pool3d))


def avg_pool1d(
    input: Tensor, kernel_size: BroadcastingList1[int],
    stride: BroadcastingList1[int] | None = None, padding: BroadcastingList1[int] = 0,
    ceil_mode: bool = False, count_include_pad: bool = True,
) -> Tensor:  # fmt: skip
    """The mean of every window of (N, C, L) or (C, L)."""
    if stride is None:
        stride = annotate(list[int], [])
    return F.avg_pool1d(input, kernel_size, stride, padding, ceil_mode, count_include_pad)


def avg_pool3d(
    input: Tensor, kernel_size: BroadcastingList3[int],
    stride: BroadcastingList3[int] | None = None, padding: BroadcastingList3[int] = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    """The mean of every window of (N, C, D, H, W) or (C, D, H, W)."""
    if stride is None:
        stride = annotate(list[int], [])
    return nn.avg_pool3d(
        input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def adaptive_avg_pool2d(input: Tensor, output_size: BroadcastingList2[int]) -> Tensor:
    """Means of windows, as many as `output_size` says: one number, or a pair (H', W') in which None
    keeps the input's size.
    """
    if not is_scripting():
        output_size = _with_sizes(input, output_size)
    return nn.adaptive_avg_pool2d(input, output_size)


def adaptive_avg_pool3d(input: Tensor, output_size: BroadcastingList3[int]) -> Tensor:
    """Means of windows, as many as `output_size` says: one number, or (D', H', W') in which None
    keeps the input's size.
    """
    if not is_scripting():
        output_size = _with_sizes(input, output_size)
    return nn.adaptive_avg_pool3d(input, output_size)


def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: BroadcastingList1[int], return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """`adaptive_max_pool1d(..., return_indices=True)`."""
    return F.adaptive_max_pool1d(input, output_size)


def _adaptive_max_pool1d(
    input: Tensor, output_size: BroadcastingList1[int], return_indices: bool = False
) -> Tensor:
    """The maxima of windows that cover (N, C, L) or (C, L) evenly; with `return_indices`, also
    their indices.
    """
    return adaptive_max_pool1d_with_indices(input, output_size)[0]


adaptive_max_pool1d = boolean_dispatch(
    "adaptive_max_pool1d", by_indices(2, adaptive_max_pool1d_with_indices, _adaptive_max_pool1d)
)


def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: BroadcastingList2[int], return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """`adaptive_max_pool2d(..., return_indices=True)`."""
    if not is_scripting():
        output_size = _with_sizes(input, output_size)
    return nn.adaptive_max_pool2d(input, output_size)


def _adaptive_max_pool2d(
    input: Tensor, output_size: BroadcastingList2[int], return_indices: bool = False
) -> Tensor:
    """The maxima of windows that cover (N, C, H, W) or (C, H, W) evenly; with `return_indices`,
    also their indices.
    """
    return adaptive_max_pool2d_with_indices(input, output_size)[0]


adaptive_max_pool2d = boolean_dispatch(
    "adaptive_max_pool2d", by_indices(2, adaptive_max_pool2d_with_indices, _adaptive_max_pool2d)
)


def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: BroadcastingList3[int], return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """`adaptive_max_pool3d(..., return_indices=True)`."""
    if not is_scripting():
        output_size = _with_sizes(input, output_size)
    return nn.adaptive_max_pool3d(input, output_size)


def _adaptive_max_pool3d(
    input: Tensor, output_size: BroadcastingList3[int], return_indices: bool = False
) -> Tensor:
    """The maxima of windows that cover (N, C, D, H, W) or (C, D, H, W) evenly; with
    `return_indices`, also their indices.
    """
    return adaptive_max_pool3d_with_indices(input, output_size)[0]


adaptive_max_pool3d = boolean_dispatch(
    "adaptive_max_pool3d", by_indices(2, adaptive_max_pool3d_with_indices, _adaptive_max_pool3d)
)


def _with_sizes(input: Tensor, output_size: int | Sequence[int]) -> Any:
    """`output_size`, with each None replaced by the input's size.

    Only Python may pass None; the compiler knows a list of numbers alone.
    """
    if isinstance(output_size, (list, tuple)):
        if input.dim() <= len(output_size):
            raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")
        sizes = input.shape[-len(output_size) :]
        output_size = [n if n is not None else d for n, d in zip(output_size, sizes)]
    return output_size


def max_unpool1d(
    input: Tensor, indices: Tensor, kernel_size: BroadcastingList1[int],
    stride: BroadcastingList1[int] | None = None, padding: BroadcastingList1[int] = 0,
    output_size: BroadcastingList1[int] | None = None,
) -> Tensor:  # fmt: skip
    """The reverse of `max_pool1d`: each element of (N, C, L') or (C, L') at its index in (N, C, L),
    zeros elsewhere.

    Several L may be pooled to the same L'; `output_size` chooses one. Raises ValueError for a size
    that is not among them.
    """
    kernel, around = _single(kernel_size), _single(padding)
    step = kernel if stride is None else _single(stride)
    size = _unpooled_size(input, kernel, step, around, output_size)
    return nn.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), size + [1]).squeeze(-1)


def max_unpool2d(
    input: Tensor, indices: Tensor, kernel_size: BroadcastingList2[int],
    stride: BroadcastingList2[int] | None = None, padding: BroadcastingList2[int] = 0,
    output_size: BroadcastingList2[int] | None = None,
) -> Tensor:  # fmt: skip
    """`max_unpool1d` for (N, C, H', W') and indices in the flattened H * W plane."""
    kernel, around = _pair(kernel_size), _pair(padding)
    step = kernel if stride is None else _pair(stride)
    size = _unpooled_size(input, kernel, step, around, output_size)
    return nn.max_unpool2d(input, indices, size)


def max_unpool3d(
    input: Tensor, indices: Tensor, kernel_size: BroadcastingList3[int],
    stride: BroadcastingList3[int] | None = None, padding: BroadcastingList3[int] = 0,
    output_size: BroadcastingList3[int] | None = None,
) -> Tensor:  # fmt: skip
    """`max_unpool1d` for (N, C, D', H', W') and indices in the flattened D * H * W volume."""
    kernel, around = _triple(kernel_size), _triple(padding)
    step = kernel if stride is None else _triple(stride)
    size = _unpooled_size(input, kernel, step, around, output_size)
    return nn.max_unpool3d(input, indices, size, step, around)


def fractional_max_pool2d_with_indices(
    input: Tensor, kernel_size: BroadcastingList2[int],
    output_size: BroadcastingList2[int] | None = None,
    output_ratio: BroadcastingList2[float] | None = None, return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`fractional_max_pool2d(..., return_indices=True)`."""
    if output_size is None:
        if output_ratio is None:
            raise ValueError(
                "fractional_max_pool2d requires specifying either an output_size or an output_ratio"
            )
        ratio = _pair(output_ratio)
        output_size = [int(input.size(d - 2) * ratio[d]) for d in range(2)]
    if _random_samples is None:
        n = 1 if input.dim() == 3 else input.size(0)
        sizes = [n, input.size(-3), 2]
        _random_samples = F.rand(sizes, dtype=input.dtype, device=input.device)
    return nn.fractional_max_pool2d(input, kernel_size, output_size, _random_samples)


def _fractional_max_pool2d(
    input: Tensor, kernel_size: BroadcastingList2[int],
    output_size: BroadcastingList2[int] | None = None,
    output_ratio: BroadcastingList2[float] | None = None, return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The maxima of windows at pseudo-random positions of (N, C, H, W).

    The result's spatial size is `output_size`, or the input's times `output_ratio`.
    `_random_samples` (N, C, 2) replaces the random numbers. Raises ValueError when neither size nor
    ratio is given.
    """
    return fractional_max_pool2d_with_indices(
        input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )[0]


fractional_max_pool2d = boolean_dispatch(
    "fractional_max_pool2d",
    by_indices(4, fractional_max_pool2d_with_indices, _fractional_max_pool2d),
)


def fractional_max_pool3d_with_indices(
    input: Tensor, kernel_size: BroadcastingList3[int],
    output_size: BroadcastingList3[int] | None = None,
    output_ratio: BroadcastingList3[float] | None = None, return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`fractional_max_pool3d(..., return_indices=True)`."""
    if output_size is None:
        if output_ratio is None:
            raise ValueError(
                "fractional_max_pool3d requires specifying either an output_size or an output_ratio"
            )
        ratio = _triple(output_ratio)
        output_size = [int(input.size(d - 3) * ratio[d]) for d in range(3)]
    if _random_samples is None:
        n = 1 if input.dim() == 4 else input.size(0)
        sizes = [n, input.size(-4), 3]
        _random_samples = F.rand(sizes, dtype=input.dtype, device=input.device)
    return nn.fractional_max_pool3d(input, kernel_size, output_size, _random_samples)


def _fractional_max_pool3d(
    input: Tensor, kernel_size: BroadcastingList3[int],
    output_size: BroadcastingList3[int] | None = None,
    output_ratio: BroadcastingList3[float] | None = None, return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """`fractional_max_pool2d` for (N, C, D, H, W); `_random_samples` is (N, C, 3)."""
    return fractional_max_pool3d_with_indices(
        input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )[0]


fractional_max_pool3d = boolean_dispatch(
    "fractional_max_pool3d",
    by_indices(4, fractional_max_pool3d_with_indices, _fractional_max_pool3d),
)


def lp_pool1d(
    input: Tensor, norm_type: float, kernel_size: BroadcastingList1[int],
    stride: BroadcastingList1[int] | None = None, ceil_mode: bool = False,
) -> Tensor:  # fmt: skip
    """The p-norm of every window of (N, C, L): (sum of x ** p) ** (1 / p), 0 where the sum is not
    positive.
    """
    kernel = _single(kernel_size)
    step = kernel if stride is None else _single(stride)
    if norm_type == float("inf"):
        return F.max_pool1d(input.abs(), kernel, step, 0, 1, ceil_mode)
    if norm_type == -float("inf"):
        return -F.max_pool1d(-input.abs(), kernel, step, 0, 1, ceil_mode)
    return _norm_of_mean(
        F.avg_pool1d(input.pow(norm_type), kernel, step, 0, ceil_mode), kernel, norm_type
    )


def lp_pool2d(
    input: Tensor, norm_type: float, kernel_size: BroadcastingList2[int],
    stride: BroadcastingList2[int] | None = None, ceil_mode: bool = False,
) -> Tensor:  # fmt: skip
    """The p-norm of every window of (N, C, H, W).

    A window that `ceil_mode` cuts off counts as a whole one with the same mean.
    """
    kernel = _pair(kernel_size)
    step = kernel if stride is None else _pair(stride)
    if norm_type == float("inf"):
        return F.max_pool2d(input.abs(), kernel, step, 0, 1, ceil_mode)
    if norm_type == -float("inf"):
        return -F.max_pool2d(-input.abs(), kernel, step, 0, 1, ceil_mode)
    return _norm_of_mean(
        nn.avg_pool2d(input.pow(norm_type), kernel, step, 0, ceil_mode), kernel, norm_type
    )


def lp_pool3d(
    input: Tensor, norm_type: float, kernel_size: BroadcastingList3[int],
    stride: BroadcastingList3[int] | None = None, ceil_mode: bool = False,
) -> Tensor:  # fmt: skip
    """The p-norm of every window of (N, C, D, H, W)."""
    kernel = _triple(kernel_size)
    step = kernel if stride is None else _triple(stride)
    if norm_type == float("inf"):
        return F.max_pool3d(input.abs(), kernel, step, 0, 1, ceil_mode)
    if norm_type == -float("inf"):
        return -F.max_pool3d(-input.abs(), kernel, step, 0, 1, ceil_mode)
    return _norm_of_mean(
        nn.avg_pool3d(input.pow(norm_type), kernel, step, 0, ceil_mode), kernel, norm_type
    )


def _norm_of_mean(mean: Tensor, kernel: list[int], p: float) -> Tensor:
    """(mean * elements of the kernel) ** (1 / p): the p-norm, from the mean of x ** p."""
    elements = 1
    for n in kernel:
        elements *= n
    return (mean.sign() * mean.abs().relu()).mul(elements).pow(1.0 / p)


def _unpooled_size(
    input: Tensor, kernel: list[int], stride: list[int], padding: list[int],
    output_size: list[int] | None,
) -> list[int]:  # fmt: skip
    """The spatial sizes before pooling: the smallest that fit, or `output_size` if it does too."""
    n = len(kernel)
    sizes = input.size()
    default = [
        (sizes[len(sizes) - n + d] - 1) * stride[d] + kernel[d] - 2 * padding[d] for d in range(n)
    ]
    if output_size is None:
        return default
    size = list(output_size)
    if len(size) == n + 2:  # (N, C, ...)
        size = size[2:]
    if len(size) != n:
        raise ValueError(
            f"output_size should be a sequence containing {n} or {n + 2} elements, but it has a "
            f"length of '{len(size)}'"
        )
    for d in range(n):
        least, most = default[d] - stride[d], default[d] + stride[d]
        if size[d] <= least or size[d] >= most:
            raise ValueError(
                f'invalid output_size "{size}" (dim {d} must be between {least} and {most})'
            )
    return size
