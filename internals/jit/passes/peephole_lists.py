"""Peephole rules for lists whose construction the graph contains
(`torch/csrc/jit/passes/peephole_list_idioms.cpp`).

    len([a, b])        2
    [a, b][1]          b
    x, y = [a, b]      a, b
    [a] + [b]          [a, b]
    [a, b, c][1:]      [b, c]

The elements of `l = prim::ListConstruct(a, b)` are known as long as l is not written to, by this
name or another. Lists are joined only if they are short: `xs = xs + xs`, twenty times, is a list of
a million.

How the real one differs: it also derives the length of a list from a condition, `if len(x) == 2`.
"""

from __future__ import annotations

from typing import Any

from internals.jit.ir import ListType, Node, Value
from internals.jit.passes.overloads import constant
from internals.jit.passes.peephole_rules import Constant, Facts, Rule

LONGEST = 1 << 10  # elements of the joined list


def _length(node: Node, facts: Facts) -> Constant | None:
    """The length of a list or text."""
    known = constant(node.input(0))
    if isinstance(known, (list, str)):
        return Constant(len(known))
    elements = _elements(node.input(0), facts)
    return None if elements is None else Constant(len(elements))


def _item(node: Node, facts: Facts) -> Value | None:
    """The element of a list at a constant index."""
    if not isinstance(node.input(0).type(), ListType):
        return None
    elements, index = _elements(node.input(0), facts), constant(node.input(1))
    if (
        elements is None
        or not isinstance(index, int)
        or not -len(elements) <= index < len(elements)
    ):
        return None
    return elements[index]


def _unpacked(node: Node, facts: Facts) -> list[Value] | None:
    """All elements of a list, one for each output."""
    elements = _elements(node.input(0), facts)
    return elements if elements is not None and len(elements) == node.outputsSize() else None


def _joined(node: Node, facts: Facts) -> Value | None:
    """Two lists as one, if that is short."""
    if node.inputsSize() != 2 or not all(isinstance(v.type(), ListType) for v in node.inputs()):
        return None
    a, b = (_elements(v, facts) for v in node.inputs())
    if a is None or b is None or len(a) + len(b) > LONGEST:
        return None
    return _list_of([*a, *b], node, facts)


def _part(node: Node, facts: Facts) -> Value | None:
    """A slice with constant ends; one with step 0 is left, to raise its error."""
    if not isinstance(node.input(0).type(), ListType):
        return None
    elements, ends = _elements(node.input(0), facts), [constant(v) for v in node.inputs()[1:]]
    if (
        elements is None
        or not all(e is None or isinstance(e, int) for e in ends)
        or ends[2:] == [0]
    ):
        return None
    return _list_of(elements[slice(*ends)], node, facts)


LIST_RULES = (
    Rule("aten::len", "len([a, b])", "2", _length),
    Rule("aten::__getitem__", "[a, b][1]", "b", _item),
    Rule("prim::ListUnpack", "x, y = [a, b]", "a, b", _unpacked),
    Rule("aten::add", "[a] + [b]", "[a, b]", _joined),
    Rule("aten::slice", "[a, b, c][1:]", "[b, c]", _part),
)


def _elements(value: Value, facts: Facts) -> list[Value] | None:
    """The elements of a list; None if they are not known."""
    node = value.node()
    known = node.kind() == "prim::ListConstruct" and not facts.is_written(value)
    return node.inputs() if known else None


def _list_of(elements: list[Any], node: Node, facts: Facts) -> Value:
    """A new list, constructed before `node`. Later rules may look into it, so the alias analysis,
    which does not know it, is discarded.
    """
    graph = node.owningGraph()
    construct = graph.create("prim::ListConstruct", elements).copyMetadata(node).insertBefore(node)
    facts.forget()
    return construct.output().setType(node.output().type())
