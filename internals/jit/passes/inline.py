"""Inlining: calls of scripted functions and methods become their bodies (`torch/csrc/jit/passes/inliner.cpp`).

Nearly every other pass sees only one graph at a time; what hides behind a call it can neither fold, nor fuse, nor prove free of
side effects. So this pass runs first. `fn.graph` keeps its calls, `fn.inlined_graph` is a copy without them.

| node                                          | becomes                                                                |
|-----------------------------------------------|------------------------------------------------------------------------|
| `prim::CallFunction(%fn, %a, %b)`             | the nodes of fn's graph, its inputs being a and b                      |
| `prim::CallMethod[name="m"](%obj, %a)`        | the nodes of method m of obj's class, its inputs being obj and a       |
| either, when the callee has no graph (Python) | stays                                                                  |

Callees are inlined before they are inserted. The copies keep the scope and source range of the callee's nodes (in a traced module
that is `__module.fc`), and the result takes the name that the call's result had. The constant `%fn` stays behind for dead code
elimination.

Every inserted node remembers the calls it came by (`Node.callstack`), for error messages.

How the real one differs: it inserts the callee's "optimized graph", which has been through a few passes of its own and is kept
with the function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from internals.jit.ir import ClassType, FunctionType
from internals.jit.passes.registry import graph_pass

if TYPE_CHECKING:
    from internals.jit.ir import Block, Graph, Node


@graph_pass("calls become their bodies")
def inline(graph: Graph) -> bool:
    """Replace every call of a function or method that has a graph by a copy of that graph.

    Raises RuntimeError for a function that calls itself: its body has no end.
    """
    return _Inliner().block(graph.block())


class _Inliner:
    def __init__(self) -> None:
        self.bodies: dict[int, Graph] = {}  # of the functions met, inlined themselves
        self.active: list[Any] = []  # the functions whose bodies are being made

    def block(self, block: Block) -> bool:
        changed = False
        for node in block.nodes():
            for b in node.blocks():
                changed |= self.block(b)
            function = _callee(node)
            if function is not None:
                _replace_call(node, self.body(function), function.name)
                changed = True
        return changed

    def body(self, function: Any) -> Graph:
        if any(f is function for f in self.active):
            raise RuntimeError(f"function '{function.name}' is called recursively. Recursive calls are not supported")
        if id(function) not in self.bodies:
            self.active.append(function)
            body = function.graph.copy()
            self.block(body.block())
            self.active.pop()
            self.bodies[id(function)] = body
        return self.bodies[id(function)]


def _callee(node: Node) -> Any:
    """The function a node calls, if it is one with a graph."""
    function = None
    if node.kind() == "prim::CallFunction":
        type = node.input(0).type()
        function = type.function if isinstance(type, FunctionType) else None
    elif node.kind() == "prim::CallMethod":
        type = node.input(0).type()
        function = type.findMethod(node.s("name")) if isinstance(type, ClassType) else None
    return function if getattr(function, "graph", None) is not None else None


def _replace_call(call: Node, body: Graph, name: str) -> None:
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
    """Put `callstack` before that of the nodes after `node` and before `call`, for error messages."""
    while (node := node.next()) is not call:
        waiting = [node]
        while waiting:
            inner = waiting.pop()
            inner.callstack = callstack + inner.callstack
            waiting += [n for b in inner.blocks() for n in b.nodes()]
