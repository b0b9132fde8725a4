"""Who belongs to whom: keys for the nodes of graphs, their places in sources, and what follows from
both.

A node of a graph says where it comes from: a range of a source that the frontend wrote down, for an
inlined node also the calls by which it came, for a traced one the Python stack. Nodes are known
again in every phase by their handle (`Node.debug_handle`) and those calls. A node without a place
of its own takes that of the nodes that use its result: the constant 1 that `x + y` multiplies by
belongs to `x + y`. A group belongs to the places of its members.

Nothing is compared by its text.

How the real one differs: PyTorch keeps the same ranges and call stacks for error messages, and maps
handles to them for programs on phones (`callstack_debug_map`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from viz.rooms.explore_page.scene import Keys
from viz.rooms.explore_page.trees import (
    SourceText,
    TreeNode,
    below,
    function_around,
    innermost,
    python_tree,
    statement_at,
    typed_tree,
)

Place = tuple[int, int, int]  # number of the source, first character, end


class Links:
    """Filled while graphs are looked at, phase by phase; `finish` then works out what each key
    reaches.
    """

    def __init__(self) -> None:
        self.sources: list[SourceText] = []
        # the source of the function explored, and where its `def` is
        self.main: tuple[SourceText, int] | None = None
        self.inputs = 0
        self.names: dict[Any, str] = {}  # handle and call stack of a node -> its key
        self.places: dict[str, list[Place]] = {}
        self.lines: dict[str, list[tuple[str, int]]] = {}  # of traced nodes: files and lines
        self.lenders: dict[str, Keys] = {}
        self.members: dict[str, set[str]] = {}
        self.in_groups: dict[str, list[str]] = {}
        # id of a group's graph -> key of the group; of the phase looked at
        self.groups: dict[int, str] = {}
        # key -> sources and nodes of their trees
        self.in_tree: dict[str, list[tuple[int, int]]] = {}
        self.own: dict[tuple[int, int], set[str]] = {}
        self.typed_own: dict[tuple[int, int], set[str]] = {}
        self.reach: dict[str, Keys] = {}
        # "fc.weight" -> keys of the nodes that fetch it from the first input
        self.attributes: dict[str, set[str]] = {}
        self._numbers: dict[Any, SourceText] = {}

    # While graphs are looked at

    def source(self, source: Any) -> SourceText:
        """The source of a range, entered if it is new."""
        known = self._numbers.get(source)
        if known is None:
            known = self._numbers[source] = self._enter(
                source.text, source.filename or "", source.first_line
            )
        return known

    def _enter(self, text: str, filename: str, first_line: int) -> SourceText:
        from internals.jit.ir import shown_name

        name = "text" if filename.startswith("<text ") else shown_name(filename)
        title = f"{name}:{first_line}" if filename else "source"
        self.sources.append(SourceText(len(self.sources), title, text, filename, first_line))
        return self.sources[-1]

    def look_at(self, graph: Any) -> None:
        """Take down what the nodes of a graph say about themselves. Graphs inside nodes come with
        it.
        """
        for node in graph.nodes():
            self._look_at_node(node)

    def _look_at_node(self, node: Any) -> set[str]:
        """The keys of a node and of all inside it."""
        key = self.key(node)
        found = {key}
        if node.kind() == "prim::GetAttr" and (path := _path_of(node)):
            self.attributes.setdefault(path, set()).add(key)
        for block in node.blocks():
            for inner in block.nodes():
                found |= self._look_at_node(inner)
        if "Subgraph" in node.attributeNames():
            graph = node.g("Subgraph")
            self.groups[id(graph)] = key
            members = {k for inner in graph.nodes() for k in self._look_at_node(inner)}
            self.members.setdefault(key, set()).update(members)
            found |= members
        if key not in self.places and key not in self.lines and key not in self.members:
            users = {k for v in node.outputs() for use in v.uses() for k in self.keys(use.user)}
            makers = {k for v in node.inputs() for k in self.keys(v.node())}
            lenders = (users - {key, "r"}) or (makers - {key})
            if lenders and key not in self.lenders:
                self.lenders[key] = tuple(sorted(lenders))
        return found

    def key(self, node: Any) -> str:
        """The key of a node, the same in every phase."""
        identity = node.debug_handle, node.callstack
        key = self.names.get(identity)
        if key is None:
            key = self.names[identity] = f"n{len(self.names)}"
            self._note_places(key, node)
        return key

    def keys(self, node: Any) -> Keys:
        """The keys of any node, also of those that stand for what goes into a block and comes out
        of it.
        """
        kind = node.kind()
        if kind in ("prim::Param", "prim::Return"):
            outer = node.owningBlock().owningNode()
            if outer is not None:
                return (self.key(outer),)
            group = self.groups.get(id(node.owningGraph()))
            if group is not None:
                return (group,)
            return (
                ("r",)
                if kind == "prim::Return"
                else tuple(f"p{i}" for i in range(node.outputsSize()))
            )
        if kind == "prim::Drop":  # made by the bytecode compiler, for the sake of a value
            return tuple(dict.fromkeys(k for v in node.inputs() for k in self.value_keys(v)))
        return (self.key(node),)

    def value_keys(self, value: Any) -> Keys:
        """The keys of who made a value; of an input, its own."""
        keys = self.keys(value.node())
        return (keys[value.offset()],) if keys and keys[0] == "p0" else keys

    def _note_places(self, key: str, node: Any) -> None:
        for where in [node.sourceRange(), *(call for call, _ in node.callstack)]:
            if hasattr(where, "frames"):
                self.lines.setdefault(key, []).extend(_frames_of_the_user(where))
            elif where is not None and where.source.text:
                self.places.setdefault(key, []).append(
                    (self.source(where.source).number, where.start, where.end)
                )

    # Afterwards

    def finish(self) -> None:
        """Parse the sources, find the place of every key in their trees, and fill `reach`."""
        for filename, line in dict.fromkeys(
            place for places in self.lines.values() for place in places
        ):
            if not any(source.has_line(filename, line) for source in self.sources):
                if (found := function_around(filename, line)) is not None:
                    self._enter(found[0], filename, found[1])
        for source in self.sources:
            _parse(source)
        for group, members in self.members.items():
            for key in members:
                self.in_groups.setdefault(key, []).append(group)
        for key in [*self.names.values()]:
            for number, i in dict.fromkeys(self._nodes_of_tree(key)):
                self.own.setdefault((number, i), set()).add(key)
                self.in_tree.setdefault(key, []).append((number, i))
            for number, start, end in self._places(key, set()):
                typed = innermost(self.sources[number].typed, start, end)
                if typed is not None:
                    self.typed_own.setdefault((number, typed), set()).add(key)
        self._place_inputs_and_returns()
        for source in self.sources:
            for i in range(len(source.tree)):
                self.reach[f"a{source.number}.{i}"] = self._reach_of_tree(
                    "a", source.number, source.tree, self.own, i
                )
            for i, node in enumerate(source.typed):
                keys = set(self._reach_of_tree("t", source.number, source.typed, self.typed_own, i))
                at = innermost(source.tree, node.start, node.end)
                if at is not None:
                    keys.update(f"a{source.number}.{j}" for j in below(source.tree, at))
                self.reach[f"t{source.number}.{i}"] = tuple(sorted(keys))
        for key in [*self.names.values(), "r", *(f"p{i}" for i in range(self.inputs))]:
            keys = set(self.members.get(key, ())) | self.groups_of([key])
            for each in (key, *self.members.get(key, ())):
                for number, i in self.in_tree.get(each, ()):
                    keys.update(
                        f"a{number}.{j}" for j in below(self.sources[number].tree, i, body=False)
                    )
            if key in self.members:
                keys.add(f"g{key[1:]}")
                self.reach[f"g{key[1:]}"] = tuple(sorted({*keys, key}))
            self.reach[key] = tuple(sorted(keys))

    def groups_of(self, keys: Iterable[str]) -> set[str]:
        """The groups that have one of these nodes inside: there it runs."""
        return {group for key in keys for group in self.in_groups.get(key, ())}

    def _places(self, key: str, seen: set[str]) -> Iterator[Place]:
        """Its own places, or those of who lends it theirs."""
        if key in seen:
            return
        seen.add(key)
        if key in self.places:
            yield from self.places[key]
            return
        inside = self.members.get(key, ()) if len(seen) > 1 else ()
        for other in (*self.lenders.get(key, ()), *sorted(inside)):
            yield from self._places(other, seen)

    def _nodes_of_tree(self, key: str) -> Iterator[tuple[int, int]]:
        for number, start, end in self._places(key, set()):
            i = innermost(self.sources[number].tree, start, end)
            if i is not None:
                yield number, i
        for filename, line in self._lines(key, set()):
            for source in self.sources:
                if (
                    source.has_line(filename, line)
                    and (statement := statement_at(source, line)) is not None
                ):
                    yield source.number, statement

    def _lines(self, key: str, seen: set[str]) -> Iterator[tuple[str, int]]:
        if key in seen:
            return
        seen.add(key)
        if key in self.lines:
            yield from self.lines[key]
            return
        for other in self.lenders.get(key, ()):
            yield from self._lines(other, seen)

    def _place_inputs_and_returns(self) -> None:
        """Inputs of the graph are the parameters in their order; what it returns is what the
        `return`s of the function say.
        """
        if self.main is None:
            return
        source, start = self.main
        nodes = source.tree
        definition = next(
            (i for i, n in enumerate(nodes) if n.kind == "FunctionDef" and n.start == start), None
        )
        if definition is None:
            return
        arguments = [
            i
            for i in below(nodes, definition)
            if nodes[i].kind == "arg" and _inside(nodes, i, definition)
        ]
        arguments.sort(key=lambda i: nodes[i].start)
        if len(arguments) == self.inputs:
            for number, i in enumerate(arguments):
                self._put(f"p{number}", source.number, i)
        for i in below(nodes, definition):
            if nodes[i].kind == "Return" and _inside(nodes, i, definition):
                self._put("r", source.number, i)

    def _put(self, key: str, number: int, i: int) -> None:
        self.own.setdefault((number, i), set()).add(key)
        self.in_tree.setdefault(key, []).append((number, i))

    def _reach_of_tree(
        self,
        letter: str,
        number: int,
        nodes: list[TreeNode],
        own: dict[tuple[int, int], set[str]],
        i: int,
    ) -> Keys:
        """All below a node of a tree. If none of that is in a graph, the nearest node around it
        that is comes along.
        """
        found: set[str] = set()
        keys: set[str] = set()
        for j in below(nodes, i):
            found.add(f"{letter}{number}.{j}")
            keys |= own.get((number, j), set())
        outer = nodes[i].parent
        while not keys and outer is not None and not nodes[i].statement:
            keys = own.get((number, outer), set())
            outer = None if nodes[outer].statement else nodes[outer].parent
        return tuple(sorted(found | keys | self.groups_of(keys)))


def _parse(source: SourceText) -> None:
    """Both trees, or why there is none: the text may come from an archive, and be anything."""
    try:
        source.tree, source.definition = python_tree(source.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        source.problem = f"not shown: {type(error).__name__}: {error}"
        return
    name = getattr(source.definition, "name", None)
    try:
        source.typed = typed_tree(source.text, name or source.title)
    except Exception as error:  # the frontend refuses in many ways; the page is of what it accepted
        source.typed_problem = f"not shown: {' '.join(str(error).split())[:200]}"


def _path_of(node: Any) -> str:
    """From which attribute of the graph's first input a value comes: "fc.weight"; "" if it comes
    from somewhere else.
    """
    names = []
    while node.kind() == "prim::GetAttr":
        names.append(node.s("name"))
        value = node.input()
        node = value.node()
        if (
            node.kind() == "prim::Param"
            and node.owningBlock().owningNode() is None
            and value.offset() == 0
        ):
            return ".".join(reversed(names))
    return ""


def _inside(nodes: list[TreeNode], i: int, definition: int) -> bool:
    """Whether a node is of this function and of none defined in it."""
    outer = nodes[i].parent
    while outer is not None and nodes[outer].kind not in ("FunctionDef", "Lambda"):
        outer = nodes[outer].parent
    return outer == definition


def _frames_of_the_user(stack: Any) -> Iterable[tuple[str, int]]:
    """Files and lines of a trace's stack, without what called the tracer."""
    from internals.jit.ir import shown_name

    for frame in stack.frames:
        if "jit/tracing/" in shown_name(frame.filename):
            return
        yield frame.filename, frame.line
