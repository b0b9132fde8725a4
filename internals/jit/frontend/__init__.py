"""From Python source to IR (`torch/jit/frontend.py`, `torch/csrc/jit/frontend`).

A function passes through three forms: Python's own syntax tree, a smaller tree that holds only what
TorchScript has, and the graph.

    source.py, build_*.py, tree.py    parse Python's source into the smaller tree, each node with
                                      its range in the source
    annotations.py, type_comments.py  the types that annotations stand for
    compiler.py                       the tree as a graph; its docstring lists the rest, and
                                      steps.py shows it step by step
    recursive.py                      modules: inspect_module.py examines one, concrete_type.py
                                      compiles its methods

How the real one differs: everything after the tree is C++ there, with a parser of its own for
programs that are given as text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from internals.jit.script_function import ScriptFunction

from .compiler import compile_def, compile_with_schema
from .errors import FrontendError, FrontendTypeError, NotSupportedError, UnsupportedNodeError

__all__ = [
    "FrontendError", "FrontendTypeError", "NotSupportedError", "UnsupportedNodeError",
    "compile_def", "compile_with_schema", "script_function",
]  # fmt: skip


def script_function(fn: Callable[..., Any]) -> ScriptFunction:
    """Compile a Python function and the functions it calls. A second call with `fn` returns the
    same object.

    Raises RuntimeError or NotSupportedError, with the line in question, if the function cannot be
    compiled, and OSError if its source cannot be found.
    """
    from .recursion import compile_python_function

    return compile_python_function(fn)
