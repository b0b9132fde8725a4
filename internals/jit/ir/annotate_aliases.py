"""A graph's text with comments about memory: which nodes write to it, and which values share it
(`torch/csrc/jit/ir/alias_analysis.cpp: AliasDb`).

    graph(%x : Tensor):
      %f : Tensor = aten::relu(%x)
      %r : Tensor = aten::t(%x)      # %r may share memory with %x
      %4 : Tensor = aten::neg_(%r!)  # writes %r, may change %x; %4 may share memory with %r
      %g : Tensor = aten::relu(%x)
      return (%f, %g)

An input that a node writes to has a `!` behind it, as in the operator's schema. The comment says
which other values may change with it, and with which inputs an output may share its memory.
`%f` and `%g` are the same expression, and neither uses the result of `neg_`; yet a pass may not
merge them, because `neg_` changes `%x` in between. `AliasDb` answers whether it does, and this
module prints the answer. It is a cautious one: two inputs of a graph may share memory for all that
is known, and so may anything that was once an element of a list.

How the real one differs: `AliasDb::dump` there prints the points-to graph and the lists of writes
instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .block import Block
from .printer import graph_text

if TYPE_CHECKING:
    from internals.jit.operators.alias_analysis import AliasDb

    from .graph import Graph
    from .node import Node
    from .value import Value

LAST_COLUMN = 88  # comments begin in one column, unless a line is longer than this


def annotate_aliases(graph: Graph) -> str:
    """The text of the graph, with a `!` behind inputs that are written to, and comments."""
    from internals.jit.operators.alias_analysis import AliasDb

    db = AliasDb(graph)
    nodes = _in_order(graph.block())
    main, *groups = graph_text(graph, ranges=False).split("\nwith ")
    earlier = list(graph.inputs())
    lines, comments = [], []
    # Each line with " = " is one node's, in the order of `nodes`; the others are heads of blocks,
    # `->` and `return`.
    for line in main.rstrip("\n").split("\n"):
        comment = ""
        if " = " in line:
            node = next(nodes)
            line, comment = _marked(line, node), "; ".join(_remarks(db, node, earlier))
            earlier += [*node.outputs(), *(v for b in node.blocks() for v in b.inputs())]
        lines.append(line)
        comments.append(comment)
    column = min(max((len(line) for line, c in zip(lines, comments) if c), default=0), LAST_COLUMN)
    text = "".join(
        f"{line.ljust(column)}  # {c}\n" if c else f"{line}\n" for line, c in zip(lines, comments)
    )
    return text + "".join(f"with {g.rstrip()}\n" for g in groups)


def _remarks(db: AliasDb, node: Node, earlier: Sequence[Value]) -> Iterator[str]:
    """The remarks about a node's memory. `earlier` are the values made before it."""
    written = written_inputs(node)
    # A Loop around this node has outputs, but they do not exist yet when the node runs.
    around = _around(node)
    others = [v for v in earlier if v not in written and v.node() not in around]
    changed = [v for v in others if any(db.may_alias(v, w) for w in written)]
    if written:
        yield f"writes {_list(written)}" + (f", may change {_list(changed)}" if changed else "")
    sources = dict.fromkeys([*node.inputs(), *(v for b in node.blocks() for v in b.outputs())])
    for output in node.outputs():
        shared = [v for v in sources if db.may_alias(output, v)]
        if shared:
            yield f"%{output.debugName()} may share memory with {_list(shared)}"


def written_inputs(node: Node) -> list[Value]:
    """The inputs that the node's operator writes to, by its schema."""
    schema = node.schema()
    if schema is None:
        return []
    return [v for a, v in zip(schema.arguments, node.inputs()) if a.is_write]


def _marked(line: str, node: Node) -> str:
    """The node's line with a `!` behind every input that is written to."""
    written = written_inputs(node)
    names = ", ".join(f"%{v.debugName()}" for v in node.inputs())
    marked = ", ".join(f"%{v.debugName()}{'!' if v in written else ''}" for v in node.inputs())
    # from the right: an attribute's text may look like the inputs, too
    head, found, rest = line.rpartition(f"({names})")
    return f"{head}({marked}){rest}" if found else line


def _in_order(block: Block) -> Iterator[Node]:
    """The nodes in the order they are printed."""
    for node in block.nodes():
        yield node
        for inner in node.blocks():
            yield from _in_order(inner)


def _around(node: Node) -> list[Node]:
    """The Ifs and Loops in whose blocks the node is, the innermost first."""
    owner = node.owningBlock().owningNode()
    return [] if owner is None else [owner, *_around(owner)]


def _list(values: Sequence[Value]) -> str:
    return ", ".join(f"%{v.debugName()}" for v in values)
