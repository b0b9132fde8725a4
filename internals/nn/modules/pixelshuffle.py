"""Channels rearranged into pixels, and back (`torch/nn/modules/pixelshuffle.py`).

After a convolution that computes r * r values per pixel as channels, this is a learned upsampling.
"""

from __future__ import annotations

from internals import Tensor
from internals.nn import functional as F
from internals.nn.modules._options import _Options


class PixelShuffle(_Options):
    """(*, C * r * r, H, W) to (*, C, H * r, W * r), where r is `upscale_factor`."""

    __constants__ = _shown = ["upscale_factor"]

    def __init__(self, upscale_factor: int) -> None:
        super().__init__(upscale_factor=upscale_factor)

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(_Options):
    """The inverse of `PixelShuffle`: (*, C, H * r, W * r) to (*, C * r * r, H, W), where r is
    `downscale_factor`.
    """

    __constants__ = _shown = ["downscale_factor"]

    def __init__(self, downscale_factor: int) -> None:
        super().__init__(downscale_factor=downscale_factor)

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)
