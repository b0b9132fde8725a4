"""Dropout layers: active in training, the identity in evaluation
(`torch/nn/modules/dropout.py`).
"""

from __future__ import annotations

from internals import Tensor
from internals.nn import functional as F
from internals.nn.modules._options import _Options


class _DropoutNd(_Options):
    """The options of all dropout layers. Raises ValueError unless 0 <= p <= 1."""

    __constants__ = _shown = ["p", "inplace"]

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        super().__init__(p=p, inplace=inplace)


class Dropout(_DropoutNd):
    """Zeroes each element with probability `p` and divides the others by 1 - p."""

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """Zeroes each channel of (N, C, L) or (C, L) with probability `p`, divides others by 1 - p."""

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """Zeroes each channel of (N, C, H, W) with probability `p` and divides the others by 1 - p."""

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """Zeroes each channel of (N, C, D, H, W) or (C, D, H, W) with probability `p` and divides the
    others by 1 - p.
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Sets each element to selu's lowest value with probability `p`, and rescales, so that mean 0
    and variance 1 are preserved.
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """`AlphaDropout` of whole channels of (N, C, ...)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)
