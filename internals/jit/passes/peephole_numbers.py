"""Peephole rules for numbers, None and casts (`peephole_non_tensor.cpp`), with the table
`NUMBER_RULES` at the end.

A rule's function gets a node of its kind. It returns the value that replaces the node's output, or
None if the rule does not apply. `peephole.py` says how the real one differs.
"""

from __future__ import annotations

from typing import Any

from internals.jit.ir import (
    AnyType,
    BoolType,
    FloatType,
    IntType,
    Node,
    NoneType,
    OptionalType,
    StringType,
    TensorType,
    Type,
    Value,
    VarType,
)
from internals.jit.passes.overloads import constant
from internals.jit.passes.peephole_rules import Constant, Facts, Rule

# Arithmetic of ints


def _ints(node: Node) -> bool:
    return node.inputsSize() == 2 and all(isinstance(v.type(), IntType) for v in node.inputs())


def _int_plus_zero(node: Node, facts: Facts) -> Value | None:
    return _other(node, 0, either_side=node.kind() == "aten::add")


def _int_times_one(node: Node, facts: Facts) -> Value | None:
    return _other(node, 1, either_side=node.kind() == "aten::mul")


def _other(node: Node, neutral: int, either_side: bool) -> Value | None:
    """The other operand, if one is the constant `neutral`: the second, or either."""
    if not _ints(node):
        return None
    a, b = node.inputs()
    if constant(b) == neutral:
        return a
    return b if either_side and constant(a) == neutral else None


def _two_steps(node: Node, facts: Facts) -> Value | None:
    """`i + 1` for `(i + 2) - 1`: two additions of constants become one."""
    inner = node.input(0).node()
    if not _ints(node) or inner.kind() not in ("aten::add", "aten::sub") or not _ints(inner):
        return None
    first, second = constant(inner.input(1)), constant(node.input(1))
    if not isinstance(first, int) or not isinstance(second, int):
        return None
    total = _signed(inner, first) + _signed(node, second)
    graph = node.owningGraph()
    with graph.insert_point_guard(node):
        return graph.insert("aten::add", [inner.input(0), total])


def _signed(node: Node, n: int) -> int:
    return n if node.kind() == "aten::add" else -n


# Casts


def _already(type: type[Type]) -> Any:
    """The function of a rule that removes a cast to `type` from a value of that type."""

    def find(node: Node, facts: Facts) -> Value | None:
        return (
            node.input(0)
            if node.inputsSize() == 1 and isinstance(node.input(0).type(), type)
            else None
        )

    return find


def _number_of_a_number(node: Node, facts: Facts) -> Value | None:
    """The number that a tensor was made of, if it has the type that it is cast to. Otherwise the
    cast changes it: `int(NumToTensor(2.5))` is 2.
    """
    inner = node.input(0).node()
    if inner.kind() != "prim::NumToTensor" or facts.is_written(inner.output()):
        return None
    number = inner.input(0)
    return number if number.type() == node.output().type() else None


def _cast_to_a_wider_type(node: Node, facts: Facts) -> Value | None:
    """The value itself, if its type is a subtype already. Tensor types must be equal, so a cast
    that forgets a shape stays.
    """
    mine, wanted = node.input(0).type(), node.output().type()
    return (
        node.input(0)
        if not isinstance(mine, TensorType) and mine.isSubtypeOf(wanted) or mine == wanted
        else None
    )


# None


def _never_none(value: Value) -> bool:
    """Whether the type of the value excludes None."""
    return not isinstance(value.type(), (NoneType, OptionalType, AnyType, VarType))


def _compared_with_none(node: Node, facts: Facts) -> Constant | None:
    for a, b in (node.inputs(), node.inputs()[::-1]):
        if isinstance(a.type(), NoneType):
            if _never_none(b):
                return Constant(node.kind() == "aten::__isnot__")
            if isinstance(b.type(), NoneType):
                return Constant(node.kind() == "aten::__is__")
    return None


def _unwrapped(node: Node, facts: Facts) -> Value | None:
    return node.input(0) if _never_none(node.input(0)) else None


# Truth


def _compared_with_itself(node: Node, facts: Facts) -> Constant | None:
    if node.inputsSize() != 2 or node.input(0) is not node.input(1):
        return None
    simple = isinstance(node.input(0).type(), (IntType, BoolType, StringType, NoneType))
    return Constant(node.kind() == "aten::eq") if simple else None


def _its_own_condition(node: Node, facts: Facts) -> list[Value] | None:
    """The outputs of an If, with c for `True if c else False`, which `a and b` becomes if b is
    known to be True. None if there is no such output.
    """
    condition = node.input()
    found = [
        condition
        if constant(yes) is True and constant(no) is False and isinstance(old.type(), BoolType)
        else old
        for yes, no, old in zip(*(b.outputs() for b in node.blocks()), node.outputs())
    ]
    return found if any(a is not b and b.hasUses() for a, b in zip(found, node.outputs())) else None


NUMBER_RULES = (
    Rule("aten::add", "i + 0, 0 + i", "i", _int_plus_zero),
    Rule("aten::sub", "i - 0", "i", _int_plus_zero),
    Rule("aten::mul", "i * 1, 1 * i", "i", _int_times_one),
    Rule("aten::floordiv", "i // 1", "i", _int_times_one),
    Rule("aten::add", "(i + 1) + 2", "i + 3", _two_steps),
    Rule("aten::sub", "(i + 1) - 2", "i + -1", _two_steps),
    Rule("aten::Int", "int(i)", "i", _already(IntType)),
    Rule("aten::ceil", "ceil(i)", "i", _already(IntType)),
    Rule("aten::floor", "floor(i)", "i", _already(IntType)),
    Rule("aten::Float", "float(f)", "f", _already(FloatType)),
    Rule("aten::Bool", "bool(b)", "b", _already(BoolType)),
    Rule("aten::Int", "int(NumToTensor(i))", "i", _number_of_a_number),
    Rule("aten::Float", "float(NumToTensor(f))", "f", _number_of_a_number),
    Rule("aten::IntImplicit", "IntImplicit(NumToTensor(i))", "i", _number_of_a_number),
    Rule("aten::FloatImplicit", "FloatImplicit(NumToTensor(f))", "f", _number_of_a_number),
    Rule("aten::ScalarImplicit", "ScalarImplicit(NumToTensor(n))", "n", _number_of_a_number),
    Rule("aten::eq", "i == i", "True, for ints, bools, strings", _compared_with_itself),
    Rule("aten::ne", "i != i", "False, for ints, bools, strings", _compared_with_itself),
    Rule("aten::__is__", "x is None", "a constant, if the type tells", _compared_with_none),
    Rule("aten::__isnot__", "x is not None", "a constant, if the type tells", _compared_with_none),
    Rule("aten::_unwrap_optional", "unwrap(x)", "x, if its type has no None", _unwrapped),
    Rule("prim::unchecked_unwrap_optional", "unwrap(x)", "x, if its type has no None", _unwrapped),
    Rule("prim::unchecked_cast", "cast(x)", "x, if it has that type", _cast_to_a_wider_type),
    Rule("prim::If", "True if c else False", "c", _its_own_condition),
)
