"""Nodes that Python has a form of its own for: displays, subscripts, attributes.

How the real one differs: it emits no Python that runs; `.code`, which is for reading, has these
forms too (`python_print.cpp`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from internals.jit.ir import IntType, Node, TupleType

from .node_functions import PLACES


def python_form(node: Node) -> Callable[[Node, Sequence[str]], str] | None:
    """What writes `node` as an expression, given the expressions of its inputs; None for nodes that
    are calls.
    """
    type = node.output().type() if node.kind() == "prim::TupleConstruct" else None
    return (
        None if isinstance(type, TupleType) and type.names is not None else FORMS.get(node.kind())
    )


def dict_display(node: Node, inputs: Sequence[str]) -> str:
    return "{" + ", ".join(f"{k}: {v}" for k, v in zip(inputs[::2], inputs[1::2])) + "}"


def all_elements(node: Node, inputs: Sequence[str]) -> str:
    return f"{inputs[0]}[0]" if node.outputsSize() == 1 else inputs[0]


def attribute(node: Node, inputs: Sequence[str]) -> str:
    name = node.s("name")
    place = PLACES[node.input().type().kind_of(name)]  # type: ignore[attr-defined]
    return f"{inputs[0]}.__dict__[{name!r}]" if place is None else f"{inputs[0]}.{place}[{name!r}]"


def itself(node: Node, inputs: Sequence[str]) -> str:
    return inputs[0]


def nothing(node: Node, inputs: Sequence[str]) -> str:
    """What is never read. An int all the same, if one is expected: a loop may carry it through
    checks for overflow.
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
