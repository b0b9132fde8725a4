"""The compiler in slow motion: the graph of a function after each step (`Emit`, `ConvertToSSA`,
`runCleanupPasses`).

    for name, graph in compilation_steps(my_function):
        print(name, graph, sep="\\n")

    emitted                    statement by statement: names are read and written by prim::Load and
                               prim::Store
    outputs of ifs and loops   names assigned in an arm or a body are outputs of it, still with
                               Loads and Stores
    loop conditions            each loop has one block, which ends with the condition; break and
                               continue have the values they pass on
    names resolved             no Loads and Stores: every value is used directly
    exits removed              no return, break and continue
    cleaned up                 the final graph, `jit.script(fn).graph`

How the real one differs: the steps can be seen only in its log (`PYTORCH_JIT_LOG_LEVEL`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from internals.jit.ir import Graph

from .build_tree import default_arguments, tree_of
from .compiler import compile_with_schema
from .resolution import closure_resolver


class CompilationStep(NamedTuple):
    """The name of a step, and a copy of the graph as it was after it."""

    name: str
    graph: Graph


def compilation_steps(fn: Callable[..., Any]) -> list[CompilationStep]:
    """The graph after each step of compiling `fn`, a Python function or a scripted one, which is
    compiled again.

    Raises the errors of `jit.script`.
    """
    fn = getattr(fn, "python_function", None) or fn
    steps: list[CompilationStep] = []
    compile_with_schema(
        tree_of(fn, fn.__name__),
        closure_resolver(fn),
        name=fn.__name__,
        defaults=default_arguments(fn),
        watch=lambda name, graph: steps.append(CompilationStep(name, graph.copy())),
    )
    return steps
