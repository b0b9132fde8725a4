"""What a `for` can walk besides lists, tensors and strings
(`torch/csrc/jit/frontend/sugared_value.cpp`).

`range(a, b, c)` is three ints; `zip(x, y)` and `enumerate(x)` are trees of iterables that advance
together. A loop asks for their length and for their i-th element, so that all of them become a loop
over a counter:

    for i, a in enumerate(xs):              n = min([9223372036854775807, len(xs)])
        ...                        =>       for k in range(n):
                                                i, a = k, xs[k]; ...

A tuple may hold a different type in every place and a list of modules different modules: a loop
over these is unrolled.

How the real one differs: it does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from internals.jit.ir import IntType, SourceRange, Type, Value

from .error_report import error, spell
from .sugared_values import SimpleValue, SugaredTuple, SugaredValue

if TYPE_CHECKING:
    from .compiler import Compiler


class RangeValue(SugaredValue):
    """`range(end)`, `range(start, end)`, `range(start, end, step)`. `static` is the length when it
    follows another iterable.
    """

    kind_name = "range"

    def __init__(
        self, where: SourceRange, c: Compiler, inputs: list[Value], static: int | None = None
    ) -> None:
        for i, v in enumerate(inputs):
            if not isinstance(v.type(), IntType):
                raise error(
                    where,
                    f"all inputs of range must be ints, found {spell(v.type())} in argument {i}",
                )
        if not inputs:
            raise error(where, "range expected at least 1 arguments, got 0")
        if len(inputs) > 3:
            raise error(where, f"range expected at most 3 arguments, got {len(inputs)}")
        self.only_end = len(inputs) == 1
        if self.only_end:
            self.end = inputs[0]
            self.start = c.constant(0, where)
        else:
            self.start, self.end = inputs[0], inputs[1]
        self.step = inputs[2] if len(inputs) == 3 else c.constant(1, where)
        self.static = static

    def iter(self, where: SourceRange, c: Compiler) -> SugaredValue:
        return self

    def length(self, where: SourceRange, c: Compiler) -> Value:
        if self.static is not None:
            return c.constant(self.static, where)
        if self.only_end:
            return self.end
        return c.insert("aten::__range_length", [self.start, self.end, self.step], where)

    def getitem(
        self, where: SourceRange, c: Compiler, index: Value, hint: Type | None = None
    ) -> SugaredValue:
        if self.only_end:
            return SimpleValue(index)
        return SimpleValue(c.insert("aten::__derive_index", [index, self.start, self.step], where))

    def static_length(self) -> int | None:
        return self.static


class IterableTree(SugaredValue):
    """`zip` and `enumerate`: iterables that advance together, as long as the shortest lasts."""

    kind_name = "iterabletree"

    def __init__(self) -> None:
        self.children: list[SugaredValue] = []
        self.unrolled_length: int | None = None

    def add(self, where: SourceRange, child: SugaredValue) -> None:
        length = child.static_length()
        if not self.children:
            self.unrolled_length = length
        elif (length is None) != (self.unrolled_length is None):
            raise error(
                where,
                "Can not iterate over a module list or tuple with a value that does not have a "
                "statically determinable length\n",
            )
        elif length is not None and self.unrolled_length is not None:
            self.unrolled_length = min(length, self.unrolled_length)
        self.children.append(child)

    def iter(self, where: SourceRange, c: Compiler) -> SugaredValue:
        return self

    def length(self, where: SourceRange, c: Compiler) -> Value:
        lengths = [leaf.length(where, c) for leaf in self.leaves()]
        return c.insert("prim::min", [c.list_construct(IntType.get(), lengths)], where)

    def getitem(
        self, where: SourceRange, c: Compiler, index: Value, hint: Type | None = None
    ) -> SugaredValue:
        return SugaredTuple([child.getitem(where, c, index) for child in self.children])

    def static_length(self) -> int | None:
        return self.unrolled_length

    def leaves(self) -> list[SugaredValue]:
        found: list[SugaredValue] = []
        for child in self.children:
            found += child.leaves() if isinstance(child, IterableTree) else [child]
        return found
