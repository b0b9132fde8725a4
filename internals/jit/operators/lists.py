"""The operators of lists (`torch/csrc/jit/runtime/register_ops_utils.cpp`,
`register_prim_ops.cpp`).

A list at run time is a Python list, so appending to it is seen through every reference to it. Most
operators take any list, `t[]`; those that compare elements have an overload for each element type.
Elements that are tensors are compared by `bool(a == b)`, which raises for tensors of more than one
element.

How the real one differs: `int[]` and its like are stored unboxed.
"""

from __future__ import annotations

import builtins
from functools import cmp_to_key
from typing import Any

from internals.core.tensor_impl import Tensor

from .c_math import wrap
from .registry import op, register_operator, register_operators
from .value_text import value_text

ELEMENTS = ("int", "float", "bool", "Tensor", "str")
List = builtins.list


def checked(index: int, n: int) -> int:
    """Returns `index` if it is in a list of `n`, where -1 is the last element; raises RuntimeError
    otherwise.
    """
    if not -n <= index < n:
        raise RuntimeError("list index out of range")
    return index


# Reading

register_operators(
    {
        "aten::len.t(t[] a) -> int": len,
        "aten::len.any(Any[] a) -> int": len,
    }
)


@op(
    "aten::__getitem__.t(t[](a) list, int idx) -> t(*)",
    "aten::select.t(t[](a) list, int idx) -> t(*)",
)
def getitem(list: List[Any], idx: int) -> Any:
    """`list[idx]`. Raises RuntimeError for an index outside of the list."""
    return list[checked(idx, len(list))]


@op("aten::slice.t(t[] l, int? start=None, int? end=None, int step=1) -> t[]")
def slice_(l: List[Any], start: int | None, end: int | None, step: int) -> List[Any]:  # noqa: E741
    """`l[start:end:step]`, a new list. Raises RuntimeError for a step of 0."""
    if step == 0:
        raise RuntimeError("List slice should have non-zero step")
    return l[start:end:step]


register_operators(
    {
        "aten::list.t(t[] l) -> t[]": list,
        "aten::copy.t(t[](a) self) -> t[]": list,
        "aten::add.t(t[] a, t[] b) -> t[]": lambda a, b: a + b,
        "aten::mul.left_t(t[] l, int n) -> t[]": lambda l, n: l * n,  # noqa: E741
        "aten::mul.right_(int n, t[] l) -> t[]": lambda n, l: l * n,  # noqa: E741
    }
)


def position(self: List[Any], el: float | Tensor | str) -> int:
    """The index of the first element equal to `el`, or -1."""
    return next((i for i, x in enumerate(self) if bool(x == el)), -1)


def index(self: List[Any], el: float | Tensor | str) -> int:
    """The index of the first element equal to `el`. Raises RuntimeError if there is none."""
    found = position(self, el)
    if found < 0:
        raise RuntimeError(f"'{value_text(el)}' is not in list")
    return found


def count(self: List[Any], el: int | Tensor | str) -> int:
    return sum(bool(x == el) for x in self)


for t in ELEMENTS:
    register_operator(f"aten::index.list_{t}({t}[] self, {t} el) -> int", index)
for t in ("int", "float", "bool", "Tensor", "str"):
    register_operator(f"aten::count.{t}({t}[] self, {t} el) -> int", count)
for t in ("int", "str", "float"):
    register_operator(
        f"aten::__contains__.{t}_list({t}[] l, {t} item) -> bool",
        lambda l, item: position(l, item) >= 0,  # noqa: E741
    )


# Writing


@op("aten::append.t(t[](a!) self, t(c -> *) el) -> t[](a!)")
def append(self: List[Any], el: object) -> List[Any]:
    self.append(el)
    return self


@op("aten::insert.t(t[](a!) self, int idx, t(b -> *) el) -> ()")
def insert(self: List[Any], idx: int, el: object) -> None:
    self.insert(idx, el)


@op("aten::extend.t(t[](a!) self, t[] other) -> ()")
def extend(self: List[Any], other: List[Any]) -> None:
    self.extend(other)


@op("aten::pop.t(t[](a!) self, int idx=-1) -> t(*)")
def pop(self: List[Any], idx: int) -> Any:
    """Removes and returns an element. Raises RuntimeError for an empty list, and for an index
    outside of the list.
    """
    if not self:
        raise RuntimeError("pop from empty list")
    return self.pop(checked(idx, len(self)))


@op(
    "aten::remove.int(int[](a!) self, int el) -> ()",
    "aten::remove.float(float[](a!) self, float el) -> ()",
    "aten::remove.bool(bool[](a!) self, bool el) -> ()",
    "aten::remove.Tensor(Tensor[](a!) self, Tensor el) -> ()",
    "aten::remove.str(str[](a!) self, str el) -> ()",
)  # fmt: skip
def remove(self: List[Any], el: float) -> None:
    """Removes the first element equal to `el`. Raises RuntimeError if there is none."""
    found = position(self, el)
    if found < 0:
        raise RuntimeError("list.remove(x): x not in list")
    del self[found]


@op("aten::Delete.t(t[](a!) self, int idx) -> ()")
def delete(self: List[Any], idx: int) -> None:
    del self[checked(idx, len(self))]


@op("aten::clear.t(t[](a!) self) -> ()")
def clear(self: List[Any]) -> None:
    self.clear()


@op("aten::reverse.t(t[](a!) self) -> ()")
def reverse(self: List[Any]) -> None:
    self.reverse()


@op("aten::_set_item.t(t[](a!) l, int idx, t(b -> *) el) -> t[](a!)")
def set_item(l: List[Any], idx: int, el: Any) -> List[Any]:  # noqa: E741
    l[checked(idx, len(l))] = el
    return l


@op("aten::add_.t(t[](a!) self, t[] b) -> t[]")
def add_(self: List[Any], b: List[Any]) -> List[Any]:
    self += b
    return self


@op("aten::mul_.t(t[](a!) l, int n) -> t[](a!)")
def mul_(l: List[Any], n: int) -> List[Any]:  # noqa: E741
    l *= n  # noqa: E741
    return l


# Order and sums


def _compare(a: Any, b: Any) -> int:
    """-1, 0 or 1. It uses only `<`, whose result for tensors must be made a bool."""
    return -1 if bool(a < b) else int(bool(b < a))


_key = cmp_to_key(_compare)

for t in ("int", "float", "Tensor", "bool", "str"):
    register_operator(
        f"aten::sorted.{t}({t}[](a) input) -> {t}[]", lambda input: sorted(input, key=_key)
    )
register_operator("aten::sorted.any(t[](a) self) -> t[]", lambda self: sorted(self, key=_key))


@op(
    "aten::sort.int(int[](a!) self, bool reverse=False) -> ()",
    "aten::sort.float(float[](a!) self, bool reverse=False) -> ()",
    "aten::sort.Tensor(Tensor[](a!) self, bool reverse=False) -> ()",
    "aten::sort.bool(bool[](a!) self, bool reverse=False) -> ()",
    "aten::sort.str(str[](a!) self, bool reverse=False) -> ()",
    "aten::sort.any(t[](a!) self, bool reverse=False) -> ()",
)  # fmt: skip
def sort(self: List[Any], reverse: bool) -> None:
    self.sort(key=_key, reverse=reverse)


def largest(l: List[Any], r: List[Any]) -> List[Any]:  # noqa: E741
    """The list that is later in lexicographic order; `r` if they are equal."""
    return l if l > r else r


def smallest(l: List[Any], r: List[Any]) -> List[Any]:  # noqa: E741
    """The list that is earlier in lexicographic order; `r` if they are equal."""
    return l if l < r else r


def largest_of(self: List[Any]) -> Any:
    """The largest element. Raises RuntimeError for an empty list."""
    if not self:
        raise RuntimeError("max() arg is an empty sequence")
    return max(self)


def smallest_of(self: List[Any]) -> Any:
    """The smallest element. Raises RuntimeError for an empty list."""
    if not self:
        raise RuntimeError("min() arg is an empty sequence")
    return min(self)


for t in ("int", "float", "bool"):
    for name, of_two, of_one in (("max", largest, largest_of), ("min", smallest, smallest_of)):
        register_operators(
            {
                f"prim::{name}.{t}_list({t}[] l, {t}[] r) -> {t}[]": of_two,
                f"prim::{name}.self_{t}({t}[] self) -> {t}": of_one,
            }
        )

register_operators(
    {
        "aten::sum.int(int[] self) -> int": lambda self: wrap(sum(self)),
        "aten::sum.float(float[] self) -> float": lambda self: _float_sum(self),
        "aten::sum.complex(complex[] self) -> complex": lambda self: sum(self, 0j),
        "aten::sum.bool(bool[] self) -> int": sum,
    }
)
for t in ("int", "float", "bool"):
    register_operator(f"aten::all.{t}({t}[] self) -> bool", all)
for t in ("str", "int", "float", "bool"):
    register_operator(f"aten::any.{t}({t}[] self) -> bool", any)


# Ranges: a loop over range(lo, hi, step) counts from 0 to `range_length`, and derives the index


@op("aten::__range_length(int lo, int hi, int step) -> int")
def range_length(lo: int, hi: int, step: int) -> int:
    """`len(range(lo, hi, step))`. Raises RuntimeError for a step of 0."""
    if step == 0:
        raise RuntimeError("range() arg 3 must not be zero")
    return len(range(lo, hi, step))


@op("aten::__derive_index(int index, int start, int step) -> int")
def derive_index(index: int, start: int, step: int) -> int:
    """`range(start, ..., step)[index]`."""
    return start + index * step


register_operator("prim::rangelist(int n) -> int[]", lambda n: list(range(n)))


@op("aten::_size_if_not_equal(int[] self_size, int[] other_size) -> int[]?")
def size_if_not_equal(self_size: List[int], other_size: List[int]) -> List[int] | None:
    """The size that a gradient must be summed to, or None if it has that size already."""
    return None if list(self_size) == list(other_size) else list(self_size)


def _float_sum(values: List[float]) -> float:
    """The sum from left to right, as in C++; since 3.12, Python's `sum` of floats compensates for
    rounding.
    """
    total = 0.0
    for v in values:
        total += v
    return total
