"""`viz.explore`: one function of the reader's, every stage of it on one page.

Source, syntax tree, typed tree, graph, what a trace records of the same call, every phase of the
optimiser, the optimised graph, the bytecode, the Python code that runs, and the first steps of the
interpreter. A stage that cannot be shown says why.

In a notebook each line of the source stands beside what was made of it (`explore_linked`).
`.save("page.html")` writes one page on which source, tree, graph, bytecode and kernel are tied
together (`explore_page`), with a slider for the phases. As text the stages stand one under the
other.

How the real one differs: PyTorch has each of these behind another flag or function, and most of
them as text on stderr.
"""

from __future__ import annotations

import inspect
import os
import textwrap
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from viz.canvas import Canvas
from viz.rooms.explore_linked import linked_html, linked_text
from viz.rooms.explore_page.record import record
from viz.rooms.explore_page.scene import Page
from viz.rooms.explore_page.text import function_of, is_text
from viz.scene import Picture, write_atomically

STEPS = 24
LINES_AT_MOST = 150  # the phases of a longer graph are told, not shown

WHY = {
    "archive": (
        "A saved file is records one behind the other, lined up so that a tensor can be used where "
        "it lies in the file."
    ),
    "description": (
        "Names, nesting and numbers are a pickle or JSON, which refers to the tensors' bytes "
        "without holding them."
    ),
    "tensors": (
        "A tensor is a record, and where in it to begin, how many elements to take, and how far "
        "they are apart."
    ),
    "code": (
        "The program was printed as source when it was saved. It needs nothing of the Python "
        "program that it came from."
    ),
    "source": (
        "Everything below is made from this function: scripting reads its text without running it, "
        "tracing runs it once."
    ),
    "syntax tree": (
        "Python's own parser turns the text into a tree: what belongs to what is settled, what it "
        "means is not."
    ),
    "typed tree": (
        "TorchScript turns that into its own, smaller tree; what has no place in it is refused "
        "here, with its line."
    ),
    "graph": (
        "The compiler gives each value a type and writes one node per operation; branches and "
        "loops are nodes with blocks."
    ),
    "graph as text": (
        "One line is one node: its results with their types, its kind, its inputs. This is what "
        ".graph prints."
    ),
    "trace": (
        "The other way to get a graph: run the function once and write down each operator that is "
        "called. Only the path that this call took is in it."
    ),
    "phases": (
        "Before it runs, the graph is rewritten by one pass after another. Those that found "
        "something to do are shown."
    ),
    "optimised graph": (
        "What is left after all phases, specialised to arguments of this kind. It is kept, and "
        "reused for the next call."
    ),
    "bytecode": (
        "The graph as a flat list for a small machine with a stack and numbered registers: "
        "branches have become jumps."
    ),
    "Python": (
        "The default executor writes the optimised graph out as Python again, without types to "
        "check or nodes to look up."
    ),
    "interpreter": (
        "The other executor, PyTorch's: one instruction at a time. Choose a step, and see what "
        "registers and stack hold before it."
    ),
}


@dataclass
class Stage:
    """One section: `picture` is a Picture or a text. `note` says in a few words what is to be
    seen.
    """

    title: str
    note: str
    picture: object

    @property
    def why(self) -> str:
        """A sentence on what this stage is for."""
        return WHY[self.title]


class Explore(Picture):
    """The stages, in order. `stage("bytecode")` gives one of them."""

    def __init__(self, name: str, stages: list[Stage], make_page: Callable[[], Page]) -> None:
        self.name, self.stages = name, stages
        self._make_page = make_page

    @cached_property
    def page(self) -> Page:
        """The scene of the page. It is made when it is first asked for: kernels are compiled for
        it. The arguments are kept for that, and should be what they were."""
        return self._make_page()

    def save(self, path: str | os.PathLike[str], theme: str | None = None) -> Path:
        """Write the page (.html), or the stages as a picture or text (.svg, .png, .txt). The file
        appears whole or not at all.

        Raises ValueError for any other suffix.
        """
        if Path(path).suffix.lower() != ".html":
            return super().save(path, theme)
        from viz.rooms.explore_page.writer import page_bytes

        write_atomically(Path(path), page_bytes(self.page))
        return Path(path)

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
            parts.append(f"{s.title}: {s.note}\n{textwrap.fill(s.why, 110)}\n\n{body}")
        return "\n\n".join(parts)

    def canvas(self) -> Canvas:
        from viz.stepper import Stepper

        return Stepper(
            [(f"{s.title}: {s.note}", s.picture) for s in self.stages], self.title()
        ).canvas()

    def html(self) -> str:
        """The small view: each line of the source beside what was made of it."""
        return linked_html(self.name, self.page)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": linked_text(self.name, self.page)}

    def title(self) -> str:
        return f"{self.name}, stage by stage"


def explore(fn: Any, *args: Any, limit: int = STEPS) -> Explore:
    """Every stage of `fn`, a Python function, an `nn.Module`, or what `jit.script` or `jit.trace`
    made, for `args`; or of a file that was saved, by its path; or of a function given as text,
    which is run to define it (`explore_page/text.py`).

    `limit` is how many steps of the interpreter are shown. Without arguments only the stages before
    running are.

    Raises what compiling raises when `fn` is not TorchScript, and OSError or ArchiveError for a
    file that cannot be read.
    """
    if is_text(fn):
        fn = function_of(fn)
    elif isinstance(fn, (str, os.PathLike)):
        from viz.rooms.explore_archive import explore_file

        return explore_file(fn, args, limit)
    compiled, name = _compiled(fn)
    python = fn if inspect.isfunction(fn) else _python_of(compiled)
    return Explore(
        name, list(_stages(compiled, python, fn, args, limit)), lambda: record(compiled, args, name)
    )


def page_of(fn: Any, *args: Any) -> Page:
    """What `explore(fn, *args).save("page.html")` writes, without the stages, which take their
    time.
    """
    if is_text(fn):
        fn = function_of(fn)
    elif isinstance(fn, (str, os.PathLike)):
        from viz.rooms.explore_archive import page_of_file

        return page_of_file(fn, args)
    compiled, name = _compiled(fn)
    return record(compiled, args, name)


def _compiled(fn: Any) -> tuple[Any, str]:
    """What scripting makes of it, and its name."""
    from internals import jit

    compiled = jit.script(fn)
    return compiled, str(getattr(compiled, "original_name", getattr(compiled, "name", "graph")))


def _python_of(compiled: Any) -> Any:
    """What a compiled function or module was made from: a function, or the nn.Module that was
    traced.
    """
    made_from = getattr(compiled, "python_function", None)
    if made_from is None:
        method = getattr(compiled, "forward", None)
        made_from = getattr(getattr(method, "function", None), "python_function", None)
    return made_from


def _stages(
    compiled: Any, python: Any, original: Any, args: tuple[Any, ...], limit: int
) -> Iterator[Stage]:
    from viz.rooms.ast import ast

    traced = (
        original
        if hasattr(original, "named_children") and not hasattr(original, "original_name")
        else python
    )
    if hasattr(python, "named_children"):
        python = type(python).forward
    yield Stage(
        "source", "what you wrote", attempt(lambda: textwrap.dedent(inspect.getsource(python)))
    )
    yield Stage("syntax tree", "what Python reads", attempt(lambda: ast(python)))
    yield Stage(
        "typed tree", "what TorchScript keeps of it", attempt(lambda: ast(python, typed=True))
    )
    yield from compiled_stages(compiled, args, limit, traced)


def compiled_stages(
    compiled: Any, args: tuple[Any, ...], limit: int, traced: Any = None
) -> Iterator[Stage]:
    """From the graph on. `traced` is what a trace can be made of, if there is such a thing."""
    from viz.rooms.bytecode import bytecode
    from viz.rooms.graph import graph
    from viz.rooms.step import step

    yield Stage("graph", "compiled, calls inlined", graph(compiled))
    yield Stage(
        "graph as text", "the same, as PyTorch prints it", compiled.inlined_graph.str(False)
    )
    if not args:
        yield Stage("bytecode", "not optimised", bytecode(compiled))
        return
    if traced is not None:
        yield Stage(
            "trace", "what a trace of the same call records", attempt(lambda: _trace(traced, args))
        )
    yield Stage(
        "phases",
        "what each pass changed, for these arguments",
        attempt(lambda: _phases(compiled, args)),
    )
    optimised = compiled.graph_for(*args)
    yield Stage(
        "optimised graph", "the plan", graph(optimised, name=str(getattr(compiled, "name", "")))
    )
    yield Stage("bytecode", "of the graph as written", bytecode(compiled))
    yield Stage("Python", "the code that runs the plan", attempt(lambda: _emitted(compiled, args)))
    yield Stage(
        "interpreter",
        f"the first {limit} steps",
        attempt(lambda: step(compiled, *args, limit=limit)),
    )


def attempt(make: Callable[[], object]) -> object:
    """The picture, or why there is none."""
    try:
        return make()
    except Exception as error:
        return f"not shown: {type(error).__name__}: {error}"


def _trace(function: Any, args: tuple[Any, ...]) -> object:
    """The graph of a trace, and the warnings. Arguments that are no tensors are frozen in it, as a
    trace would freeze them.
    """
    from internals import jit

    if _is_method(function):
        return (
            "not shown: this module is compiled already; give the nn.Module that it was made from"
        )
    tensors = {n: a for n, a in enumerate(args) if _only_tensors(a)}
    if not tensors:
        return "not shown: a trace follows tensors, and none of these arguments is one"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if len(tensors) < len(args) and inspect.isfunction(function):
            function = _with_frozen(function, args, list(tensors))
            args = tuple(tensors.values())
        trace = jit.trace(function, args, check_trace=False, strict=False)
    said = dict.fromkeys(
        str(w.message) for w in caught if issubclass(w.category, jit.TracerWarning)
    )
    return "\n".join(
        [trace.inlined_graph.str(False), *(textwrap.fill(f"TracerWarning: {m}", 110) for m in said)]
    )


def _is_method(function: Any) -> bool:
    """Whether this is the `forward` that a compiled module was made from: without the module it
    cannot be called.
    """
    return next(iter(inspect.signature(function).parameters), "") == "self"


def _only_tensors(value: Any) -> bool:
    """Whether a trace can follow an argument."""
    if isinstance(value, (tuple, list, dict)):
        return bool(value) and all(
            map(_only_tensors, value.values() if isinstance(value, dict) else value)
        )
    return hasattr(value, "untyped_storage")


def _with_frozen(
    function: Callable[..., Any], args: tuple[Any, ...], places: list[int]
) -> Callable[..., Any]:
    """`function` as one of the arguments at `places` only; the others are what they are."""

    def frozen(*tensors: Any) -> Any:
        given = list(args)
        for place, t in zip(places, tensors):
            given[place] = t
        return function(*given)

    parameters = list(inspect.signature(function).parameters.values())
    frozen.__signature__ = inspect.Signature([parameters[n] for n in places])  # type: ignore[attr-defined]
    return frozen


def _phases(compiled: Any, args: tuple[Any, ...]) -> object:
    from viz.rooms.pipeline import pipeline

    if len(compiled.inlined_graph.str(False).splitlines()) <= LINES_AT_MOST:
        return pipeline(compiled, *args)
    records = [r for r in compiled.phases(*args) if r.changed]
    lines = [f"{r.name}: {_count(r.before)} lines before, {_count(r.after)} after" for r in records]
    return "\n".join(["The graph is long; viz.pipeline draws these all the same.", *lines])


def _count(text: str) -> int:
    return len(text.splitlines())


def _emitted(compiled: Any, args: tuple[Any, ...]) -> str:
    from viz.rooms.step import arguments_of

    function = compiled if hasattr(compiled, "executor") else compiled.forward.function
    return str(function.executor.plan_for(*arguments_of(compiled, args)).emitted.source)
