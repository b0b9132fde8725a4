"""Resampling of sequences, images and volumes (`torch/nn/modules/upsampling.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals import Tensor
from internals.nn import functional as F
from internals.nn.modules._options import _Options


class Upsample(_Options):
    """Resamples (N, C, L), (N, C, H, W) or (N, C, D, H, W) to `size` or by `scale_factor`.

    See `nn.functional.interpolate` for the modes and errors.
    """

    __constants__ = [
        "size",
        "scale_factor",
        "mode",
        "align_corners",
        "name",
        "recompute_scale_factor",
    ]

    def __init__(
        self, size: int | Sequence[int] | None = None, scale_factor: Any = None,
        mode: str = "nearest", align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:  # fmt: skip
        if isinstance(scale_factor, tuple):
            scale_factor = tuple(float(factor) for factor in scale_factor)
        else:
            scale_factor = float(scale_factor) if scale_factor else None
        super().__init__(
            name=type(self).__name__, size=size, scale_factor=scale_factor, mode=mode,
            align_corners=align_corners, recompute_scale_factor=recompute_scale_factor,
        )  # fmt: skip

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input, self.size, self.scale_factor, self.mode, self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )  # fmt: skip

    def extra_repr(self) -> str:
        by = (
            f"size={self.size!r}"
            if self.scale_factor is None
            else f"scale_factor={self.scale_factor!r}"
        )
        return f"{by}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Resamples (N, C, H, W): each new pixel has the value of the nearest old one."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Resamples (N, C, H, W): each new pixel is a weighted mean of the four old ones around it.

    The centers of the corner pixels are aligned.
    """

    def __init__(self, size: Sequence[int] | None = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
