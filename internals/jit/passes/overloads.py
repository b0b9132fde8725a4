"""The overload that a node calls, as one word, so that the rules of a pass can be a table; and its
constant arguments (`torch/csrc/jit/ir/ir.h`).

    overload_of(node) == "aten::add.Tensor"
    named_constant(node, "alpha") == 1

How the real one differs: `OperatorSet` contains schemas, and compares a node with each schema of
its kind.
"""

from __future__ import annotations

from typing import Any

from internals.jit.ir import Node, Value

NOT_CONSTANT = object()  # not None, which is a constant


def overload_of(node: Node) -> str:
    """Kind and overload name, `aten::add.Tensor`; the kind alone if the overload has no name, or if
    the node does not call an operator.
    """
    schema = node.schema()
    overload = schema.overload_name if schema is not None else ""
    return f"{node.kind()}.{overload}" if overload else node.kind()


def constant(v: Value) -> Any:
    """The Python value of a constant, None included; `NOT_CONSTANT` for any other value."""
    return NOT_CONSTANT if v.node().kind() != "prim::Constant" else v.toIValue()


def named_constant(node: Node, name: str) -> Any:
    """The constant that is passed for the argument `name`; `NOT_CONSTANT` if it is not constant.
    Raises RuntimeError if the operator has no such argument.
    """
    return constant(node.namedInput(name))
