"""What `viz.graph` takes down of a graph: boxes, what flows between them, and blocks inside boxes.

Constants and attributes of modules are written where they are used, `alpha=1`, `self.fc.weight`; a graph of any size is then
mostly what computes. What would still be too many boxes is folded: by the modules nodes came from where there are any, otherwise
in runs, and every fold says how many nodes it hides.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from viz.text import plural

ROLES = {
    "prim::If": "ready", "prim::Loop": "ready", "prim::CallMethod": "owner", "prim::CallFunction": "owner",
    "prim::FusionGroup": "copied", "prim::DifferentiableGraph": "copied",
}  # fmt: skip


@dataclass
class IrNode:
    """A node, or a fold of several (`hides`). `args` and `results` are texts; `blocks` stand inside the box."""

    title: str
    args: str = ""
    results: list[tuple[str, str]] = field(default_factory=list)  # name, type
    role: str = "key"
    where: str = ""
    scope: str = ""
    blocks: list[IrBlock] = field(default_factory=list)
    hides: int = 0


@dataclass
class IrEdge:
    """A value: from node `tail` (or block input -1 - i) to node `head` (or the block's return, `RETURN`)."""

    tail: int
    head: int
    name: str
    type: str


RETURN = 1 << 30


@dataclass
class IrBlock:
    """Nodes in the order they run. `inputs` are (name, type), `outputs` the texts of what the block gives."""

    name: str
    inputs: list[tuple[str, str]] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    nodes: list[IrNode] = field(default_factory=list)
    edges: list[IrEdge] = field(default_factory=list)

    def count(self) -> int:
        """How many boxes it takes, with those inside boxes."""
        return sum(1 + sum(b.count() for b in n.blocks) for n in self.nodes)


class Recorder:
    """Reads a block of a graph. `fold_constants` writes constants and module attributes into the boxes that use them."""

    def __init__(self, fold_constants: bool) -> None:
        self.fold_constants = fold_constants

    def block(self, block: Any, name: str, depth: int | None = None) -> IrBlock:
        """The block; with `depth`, nodes of one module at that depth are folded into one box."""
        groups = list(self._grouped([n for n in block.nodes() if not self._inline(n)], depth))
        number = {id(n): i for i, group in enumerate(groups) for n in group}
        made_by = {id(v): (-1 - i) for i, v in enumerate(block.inputs())}
        for group in groups:
            for n in group:
                made_by.update((id(v), number[id(n)]) for v in n.outputs())
        record = IrBlock(name, [(v.debugName(), type_text(v.type())) for v in block.inputs()])
        record.outputs = [self.text(v) for v in block.outputs()]
        seen = set()
        for i, group in enumerate(groups):
            for v in _values_used(group):
                tail = made_by.get(id(v))
                if tail is not None and tail != i and (tail, i, id(v)) not in seen:
                    seen.add((tail, i, id(v)))
                    record.edges.append(IrEdge(tail, i, v.debugName(), type_text(v.type())))
            record.nodes.append(self._node(group[0], depth) if len(group) == 1 else _fold(group))
        for v in block.outputs():
            if id(v) in made_by and (made_by[id(v)], RETURN, id(v)) not in seen:
                seen.add((made_by[id(v)], RETURN, id(v)))
                record.edges.append(IrEdge(made_by[id(v)], RETURN, v.debugName(), type_text(v.type())))
        return record

    def text(self, value: Any) -> str:
        """How a value is written as an argument: its name, or itself when it is a constant or a module's attribute."""
        node = value.node()
        if not self._inline(node):
            return f"%{value.debugName()}"
        if node.kind() == "prim::GetAttr":
            owner = self.text(node.input())
            name = node.s("name")
            return f"{owner.removeprefix('%')}.{name}"
        from internals.jit.ir.printer import attribute_text

        names = node.attributeNames()
        if not names:
            return "None"
        shown = attribute_text(node, names[0])
        if value.type().kind() == "BoolType":
            return "True" if shown == "1" else "False"
        return shown if len(shown) <= 32 else shown[:31] + "…"

    def _inline(self, node: Any) -> bool:
        return self.fold_constants and node.kind() in ("prim::Constant", "prim::GetAttr") and bool(node.outputs())

    def _node(self, node: Any, depth: int | None) -> IrNode:
        names = [a for a in node.attributeNames() if node.kindOf(a) not in ("g", "gs")]
        attributes = [f"{a}={_attribute(node, a)}" for a in names]
        schema = node.schema()
        given = schema.arguments if schema is not None and len(schema.arguments) == node.inputsSize() else None
        args = [f"{given[i].name}={self.text(v)}" if given and i and self._inline(v.node()) else self.text(v)
                for i, v in enumerate(node.inputs())]  # fmt: skip
        writes = schema is not None and schema.is_mutable
        title = node.kind() + (f"[{', '.join(attributes)}]" if attributes else "")
        where = node.sourceRange().file_line_col() if node.sourceRange() is not None else None
        record = IrNode(
            title,
            ", ".join(args),
            [(v.debugName(), type_text(v.type())) for v in node.outputs()],
            "shared" if writes else ROLES.get(node.kind(), "key"),
            f"{where[0]}:{where[1]}" if where else "",
            node.scopeName(),
        )
        record.blocks = [self.block(b, f"block{i}", depth) for i, b in enumerate(node.blocks())]
        if "Subgraph" in node.attributeNames():
            record.blocks.append(self.block(node.g("Subgraph").block(), "Subgraph", depth))
        return record

    def _grouped(self, nodes: list[Any], depth: int | None) -> Iterable[list[Any]]:
        """Runs of neighbours from one module, each a group; every other node alone."""
        groups: list[list[Any]] = []
        last = ""
        for n in nodes:
            scope = "/".join(n.scopeName().split("/")[:depth]) if depth is not None else ""
            deep = depth is not None and n.scopeName().count("/") + 1 >= depth
            if scope and deep and scope == last:
                groups[-1].append(n)
            else:
                groups.append([n])
            last = scope if deep else ""
        return groups


def record(graph: Any, fold_constants: bool, limit: int) -> IrBlock:
    """The graph's block, with at most about `limit` boxes."""
    recorder = Recorder(fold_constants)
    whole = recorder.block(graph.block(), "graph")
    if whole.count() <= limit:
        return whole
    deepest = max((n.scopeName().count("/") + 1 for n in graph.nodes() if n.scopeName()), default=0)
    for depth in range(deepest, 0, -1):
        folded = recorder.block(graph.block(), "graph", depth)
        if folded.count() <= limit:
            return folded
        whole = folded
    return _without_the_middle(whole, limit)


def type_text(type: Any) -> str:
    """A type in a few characters: `Float(2, 3)`, `Tensor`, `int`."""
    from internals.jit.ir import type_verbosity

    with type_verbosity(1):
        shown = type.repr_str()
    return shown.rpartition(".")[2] if shown.startswith("__torch__") else shown


def _attribute(node: Any, name: str) -> str:
    from internals.jit.ir.printer import attribute_text

    shown = attribute_text(node, name)
    return shown if len(shown) <= 24 else shown[:23] + "…"


def _values_used(group: list[Any]) -> list[Any]:
    """What the nodes take, and what is taken inside their blocks."""
    used = []
    for n in group:
        used += n.inputs()
        for b in n.blocks():
            used += _values_used(list(b.nodes())) + b.outputs()
    return used


def _fold(group: list[Any]) -> IrNode:
    scope = group[0].scopeName()
    common = [a for a, *others in zip(*(n.scopeName().split("/") for n in group)) if all(o == a for o in others)]
    kinds = [n.kind().partition("::")[2] for n in group if not n.kind().startswith("prim::")]
    shown = ", ".join(kinds[:3]) + ("…" if len(kinds) > 3 else "")
    name = common[-1].removeprefix("__module.") if common else scope
    return IrNode(name, shown, [], "free", scope="/".join(common), hides=len(group))


def _without_the_middle(block: IrBlock, limit: int) -> IrBlock:
    """The first and the last nodes, and one box for those between."""
    keep = max(limit // 2, 1)
    n = len(block.nodes)
    if n <= 2 * keep:
        return block
    first, last = keep, n - keep
    hidden = block.nodes[first:last]
    place = {i: i if i < first else first if i < last else i - (last - first) + 1 for i in range(n)}
    place[RETURN] = RETURN
    count = sum(node.hides or 1 for node in hidden)
    kinds = ", ".join(dict.fromkeys(node.title.partition("[")[0] for node in hidden))
    fold = IrNode(plural(count, "node"), kinds if len(kinds) <= 40 else kinds[:39] + "…", role="free", hides=count)
    folded = IrBlock(block.name, block.inputs, block.outputs, [*block.nodes[:first], fold, *block.nodes[last:]])
    seen = set()
    for e in block.edges:
        tail, head = place.get(e.tail, e.tail), place[e.head]
        if tail != head and (tail, head, e.name) not in seen:
            seen.add((tail, head, e.name))
            folded.edges.append(IrEdge(tail, head, e.name, e.type))
    return folded
