"""Questions about memory that several passes ask: is it written to, can the caller reach it, may
two values become one (`AliasDb::safeToChangeAliasingRelationship`, `alias_analysis.cpp`)?

How the real one differs: they are methods of its AliasDb.
"""

from __future__ import annotations

from collections.abc import Sequence

from internals.jit.ir import Value
from internals.jit.operators.alias_analysis import AliasDb


def is_written(aliases: AliasDb, values: Sequence[Value]) -> bool:
    """Whether anything in the graph may write to the memory of one of `values`."""
    return any(aliases.has_writers(v) for v in values)


def escapes(aliases: AliasDb, values: Sequence[Value]) -> bool:
    """Whether the caller may have the memory of one of `values`: it is an input or an output of the
    graph, is contained in one, or is a wildcard.
    """
    graph = values[0].node().owningGraph() if values else None
    if graph is None:
        return False
    return (
        aliases.may_contain_alias(graph.inputs(), values)
        or aliases.may_contain_alias(graph.outputs(), values)
        or aliases.may_alias_wildcard(values)
    )


def safe_to_merge(aliases: AliasDb, a: Sequence[Value], b: Sequence[Value]) -> bool:
    """Whether `a` and `b`, different objects of equal value, may become one object.

    They may not if either is written to, since the write would be seen in the other as well; nor if
    the caller can reach both, and write to one.
    """
    if is_written(aliases, a) or is_written(aliases, b):
        return False
    return not (escapes(aliases, a) and escapes(aliases, b))
