"""The pane "bytecode": instructions, and the Python code that the default executor runs instead of
them.

The compiler of bytecode writes down which node each instruction is for (`Code.source`), and the
writer of Python which node each line is for, and which nodes are parts of its expressions.

How the real one differs: PyTorch has the first of these, for error messages.
"""

from __future__ import annotations

from typing import Any

from viz.rooms.bytecode import rows_of
from viz.rooms.explore_page.links import Links
from viz.rooms.explore_page.scene import Pane, Row, View, cut

INSTRUCTIONS_AT_MOST = 1000


def code_pane(graph: Any, written: Any, name: str, links: Links, optimised: bool) -> Pane:
    """`graph` is what the last phase left, `written` the one before all phases, with calls
    inlined.
    """
    title = "of the optimised graph" if optimised else "of the graph that runs"
    views = [_attempt(title, lambda: _instructions(graph, name, links))]
    views.append(_attempt("of the graph as written", lambda: _instructions(written, name, links)))
    views.append(_attempt("Python that runs", lambda: _python(graph, name, links)))
    return Pane("bytecode", "Bytecode", views)


def _instructions(graph: Any, name: str, links: Links) -> list[Row]:
    from internals.jit.runtime.compile import compile_graph

    code = compile_graph(graph, name)
    links.look_at(code.graph)
    return [
        Row(r.text, links.keys(node), str(r.pc), note=r.note)
        for r, node in zip(rows_of(code), code.source, strict=True)
    ]


def _python(graph: Any, name: str, links: Links) -> list[Row]:
    from internals.jit.runtime.emit_python import Emitter

    emitter = Emitter(graph, name)
    emitted = emitter.emit()
    links.look_at(emitter.graph)
    parts: dict[Any, list[Any]] = {}
    for inner, outer in emitter.within.items():
        parts.setdefault(outer, []).append(inner)
    rows = []
    for n, text in enumerate(emitted.source.splitlines(), 1):
        waiting = (
            [emitted.nodes[n]]
            if n in emitted.nodes
            else [emitter.graph.param_node()]
            if n == 1
            else []
        )
        keys: dict[str, None] = {}
        while waiting:
            node = waiting.pop()
            keys.update(dict.fromkeys(links.keys(node)))
            waiting += parts.get(node, ())
        rows.append(Row(text, tuple(keys), str(n)))
    return rows


def _attempt(title: str, make: Any) -> View:
    """The view, or why there is none."""
    try:
        rows, hidden = cut(make(), INSTRUCTIONS_AT_MOST)
    except Exception as error:
        return View(title, note=f"not shown: {' '.join(str(error).split())[:300]}")
    return View(title, rows, hidden=hidden)
