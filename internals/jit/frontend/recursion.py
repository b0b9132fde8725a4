"""Compiling the functions that a function calls (`torch/jit/_recursive.py: try_compile_fn`).

When the compiler comes across a call of a Python function, it compiles that function, once, with
the names visible where that one was defined; the call becomes a `prim::CallFunction`. A function
that calls itself, directly or through others, is an error, because its return type is not known
before it is compiled.

How the real one differs: functions are compiled when their schema is first needed, and kept in one
compilation unit for the whole process.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable
from functools import cache
from typing import Any

from internals.functional.scripting import dispatches, overloads
from internals.jit.names import qualified_name, take_name
from internals.jit.script_function import ScriptFunction

from . import modifiers, tree
from .build_tree import VARIABLE_ARGUMENTS, default_arguments, tree_of
from .builtin_table import find_builtin
from .errors import NotSupportedError
from .resolution import closure_resolver
from .signatures import fitting_defaults
from .sugared_values import BeingCompiled

_compiled: weakref.WeakKeyDictionary[Any, ScriptFunction] = weakref.WeakKeyDictionary()
_in_progress: dict[Any, BeingCompiled] = {}


def compile_python_function(fn: Callable[..., Any]) -> ScriptFunction:
    """The compiled form of `fn`, which is compiled when first asked for.

    Raises RuntimeError if `fn` is overloaded, and NotSupportedError if it stands for two functions
    (`BooleanDispatchValue`): only a call can choose one.
    """
    if fn in overloads:
        raise RuntimeError(
            f"Function {qualified_name(fn)} cannot be directly compiled because it is overloaded. "
            "It must be used in a context of a function where its inputs can determine which "
            "overload to call."
        )
    if fn in dispatches:
        raise NotSupportedError(tree_of(inspect.unwrap(fn), fn.__name__).range, VARIABLE_ARGUMENTS)
    known = _compiled.get(fn)
    if known is None:
        known = _compiled[fn] = _compile(fn, tree_of(fn, fn.__name__), default_arguments(fn))
    return known


@cache
def compile_overloads(fn: Callable[..., Any]) -> list[ScriptFunction]:
    """The compiled forms of an overloaded function, one for each of its signatures, in order."""
    found = []
    for signature in overloads[fn]:
        definition = tree_of(fn, fn.__name__, comment=f"# type: {signature}")
        defaults = fitting_defaults(definition, closure_resolver(fn), default_arguments(fn))
        found.append(_compile(fn, definition, defaults))
    return found


def _compile(
    fn: Callable[..., Any], definition: tree.Def, defaults: dict[str, Any]
) -> ScriptFunction:
    """Compile a function whose tree is given. Raises RuntimeError if the functions being compiled
    are nested too deeply for Python's stack.
    """
    from .compiler import compile_with_schema

    _in_progress[fn] = BeingCompiled(fn.__name__)
    try:
        graph, schema = compile_with_schema(
            definition, closure_resolver(fn), name=fn.__name__, defaults=defaults
        )
    except RecursionError:
        depth = f"{len(_in_progress)} functions are being compiled inside each other"
        raise RuntimeError(
            f"{fn.__name__}: {depth}, too deep for Python's stack; see sys.setrecursionlimit"
        ) from None
    finally:
        del _in_progress[fn]
    name = take_name(qualified_name(fn))
    return ScriptFunction(fn.__name__, graph, schema, qualified_name=name, python_function=fn)


def compile_function(fn: Callable[..., Any]) -> Any:
    """The compiled form of a function that is called; for a recursive call, a mark that it is still
    being compiled.
    """
    return _in_progress.get(fn) or compile_python_function(fn)


def needs_compiling(fn: Any) -> bool:
    """Whether a call of this Python function compiles its source: it is not an operator, not a
    dispatch between two functions, and not ignored.
    """
    return not (fn in dispatches or modifiers.is_ignored(fn) or find_builtin(fn) is not None)
