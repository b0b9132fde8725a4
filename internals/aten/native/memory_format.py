"""Results in the memory order of their input: NCHW or NHWC (`TensorImpl::suggest_memory_format`).

Sizes are always (N, C, H, W); the strides tell which dimension has neighbours in memory: W in NCHW,
C in NHWC, which is called `channels_last`. A convolution, a pooling or a normalization of a
`channels_last` tensor gives a `channels_last` tensor, so that a network fed with one stays in that
order throughout.

How the real one differs: these functions are methods of its tensor class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals.core.device import CPU, device
from internals.core.dtype import dtype
from internals.core.geometry import (
    channels_last_strides,
    contiguous_strides,
    geometry,
    is_channels_last_strides,
)
from internals.core.tensor_impl import Tensor, empty


def empty_as(t: Tensor, sizes: Sequence[int], dtype: dtype | None = None) -> Any:
    """A new tensor of `sizes` on the device of `t`, of its dtype unless another is given, in the
    memory order that the strides of `t` suggest.
    """
    return empty_in_order(sizes, dtype or t.dtype, suggests_channels_last(t), t.device)


def empty_in_order(
    sizes: Sequence[int], dtype: dtype, channels_last: bool, device: device = CPU
) -> Any:
    """A new tensor on `device`, NHWC if `channels_last` and 4-d, else row-major."""
    order = channels_last_strides if channels_last and len(sizes) == 4 else contiguous_strides
    return empty(geometry(sizes, order(sizes), dtype, device))


def suggests_channels_last(t: Tensor) -> bool:
    """Whether `t` is 4-d and its strides are those of `channels_last`."""
    return t.dim() == 4 and is_channels_last_strides(t.shape, t.stride())
