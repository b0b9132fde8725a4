"""`viz.explore`: one function of the reader's, every stage of it on one page.

Source, syntax tree, typed tree, graph, what a trace records of the same call, every phase of the optimiser, the optimised
graph, the bytecode, the Python code that runs, and the first steps of the interpreter. A stage that cannot be shown says why.

How the real one differs: PyTorch has each of these behind another flag or function, and most of them as text on stderr.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

from viz.canvas import Canvas
from viz.palette import PAGE
from viz.scene import Picture

STEPS = 24


@dataclass
class Stage:
    """One section: `picture` is a Picture or a text. `note` says what is to be seen."""

    title: str
    note: str
    picture: object


class Explore(Picture):
    """The stages, in order. `stage("bytecode")` gives one of them."""

    def __init__(self, name: str, stages: list[Stage]) -> None:
        self.name, self.stages = name, stages

    def stage(self, title: str) -> Any:
        """What is shown under a title. Raises KeyError when there is no such stage."""
        for s in self.stages:
            if s.title == title:
                return s.picture
        raise KeyError(f"no stage {title!r}; there are {', '.join(s.title for s in self.stages)}")

    def text(self) -> str:
        parts = []
        for s in self.stages:
            body = "\n".join(f"    {line}".rstrip() for line in str(s.picture).splitlines())
            parts.append(f"{s.title}: {s.note}\n{body}")
        return "\n\n".join(parts)

    def canvas(self) -> Canvas:
        from viz.stepper import Stepper

        return Stepper([(f"{s.title}: {s.note}", s.picture) for s in self.stages], self.title()).canvas()

    def html(self) -> str:
        sections = []
        for n, s in enumerate(self.stages):
            body = s.picture.html() if isinstance(s.picture, Picture) else _preformatted(str(s.picture))
            summary = f"<b>{n + 1}. {escape(s.title)}</b> {escape(s.note)}"
            opened = " open" if n == 0 else ""
            sections.append(
                f'<details{opened} style="margin:.4em 0"><summary style="cursor:pointer">{summary}</summary>'
                f'<div style="margin:.5em 0 1em 1em;overflow-x:auto">{body}</div></details>'
            )
        return f'<div class="iv-explore"><p><b>{escape(self.title())}</b></p>{"".join(sections)}</div>'

    def title(self) -> str:
        return f"{self.name}, stage by stage"


def explore(fn: Any, *args: Any, limit: int = STEPS) -> Explore:
    """Every stage of `fn`, a Python function, an `nn.Module`, or what `jit.script` or `jit.trace` made, for `args`.

    `limit` is how many steps of the interpreter are shown. Without arguments only the stages before running are.

    Raises what compiling raises when `fn` is not TorchScript.
    """
    from internals import jit

    compiled = jit.script(fn)
    python = getattr(compiled, "python_function", None) or (fn if inspect.isfunction(fn) else getattr(type(fn), "forward", None))
    name = str(getattr(compiled, "original_name", getattr(compiled, "name", "graph")))
    return Explore(name, list(_stages(compiled, python, fn, args, limit)))


def _stages(compiled: Any, python: Any, original: Any, args: tuple[Any, ...], limit: int) -> Iterator[Stage]:
    from viz.rooms.ast import ast
    from viz.rooms.bytecode import bytecode
    from viz.rooms.graph import graph
    from viz.rooms.pipeline import pipeline
    from viz.rooms.step import step

    yield Stage("source", "what you wrote", _try(lambda: inspect.getsource(python)))
    yield Stage("syntax tree", "what Python reads", _try(lambda: ast(python)))
    yield Stage("typed tree", "what TorchScript keeps of it", _try(lambda: ast(python, typed=True)))
    yield Stage("graph", "compiled, calls inlined", graph(compiled))
    yield Stage("graph as text", "the same, as PyTorch prints it", compiled.inlined_graph.str(False))
    if not args:
        yield Stage("bytecode", "not optimised", bytecode(compiled))
        return
    yield Stage("trace", "what a trace of the same call records", _try(lambda: _trace(original, args)))
    yield Stage("phases", "what each pass changed, for these arguments", _try(lambda: pipeline(compiled, *args)))
    optimised = compiled.graph_for(*args)
    yield Stage("optimised graph", "the plan", graph(optimised, name=str(getattr(compiled, "name", ""))))
    yield Stage("bytecode", "of the graph as written", bytecode(compiled))
    yield Stage("Python", "the code that runs the plan", _try(lambda: _emitted(compiled, args)))
    yield Stage("interpreter", f"the first {limit} steps", _try(lambda: step(compiled, *args, limit=limit)))


def _try(make: Callable[[], object]) -> object:
    """The picture, or why there is none."""
    try:
        return make()
    except Exception as error:
        return f"not shown: {type(error).__name__}: {error}"


def _trace(original: Any, args: tuple[Any, ...]) -> object:
    from internals import jit

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        trace = jit.trace(original, args, check_trace=False)
    said = dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, jit.TracerWarning))
    return "\n".join([trace.inlined_graph.str(False), *(f"TracerWarning: {m}" for m in said)])


def _emitted(compiled: Any, args: tuple[Any, ...]) -> str:
    function = compiled if hasattr(compiled, "executor") else compiled.forward.function
    leading = () if function is compiled else (compiled,)
    return str(function.executor.plan_for(*leading, *args).emitted.source)


def _preformatted(text: str) -> str:
    paper, ink, line = (PAGE["light"][p] for p in ("paper", "ink", "line"))
    style = f"background:{paper};color:{ink};border:1px solid {line};padding:.6em;overflow-x:auto"
    return f'<pre style="{style}">{escape(text)}</pre>'
