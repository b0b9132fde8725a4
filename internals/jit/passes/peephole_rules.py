"""What the rules of the peephole pass (`peephole.cpp`) are made of: a pattern, what it becomes, and
the function that finds out.

How the real one differs: rules are branches of one long if-else; each asks `node->matches(schema)`
itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from internals.jit.ir import Graph, Node, Value
from internals.jit.operators.alias_analysis import AliasDb
from internals.jit.passes.aliasing import is_written


class Constant(NamedTuple):
    """A Python value that is to become a constant of the graph."""

    value: Any


@dataclass(frozen=True)
class Rule:
    """`find(node, facts)` gives what the node's output is replaced by (a list: one for each
    output), None if it does not apply.

    kind: "aten::t", or with an overload, "aten::mul.Scalar". merges: the output was a tensor or
    list of its own, and what it is replaced by is one that exists already.
    """

    kind: str
    pattern: str
    becomes: str
    find: Callable[[Node, Facts], Any]
    merges: bool = False


class Facts:
    """What rules may ask about the graph. Memory is analysed when first asked for, and kept up to
    date when values merge.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._aliases: AliasDb | None = None

    @property
    def aliases(self) -> AliasDb:
        if self._aliases is None:
            self._aliases = AliasDb(self.graph)
        return self._aliases

    def merged(self, old: Value, new: Value) -> None:
        """The users of `old` use `new` now, which is one object where there were two."""
        if self._aliases is not None and not self._aliases.merged(old, new):
            self.forget()

    def forget(self) -> None:
        """The graph has changed in a way that matters to memory."""
        self._aliases = None

    def is_written(self, *values: Value) -> bool:
        """Whether anything may write to the memory of one of these."""
        return is_written(self.aliases, values)


def group(rules: Sequence[Rule]) -> dict[str, list[Rule]]:
    """The rules by kind."""
    grouped: dict[str, list[Rule]] = {}
    for rule in rules:
        grouped.setdefault(rule.kind, []).append(rule)
    return grouped
