"""The channels of several groups dealt out in turn (`torch/nn/modules/channelshuffle.py`)."""

from __future__ import annotations

from internals import Tensor
from internals.nn import functional as F
from internals.nn.modules._options import _Options


class ChannelShuffle(_Options):
    """(N, C, *) with its channels in another order: the first of each of `groups` groups, then the
    second, and so on.
    """

    __constants__ = _shown = ["groups"]

    def __init__(self, groups: int) -> None:
        super().__init__(groups=groups)

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)
