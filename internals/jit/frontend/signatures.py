"""The schema of a function: its signature in JIT types (`ScriptTypeParser::parseSchemaFromDef` of
`torch/csrc/jit/frontend/script_type_parser.cpp`).

A parameter without annotation is a Tensor, marked as inferred so that an error can say why. Default
values are taken from the function object and converted to the declared types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from internals.core.device import device
from internals.core.tensor_impl import TensorImpl
from internals.jit.ir import (
    BoolType,
    ComplexType,
    DeviceObjType,
    FloatType,
    IntType,
    ListType,
    NumberType,
    OptionalType,
    StringType,
    TensorType,
    TupleType,
    Type,
)
from internals.jit.ir.enums import enum_code
from internals.jit.schema import Argument, FunctionSchema

from . import tree
from .annotations import type_of_expr, type_of_param
from .error_report import error, spell

if TYPE_CHECKING:
    from .compiler import Compiler
    from .resolution import Resolver


def schema_of_def(
    c: Compiler, definition: tree.Def, self_type: Type | None, defaults: dict[str, Any]
) -> FunctionSchema:
    """The schema that a function declares. `returns` is empty if there is no return annotation.

    Raises RuntimeError for a method without `self`, an annotation that is not a type, or a default
    value that does not fit its type or is mutable.
    """
    params = definition.decl.params
    if self_type is not None and not params:
        raise error(definition.decl.range, "methods must have a self argument")
    arguments = []
    for i, param in enumerate(params):
        name = param.name.name
        if i == 0 and self_type is not None:
            arguments.append(Argument(name, self_type))
            continue
        t, n = type_of_param(param, c.resolver)
        has_default = name in defaults
        # defaults in the code of an archive are not shared between calls, so they may be lists
        if has_default and not getattr(c.resolver, "allows_mutable_defaults", False):
            check_immutable(definition, param, defaults[name])
        default = to_default(definition, param, t, defaults[name]) if has_default else None
        arguments.append(Argument(name, t, default, has_default, param.kwarg_only, n))
    returned = definition.decl.return_type
    returns = () if returned is None else (Argument("", type_of_annotation(c, returned)),)
    return FunctionSchema(c.name, "", tuple(arguments), returns)


def type_of_annotation(c: Compiler, expr: tree.Expr) -> Type:
    """The type that an annotation stands for. Raises RuntimeError if it is not a type."""
    return type_of_expr(expr, c.resolver)


def check_immutable(definition: tree.Def, param: tree.Param, value: object) -> None:
    """Raises RuntimeError for a mutable default value, such as a list."""
    if is_mutable(value):
        raise error(
            definition.range,
            "Mutable default parameters are not supported because Python binds them to the "
            "function and they persist across function calls.\n As a workaround, make the "
            "default None and instantiate the default parameter within the body of the function. "
            f"Found {type(value)} on parameter {param.name.name}",
        )


def to_default(definition: tree.Def, param: tree.Param, t: Type, value: object) -> Any:
    """A default value in the form that the IR stores. Raises RuntimeError if it does not fit the
    declared type.
    """
    converted = _as_ir_value(t, value)
    if converted is _DOES_NOT_FIT:
        message = f'Expected a default value of type {spell(t)} on parameter "{param.name.name}".'
        if isinstance(t, TensorType) and t.inferred:
            message += (
                f'Because "{param.name.name}" was not annotated with an explicit type it is '
                "assumed to be type 'Tensor'."
            )
        raise error(definition.range, message)
    return converted


def fitting_defaults(
    definition: tree.Def, resolver: Resolver, defaults: dict[str, Any]
) -> dict[str, Any]:
    """The default values that fit the types of this signature. The signatures of an overloaded
    function share one function object, whose defaults need not fit all of them.
    """
    fitting = {}
    for param in definition.decl.params:
        name, t = param.name.name, type_of_param(param, resolver)[0]
        # an int for a list of ints is not a default here, though a call accepts it
        one_for_many = isinstance(t, (ListType, TupleType)) and isinstance(defaults.get(name), int)
        if name in defaults and not one_for_many:
            if _as_ir_value(t, defaults[name]) is not _DOES_NOT_FIT:
                fitting[name] = defaults[name]
    return fitting


def is_mutable(value: object) -> bool:
    """Whether `value` is a list or a dict, or a tuple that contains one."""
    return isinstance(value, (list, dict)) or (
        isinstance(value, tuple) and any(map(is_mutable, value))
    )


_DOES_NOT_FIT = object()


def _as_ir_value(t: Type, value: object) -> Any:
    """A Python value as a constant of type `t`; _DOES_NOT_FIT if it is not one. An int is accepted
    for a float, a dtype or another enumeration for an int.
    """
    if isinstance(t, OptionalType):
        return None if value is None else _as_ir_value(t.element, value)
    if isinstance(t, IntType) and (code := enum_code(value)) is not None:
        return code
    if isinstance(t, FloatType) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(t, (ListType, TupleType)) and isinstance(value, (list, tuple)):
        elements = t.elements if isinstance(t, TupleType) else (t.element,) * len(value)
        parts = [_as_ir_value(e, v) for e, v in zip(elements, value)]
        fits = len(elements) == len(value) and not any(p is _DOES_NOT_FIT for p in parts)
        return (parts if isinstance(t, ListType) else tuple(parts)) if fits else _DOES_NOT_FIT
    wanted: dict[type[Type], Any] = {
        IntType: int, FloatType: float, BoolType: bool, StringType: str,
        ComplexType: (int, float, complex), DeviceObjType: device,
        NumberType: (int, float, complex), TensorType: TensorImpl,
    }  # fmt: skip
    python = wanted.get(type(t))
    if python is None:
        return value
    is_bool = isinstance(value, bool) and not isinstance(t, BoolType)  # in Python, an int as well
    return value if isinstance(value, python) and not is_bool else _DOES_NOT_FIT
