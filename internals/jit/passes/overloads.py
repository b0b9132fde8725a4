"""Which overload a node calls, as one word, so that the rules of a pass can be a table
(`torch/csrc/jit/ir/ir.h`).

    overload_of(node) == "aten::add.Tensor"

How the real one differs: `OperatorSet` holds schemas, and asks a node whether it matches each of
those of its kind.
"""

from __future__ import annotations

from typing import Any

from internals.jit.ir import Node, Value

NOT_CONSTANT = object()


def overload_of(node: Node) -> str:
    """`aten::add.Tensor`; the kind alone where there is one overload without a name, or no operator
    at all.
    """
    schema = node.schema()
    overload = schema.overload_name if schema is not None else ""
    return f"{node.kind()}.{overload}" if overload else node.kind()


def constant(v: Value) -> Any:
    """The Python value of a constant, None included; `NOT_CONSTANT` for any other value."""
    return NOT_CONSTANT if v.node().kind() != "prim::Constant" else v.toIValue()


def named_constant(node: Node, name: str) -> Any:
    """The constant given for argument `name`, or `NOT_CONSTANT`."""
    return constant(node.namedInput(name))
