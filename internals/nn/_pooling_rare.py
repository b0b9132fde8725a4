"""Pooling of the rarer kinds, as `nn.functional` offers it: backwards, fractional, by p-norms (`torch/nn/functional.py`).

How the real one differs: see `internals.nn.functional`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from internals._generated import functions as F
from internals._generated import nn_functions as nn

from . import _pooling
from .modules.utils import _ntuple


def max_unpool1d(
    input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Any:
    """Each element of (N, C, L') or (C, L') at its index in (N, C, L); zeros elsewhere.

    `output_size` is the one that would be pooled to the input's with these windows, or one of several that were asked for.
    Raises ValueError for another.
    """
    size = _unpooled_size(input, _ntuple(1)(kernel_size), stride, padding, output_size)
    return nn.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), [*size, 1]).squeeze(-1)


def max_unpool2d(
    input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Any:
    """The same for (N, C, H', W'), whose indices count in the H * W plane."""
    size = _unpooled_size(input, _ntuple(2)(kernel_size), stride, padding, output_size)
    return nn.max_unpool2d(input, indices, size)


def max_unpool3d(
    input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Any:
    """The same for (N, C, D', H', W'), whose indices count in the D * H * W volume."""
    kernel = _ntuple(3)(kernel_size)
    size = _unpooled_size(input, kernel, stride, padding, output_size)
    return nn.max_unpool3d(input, indices, size, kernel if stride is None else _ntuple(3)(stride), _ntuple(3)(padding))


def fractional_max_pool2d(
    input: Any, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:  # fmt: skip
    """Maxima of windows at pseudo-random places, `output_size` of them or `output_ratio` times the input's size.

    `_random_samples` (N, C, 2) takes the place of random numbers. Raises ValueError when neither size nor ratio is given.
    """
    result = fractional_max_pool2d_with_indices(
        input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )
    return result if return_indices else result[0]


def fractional_max_pool2d_with_indices(
    input: Any, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:  # fmt: skip
    """`fractional_max_pool2d(..., return_indices=True)`."""
    size, samples = _fractions(2, input, output_size, output_ratio, _random_samples)
    return nn.fractional_max_pool2d(input, kernel_size, size, samples)


def fractional_max_pool3d(
    input: Any, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:  # fmt: skip
    """The same for (N, C, D, H, W); `_random_samples` is (N, C, 3)."""
    result = fractional_max_pool3d_with_indices(
        input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )
    return result if return_indices else result[0]


def fractional_max_pool3d_with_indices(
    input: Any, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:  # fmt: skip
    """`fractional_max_pool3d(..., return_indices=True)`."""
    size, samples = _fractions(3, input, output_size, output_ratio, _random_samples)
    return nn.fractional_max_pool3d(input, kernel_size, size, samples)


def lp_pool1d(input: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Any:
    """The p-norm of every window of (N, C, L): (sum of x ** p) ** (1 / p), 0 where that sum is not positive."""
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(input: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Any:
    """The p-norm of every window of (N, C, H, W). A window that ceil_mode cuts counts as a whole one with the same mean."""
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(input: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Any:
    """The p-norm of every window of (N, C, D, H, W)."""
    return _lp_pool(3, input, norm_type, kernel_size, stride, ceil_mode)


def _lp_pool(dims: int, input: Any, p: float, kernel_size: Any, stride: Any, ceil_mode: bool) -> Any:
    largest = getattr(_pooling, f"max_pool{dims}d")
    if p == float("inf"):
        return largest(input.abs(), kernel_size, stride, 0, 1, ceil_mode)
    if p == -float("inf"):
        return -largest(-input.abs(), kernel_size, stride, 0, 1, ceil_mode)
    average = nn.avg_pool2d if dims == 2 else getattr(_pooling, f"avg_pool{dims}d")
    step = kernel_size if stride is None else stride
    mean = average(input.pow(p), kernel_size, step, 0, ceil_mode)
    return (mean.sign() * mean.abs().relu()).mul(prod(_ntuple(dims)(kernel_size))).pow(1.0 / p)


def _unpooled_size(
    input: Any, kernel: Sequence[int], stride: Any, padding: Any, output_size: Sequence[int] | None
) -> list[int]:
    n = len(kernel)
    step = kernel if stride is None else _ntuple(n)(stride)
    around = _ntuple(n)(padding)
    default = [(input.shape[d - n] - 1) * step[d] + kernel[d] - 2 * around[d] for d in range(n)]
    if output_size is None:
        return default
    size = list(output_size)[2:] if len(output_size) == n + 2 else list(output_size)
    if len(size) != n:
        raise ValueError(
            f"output_size should be a sequence containing {n} or {n + 2} elements, but it has a length of '{len(size)}'"
        )
    for d in range(n):
        least, most = default[d] - step[d], default[d] + step[d]
        if not least < size[d] < most:
            raise ValueError(f'invalid output_size "{size}" (dim {d} must be between {least} and {most})')
    return size


def _fractions(dims: int, input: Any, output_size: Any, output_ratio: Any, samples: Any) -> tuple[Any, Any]:
    """The output's size, and random numbers where none are given."""
    if output_size is None:
        if output_ratio is None:
            raise ValueError(f"fractional_max_pool{dims}d requires specifying either an output_size or an output_ratio")
        output_size = [int(n * r) for n, r in zip(input.shape[-dims:], _ntuple(dims)(output_ratio))]
    if samples is None:
        n = 1 if input.dim() == dims + 1 else input.shape[0]
        samples = F.rand([n, input.shape[-dims - 1], dims], dtype=input.dtype, device=input.device)
    return output_size, samples
