"""The comparisons `== != < <= > >=` of all types but tensors
(`torch/csrc/jit/runtime/register_prim_ops.cpp`).

    aten::eq   lists, devices, bools, numbers, strings
    aten::lt   numbers, strings

How the real one differs: enums can be compared too.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from .registry import register_operator, register_operators

# overload → its arguments; the one without a name takes any two numbers
NUMBERS = {
    "int": "int a, int b", "complex": "complex a, complex b", "float": "float a, float b",
    "int_float": "int a, float b", "float_int": "float a, int b",
    "float_complex": "float a, complex b", "complex_float": "complex a, float b",
    "": "Scalar a, Scalar b",
}  # fmt: skip


MIXED = ("int_float", "float_int")


def as_floats(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Returns `compare` for an int and a float as in C++: the int is converted to a float, which
    beyond 2^53 may round it. Python would compare the exact values.
    """
    return lambda a, b: compare(float(a), float(b))


def equal(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Whether two lists are equal. Tensors in them are compared as `bool(a == b)`, which raises
    unless they have one element.
    """
    return len(a) == len(b) and all(bool(x == y) for x, y in zip(a, b))


def unequal(a: Sequence[Any], b: Sequence[Any]) -> bool:
    return not equal(a, b)


# The order of registration is the order in which overloads are tried.
for name, fn, of_lists in (("eq", operator.eq, equal), ("ne", operator.ne, unequal)):
    register_operators(
        {
            f"aten::{name}.int_list(int[] a, int[] b) -> bool": fn,
            f"aten::{name}.device(Device a, Device b) -> bool": fn,
            f"aten::{name}.bool(bool a, bool b) -> bool": fn,
        }
    )
    for overload, arguments in NUMBERS.items():
        compare = as_floats(fn) if overload in MIXED else fn
        register_operator(
            f"aten::{name}{'.' * bool(overload)}{overload}({arguments}) -> bool", compare
        )
    register_operators(
        {
            f"aten::{name}.str(str a, str b) -> bool": fn,
            # not Python's ==, which takes the same nan object in two lists for equal
            f"aten::{name}.float_list(float[] a, float[] b) -> bool": of_lists,
            f"aten::{name}.Tensor_list(Tensor[] a, Tensor[] b) -> bool": of_lists,
            f"aten::{name}.bool_list(bool[] a, bool[] b) -> bool": fn,
            f"aten::{name}.str_list(str[] a, str[] b) -> bool": fn,
        }
    )

for name, compare in {
    "lt": operator.lt,
    "gt": operator.gt,
    "le": operator.le,
    "ge": operator.ge,
}.items():
    for overload in ("int", "float", "int_float", "float_int", ""):
        chosen = as_floats(compare) if overload in MIXED else compare
        register_operator(
            f"aten::{name}{'.' * bool(overload)}{overload}({NUMBERS[overload]}) -> bool", chosen
        )
    register_operator(f"aten::{name}.str(str a, str b) -> bool", compare)
