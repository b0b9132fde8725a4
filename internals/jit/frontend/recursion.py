"""Compiling the functions that a function calls (`torch/jit/_recursive.py: try_compile_fn`).

A Python function met while compiling is compiled, once, in the names it sees itself; then the call is a `prim::CallFunction`. A
function that calls itself, directly or through others, is refused: the type it returns is not known before it is compiled.

How the real one differs: functions are compiled when their schema is first needed, in one compilation unit for the process.
"""

from __future__ import annotations

import inspect
import types
import weakref
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from internals.jit.ir import NoneType, TensorType, TupleType, Type, Value
from internals.jit.names import qualified_name, take_name
from internals.jit.schema import Argument, FunctionSchema
from internals.jit.script_function import ScriptFunction
from internals.scripting import dispatches, overloads

from . import modifiers
from .annotations import named_tuple, signature_types
from .build_tree import VARIABLE_ARGUMENTS, default_arguments, tree_of
from .builtin_table import find_builtin
from .error_report import error
from .errors import NotSupportedError
from .resolution import closure_resolver
from .signatures import fitting_defaults

if TYPE_CHECKING:
    from internals.jit.ir import SourceRange
    from internals.jit.script_function import ScriptFunction

    from . import tree

_compiled: weakref.WeakKeyDictionary[Any, ScriptFunction] = weakref.WeakKeyDictionary()


class BeingCompiled:
    """Stands for a function or method while it is compiled."""

    def __init__(self, name: str, what: str = "function") -> None:
        self.name, self.what = name, what


_in_progress: dict[Any, BeingCompiled] = {}


def compile_python_function(fn: Callable[..., Any]) -> ScriptFunction:
    """The compiled form of `fn`, made now or earlier.

    Raises RuntimeError for one that a call has to choose from.
    """
    if fn in overloads:
        raise RuntimeError(
            f"Function {qualified_name(fn)} cannot be directly compiled because it is overloaded. It "
            "must be used in a context of a function where its inputs can determine which overload to "
            "call."
        )
    if fn in dispatches:
        raise NotSupportedError(tree_of(inspect.unwrap(fn), fn.__name__).range, VARIABLE_ARGUMENTS)
    known = _compiled.get(fn)
    if known is None:
        known = _compiled[fn] = _compile(fn, tree_of(fn, fn.__name__), default_arguments(fn))
    return known


@cache
def compile_overloads(fn: Callable[..., Any]) -> list[ScriptFunction]:
    """The compiled forms of a function with several signatures."""
    found = []
    for signature in overloads[fn]:
        definition = tree_of(fn, fn.__name__, comment=f"# type: {signature}")
        defaults = fitting_defaults(definition, closure_resolver(fn), default_arguments(fn))
        found.append(_compile(fn, definition, defaults))
    return found


def _compile(
    fn: Callable[..., Any], definition: tree.Def, defaults: dict[str, Any]
) -> ScriptFunction:
    from .compiler import compile_with_schema

    _in_progress[fn] = BeingCompiled(fn.__name__)
    try:
        graph, schema = compile_with_schema(
            definition, closure_resolver(fn), name=fn.__name__, defaults=defaults
        )
    except RecursionError:
        depth = f"{len(_in_progress)} functions are being compiled inside each other"
        raise RuntimeError(f"{fn.__name__}: {depth}, too deep for Python's stack; see sys.setrecursionlimit") from None
    finally:
        del _in_progress[fn]
    name = take_name(qualified_name(fn))
    return ScriptFunction(fn.__name__, graph, schema, qualified_name=name, python_function=fn)


def compile_function(fn: Callable[..., Any], where: SourceRange) -> Any:
    """What a call of `fn` at `where` calls: its compiled form, or the mark that it is being compiled."""
    if fn in _in_progress:
        return _in_progress[fn]
    return compile_python_function(fn)


def ensure_compiled(function: Any, where: SourceRange) -> None:
    """Raises RuntimeError for a function that is being compiled: it is calling itself."""
    if isinstance(function, BeingCompiled):
        raise error(
            where, f" {function.what} '{function.name}' is called recursively. Recursive calls are not supported"
        )


def is_compiled_function(obj: Any) -> bool:
    return isinstance(obj, (ScriptFunction, BeingCompiled))


def needs_compiling(fn: Any) -> bool:
    """Whether a call of this Python function compiles its source: it is no operator, no part of the library, and not ignored."""
    return not (fn in dispatches or modifiers.is_ignored(fn) or find_builtin(fn) is not None)


# Python functions that stay Python functions.


def schema_of_python_function(
    fn: Callable[..., Any], n_args: int, n_binders: int, where: SourceRange, self_value: Value | None
) -> FunctionSchema:
    """The schema of a function that is called as it is: what is not annotated is a Tensor, and as many results as are wanted."""
    if isinstance(fn, types.BuiltinFunctionType):
        raise error(where, f"Python builtin {fn} is currently not supported in Torchscript")
    if not callable(fn):
        raise error(where, f"cannot call a python value of type '{type(fn).__name__}'")
    names = _parameter_names(fn, n_args)
    found = signature_types(fn, where, closure_resolver(fn), is_method=self_value is not None)
    arguments = []
    if self_value is not None:
        arguments.append(Argument(names.pop(0), self_value.type()))
    if found is None:
        given: list[Type] = [TensorType.get()] * len(names)
        returned: Type = NoneType.get() if n_binders == 0 else TensorType.get()
        if n_binders > 1:
            returned = TupleType([TensorType.get()] * n_binders)
    else:
        given, returned = found
    arguments += [Argument(name, t) for name, t in zip(names, given)]
    name = getattr(fn, "__qualname__", getattr(fn, "__name__", type(fn).__name__))
    return FunctionSchema(name, "", tuple(arguments), (Argument("0", returned),))


def _parameter_names(fn: Callable[..., Any], n_args: int) -> list[str]:
    try:
        parameters = inspect.signature(fn).parameters.values()
    except ValueError:
        return [str(i) for i in range(n_args)]
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p.name for p in parameters if p.kind not in variable]


def named_tuple_type(cls: type, where: SourceRange) -> tuple[TupleType, FunctionSchema]:
    """The type of a NamedTuple class, and the schema of its constructor."""
    t = named_tuple(cls, where)
    assert t.names is not None
    defaults = getattr(cls, "_field_defaults", {})
    arguments = tuple(
        Argument(name, element, defaults.get(name), name in defaults) for name, element in zip(t.names, t.elements)
    )
    return t, FunctionSchema(cls.__name__, "", arguments, ())
