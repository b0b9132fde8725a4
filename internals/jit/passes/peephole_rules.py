"""The parts of a peephole rule (`peephole.cpp`): a pattern, its replacement, and the function that
finds them.

How the real one differs: rules are the branches of one long if-else, each with a
`node->matches(schema)` of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from internals.jit.ir import Graph, Node, Value
from internals.jit.operators.alias_analysis import AliasDb
from internals.jit.passes.aliasing import is_written


class Constant(NamedTuple):
    """A Python value, as the result of a rule: it becomes a constant of the graph."""

    value: Any


@dataclass(frozen=True)
class Rule:
    """One rule for nodes of a kind, such as "aten::t". `pattern` and `becomes` are for the reader.

    `find(node, facts)` returns the value or `Constant` that replaces the node's output (a list of
    them, if the node has several), or None if the rule does not apply. `merges` says that a tensor
    or list of its own is replaced by an existing one, which must be safe.
    """

    kind: str
    pattern: str
    becomes: str
    find: Callable[[Node, Facts], Any]
    merges: bool = False


class Facts:
    """The facts about the graph that rules may ask for. The alias analysis is made on first use,
    and kept up to date when values are merged.
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
        """Record that the users of `old` use `new` now."""
        if self._aliases is not None and not self._aliases.merged(old, new):
            self.forget()

    def forget(self) -> None:
        """Discard the alias analysis: the graph has changed in a way that matters to memory."""
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
