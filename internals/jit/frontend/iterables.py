"""`range`, `zip` and `enumerate`: iterables that exist only while compiling
(`torch/csrc/jit/frontend/sugared_value.cpp`).

`range(a, b, c)` is three ints; `zip(x, y)` and `enumerate(x)` are trees of iterables that advance
together. A loop asks for their length and for their i-th element, so all of them become a loop over
a counter:

    for i, a in enumerate(xs):              n = min([9223372036854775807, len(xs)])
        ...                        =>       for k in range(n):
                                                i, a = k, xs[k]; ...

The elements of a tuple may have different types, and so may the modules in a list: a loop over
these is unrolled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from internals.jit.ir import IntType, SourceRange, Type, Value

from .error_report import error, spell
from .sugared_values import SimpleValue, SugaredTuple, SugaredValue

if TYPE_CHECKING:
    from .compiler import Compiler


class RangeValue(SugaredValue):
    """`range(end)`, `range(start, end)`, `range(start, end, step)`. `static` is the length if that
    is known while compiling: the counter of `enumerate` has the length of a tuple.
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
        self.only_end = len(inputs) == 1  # then the i-th element is i itself
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
    """`zip` and `enumerate`: iterables that advance together until the shortest one ends. If their
    lengths are known while compiling, `unrolled_length` is the smallest.
    """

    kind_name = "iterabletree"

    def __init__(self) -> None:
        self.children: list[SugaredValue] = []
        self.unrolled_length: int | None = None

    def add(self, where: SourceRange, child: SugaredValue) -> None:
        """Add an iterable. Raises RuntimeError if the length of only some of them is known while
        compiling: a loop is either unrolled or not.
        """
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
        """The iterables in the tree that are not trees themselves."""
        found: list[SugaredValue] = []
        for child in self.children:
            found += child.leaves() if isinstance(child, IterableTree) else [child]
        return found
