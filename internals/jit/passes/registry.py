"""The table of passes, and the function that runs one: it measures the time, records the changes,
and verifies the graph afterwards if asked to (`torch/csrc/jit/passes/pass_manager.h`,
`RegisterPrePass`, `RegisterPostPass`).

A pass is a function `(graph) -> bool` that rewrites a graph in place and returns whether it changed
it. `@graph_pass("title")` enters it in `PASSES`; `load_passes()` imports those of this package. One
written in a notebook works like any other:

    @graph_pass("relu of relu is relu")
    def relu_twice(graph):
        changed = False
        for node in graph.findAllNodes("aten::relu"):
            if node.input().node().kind() == "aten::relu":
                node.output().replaceAllUsesWith(node.input())
                changed = True
        return changed

    run_pass("relu_twice", graph)          # once, on this graph
    register_post_pass("relu_twice")       # from now on the executor runs it after its own passes

How the real one differs: its passes are C++ functions without a table, most of them return nothing,
and only debug builds verify the graph after a pass.
"""

from __future__ import annotations

import functools
import importlib
import os
import pkgutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from internals.core.corrected import corrected
from internals.jit.ir import Graph

PassFunction = Callable[["Graph"], "bool | None"]


@dataclass(frozen=True)
class Pass:
    """A pass of the table: its `name`, its `title` in a few words, and its `function`.

    `verifiable` is False for one that prepares a graph for an exporter, and leaves calls that do
    not match a schema.
    """

    name: str
    title: str
    function: PassFunction
    verifiable: bool = True

    @property
    def doc(self) -> str:
        """The docstring of its function, "" if it has none."""
        return (self.function.__doc__ or "").strip()

    def __call__(self, graph: Graph) -> bool:
        """Run the pass. True if the graph was changed; a pass that returns None counts as having
        changed it.
        """
        return run_pass(self, graph, keep_text=False).changed

    def __repr__(self) -> str:
        return f"<pass {self.name}: {self.title}>"


@dataclass(frozen=True)
class PassReport:
    """The report of one run of a pass: whether the graph was `changed`, its text `before` and
    `after` ("" unless kept), and the milliseconds it took.
    """

    name: str
    changed: bool
    before: str = field(repr=False)
    after: str = field(repr=False)
    ms: float = field(repr=False)


PASSES: dict[str, Pass] = {}
PRE_PASSES: list[Pass] = []  # run by the executor before its own optimisations, in this order
POST_PASSES: list[Pass] = []  # and after them

_verify = os.environ.get("INTERNALS_VERIFY_PASSES") == "1"


def graph_pass(
    title: str, verifiable: bool = True
) -> Callable[[PassFunction], Callable[[Graph], bool]]:
    """Decorator: enters a function in `PASSES` under its own name. Calling the function runs the
    pass, with verification if that is switched on.
    """

    def enter(function: PassFunction) -> Callable[[Graph], bool]:
        entry = register_pass(function, title=title, verifiable=verifiable)

        @functools.wraps(function)
        def run(graph: Graph) -> bool:
            return entry(graph)

        return run

    return enter


def register_pass(
    function: PassFunction, name: str | None = None, title: str = "", verifiable: bool = True
) -> Pass:
    """Enter `function` in `PASSES` as `name` (its own name by default). A second entry of the same
    name replaces the first, so that a notebook cell can be run again.
    """
    if not callable(function):
        raise TypeError(
            f"register_pass(): a pass is a function of a graph, got {type(function).__name__}"
        )
    name = name or str(getattr(function, "__name__", type(function).__name__))
    entry = Pass(
        name,
        title or name.replace("_", " "),
        getattr(function, "__wrapped__", function),
        verifiable,
    )
    PASSES[name] = entry
    for hooks in (PRE_PASSES, POST_PASSES):  # a replaced pass is replaced there, too
        hooks[:] = [entry if p.name == name else p for p in hooks]
    return entry


def find_pass(p: Pass | PassFunction | str) -> Pass:
    """The entry of a pass, given by its name, as a decorated function, or as the entry itself. An
    unregistered function gets an entry outside of the table.

    Raises KeyError for a name that is not in the table.
    """
    if isinstance(p, Pass):
        return p
    if isinstance(p, str):
        if p not in PASSES:
            load_passes()
        if p not in PASSES:
            raise KeyError(f"no pass is called '{p}'; there are: {', '.join(sorted(PASSES))}")
        return PASSES[p]
    name = getattr(p, "__name__", type(p).__name__)
    entry = PASSES.get(name)
    function = getattr(p, "__wrapped__", p)
    return (
        entry
        if entry is not None and entry.function is function
        else Pass(name, name.replace("_", " "), function)
    )


@functools.cache
def load_passes() -> None:
    """Import every file of this package, so that all its passes are in `PASSES`."""
    package = __name__.rpartition(".")[0]
    for module in pkgutil.iter_modules([os.path.dirname(__file__)]):
        importlib.import_module(f"{package}.{module.name}")


def run_pass(
    p: Pass | PassFunction | str, graph: Graph, verify: bool | None = None, keep_text: bool = True
) -> PassReport:
    """Run a pass (its name, function or entry) on `graph`, and return a report.

    verify: check the graph afterwards; None (default) does so inside `verify_after_every_pass()`. A
    graph that is not well formed raises RuntimeError. With True, so does a pass that returns False
    although the text of the graph has changed. keep_text: put the graph's text before and after
    into the record; printing costs more than most passes.
    """
    entry = find_pass(p)
    keep = keep_text or verify is True
    verify = _verify if verify is None else verify
    before = str(graph) if keep else ""
    start = time.perf_counter()
    reported = entry.function(graph)
    ms = (time.perf_counter() - start) * 1e3
    after = str(graph) if keep else ""
    # After None the text decides; if no text was kept (`before` is ""), it counts as changed.
    changed = bool(reported) if reported is not None else (before != after or not before)
    if verify:
        _check(entry, graph, changed, before, after)
    return PassReport(
        entry.name, changed, before if keep_text else "", after if keep_text else "", ms
    )


@contextmanager
def verify_after_every_pass(on: bool = True) -> Iterator[None]:
    """Verify every graph after every pass, inside the `with` block. For a whole process,
    `INTERNALS_VERIFY_PASSES=1` in the environment does the same.
    """
    global _verify
    before, _verify = _verify, on
    try:
        yield
    finally:
        _verify = before


def register_pre_pass(p: Pass | PassFunction | str) -> Pass:
    """Let the executor run this pass before its own optimisations, on every graph that it compiles
    from now on.
    """
    return _append(PRE_PASSES, find_pass(p))


def register_post_pass(p: Pass | PassFunction | str) -> Pass:
    """Let the executor run this pass after its own optimisations, on every graph that it compiles
    from now on.
    """
    return _append(POST_PASSES, find_pass(p))


def clear_pre_pass(p: Pass | PassFunction | str) -> None:
    """Remove a pass from `PRE_PASSES`; nothing happens if it is not there."""
    name = find_pass(p).name
    PRE_PASSES[:] = [q for q in PRE_PASSES if q.name != name]


def clear_post_pass(p: Pass | PassFunction | str) -> None:
    """Remove a pass from `POST_PASSES`; nothing happens if it is not there."""
    name = find_pass(p).name
    POST_PASSES[:] = [q for q in POST_PASSES if q.name != name]


def _append(hooks: list[Pass], entry: Pass) -> Pass:
    if entry.name not in {p.name for p in hooks}:
        hooks.append(entry)
    return entry


def _check(entry: Pass, graph: Graph, changed: bool, before: str, after: str) -> None:
    try:
        if entry.verifiable:
            graph.lint()
    except Exception as error:
        raise RuntimeError(
            f"the pass '{entry.name}' left a graph that is not well formed: {error}"
        ) from error
    if before != after and not changed:
        raise RuntimeError(
            corrected(
                f"the pass '{entry.name}' says that it changed nothing, but the graph's text has "
                "changed",
                "return False",
                "return True  # where something was changed",
            )
        )
