"""`Size`: the shape of a tensor, a tuple of the lengths of its dimensions (`torch/csrc/Size.cpp`).

How the real one differs: its entries may be symbols while it traces for the compiler; here they are
always integers.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any, SupportsIndex

from .hot import hot
from .tracer import tracer


class Size(tuple[int, ...]):
    """The shape of a tensor. Slices, sums and multiples of a `Size` are `Size`s. Raises TypeError
    for entries that are not integers.
    """

    __slots__ = ()

    def __new__(cls, sizes: Iterable[SupportsIndex] = ()) -> Size:
        values: list[Any] = []
        # under a trace an entry may be a number that the trace follows: it is kept as it is
        for i, s in enumerate(sizes):
            if hot.off and tracer.state is not None and tracer.state.is_traced_number(s):
                values.append(s)
                continue
            if not hasattr(s, "__index__"):
                raise TypeError(
                    f"internals.Size() takes an iterable of 'int' (item {i} is "
                    f"'{type(s).__name__}')"
                )
            values.append(s.__index__())
        return super().__new__(cls, values)

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        return (
            prod(s.__index__() for s in self)
            if hot.off and tracer.state is not None
            else prod(self)
        )

    def __repr__(self) -> str:
        return f"internals.Size([{', '.join(map(str, self))}])"

    def __getitem__(self, i: Any) -> Any:
        item = super().__getitem__(i)
        return Size(item) if isinstance(i, slice) else item

    def __add__(self, other: Any) -> Size:
        return Size((*self, *other)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, n: SupportsIndex) -> Size:
        return Size(super().__mul__(n))

    __rmul__ = __mul__

    def __reduce__(self) -> tuple[type[Size], tuple[tuple[int, ...]]]:
        return Size, (tuple(self),)
