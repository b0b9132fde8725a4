"""Channels into pixels and back (`torch/nn/modules/pixelshuffle.py`): upsampling that is learned as
channels.

How the real one differs: in nothing but the length of its documentation.
"""

from __future__ import annotations

from internals import Tensor
from internals.nn import functional as F
from internals.nn.modules._options import _Options


class PixelShuffle(_Options):
    """(*, C * r * r, H, W) to (*, C, H * r, W * r), r being `upscale_factor`."""

    __constants__ = _shown = ["upscale_factor"]

    def __init__(self, upscale_factor: int) -> None:
        super().__init__(upscale_factor=upscale_factor)

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(_Options):
    """(*, C, H * r, W * r) to (*, C * r * r, H, W), r being `downscale_factor`: the inverse of
    `PixelShuffle`.
    """

    __constants__ = _shown = ["downscale_factor"]

    def __init__(self, downscale_factor: int) -> None:
        super().__init__(downscale_factor=downscale_factor)

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)
