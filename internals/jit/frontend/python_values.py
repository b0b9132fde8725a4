"""Python objects as sugared values: the meaning of names from outside the function
(`torch/csrc/jit/python/python_sugared_value.cpp`).

A name that is not a local is looked up where the function was defined. `to_sugared_value` turns the
object found there into a sugared value: a Python module, an operator, an exception, a special form
like `torch.jit.annotate`, a class, or a Python function, which is compiled in turn. Numbers,
strings, dtypes and tuples of them become constants, with the value they have at that moment. Lists
and other objects cannot be used as values, because they might change later.

How the real one differs: only members of modules are constants there (`math.pi`); a number of the
function's own module is an error. It also knows enums, CUDA streams and the tensor types of
`torch.cuda`.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from internals.core.device import device
from internals.functional.scripting import (
    BooleanDispatch,
    annotate,
    dispatches,
    isinstance_,
    overloads,
)
from internals.jit.ir import NoneType, SourceRange, TensorType, TupleType, Type, Value
from internals.jit.ir.constants import constant_of, is_constant
from internals.jit.ir.enums import enum_code
from internals.jit.runtime.future import fork
from internals.jit.schema import Argument, FunctionSchema
from internals.jit.script_function import ScriptFunction
from internals.library import OpNamespace, OpPacket, Ops
from internals.nn.module import Module

from . import modifiers
from .annotations import named_tuple, signature_types
from .builtin_table import find_builtin
from .error_report import error
from .resolution import closure_resolver
from .schema_matching import Matched, NamedValue, find_keyword, match_schema, match_schemas
from .sugared_values import (
    BeingCompiled,
    BuiltinFunction,
    ExceptionValue,
    SimpleValue,
    SpecialForm,
    SugaredValue,
    ensure_compiled,
)

if TYPE_CHECKING:
    from .compiler import Compiler

Args = Sequence[NamedValue]


def to_sugared_value(
    obj: object, c: Compiler, where: SourceRange, is_constant: bool = False
) -> SugaredValue:
    """The sugared value of a Python object. With `is_constant`, a number or the like becomes a
    constant of the graph. Raises RuntimeError for objects that cannot be used at all.
    """
    if isinstance(obj, SugaredValue):
        return obj
    if is_constant:
        constant = _constant(obj, c, where)
        if constant is not None:
            return constant
    if isinstance(obj, (ScriptFunction, BeingCompiled)):
        return FunctionValue(obj)
    if isinstance(obj, (types.ModuleType, Ops, OpNamespace)):
        return PythonModuleValue(obj)
    if isinstance(obj, OpPacket):
        return BuiltinFunction(obj._name)
    form = _special_forms().get(obj) if _is_hashable(obj) else None
    if form is not None:
        return SpecialForm(form)
    if isinstance(obj, Module) and "_jit_type" in vars(obj):  # a ScriptModule
        raise error(where, "Cannot call a ScriptModule that is not a submodule of the caller")
    builtin = find_builtin(obj)
    if builtin is not None:
        return BuiltinFunction(builtin)
    if isinstance(obj, type) and issubclass(obj, BaseException):
        return ExceptionValue(_exception_name(obj), obj)
    if isinstance(obj, types.BuiltinFunctionType):
        raise error(where, f"Python builtin {obj} is currently not supported in Torchscript")
    if isinstance(obj, types.FunctionType) and obj in dispatches:
        return BooleanDispatchValue(dispatches[obj])
    if isinstance(obj, types.FunctionType) and obj in overloads:
        return OverloadedFunctionValue(c.compiled_overloads(obj))
    if isinstance(obj, type) and issubclass(obj, tuple) and hasattr(obj, "_fields"):
        return NamedTupleConstructor(named_tuple_type(obj, where))
    if isinstance(obj, type):
        return PythonClassValue(obj)
    if isinstance(obj, types.FunctionType) and not modifiers.is_ignored(obj):
        return FunctionValue(c.compiled(obj))
    return PythonValue(obj)


class PythonValue(SugaredValue):
    """Any other Python object. A function that the compiler is to ignore is called in Python, by a
    node `^name(...)`; for a method, `self_value` is its module.
    """

    def __init__(self, obj: Any, self_value: Value | None = None) -> None:
        self.obj, self.self_value = obj, self_value

    def kind(self) -> str:
        return f"python value of type '{type(self.obj).__name__}'"

    def as_value(self, where: SourceRange, c: Compiler) -> Value:
        raise error(
            where,
            f"{self.kind()} cannot be used as a value. Perhaps it is a closed over global "
            "variable? If so, please consider passing it in as an argument or use a local "
            "variable instead.",
        )

    def call(
        self, where: SourceRange, c: Compiler, args: Args, kwargs: Args, n_binders: int
    ) -> SugaredValue:
        """Emit a call of Python; for an `@unused` function, a `raise` instead."""
        given = [
            *([NamedValue(self.self_value, where, "self")] if self.self_value is not None else []),
            *args,
        ]
        schema = schema_of_python_function(self.obj, len(given), n_binders, where, self.self_value)
        matched = match_schema(c, schema, where, given, kwargs)
        result = matched.return_types[0]
        if modifiers.is_unused(self.obj):
            message = c.constant(
                "This Python function is annotated to be ignored and cannot be run"
            )
            c.insert("prim::RaiseException", [message], where)
            # the nodes after it still need a value of the declared type
            node = c.add_node("prim::Uninitialized")
            return SimpleValue(node.output().setType(result))
        node = c.add_node(
            f"^{getattr(self.obj, '__name__', '<python_value>')}", matched.inputs, 1, where
        )
        node.pyobj = self.obj
        return SimpleValue(node.output().setType(result))


class PythonModuleValue(PythonValue):
    """A Python module: `torch`, `math`, `torch.nn.functional`; or `torch.ops.aten`."""

    def attr(self, where: SourceRange, c: Compiler, name: str) -> SugaredValue:
        try:
            member = getattr(self.obj, name)
        except AttributeError as missing:
            # advice, for an operator that PyTorch has and this library does not
            hint = str(missing).partition(". ")[2]
            raise error(
                where, f"object has no attribute {name}" + f". {hint}" * bool(hint)
            ) from None
        return to_sugared_value(member, c, where, is_constant=True)


class FunctionValue(SugaredValue):
    """A compiled function. A call of it emits `prim::CallFunction`."""

    kind_name = "function"

    def __init__(self, function: Any) -> None:
        self.function = function

    def as_value(self, where: SourceRange, c: Compiler) -> Value:
        return c.function_constant(self.function)

    def call(
        self, where: SourceRange, c: Compiler, args: Args, kwargs: Args, n_binders: int
    ) -> SugaredValue:
        ensure_compiled(self.function, where)
        matched = match_schema(c, self.function.schema, where, args, kwargs)
        return self.call_matched(where, c, matched)

    def call_matched(self, where: SourceRange, c: Compiler, matched: Matched) -> SugaredValue:
        """Emit the call, with arguments that have been converted already."""
        callee = c.function_constant(self.function)
        node = c.add_node("prim::CallFunction", [callee, *matched.inputs], 1, where)
        return SimpleValue(node.output().setType(self.function.schema.returns[0].type))


class OverloadedFunctionValue(SugaredValue):
    """A function compiled for several signatures: a call takes the first that fits."""

    kind_name = "overloaded function"

    def __init__(self, functions: list[ScriptFunction]) -> None:
        self.functions = functions

    def call(
        self, where: SourceRange, c: Compiler, args: Args, kwargs: Args, n_binders: int
    ) -> SugaredValue:
        schemas = [function.schema for function in self.functions]
        chosen, matched = match_schemas(c, schemas, where, args, kwargs)
        return FunctionValue(self.functions[chosen]).call_matched(where, c, matched)


class BooleanDispatchValue(SugaredValue):
    """One name for two functions, chosen by an argument that must be constant: `max_pool2d(...,
    return_indices=True)`.
    """

    kind_name = "boolean dispatch"

    def __init__(self, dispatch: BooleanDispatch) -> None:
        self.dispatch = dispatch

    def call(
        self, where: SourceRange, c: Compiler, args: Args, kwargs: Args, n_binders: int
    ) -> SugaredValue:
        # the flag: given by position, by keyword, or not at all
        index, name = self.dispatch.place, self.dispatch.arg_name
        if index < len(args):
            flag, problem = (
                args[index].get(c),
                f"Argument for boolean dispatch at position {index} was not constant",
            )
        elif (i := find_keyword(name, kwargs, is_aten=False)) is not None:
            flag = kwargs[i].get(c)
            problem = f"Keyword argument '{name}' for boolean dispatch at position was not constant"
        else:
            flag = None
        if flag is not None and not is_constant(flag):
            raise error(where, problem)
        chosen = self.dispatch.default if flag is None else constant_of(flag)
        function = self.dispatch.if_true if chosen else self.dispatch.if_false
        return to_sugared_value(function, c, where).call(where, c, args, kwargs, n_binders)


class NamedTupleConstructor(SugaredValue):
    """A `NamedTuple` class: a call of it emits a tuple of that type."""

    kind_name = "named tuple"

    def __init__(self, type_and_schema: tuple[TupleType, Any]) -> None:
        self.type, self.schema = type_and_schema

    def call(
        self, where: SourceRange, c: Compiler, args: Args, kwargs: Args, n_binders: int
    ) -> SugaredValue:
        matched = match_schema(c, self.schema, where, args, kwargs)
        out = c.tuple_construct(matched.inputs, self.type)
        out.node().setSourceRange(where)
        return SimpleValue(out)


class PythonClassValue(SugaredValue):
    """A Python class. Its static methods can be used; objects of user classes are not supported."""

    def __init__(self, cls: type) -> None:
        self.cls = cls

    def kind(self) -> str:
        return f"python value of type '{type(self.cls).__name__}'"

    def attr(self, where: SourceRange, c: Compiler, name: str) -> SugaredValue:
        if not hasattr(self.cls, name):
            raise error(where, f"Tried to lookup unknown attribute on class {self.cls.__name__}")
        return to_sugared_value(getattr(self.cls, name), c, where)

    def call(
        self, where: SourceRange, c: Compiler, args: Args, kwargs: Args, n_binders: int
    ) -> SugaredValue:
        raise error(
            where,
            f"Objects of the class '{self.cls.__name__}' cannot be made in a scripted function: "
            "use tensors, numbers, lists, tuples, dicts, named tuples and modules",
        )


def _constant(obj: object, c: Compiler, where: SourceRange) -> SugaredValue | None:
    """A number, string, device, dtype or tuple as a constant of the graph; None for other objects.
    Dtypes, layouts and memory formats are ints in the graph.
    """
    if obj is None or isinstance(obj, (bool, int, float, complex, str)):
        return SimpleValue(c.constant(obj, where))
    if isinstance(obj, device):
        return SimpleValue(c.constant(obj))
    if (code := enum_code(obj)) is not None:
        return SimpleValue(c.constant(code, where))
    if isinstance(obj, tuple):
        parts = [to_sugared_value(o, c, where, is_constant=True).as_value(where, c) for o in obj]
        return SimpleValue(c.tuple_construct(parts))
    return None


@cache
def _special_forms() -> dict[Any, str]:
    return {annotate: "annotate", isinstance_: "isinstance", fork: "fork"}


def _is_hashable(obj: object) -> bool:
    try:
        hash(obj)
    except TypeError:
        return False
    return True


def _exception_name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def schema_of_python_function(
    fn: Callable[..., Any],
    n_args: int,
    n_binders: int,
    where: SourceRange,
    self_value: Value | None,
) -> FunctionSchema:
    """The schema of a function that is called in Python. Without annotations, all parameters are
    Tensors, and it returns as many Tensors as the call assigns (`n_binders`; None for 0).
    """
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
    """The names of the parameters, without `*args` and `**kwargs`; numbers if there is no
    signature.
    """
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
        Argument(name, element, defaults.get(name), name in defaults)
        for name, element in zip(t.names, t.elements)
    )
    return t, FunctionSchema(cls.__name__, "", arguments, ())
