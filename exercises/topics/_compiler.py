"""What `scripting.py` does with a reader's step: let the compiler take it, and look at the graph
that comes out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import internals as torch
from exercises.attempt import run
from exercises.exercise import Wrong
from internals.jit.frontend import convert_to_ssa


def function_of(source: str, name: str) -> Any:
    """A function of a text whose lines can be looked up."""
    names: dict[str, Any] = {"torch": torch, "__name__": "__main__"}
    run(source, names)
    return names[name]


@contextmanager
def installed(resolve: Callable[[Any, dict[str, Any]], None]) -> Iterator[list[Wrong]]:
    """A block in which the compiler resolves names by the reader's function; gives the mistakes
    that were seen on the way.
    """
    seen: list[Wrong] = []

    def resolved(block: Any, outer: Any) -> None:
        try:
            resolve(block, {})
        except KeyError as error:
            seen.append(
                Wrong(
                    f"nothing is known under the name {error}: a block inside begins with the "
                    "names from the surroundings"
                )
            )
        else:
            seen.extend(_leftovers(block, set()))
        if seen:
            raise seen[0]

    real = convert_to_ssa.erase_loads_and_stores
    convert_to_ssa.erase_loads_and_stores = resolved
    try:
        yield seen
    finally:
        convert_to_ssa.erase_loads_and_stores = real


def _leftovers(block: Any, visible: set[Any]) -> Iterator[Wrong]:
    """What a graph without names must not have: Loads and Stores, and values from a block that is
    over.
    """
    visible = visible | set(block.inputs())
    for node in block.nodes():
        if node.kind() in ("prim::Load", "prim::Store"):
            what = node.kind().removeprefix("prim::")
            yield Wrong(
                f"{what}s are left, that of {node.s('name')!r} for one: the graph has to do "
                "without, in all of its blocks"
            )
        for value in set(node.inputs()) - visible:
            yield Wrong(
                f"{node.kind()} uses %{value.debugName()} from a block that is over: what an arm "
                "stores is not for the other arm"
            )
        for inner in node.blocks():
            yield from _leftovers(inner, visible)
        visible |= set(node.outputs())
    for value in set(block.outputs()) - visible:
        yield Wrong(
            f"a block puts out %{value.debugName()}, which was made in the other arm, or in a body "
            "that is over"
        )


def numbered(graph: Any) -> str:
    """The text of a graph, its values numbered in order of appearance."""
    numbers: dict[str, str] = {}
    return re.sub(
        r"%[\w.]+", lambda m: numbers.setdefault(m.group(), f"%{len(numbers)}"), graph.str(False)
    )
