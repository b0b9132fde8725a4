"""`memory_format` and `layout`: the order of a tensor's elements in memory
(`c10/core/MemoryFormat.h`, `Layout.h`).

`channels_last` is the order N, H, W, C in memory for a tensor of shape (N, C, H, W);
`contiguous_format` is row-major order.

How the real one differs: PyTorch has sparse and mkldnn layouts too; here every tensor is strided.
"""

from __future__ import annotations


class Named:
    """A named constant, such as `internals.strided`. A pickle has its name only."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"internals.{self.name}"

    def __reduce__(self) -> str:
        return self.name


class memory_format(Named):
    """`contiguous_format`, `preserve_format`, `channels_last` or `channels_last_3d`."""

    __slots__ = ()


class layout(Named):
    """`strided`, the only one here: elements at a distance given by strides."""

    __slots__ = ()


contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")
strided = layout("strided")
FORMATS = {f.name: f for f in (contiguous_format, preserve_format, channels_last, channels_last_3d)}
