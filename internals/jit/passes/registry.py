"""The passes by name, and how one is run: timed, its changes noticed, the graph verified afterwards
if that was asked for.

A pass is a function `(graph) -> bool` that rewrites a graph in place and says whether it changed
it. `@graph_pass("title")` enters it in `PASSES` (`load_passes()` has them all entered that are
ours). So one written in a notebook is as good as any:

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

The counterpart of `torch/csrc/jit/passes/pass_manager.h` (`RegisterPrePass`, `RegisterPostPass`).

How the real one differs: its passes are plain C++ functions without a table, most of them return
nothing, and only debug builds verify the graph after a pass.
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
    """A pass of the table: its `name`, its `title` in a few words, the `function` that does the
    work.

    `verifiable` is False for one that prepares a graph for an exporter: no operator takes what it
    leaves.
    """

    name: str
    title: str
    function: PassFunction
    verifiable: bool = True

    @property
    def doc(self) -> str:
        """What its docstring says."""
        return (self.function.__doc__ or "").strip()

    def __call__(self, graph: Graph) -> bool:
        """Run it. True if the graph was changed; a pass that returns None is taken to have changed
        it.
        """
        return run_pass(self, graph, keep_text=False).changed

    def __repr__(self) -> str:
        return f"<pass {self.name}: {self.title}>"


@dataclass(frozen=True)
class PassRecord:
    """What one run of a pass did: the graph's text `before` and `after` ("" unless kept), and the
    milliseconds it took.
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
    """Decorator: enters a function in `PASSES` under its own name. Calling it still runs it,
    verified if that is switched on.
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
    name replaces the first, so that a notebook cell can be run again."""
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
    for hooks in (PRE_PASSES, POST_PASSES):
        hooks[:] = [entry if p.name == name else p for p in hooks]
    return entry


def find_pass(p: Pass | PassFunction | str) -> Pass:
    """The entry of a pass given by name, as a decorated function, or as the entry itself; an
    unregistered function becomes one.

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
    """Import every file of this package, so that `PASSES` has all of ours."""
    package = __name__.rpartition(".")[0]
    for module in pkgutil.iter_modules([os.path.dirname(__file__)]):
        importlib.import_module(f"{package}.{module.name}")


def run_pass(
    p: Pass | PassFunction | str, graph: Graph, verify: bool | None = None, keep_text: bool = True
) -> PassRecord:
    """Run a pass (its name, function or entry) on `graph` and report what it did.

    verify: check the graph afterwards; None (default) does so inside `verify_after_every_pass()`. A
    graph that is not well formed raises RuntimeError. With True, so does a pass that says it
    changed nothing although the text of the graph is another. keep_text: put the graph's text
    before and after into the record; printing costs more than most passes.
    """
    entry = find_pass(p)
    keep = keep_text or verify is True
    verify = _verify if verify is None else verify
    before = str(graph) if keep else ""
    start = time.perf_counter()
    said = entry.function(graph)
    ms = (time.perf_counter() - start) * 1e3
    after = str(graph) if keep else ""
    changed = bool(said) if said is not None else (before != after or not before)
    if verify:
        _check(entry, graph, changed, before, after)
    return PassRecord(
        entry.name, changed, before if keep_text else "", after if keep_text else "", ms
    )


@contextmanager
def verify_after_every_pass(on: bool = True) -> Iterator[None]:
    """Inside, every graph is verified after every pass. Outside, `INTERNALS_VERIFY_PASSES=1` in the
    environment does the same.
    """
    global _verify
    before, _verify = _verify, on
    try:
        yield
    finally:
        _verify = before


def register_pre_pass(p: Pass | PassFunction | str) -> Pass:
    """Have the executor run this pass before its own optimisations, on every graph it compiles from
    now on.
    """
    return _append(PRE_PASSES, find_pass(p))


def register_post_pass(p: Pass | PassFunction | str) -> Pass:
    """Have the executor run this pass after its own optimisations, on every graph it compiles from
    now on.
    """
    return _append(POST_PASSES, find_pass(p))


def clear_pre_pass(p: Pass | PassFunction | str) -> None:
    """Take a pass out of `PRE_PASSES` again; nothing happens if it is not there."""
    name = find_pass(p).name
    PRE_PASSES[:] = [q for q in PRE_PASSES if q.name != name]


def clear_post_pass(p: Pass | PassFunction | str) -> None:
    """Take a pass out of `POST_PASSES` again; nothing happens if it is not there."""
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
