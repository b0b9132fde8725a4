"""`pixel_shuffle` moves channels into pixels, `pixel_unshuffle` back; `channel_shuffle` reorders
channels (`aten/src/ATen/native/PixelShuffle.cpp`, `ChanelShuffle.cpp`).

Nothing is computed: the tensor is viewed with more dimensions, these are permuted, and it is viewed
with fewer again.

How the real one differs: `channel_shuffle` has a derivative of its own, where here autograd follows
the views.
"""

from __future__ import annotations

from typing import Any

from internals.aten.native.memory_format import suggests_channels_last
from internals.core.formats import channels_last, contiguous_format
from internals.core.tensor_impl import Tensor


def pixel_shuffle(self: Tensor, upscale_factor: int) -> Any:
    """(*, C * r * r, H, W) as (*, C, H * r, W * r): the r * r channels of a pixel become a square
    of pixels. Raises RuntimeError for sizes that do not fit.
    """
    r = upscale_factor
    _check_image("pixel_shuffle", self, "upscale_factor", r)
    *before, channels, height, width = self.shape
    if channels % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square "
            f"of upscale_factor, but input.size(-3)={channels} is not divisible by {r * r}"
        )
    n = len(before)
    # (*, C, r, r, H, W) to (*, C, H, r, W, r)
    parts = self.reshape([*before, channels // (r * r), r, r, height, width])
    moved = parts.permute([*range(n), n, n + 3, n + 1, n + 4, n + 2])
    return _copied(moved, self, [*before, channels // (r * r), height * r, width * r])


def pixel_unshuffle(self: Tensor, downscale_factor: int) -> Any:
    """(*, C, H * r, W * r) as (*, C * r * r, H, W): the inverse of `pixel_shuffle`."""
    r = downscale_factor
    _check_image("pixel_unshuffle", self, "downscale_factor", r)
    *before, channels, height, width = self.shape
    for name, size, dim in (("height", height, -2), ("width", width, -1)):
        if size % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but "
                f"input.size({dim})={size} is not divisible by {r}"
            )
    n = len(before)
    # (*, C, H, r, W, r) to (*, C, r, r, H, W)
    parts = self.reshape([*before, channels, height // r, r, width // r, r])
    moved = parts.permute([*range(n), n, n + 2, n + 4, n + 1, n + 3])
    return _copied(moved, self, [*before, channels * r * r, height // r, width // r])


def _copied(moved: Tensor, image: Tensor, sizes: list[int]) -> Any:
    """A copy of `moved` with `sizes`, in the memory format of `image`; even if no pixel moved, it
    is not a view.
    """
    result = moved.clone(memory_format=contiguous_format).view(sizes)
    return (
        result.contiguous(memory_format=channels_last) if suggests_channels_last(image) else result
    )


def channel_shuffle(self: Tensor, groups: int) -> Any:
    """(N, C, *) with the channels reordered (ShuffleNet): the first channel of each of the
    `groups`, then the second of each, and so on. Raises RuntimeError unless `groups` divides C.
    """
    if self.dim() <= 2:
        raise RuntimeError(
            "channel_shuffle expects input with > 2 dims, but got input with sizes "
            f"{list(self.shape)}"
        )
    if groups <= 0:
        raise RuntimeError(
            f"Number of groups to divide channels in must be positive. Value of groups:{groups}"
        )
    n, channels, *space = self.shape
    if channels % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {channels} channels and {groups} "
            "groups."
        )
    # (N, groups, C / groups, *) to (N, C / groups, groups, *)
    parts = self.reshape([n, groups, channels // groups, *space])
    return parts.transpose(1, 2).reshape(self.shape)


def _check_image(name: str, t: Tensor, what: str, factor: int) -> None:
    """Raises RuntimeError unless `t` has three dimensions or more, and `factor` is positive."""
    if t.dim() < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with {t.dim()} "
            "dimension(s)"
        )
    if factor <= 0:
        raise RuntimeError(f"{name} expects a positive {what}, but got {factor}")
