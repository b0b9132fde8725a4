"""From a compiled function, and arguments for it, to the page: every pane is filled, then the keys
are tied together.

The order matters. The graph is one object that the phases rewrite, so each phase is taken down
before the next; bytecode and kernels are made from the very graph that the last phase left.

How the real one differs: PyTorch has nothing of the kind.
"""

from __future__ import annotations

import inspect
from typing import Any

from viz.rooms.explore_page.code import code_pane
from viz.rooms.explore_page.kernels import kernel_pane
from viz.rooms.explore_page.links import Links
from viz.rooms.explore_page.phases import ir_pane
from viz.rooms.explore_page.scene import Page, Pane
from viz.rooms.explore_page.sources import source_pane, tree_pane

NO_ARGUMENTS = (
    "Without arguments only the phases are shown without which nothing runs: give some to see the "
    "others."
)


def record(compiled: Any, args: tuple[Any, ...], name: str, kernels: bool = True) -> Page:
    """The page of what `jit.script` or `jit.trace` made, or `jit.load` read, called with `args`; ()
    if no call is meant.

    `kernels` is whether it may be called, which is how kernels come about. What cannot be shown
    says so in its pane.

    Raises what compiling raises.
    """
    function = compiled if hasattr(compiled, "executor") else compiled.forward.function
    leading = () if function is compiled else (compiled,)
    page, links = Page(name), Links()
    given: tuple[Any, ...] | None = None
    if args or not [a for a in function.schema.arguments[len(leading) :] if not a.has_default]:
        given = tuple(function._arguments((*leading, *args), {}))
    else:
        page.notes.append(NO_ARGUMENTS)
    links.inputs = len(function.graph.inputs())
    _note_main(function, compiled, links)
    written = function.inlined_graph
    last: list[Any] = []

    def steps() -> Any:
        for step in function.executor.watched(given):
            last[:] = [step[1]]
            yield step

    ir, page.phases = ir_pane(steps(), links)
    bytecode = code_pane(last[0], written, function.name, links, given is not None)
    kernel = kernel_pane(last[0], function.name, given if kernels else None, links)
    links.finish()
    page.panes = [source_pane(links), tree_pane(links), ir, bytecode, kernel]
    page.links = links.reach
    page.attributes = {path: tuple(sorted(keys)) for path, keys in links.attributes.items()}
    _order(page.panes)
    return page


def _note_main(function: Any, compiled: Any, links: Links) -> None:
    """Enter the source of the function itself first, whatever its nodes say."""
    from internals.jit.frontend.source import parse_function

    parsed = getattr(function, "parsed", None)
    python = getattr(function, "python_function", None) or getattr(
        compiled, "python_function", None
    )
    if python is not None and not inspect.isroutine(python):
        python = type(python).forward  # the nn.Module that was traced
    if parsed is None and python is not None:
        try:
            parsed = parse_function(python)
        except (OSError, TypeError, RuntimeError, SyntaxError):  # it has no source to be found
            return
    if parsed is not None:
        where = parsed.context.range_of(parsed.definition, len("def"))
        links.main = links.source(where.source), where.start


def _order(panes: list[Pane]) -> None:
    """Panes show what there is first."""
    for pane in panes:
        if pane.name == "kernel":
            pane.first = next((i for i, view in enumerate(pane.views) if view.rows), 0)
