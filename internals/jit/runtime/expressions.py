"""Nodes that are emitted as Python syntax rather than as a call: displays, subscripts, attributes.

    prim::ListConstruct(%a, %b)       [a, b]
    prim::TupleSlice[beg=1, end=3]    t[1:3]

How the real one differs: its `.code`, which is for reading and not run, has these forms, too
(`python_print.cpp`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from internals.jit.ir import IntType, Node, TupleType

from .node_functions import PLACES


def python_form(node: Node) -> Callable[[Node, Sequence[str]], str] | None:
    """The function (node, expressions of its inputs) → expression for the kind of `node`; None if
    it is emitted as a call, like a named tuple.
    """
    type = node.output().type() if node.kind() == "prim::TupleConstruct" else None
    return (
        None if isinstance(type, TupleType) and type.names is not None else FORMS.get(node.kind())
    )


def dict_display(node: Node, inputs: Sequence[str]) -> str:
    return "{" + ", ".join(f"{k}: {v}" for k, v in zip(inputs[::2], inputs[1::2])) + "}"


def all_elements(node: Node, inputs: Sequence[str]) -> str:
    """Several outputs unpack the tuple by the assignment, `a, b = t`; a single one is `t[0]`."""
    return f"{inputs[0]}[0]" if node.outputsSize() == 1 else inputs[0]


def attribute(node: Node, inputs: Sequence[str]) -> str:
    """`m._parameters['w']`: read from the dict that it is in, without `nn.Module.__getattr__`."""
    name = node.s("name")
    place = PLACES[node.input().type().kind_of(name)]  # type: ignore[attr-defined]
    return f"{inputs[0]}.__dict__[{name!r}]" if place is None else f"{inputs[0]}.{place}[{name!r}]"


def itself(node: Node, inputs: Sequence[str]) -> str:
    return inputs[0]


def nothing(node: Node, inputs: Sequence[str]) -> str:
    """The value of a `prim::Uninitialized`, which is not used. If its type is int it is 0, as a
    loop may carry it through checks for overflow.
    """
    return "0" if isinstance(node.output().type(), IntType) else "None"


FORMS: dict[str, Callable[[Node, Sequence[str]], str]] = {
    "prim::TupleConstruct": lambda node, inputs: f"({', '.join(inputs)}{',' * (len(inputs) == 1)})",
    "prim::ListConstruct": lambda node, inputs: f"[{', '.join(inputs)}]",
    "prim::DictConstruct": dict_display,
    "prim::TupleUnpack": all_elements,
    "prim::TupleSlice": lambda node, inputs: f"{inputs[0]}[{node.i('beg')}:{node.i('end')}]",
    "prim::GetAttr": attribute,
    "prim::unchecked_cast": itself,
    "prim::Uninitialized": nothing,
}
