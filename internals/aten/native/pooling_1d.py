"""Pooling of sequences, done by pooling of images
(`aten/src/ATen/native/{Pooling,MaxPooling}.cpp`).

A sequence (N, C, L) is an image (N, C, 1, L) of height 1.

How the real one differs: when no gradient is needed `max_pool1d` has a kernel of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals._generated import functions as F, nn_functions as nn
from internals.core.tensor_impl import Tensor

_EXPECTED = (
    "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, "
    "but got:"
)


def max_pool1d(
    self: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
) -> Any:
    """The largest element of every window of (N, C, L) or (C, L)."""
    if self.dim() in (2, 3) and 0 in self.shape[-2:]:
        raise RuntimeError(f"{_EXPECTED}{list(self.shape)}")
    image, kernel, stride, padding, dilation = _sequence_to_pool(
        self, kernel_size, stride, padding, dilation
    )
    return F.max_pool2d(image, kernel, stride, padding, dilation, ceil_mode).squeeze(-2)


def max_pool1d_with_indices(
    self: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
) -> tuple[Any, Any]:
    """(values, indices): the largest element of every window of (N, C, L) or (C, L), and its
    position in the sequence as int64.
    """
    image, kernel, stride, padding, dilation = _sequence_to_pool(
        self, kernel_size, stride, padding, dilation
    )
    values, indices = nn.max_pool2d_with_indices(
        image, kernel, stride, padding, dilation, ceil_mode
    )
    return values.squeeze(-2), indices.squeeze(-2)


def avg_pool1d(
    self: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool,
    count_include_pad: bool,
) -> Any:
    """The mean of every window of (N, C, L) or (C, L)."""
    for value, name in (
        (kernel_size, "kernel_size"),
        (stride or [1], "stride"),
        (padding, "padding"),
    ):
        check_one(value, "avg_pool1d", name)
    _check_dims(self, "avg_pool1d")
    sizes = [1, *kernel_size], [1, *(stride or kernel_size)], [0, *padding]
    return nn.avg_pool2d(self.unsqueeze(-2), *sizes, ceil_mode, count_include_pad).squeeze(-2)


def adaptive_avg_pool1d(self: Tensor, output_size: Sequence[int]) -> Any:
    """Mean pooling of (N, C, L) or (C, L) to length `output_size`, a list of one number."""
    check_one(output_size, "adaptive_avg_pool1d", "output_size")
    _check_dims(self, "adaptive_avg_pool1d")
    return nn.adaptive_avg_pool2d(self.unsqueeze(-2), [1, *output_size]).squeeze(-2)


def _sequence_to_pool(t: Tensor, *sizes: Any) -> tuple[Any, ...]:
    """(…, L) as an image (…, 1, L), and its window: kernel size, stride, padding and dilation, with
    1, 1, 0 and 1 for the height. An empty stride is the kernel size.
    """
    if t.dim() not in (2, 3):
        raise RuntimeError(
            "max_pool1d() Expected 2D or 3D input tensor, but got []"
            if t.dim() == 0
            else f"{_EXPECTED}{list(t.shape)}"
        )
    for value, name in zip(sizes, ("kernel_size", "stride", "padding", "dilation")):
        if len(value) > 1:
            raise RuntimeError(
                f"max_pool1d() {name} must be an int, list of ints or tuple of ints of size 1 but "
                f"got size {len(value)}"
            )
    kernel, stride, padding, dilation = sizes
    return t.unsqueeze(-2), [1, *kernel], [1, *(stride or kernel)], [0, *padding], [1, *dilation]


def check_one(value: Any, name: str, what: str) -> None:
    """Raises RuntimeError unless `value`, called `what`, is one number."""
    if len(value) != 1:
        raise RuntimeError(f"{name}() argument '{what}' should contain one int (got {len(value)})")


def _check_dims(t: Tensor, name: str) -> None:
    """Raises RuntimeError, naming `name`, unless `t` is (N, C, L) or (C, L)."""
    if t.dim() not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {t.dim()}-dimensional tensor for argument #1 "
            f"'self' (while checking arguments for {name})"
        )
