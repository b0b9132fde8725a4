"""Whether any work goes to a stream besides the default ones: as long as none does, no code has to
ask on which.

How the real one differs: PyTorch asks the device guard for the current stream whenever it makes a
node of the graph.
"""

from __future__ import annotations


class SideStreams:
    """`side_streams.in_use`: set by the first `torch.cuda.stream(...)` that is not about a default
    stream, and never reset.
    """

    __slots__ = ("in_use",)

    def __init__(self) -> None:
        self.in_use = False


side_streams = SideStreams()
