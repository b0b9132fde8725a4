"""Inlining: calls of scripted functions and methods become their bodies
(`torch/csrc/jit/passes/inliner.cpp`).

Nearly every other pass sees only one graph at a time; the body of a call it can neither fold, nor
fuse, nor prove free of side effects. So this pass runs first. `fn.graph` keeps its calls,
`fn.inlined_graph` is a copy without them.

| node                                          | becomes                                          |
|-----------------------------------------------|--------------------------------------------------|
| `prim::CallFunction(%fn, %a, %b)`             | the nodes of fn's graph, with the inputs a and b |
| `prim::CallMethod[name="m"](%obj, %a)`        | the nodes of method m of obj's class, with the   |
|                                               | inputs obj and a                                 |
| either, when the callee has no graph (Python) | stays                                            |

Callees are inlined before they are inserted. The copies keep the scope and source range of the
callee's nodes (in a traced module that is `__module.fc`), and the result takes the name of the
call's result. The constant `%fn` is left for dead code elimination.

Every inserted node has the calls that it was inserted for in `Node.callstack`, for error messages.

A function that calls a second one twice, which calls a third one twice, and so on, is a few lines
of source and a huge graph. So there is a limit: `MOST` nodes, and `SHARE` more for each node of the
graph and of the functions called.

How the real one differs: it inserts the callee's "optimized graph", which has been through a few
passes of its own and is kept with the function. It has no limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from internals.jit.ir import Block, ClassType, FunctionType, Graph, Node, all_nodes
from internals.jit.passes.registry import graph_pass

if TYPE_CHECKING:
    from internals.jit.script_function import ScriptFunction

MOST, SHARE = 1 << 13, 64


@graph_pass("calls become their bodies")
def inline(graph: Graph) -> bool:
    """Replace every call of a function or method that has a graph by a copy of that graph.

    Raises RuntimeError for a function that calls itself, and if too many nodes would be inserted.
    """
    return _Inliner(graph).block(graph.block())


class _Inliner:
    """The inlining of one graph; each function called is inlined once, and then copied."""

    def __init__(self, graph: Graph) -> None:
        # id of a function → its graph, with calls inlined, and the number of its nodes
        self.bodies: dict[int, tuple[Graph, int]] = {}
        self.active: list[Any] = []  # the functions whose bodies are being made
        self.left = MOST + SHARE * _size(graph)  # nodes that may be inserted yet

    def block(self, block: Block) -> bool:
        """Replace the calls in a block and in the blocks inside. True if there were any."""
        changed = False
        for node in all_nodes(block, inner_first=True):
            function = _callee(node)
            if function is not None:
                body, size = self.body(function)
                self.left -= size
                if self.left < 0:
                    raise RuntimeError(
                        f"inlining makes too many nodes, at a call of '{function.name}': the limit "
                        f"is {MOST}, and {SHARE} for each node that is written"
                    )
                _replace_call(node, body, function.name)
                changed = True
        return changed

    def body(self, function: ScriptFunction) -> tuple[Graph, int]:
        """The graph of a function with its calls inlined, and the number of its nodes."""
        if any(f is function for f in self.active):
            raise RuntimeError(
                f"function '{function.name}' is called recursively. Recursive calls are not "
                "supported"
            )
        if id(function) not in self.bodies:
            self.active.append(function)
            body = function.graph.copy()
            self.left += SHARE * _size(body)
            self.block(body.block())
            self.active.pop()
            self.bodies[id(function)] = body, _size(body)
        return self.bodies[id(function)]


def _size(graph: Graph) -> int:
    return sum(1 for _ in all_nodes(graph.block()))


def _callee(node: Node) -> Any:
    """The function or method that a node calls, if it has a graph; else None."""
    function = None
    if node.kind() == "prim::CallFunction":
        type = node.input(0).type()
        function = type.function if isinstance(type, FunctionType) else None
    elif node.kind() == "prim::CallMethod":
        type = node.input(0).type()
        function = type.findMethod(node.s("name")) if isinstance(type, ClassType) else None
    return function if getattr(function, "graph", None) is not None else None


def _replace_call(call: Node, body: Graph, name: str) -> None:
    """Replace a call by a copy of the body of the function `name`."""
    graph = call.owningGraph()
    arguments = call.inputs()[1:] if call.kind() == "prim::CallFunction" else call.inputs()
    before = call.prev()
    with graph.insert_point_guard(call):
        results = graph.insertGraph(body, arguments)
    _note_call(before, call, (*call.callstack, (call.sourceRange(), name)))
    for old, new in zip(call.outputs(), results, strict=True):
        if old.hasDebugName():
            new.setDebugName(old.debugName())
        old.replaceAllUsesWith(new)
    call.destroy()


def _note_call(node: Node, call: Node, callstack: tuple[tuple[Any, str], ...]) -> None:
    """Put `callstack` before that of the nodes after `node` and before `call`, for error
    messages.
    """
    while (node := node.next()) is not call:
        waiting = [node]
        while waiting:
            inner = waiting.pop()
            inner.callstack = callstack + inner.callstack
            waiting += [n for b in inner.blocks() for n in b.nodes()]
