"""What `viz.graph` takes down of a graph: boxes, what flows between them, and blocks inside boxes.

Constants, lists of constants and attributes of modules are written where they are used, `alpha=1`,
`[2, 2]`, `self.fc.weight`; a graph of any size is then mostly what computes. What would still be
too many boxes is folded: by the modules nodes came from where there are any, otherwise in runs, and
every fold says how many nodes it hides.

Who writes to memory comes before those who read it afterwards, although no value passes between
them. The aliasing analysis of the JIT knows who they are, and each pair that is not connected
otherwise gets an edge of its own.

How the real one differs: PyTorch has no pictures; `AliasDb` answers the same questions there, for
passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

ROLES = {
    "prim::If": "ready", "prim::Loop": "ready", "prim::CallMethod": "owner",
    "prim::CallFunction": "owner", "prim::FusionGroup": "copied",
    "prim::DifferentiableGraph": "copied",
}  # fmt: skip
CONTAINERS = ("prim::ListConstruct", "prim::TupleConstruct")


@dataclass
class IrNode:
    """A node, or a fold of `hides` nodes. `args`, `results` and `writes` are texts; `blocks` stand
    inside the box.
    """

    title: str
    args: str = ""
    results: list[tuple[str, str]] = field(default_factory=list)  # name, type
    role: str = "key"
    where: str = ""
    scope: str = ""
    writes: list[str] = field(default_factory=list)
    blocks: list[IrBlock] = field(default_factory=list)
    hides: int = 0

    def count(self) -> int:
        """How many nodes it stands for, itself and those inside."""
        return (self.hides or 1) + sum(n.count() for b in self.blocks for n in b.nodes)


@dataclass
class IrEdge:
    """A value: from node `tail` (or block input -1 - i) to node `head` (or the block's return,
    `RETURN`).

    Without a name it is no value: `head` reads memory to which `tail` writes.
    """

    tail: int
    head: int
    name: str
    type: str


RETURN = 1 << 30


@dataclass
class IrBlock:
    """Nodes in the order they run. `inputs` are (name, type), `outputs` the texts of what the block
    gives.
    """

    name: str
    inputs: list[tuple[str, str]] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    nodes: list[IrNode] = field(default_factory=list)
    edges: list[IrEdge] = field(default_factory=list)

    def count(self) -> int:
        """How many boxes it takes, with those inside boxes."""
        return sum(1 + sum(b.count() for b in n.blocks) for n in self.nodes)


class Recorder:
    """Reads a graph. `fold_constants` writes what needs no box into the boxes that use it: `inline`
    are those nodes.
    """

    def __init__(self, graph: Any, fold_constants: bool) -> None:
        self.graph = graph
        self.total = len(nodes_of(graph.block()))
        self.inline = set(_needing_no_box(graph.block())) if fold_constants else set()

    def whole(self, depth: int | None = None) -> IrBlock:
        """All of it; with `depth`, neighbours from one module at that depth become one box."""
        return self.block(self.graph.block(), "graph", _writes_and_reads(self.graph), depth)

    def block(self, block: Any, name: str, db: Any, depth: int | None) -> IrBlock:
        groups = list(self._grouped([n for n in block.nodes() if n not in self.inline], depth))
        made_by = {v: -1 - i for i, v in enumerate(block.inputs())}
        for i, group in enumerate(groups):
            made_by.update((v, i) for n in group for v in n.outputs())
        record = IrBlock(name, [(v.debugName(), type_text(v.type())) for v in block.inputs()])
        record.outputs = [self.text(v) for v in block.outputs()]
        record.nodes = [
            self._node(g[0], db, depth) if len(g) == 1 else self._fold(g) for g in groups
        ]
        uses = [(_values_used(group), i) for i, group in enumerate(groups)] + [
            (block.outputs(), RETURN)
        ]
        for values, head in uses:
            for v in dict.fromkeys(values):
                tail = made_by.get(v, head)
                if tail != head:
                    record.edges.append(IrEdge(tail, head, v.debugName(), type_text(v.type())))
        if db is not None:
            record.edges += _order(groups, block.outputs(), record.edges, db)
        return record

    def text(self, value: Any) -> str:
        """How a value is written as an argument: its name, or itself when it is a constant or a
        module's attribute.
        """
        node = value.node()
        if node not in self.inline:
            return f"%{value.debugName()}"
        if node.kind() == "prim::GetAttr":
            return f"{self._owner(node.input())}.{node.s('name')}"
        if node.kind() in CONTAINERS:
            inside = ", ".join(self.text(v) for v in node.inputs())
            return f"[{inside}]" if node.kind() == "prim::ListConstruct" else f"({inside})"
        names = node.attributeNames()
        if not names:
            return "None"
        if value.type().kind() == "BoolType":
            return str(bool(node.i("value")))
        return _shortened(_attribute(node, names[0]), 32)

    def _owner(self, module: Any) -> str:
        """`self` for the first input, whatever its number; `self.layer1` for what is fetched from
        it.
        """
        if module.node() in self.inline:
            return self.text(module)
        from internals.jit.ir import base_name

        return str(base_name(module.debugName()))

    def _node(self, node: Any, db: Any, depth: int | None) -> IrNode:
        names = [a for a in node.attributeNames() if node.kindOf(a) not in ("g", "gs")]
        attributes = [f"{a}={_shortened(_attribute(node, a), 24)}" for a in names]
        schema = node.schema()
        given = (
            schema.arguments
            if schema is not None and len(schema.arguments) == node.inputsSize()
            else None
        )
        args = [
            f"{given[i].name}={self.text(v)}"
            if given and i and v.node() in self.inline
            else self.text(v)
            for i, v in enumerate(node.inputs())
        ]
        writes = [self.text(v) for a, v in zip(given or (), node.inputs()) if a.is_write]
        if node.kind() == "prim::SetAttr":
            writes.append(f"{self._owner(node.input(0))}.{node.s('name')}")
        where = node.sourceRange().file_line_col() if node.sourceRange() is not None else None
        record = IrNode(
            node.kind() + (f"[{', '.join(attributes)}]" if attributes else ""),
            ", ".join(args),
            [(v.debugName(), type_text(v.type())) for v in node.outputs()],
            "shared" if writes else ROLES.get(node.kind(), "key"),
            f"{where[0]}:{where[1]}" if where else "",
            node.scopeName(),
            writes,
        )
        record.blocks = [self.block(b, f"block{i}", db, depth) for i, b in enumerate(node.blocks())]
        if "Subgraph" in node.attributeNames():
            inner = node.g("Subgraph")
            record.blocks.append(
                self.block(inner.block(), "Subgraph", _writes_and_reads(inner), depth)
            )
        return record

    def _fold(self, group: list[Any]) -> IrNode:
        scopes = [n.scopeName().split("/") for n in group]
        common = [parts[0] for parts in zip(*scopes) if len(set(parts)) == 1]
        inside = [n for g in group for n in (g, *(m for b in inner_blocks(g) for m in nodes_of(b)))]
        hidden = [n for n in inside if n not in self.inline]
        kinds = [n.kind().partition("::")[2] for n in group if not n.kind().startswith("prim::")]
        shown = ", ".join(kinds[:3]) + ("…" if len(kinds) > 3 else "")
        return IrNode(
            common[-1].removeprefix("__module."),
            shown,
            [],
            "free",
            scope="/".join(common),
            hides=len(hidden),
        )

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


def record(recorder: Recorder, limit: int) -> IrBlock:
    """The graph's block, with at most about `limit` boxes."""
    whole = recorder.whole()
    if whole.count() <= limit:
        return whole
    scopes = (n.scopeName() for n in nodes_of(recorder.graph.block()))
    for depth in range(max((s.count("/") + 1 for s in scopes if s), default=0), 0, -1):
        whole = recorder.whole(depth)
        if whole.count() <= limit:
            return whole
    return _without_the_middle(whole, limit)


def nodes_of(block: Any) -> list[Any]:
    """All nodes of a block, with those of blocks and graphs inside its nodes."""
    found = []
    for n in block.nodes():
        found.append(n)
        for inner in inner_blocks(n):
            found += nodes_of(inner)
    return found


def inner_blocks(node: Any) -> list[Any]:
    return node.blocks() + (
        [node.g("Subgraph").block()] if "Subgraph" in node.attributeNames() else []
    )


def type_text(type: Any) -> str:
    """A type in a few characters: `Float(2, 3)`, `Tensor`, `int`."""
    from internals.jit.ir import type_verbosity

    with type_verbosity(1):
        shown = type.repr_str()
    return shown.rpartition(".")[2] if shown.startswith("__torch__") else shown


def _attribute(node: Any, name: str) -> str:
    from internals.jit.ir.printer import attribute_text

    return repr(node.f(name)) if node.kindOf(name) == "f" else str(attribute_text(node, name))


def _shortened(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _needing_no_box(block: Any) -> Iterator[Any]:
    """Constants, what is fetched from modules and never set, and lists of such that nobody but an
    operator reads.
    """
    nodes = nodes_of(block)
    set_later = {n.s("name") for n in nodes if n.kind() == "prim::SetAttr"}
    inline = set()
    for n in nodes:
        kind = n.kind()
        fetched = kind == "prim::GetAttr" and n.s("name") not in set_later
        listed = (
            kind in CONTAINERS
            and all(v.node() in inline for v in n.inputs())
            and _only_read(n.output())
        )
        if n.outputs() and (kind == "prim::Constant" or fetched or listed):
            inline.add(n)
            yield n


def _only_read(value: Any) -> bool:
    schemas = [user.schema() for user, _ in value.uses()]
    return bool(schemas) and all(schema is not None and not schema.is_mutable for schema in schemas)


def _values_used(group: list[Any]) -> list[Any]:
    """What the nodes take, and what is taken inside their blocks."""
    used = []
    for n in group:
        used += n.inputs()
        for b in n.blocks():
            used += _values_used(list(b.nodes())) + b.outputs()
    return used


def _writes_and_reads(graph: Any) -> Any:
    """The graph's `AliasDb`, or None when nobody writes."""
    return graph.alias_db() if any(_writes(n) for n in nodes_of(graph.block())) else None


def _writes(node: Any) -> bool:
    schema = node.schema()
    return node.kind() == "prim::SetAttr" or (schema is not None and schema.is_mutable)


def _order(
    groups: list[list[Any]], outputs: list[Any], edges: list[IrEdge], db: Any
) -> Iterator[IrEdge]:
    """From who writes to who reads that memory later, where no path of values leads there."""
    heads: dict[int, set[int]] = {}
    for e in edges:
        heads.setdefault(e.tail, set()).add(e.head)
    reads = [frozenset().union(*(db.reads(n) for n in group)) for group in groups]
    for i in reversed(range(len(groups))):
        writers = [n for n in groups[i] if db.writes(n)]
        written = frozenset().union(*(db.writes(n) for n in writers))
        later = [j for j in range(i + 1, len(groups)) if written & reads[j]]
        if any(db.writes_to_alias(n, outputs) for n in writers):
            later.append(RETURN)
        for j in later:
            if not _reaches(i, j, heads):
                heads.setdefault(i, set()).add(j)
                yield IrEdge(i, j, "", "")


def _reaches(tail: int, head: int, heads: dict[int, set[int]]) -> bool:
    seen, stack = set(), [tail]
    while stack:
        n = stack.pop()
        if n == head:
            return True
        if n not in seen:
            seen.add(n)
            stack += heads.get(n, ())
    return False


def _without_the_middle(block: IrBlock, limit: int) -> IrBlock:
    """The first and the last nodes, and one box for those between; the same for blocks inside those
    that stay.
    """
    keep = max(limit // 2, 1)
    n = len(block.nodes)
    first, last = (keep, n - keep) if n > 2 * keep else (n, n)
    stay = [*block.nodes[:first], *block.nodes[last:]]
    room = max((limit - len(stay)) // max(sum(len(node.blocks) for node in stay), 1), 4)
    for node in stay:
        node.blocks = [
            b if b.count() <= room else _without_the_middle(b, room) for b in node.blocks
        ]
    if first == n:
        return block
    hidden = block.nodes[first:last]
    place = {i: i if i < first else first if i < last else i - (last - first) + 1 for i in range(n)}
    count = sum(node.count() for node in hidden)
    kinds = ", ".join(dict.fromkeys(node.title.partition("[")[0] for node in hidden))
    fold = IrNode("…", _shortened(kinds, 40), role="free", hides=count)
    folded = IrBlock(
        block.name, block.inputs, block.outputs, [*block.nodes[:first], fold, *block.nodes[last:]]
    )
    for e in block.edges:
        moved = IrEdge(place.get(e.tail, e.tail), place.get(e.head, e.head), e.name, e.type)
        if moved.tail != moved.head and moved not in folded.edges:
            folded.edges.append(moved)
    return folded
