"""From Python source to IR (`torch/jit/frontend.py`, `torch/csrc/jit/frontend`).

    source.py, build_*.py, tree.py   Python's source, parsed, as a smaller tree: what the language
                                     has, and where everything is
    annotations.py, type_comments.py  what annotations mean
    compiler.py                      the tree as a graph; its docstring lists the rest, and steps.py
                                     shows it step by step
    recursive.py                     modules: inspect_module.py looks one over, concrete_type.py
                                     compiles its methods

How the real one differs: the second half is C++, and has a parser of its own for programs that come
as text.
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
    """Compile a Python function, and the functions it calls. Compiled once: the next call gives the
    same object.

    Raises RuntimeError, NotSupportedError or OSError, showing the place, for what cannot be
    compiled.
    """
    from .recursion import compile_python_function

    return compile_python_function(fn)
