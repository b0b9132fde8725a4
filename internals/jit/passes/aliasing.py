"""Questions about memory that several passes ask (`AliasDb::safeToChangeAliasingRelationship`,
`alias_analysis.cpp`).

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
    """Whether the caller may hold memory of one of `values`: it gave it, gets it, or it came from a
    place nobody can follow.
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
    """Whether the program stays the same when `a` and `b`, until now different objects of equal
    value, become one.

    Not if something writes to either, nor if the caller could see that both are one.
    """
    if is_written(aliases, a) or is_written(aliases, b):
        return False
    return not (escapes(aliases, a) and escapes(aliases, b))
