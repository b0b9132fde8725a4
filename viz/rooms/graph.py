"""`viz.graph`: a graph of the JIT, values flowing down from inputs to outputs.

A box is a node: its kind, its arguments, where in the source it comes from. An arrow is a value,
with its type. The arms of an If and the body of a Loop stand inside its box, as they stand inside
it in the text. An orange box writes to its argument, and a dashed arrow leads from it to who may
read what was written.

How the real one differs: PyTorch draws no graphs; it prints them, which `str(graph)` does here too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from viz.canvas import Canvas
from viz.rooms.ir_record import IrBlock, IrNode, Recorder, record
from viz.scene import Picture
from viz.text import corrected, plural

BOXES_AT_MOST = 60


@dataclass
class IrPicture(Picture):
    """The scene. `total` counts all nodes of the graph, constants and folded ones too."""

    name: str
    body: IrBlock = field(default_factory=lambda: IrBlock("graph"))
    total: int = 0
    folded_constants: int = 0

    def heading(self) -> str:
        return f"graph of {self.name}" if self.name else "graph"

    def summary(self) -> str:
        facts = plural(self.total, "node")
        if self.folded_constants:
            facts += (
                f", {self.folded_constants} of them constants and the like, written where they are "
                "used"
            )
        hidden = sum(n.hides for n in all_nodes(self.body))
        return facts + (f"; {hidden} folded into grey boxes" if hidden else "")

    def text(self) -> str:
        head = f"{self.heading()}: {self.summary()}"
        return "\n".join([head, *_lines(self.body, 1)])

    def canvas(self) -> Canvas:
        from viz.rooms.graph_canvas import graph_canvas

        return graph_canvas(self)

    def title(self) -> str:
        return f"viz.graph: {self.name}" if self.name else "viz.graph"


def graph(
    g: Any, *, fold_constants: bool = True, limit: int = BOXES_AT_MOST, name: str = ""
) -> IrPicture:
    """Draw a graph: an `internals.jit` graph, or a scripted or traced function or module (its graph
    with calls inlined).

    `fold_constants=False` gives constants, lists of them and module attributes boxes of their own.
    A graph of more than `limit` boxes is folded.

    Raises TypeError for what has no graph, ValueError for a limit below 1.

    >>> viz.graph(jit.script(f))                     # doctest: +SKIP
    >>> viz.graph(traced_resnet, limit=30)           # doctest: +SKIP
    """
    found, called = graph_of(g)
    if limit < 1:
        raise ValueError(f"limit is how many boxes there may be, at least 1, not {limit}")
    recorder = Recorder(found, fold_constants)
    return IrPicture(name or called, record(recorder, limit), recorder.total, len(recorder.inline))


def graph_of(g: Any) -> tuple[Any, str]:
    """The graph of a graph, function or module, and what to call it. Raises TypeError for what has
    none.
    """
    if hasattr(g, "inlined_graph"):
        return g.inlined_graph, str(getattr(g, "original_name", getattr(g, "name", "")))
    if hasattr(g, "param_node"):
        return g, ""
    if hasattr(g, "graph") and hasattr(g.graph, "param_node"):
        return g.graph, getattr(g, "name", "")
    raise TypeError(
        corrected(
            f"a {type(g).__name__} has no graph: what jit.script and jit.trace return does",
            "viz.graph(f)",
            "viz.graph(torch.jit.script(f))",
        )
    )


def all_nodes(block: IrBlock) -> Iterator[IrNode]:
    for n in block.nodes:
        yield n
        for b in n.blocks:
            yield from all_nodes(b)


def _lines(block: IrBlock, level: int) -> Iterator[str]:
    pad = "    " * level
    if block.inputs:
        yield f"{pad}inputs   {', '.join(f'%{n} : {t}' for n, t in block.inputs)}"
    for n in block.nodes:
        if n.hides:
            yield f"{pad}[{n.title}: {plural(n.hides, 'node')} folded] {n.args}".rstrip()
            continue
        results = ", ".join(f"%{name} : {type}" for name, type in n.results)
        line = f"{pad}{results + ' = ' if results else ''}{n.title}({n.args})"
        notes = [f"writes {', '.join(n.writes)}"] if n.writes else []
        notes += [f"scope {n.scope}"] if n.scope else []
        yield line + "".join(f"   {note}" for note in notes)
        for b in n.blocks:
            yield f"{pad}  {b.name}:"
            yield from _lines(b, level + 1)
    yield f"{pad}outputs  {', '.join(block.outputs) or 'none'}"
