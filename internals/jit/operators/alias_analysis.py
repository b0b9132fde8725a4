"""Which values of a graph may share memory, and which nodes write to it
(`torch/csrc/jit/ir/alias_analysis.cpp`).

    db = AliasDb(graph)
    db.may_alias(a, b)                              # may writing to a change b?
    db.has_writers(node)                            # is its inputs' or outputs' memory written to?
    db.moveBeforeTopologicallyValid(node, target)   # move it, with the nodes that must move along,
                                                    # if the program stays the same

It goes through the graph once and draws arrows between the memory of values (`memory_dag.py`). The
effect of a node on memory is read off its schema: `Tensor(a)` on an argument and a result is a
view, `!` a write, `-> *` an escape, and a result without annotation is fresh. Control flow,
containers and subgraphs have rules of their own:

    graph inputs            a wildcard, which may be anything: the caller may pass a tensor twice
    If                      the output of either arm
    Loop                    the carried value or the output of the body, turn after turn
    tuple, list, dict       a fresh container; its elements become wildcards, unless all users of
                            the container only read it
    unpack, index, GetAttr  a wildcard: it came out of some container
    call of other code      writes to all its inputs, and returns wildcards

Every answer is a "may": a wrong yes costs an optimisation, a wrong no would break the program. The
database is a snapshot: once the graph has been changed, other than by its own moves, make a new
one.

How the real one differs: the output of a Loop does not alias its input there, although the loop may
not run at all; the schemas of `type_as`, `dropout` and a few more (`PASS_ON`) are believed when
they promise new memory; and random numbers are independent of each other, where here their order is
kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from internals.jit.ir import Block, Graph, Node, TensorType, Value
from internals.jit.ir.alias_info import AliasInfo

from .memory_dag import NOWHERE, Element, Locations, MemoryDag, is_mutable_type
from .properties import has_side_effects, is_nondeterministic
from .topological_moves import TopologicalMoves

Values = Value | Iterable[Value]

# The kinds of nodes that have rules of their own, as `_analyze` applies them.
CONTAINERS = frozenset({"prim::ListConstruct", "prim::TupleConstruct", "prim::DictConstruct"})
EXTRACTORS = frozenset(
    {
        "prim::TupleUnpack",
        "prim::TupleIndex",
        "prim::TupleSlice",
        "prim::ListUnpack",
        "prim::GetAttr",
    }
)
CREATORS = frozenset({
    "prim::Constant", "prim::Undefined", "prim::AutogradZero", "prim::AutogradAdd",
    "prim::FusedConcat", "prim::MMTreeReduce", "prim::MMBatchSide", "prim::BroadcastSizes",
    "prim::ChunkSizes", "prim::CreateObject", "prim::tolist", "prim::Uninitialized", "prim::Load",
    "prim::isinstance", "prim::AnyDefined",
})  # fmt: skip
SAME_AS_INPUT = frozenset(
    {"prim::unchecked_cast", "prim::profile", "prim::Guard", "prim::SumToSize"}
)
# Their schemas promise new memory, but they may return their input itself, or a view of it.
PASS_ON = frozenset({
    "aten::type_as", "aten::dropout", "aten::conj_physical", "aten::sum_to_size",
    "aten::_grad_sum_to_size", "aten::broadcast_tensors", "aten::einsum", "aten::atleast_1d",
    "aten::atleast_2d", "aten::atleast_3d", "aten::meshgrid", "aten::cartesian_prod",
    "aten::to_dense",
})  # fmt: skip
CHUNKS = frozenset({"prim::ConstantChunk", "prim::BroadcastingChunk"})
SUBGRAPHS = frozenset(
    {
        "prim::FusionGroup",
        "prim::ConvolutionGroup",
        "prim::DifferentiableGraph",
        "prim::FunctionalGraph",
    }
)
# side effects, but none on the state of the random generator
TALKS = frozenset({"prim::Print", "prim::RaiseException", "aten::warn"})
CALLS = frozenset(
    {"prim::CallFunction", "prim::CallMethod", "prim::PythonOp", "prim::Enter", "prim::Exit"}
)


class AliasDb(TopologicalMoves):
    """The alias analysis of one graph. Methods in camelCase have the names of
    `torch::jit::AliasDb`.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.dag = MemoryDag()
        self._wildcard_values: dict[Value, None] = {}
        self._writes: dict[Node, list[tuple[Value, bool]]] = {}  # True: and to all inside
        self._writes_everywhere: set[Node] = set()
        for v in graph.inputs():
            self._set_wildcard(v)
        self._analyze_block(graph.block())
        # Only now are all arrows known along which the memory of a wildcard value may be reached.
        self.dag.make_wildcards(self._wildcard_values)
        self._written: Locations | None = None
        self._writes_of: dict[Node, Locations] = {}

    # Questions

    def may_alias(self, a: Values, b: Values) -> bool:
        """Whether a value of `a` and one of `b` may have the same memory; their elements do not
        count.
        """
        return not self._locations(a).isdisjoint(self._locations(b))

    def may_contain_alias(self, a: Values, b: Values) -> bool:
        """The same, including the elements of containers at any depth."""
        return not self._contained(a).isdisjoint(self._contained(b))

    def may_alias_wildcard(self, values: Values) -> bool:
        """Whether a value, or an element of it, may have memory that is reachable from outside."""
        return any(e.wildcard is not None for e in self._contained(values))

    def merged(self, old: Value, new: Value) -> bool:
        """Record that the users of `old` use `new` from now on. `old` must have memory of its own
        that is not written to.

        Returns False if an arrow from one to the other cannot express that; then the graph has to
        be analysed anew.
        """
        mine, theirs = self.dag.elements.get(old), self.dag.elements.get(new)
        if mine is None or theirs is None or mine.points_to or mine.contains or mine is theirs:
            return False
        self.dag.redirect(mine, theirs)
        return True

    def has_writers(self, of: Value | Node) -> bool:
        """Whether any node writes to the memory of a value, or of the inputs or outputs of a
        node.
        """
        values = [of] if isinstance(of, Value) else [*of.inputs(), *of.outputs()]
        if self._written is None:
            self._written = self._writes_of_block(self.graph.block())
        return not self._locations(values).isdisjoint(self._written)

    def writes_to_alias(self, node: Node, values: Iterable[Value]) -> bool:
        """Whether `node`, or a node inside it, writes to the memory of `values` or of their
        elements.
        """
        writes = self.writes(node)
        return bool(writes) and not writes.isdisjoint(self._contained(values))

    def has_untracked_effects(self, node: Node) -> bool:
        """Whether `node` writes to memory that is reachable from outside (`writesToWildcard`): it
        must stay even if its outputs are not used.
        """
        return any(e.wildcard is not None for e in self.writes(node))

    def is_mutable(self, node: Node) -> bool:
        """Whether `node`, or a node inside it, writes to anything."""
        return bool(self.writes(node))

    def reachable(self, values: Values) -> Locations:
        """The locations of values and of everything inside them."""
        return self._contained(values)

    def writes(self, node: Node) -> Locations:
        """The locations that `node` and the nodes inside it write to. Computed once: a node that is
        removed from its blocks later still counts.
        """
        found = self._writes_of.get(node)
        if found is None:
            found = self._writes_of[node] = self._find_writes(node)
        return found

    def _find_writes(self, node: Node) -> Locations:
        """The union of the node's own writes and those of the nodes in its blocks."""
        found = set(self._wildcards() if node in self._writes_everywhere else ())
        for value, inside in self._writes.get(node, ()):
            found |= self._contained(value) if inside else self._locations(value)
        for block in node.blocks():
            found |= self._writes_of_block(block)
        return frozenset(found)

    def reads(self, node: Node) -> Locations:
        """The locations that `node` and the nodes inside it may read."""
        found = set(self._contained(node.inputs()))
        for block in node.blocks():
            found |= self._contained(block.outputs()).union(*(self.reads(n) for n in block.nodes()))
        return frozenset(found)

    def ordered_by(self, node: Node) -> frozenset[str]:
        """The reasons why `node` must keep its place among other nodes with the same reason:
        "effects" in the outside world, or "random" numbers drawn from the generator.
        """
        reasons = set()
        if has_side_effects(node):
            reasons.add("effects")
        if is_nondeterministic(node) or (has_side_effects(node) and node.kind() not in TALKS):
            reasons.add("random")
        inside = (n for b in node.blocks() for n in b.nodes())
        return frozenset(reasons).union(*map(self.ordered_by, inside))

    def dump(self) -> str:
        """The graph, the arrows and the writes as text."""
        return str(self)

    def __str__(self) -> str:
        lines = ["", "===1. GRAPH===", str(self.graph), "===2. ALIAS DB==="]
        for element in self.dag.elements.values():
            if element.points_to:
                lines.append(f"{element} points to: {', '.join(map(str, element.points_to))}")
            if element.contains:
                lines.append(f"{element} contains: {', '.join(map(str, element.contains))}")
        lines += ["", "===3. Writes==="]
        for node in (*self._writes, *self._writes_everywhere):
            written = sorted(map(str, self.writes(node)))
            lines += (
                [str(node).rstrip().partition(" #")[0], f"  {', '.join(written)}"]
                if written
                else []
            )
        return "\n".join(lines) + "\n"

    def _locations(self, values: Values) -> Locations:
        return self._union(values, self.dag.locations)

    def _contained(self, values: Values) -> Locations:
        return self._union(values, self.dag.contained_locations)

    # A value without memory, such as a number, has no element and no locations.
    def _union(self, values: Values, of: Callable[[Element], Locations]) -> Locations:
        elements = self.dag.elements
        if isinstance(values, Value):
            return of(elements[values]) if values in elements else NOWHERE
        return NOWHERE.union(*(of(elements[v]) for v in values if v in elements))

    def _writes_of_block(self, block: Block) -> Locations:
        return NOWHERE.union(*map(self.writes, block.nodes()))

    def _wildcards(self) -> list[Element]:
        return list(self.dag.wildcards.values())

    # Analysis

    def _analyze_block(self, block: Block) -> None:
        for node in block.nodes():
            self._analyze(node)

    def _analyze(self, node: Node) -> None:
        kind = node.kind()
        if kind == "prim::If":
            self._analyze_if(node)
        elif kind == "prim::Loop":
            self._analyze_loop(node)
        elif kind in SUBGRAPHS and node.hasAttribute("Subgraph"):
            self._analyze_subgraph(node)
        elif kind in CONTAINERS:
            self._analyze_container(node)
        elif kind in EXTRACTORS:
            for v in node.outputs():
                self._set_wildcard(v)
        elif kind in CREATORS:
            for v in node.outputs():
                self._set_fresh(v)
        elif kind in SAME_AS_INPUT or kind in CHUNKS:
            for v in node.outputs():
                self._point(v, node.inputsAt(0))
        elif kind in PASS_ON:
            source = node.inputsAt(0)
            for v in node.outputs():
                if isinstance(source.type(), TensorType):
                    self._point(v, source)
                else:
                    self._set_wildcard(v)
        elif kind == "prim::SetAttr":
            self._write(node, node.inputsAt(0))
            self._set_wildcard(node.inputsAt(1))
        elif kind == "prim::fork":
            for v in (*node.inputs(), *node.outputs()):
                self._set_wildcard(v)
        elif kind == "aten::wait":
            self._writes_everywhere.add(node)  # the forked code may have written to anything by now
            for v in node.outputs():
                self._set_wildcard(v)
        elif kind in CALLS or kind.startswith("^") or (node.schema() is None and not node.blocks()):
            self._analyze_call(node)
        elif node.schema() is not None:
            self._analyze_schema(node)
        else:  # prim::GradOf and the like: blocks that run once
            for block in node.blocks():
                self._analyze_block(block)
                self._point_all(node.outputs(), block.outputs())

    def _analyze_if(self, node: Node) -> None:
        for block in node.blocks():
            self._analyze_block(block)
            self._point_all(node.outputs(), block.outputs())

    def _analyze_loop(self, node: Node) -> None:
        """An input of the body is the carried value or an output of the body in the turn before, so
        the arrows may form a ring.
        """
        body, carried = node.blocks()[0], node.inputs()[2:]
        self._point_all(body.inputs()[1:], carried)
        self._analyze_block(body)
        self._point_all(body.inputs()[1:], body.outputs()[1:])
        self._point_all(node.outputs(), body.outputs()[1:])
        self._point_all(node.outputs(), carried)

    def _analyze_subgraph(self, node: Node) -> None:
        """Inputs and outputs of the graph inside are those of the node, and so are its writes."""
        subgraph = node.g("Subgraph")
        self._point_all(subgraph.inputs(), node.inputs())
        self._analyze_block(subgraph.block())
        self._point_all(node.outputs(), subgraph.outputs())
        for inner in subgraph.nodes():
            self._writes.setdefault(node, []).extend(self._writes_inside(inner))

    def _writes_inside(self, node: Node) -> list[tuple[Value, bool]]:
        return [
            *self._writes.get(node, ()),
            *(w for b in node.blocks() for n in b.nodes() for w in self._writes_inside(n)),
        ]

    def _analyze_container(self, node: Node) -> None:
        """A container whose users only read it contains its inputs; from any other, the elements
        may come out elsewhere, so they become wildcards.
        """
        container = node.output()
        if not is_mutable_type(container.type()):
            return
        element = self.dag.element(container)
        escapes = not all(_only_reads(use.user, use.offset, self.graph) for use in container.uses())
        for v in node.inputs():
            if not is_mutable_type(v.type()):
                continue
            element.contains[self.dag.wildcard(v.type()) if escapes else self.dag.element(v)] = None
            if escapes:
                self._set_wildcard(v)

    def _analyze_call(self, node: Node) -> None:
        """Code that is not in this graph may write to its inputs, keep them, and return them."""
        for v in node.inputs():
            self._write(node, v)
            self._set_wildcard(v)
        for v in node.outputs():
            self._set_wildcard(v)

    def _analyze_schema(self, node: Node) -> None:
        """Apply the annotations of the arguments, then those of the results."""
        schema = node.schema()
        assert schema is not None
        actual: dict[str, Value] = {}  # alias set → the value that was passed for it
        for argument, value in zip(schema.arguments, node.inputs()):
            info = argument.alias_info
            if info is None or not is_mutable_type(value.type()):
                continue
            if info.contained and not info.before:  # Tensor(a!)[]: the elements
                info = info.contained[0]
            if info.is_write:
                self._write(node, value)
            if info.is_wildcard_after:
                self._set_wildcard(value)
            for name in info.before:
                actual.setdefault(name, value)
        for result, value in zip(schema.returns, node.outputs()):
            self._alias_result(result.alias_info, value, actual)
        for value in node.outputs()[len(schema.returns) :]:  # of an op with `-> ...`
            self._set_wildcard(value)

    def _alias_result(self, info: AliasInfo | None, value: Value, actual: dict[str, Value]) -> None:
        if not is_mutable_type(value.type()):
            return
        if info is not None and info.is_wildcard_before:
            self._set_wildcard(value)
            return
        sources = [actual[name] for name in info.before if name in actual] if info else []
        for source in sources:
            self._point(value, source)
        if sources:
            return
        for part in info.contained if info else ():
            for name in part.before:
                if name in actual:
                    # -> Tensor(a)[]: a fresh list of views. An element taken from a list is a
                    # wildcard, so the argument must be one, too, to share memory with it.
                    self._set_wildcard(actual[name])
        self._set_fresh(value)

    def _set_fresh(self, value: Value) -> None:
        """Give `value` memory of its own; if it is a container, with unknown contents."""
        if is_mutable_type(value.type()):
            self.dag.add_unknown_contents(self.dag.element(value), value.type())

    def _set_wildcard(self, value: Value) -> None:
        """`value` may have any memory of its type that is reachable from outside."""
        if is_mutable_type(value.type()):
            self._wildcard_values[value] = None
            self.dag.point(value, self.dag.wildcard(value.type()))

    def _point(self, value: Value, to: Value) -> None:
        """`value` may have the memory of `to`. If `to` has none, `value` becomes a wildcard."""
        if not is_mutable_type(value.type()):
            return
        if is_mutable_type(to.type()):
            self.dag.point(value, self.dag.element(to))
        else:
            self._set_wildcard(value)

    def _point_all(self, values: Sequence[Value], to: Sequence[Value]) -> None:
        for v, t in zip(values, to):
            self._point(v, t)

    def _write(self, node: Node, value: Value) -> None:
        if is_mutable_type(value.type()):
            self._writes.setdefault(node, []).append((value, True))


def _only_reads(user: Node, offset: int, graph: Graph) -> bool:
    """Whether `user` only reads the container that is its input number `offset`: an operator whose
    schema lets no element out, or the graph's own return.
    """
    if user.kind() == "prim::Return":
        return user.owningBlock() is graph.block()
    schema = user.schema()
    if (
        schema is None
        or not user.kind().startswith("aten::")
        or offset >= len(schema.arguments)
        or user.kind() in PASS_ON
    ):
        return False
    # `slice(list)` returns a list with the same elements, though its schema annotates nothing.
    gives_containers = any(
        is_mutable_type(v.type()) and v.type().kind() != "TensorType" for v in user.outputs()
    )
    annotated = any(
        part.alias_info is not None for part in (schema.arguments[offset], *schema.returns)
    )
    return not annotated and not gives_containers and not schema.is_vararg
