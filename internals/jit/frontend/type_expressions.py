"""What an annotation in source means as a type of the IR (`torch/csrc/jit/frontend/script_type_parser.cpp`).

    def f(x: Vec, n: "Optional[int]", m: torch.Tensor): ...

Names mean what they mean where the function was defined, so aliases work (`Vec = List[int]`). What Python cannot tell is taken
for the name of a type (`Tensor`, `number`, `Device`) or of a constructor (`List`, `Optional`); what that is neither is an error
under the very name.

How the real one differs: it looks an expression up by its text, before it looks at the expression.
"""

from __future__ import annotations

from typing import Any, Union

from internals.legacy import TENSOR_TYPES

from ..ir import (
    AnyListType,
    AnyTupleType,
    AnyType,
    BoolType,
    ComplexType,
    DeviceObjType,
    FloatType,
    FutureType,
    GeneratorType,
    IntType,
    ListType,
    NoneType,
    NumberType,
    StringType,
    TensorType,
    TupleType,
    Type,
    optional,
)
from . import tree
from .annotations import dict_type, try_type_of_annotation, union
from .build_expressions import build_expression
from .error_report import error
from .resolution import Resolver
from .source import SourceContext, parse_expression
from .tree_text import KINDS

BY_NAME: dict[str, Type] = {
    "Tensor": TensorType.get(),
    **{name: TensorType.get() for name in TENSOR_TYPES},
    "int": IntType.get(),
    "float": FloatType.get(),
    "bool": BoolType.get(),
    "complex": ComplexType.get(),
    "str": StringType.get(),
    "Device": DeviceObjType.get(),
    "torch.device": DeviceObjType.get(),
    "Generator": GeneratorType.get(),
    "number": NumberType.get(),
    "None": NoneType.get(),
    "NoneType": NoneType.get(),
    "Any": AnyType.get(),
    "list": AnyListType.get(),
    "tuple": AnyTupleType.get(),
}
UNKNOWN = object()


def type_of_expr(expr: tree.Expr, resolver: Resolver) -> Type:
    """The type that an expression means. Raises RuntimeError, marked, if it means none."""
    resolve_type = getattr(resolver, "resolve_type", None)
    if resolve_type is not None:  # the names are those of an archive: nothing in it is Python's
        named = type_name(expr)
        known = None if named is None else resolve_type(named)
        if known is not None:
            return known
    found = UNKNOWN if resolve_type is not None else evaluate(expr, resolver)
    if found is not UNKNOWN and found is not None:
        as_object = try_type_of_annotation(found, expr.range, resolver)
        if as_object is not None:
            return as_object
    if isinstance(expr, tree.BinOp) and expr.kind == "|":
        return union([type_of_expr(each, resolver) for each in _members(expr)], expr.range)
    if isinstance(expr, tree.Subscript):
        return _type_of_subscript(expr, resolver)
    if isinstance(expr, tree.StringLiteral):
        return type_of_string(expr, resolver)
    name = type_name(expr)
    if name is None:
        raise error(expr.range, f"Expression of type {_kind(expr)} cannot be used in a type expression")
    if name not in BY_NAME:
        raise error(expr.range, f"Unknown type name '{name}'")
    return BY_NAME[name]


def type_of_param(param: tree.Param, resolver: Resolver) -> tuple[Type, int | None]:
    """The type of a parameter, and N where it is annotated `BroadcastingListN[T]`: one T may then stand for N of them."""
    if param.type is None:
        return TensorType.getInferred(), None
    broadcast = _broadcasting_list(param.type, resolver)
    return broadcast or (type_of_expr(param.type, resolver), None)


def evaluate(expr: tree.Expr, resolver: Resolver) -> Any:
    """The object that names, attributes and subscripts lead to; UNKNOWN if they lead nowhere."""
    try:
        return _evaluate(expr, resolver)
    except Exception:  # whatever the user's `__getattr__` and `__getitem__` raise: Python does not know this type
        return UNKNOWN


def type_name(expr: tree.Expr) -> str | None:
    """`Tensor`, `None`, `torch.Tensor` (which is `Tensor`), `a.b.C`."""
    if isinstance(expr, tree.Var):
        return expr.name.name
    if isinstance(expr, tree.NoneLiteral):
        return "None"
    if isinstance(expr, tree.Select):
        base = type_name(expr.value)
        selected = expr.selector.name
        if base == "torch" and (selected == "Tensor" or selected in TENSOR_TYPES):
            return selected
        return base and f"{base}.{selected}"
    return None


def _evaluate(expr: tree.Expr, resolver: Resolver) -> Any:
    if isinstance(expr, tree.Var):
        return resolver(expr.name.name)
    if isinstance(expr, tree.NoneLiteral):
        return None
    if isinstance(expr, tree.Select):
        return getattr(_evaluate(expr.value, resolver), expr.selector.name)
    if isinstance(expr, tree.Subscript):
        base = _evaluate(expr.value, resolver)
        parts = tuple(_evaluate(each, resolver) for each in expr.subscript_exprs)
        return base[parts if len(parts) > 1 else parts[0]]
    if isinstance(expr, tree.TupleLiteral) and not expr.inputs:
        return ()
    raise NameError


def _type_of_subscript(expr: tree.Subscript, resolver: Resolver) -> Type:
    name = type_name(expr.value)
    if name is None:
        raise error(expr.value.range, "Subscripted type must be a type identifier")
    full_name, name = name, name.removeprefix("typing.")
    if name not in ("Optional", "Union", "List", "list", "Future", "Dict", "dict", "Tuple", "tuple"):
        raise error(expr.range, f"Unknown type constructor {full_name}")
    parts = expr.subscript_exprs
    if (
        name in ("Tuple", "tuple")
        and len(parts) == 1
        and isinstance(parts[0], tree.TupleLiteral)
        and not parts[0].inputs
    ):
        return TupleType(())
    if name in ("Optional", "List", "list", "Future") and len(parts) != 1:
        raise error(expr.range, f" expected exactly one element type but found {len(parts)}")
    if name in ("Dict", "dict") and len(parts) != 2:
        raise error(expr.range, f" expected exactly 2 element types but found {len(parts)}")
    elements = [type_of_expr(each, resolver) for each in parts]
    if name in ("Tuple", "tuple"):
        return TupleType(elements)
    if name == "Union":
        return union(elements, expr.range)
    if name in ("Dict", "dict"):
        return dict_type(*elements)
    if name == "Optional":
        return optional(elements[0])
    return FutureType(elements[0]) if name == "Future" else ListType(elements[0])


def type_of_string(expr: tree.StringLiteral, resolver: Resolver) -> Type:
    """A type in quotes, for what is defined later."""
    if hasattr(resolver, "resolve_type"):
        raise error(expr.range, f"Unknown type name '{expr.text}'")
    try:
        parsed = build_expression(SourceContext(expr.text, None, 1), parse_expression(expr.text.strip()))
        found = _members_evaluated(parsed, resolver)
    except Exception:  # no Python, or nothing that the frontend has
        found = UNKNOWN
    as_object = None if found is UNKNOWN else try_type_of_annotation(found, expr.range, resolver)
    if as_object is None:
        raise error(expr.range, f"Unknown type name '{expr.text}'")
    return as_object


def _members_evaluated(expr: tree.Expr, resolver: Resolver) -> Any:
    if isinstance(expr, tree.BinOp) and expr.kind == "|":
        return Union[tuple(_evaluate(each, resolver) for each in _members(expr))]  # noqa: UP007
    return _evaluate(expr, resolver)


def _members(expr: tree.Expr) -> list[tree.Expr]:
    if isinstance(expr, tree.BinOp) and expr.kind == "|":
        return [*_members(expr.lhs), *_members(expr.rhs)]
    return [expr]


def _broadcasting_list(expr: tree.Expr, resolver: Resolver) -> tuple[Type, int] | None:
    inner = None
    if isinstance(expr, tree.Subscript) and type_name(expr.value) == "Optional" and len(expr.subscript_exprs) == 1:
        inner = expr.subscript_exprs[0]
    elif isinstance(expr, tree.BinOp) and expr.kind == "|" and isinstance(expr.rhs, tree.NoneLiteral):
        inner = expr.lhs
    if inner is not None:
        inside = _broadcasting_list(inner, resolver)
        return inside and (optional(inside[0]), inside[1])
    name = type_name(expr.value) if isinstance(expr, tree.Subscript) else None
    if not isinstance(expr, tree.Subscript) or name is None or not name.startswith("BroadcastingList"):
        return None
    if len(expr.subscript_exprs) != 1:
        raise error(expr.range, "Broadcasting lists must have exactly one element type")
    count = name.removeprefix("BroadcastingList")
    if not (count.isdigit() and count[0] != "0"):
        raise error(expr.range, f"Expected a positive length after BroadcastingList, found '{count}'")
    return ListType(type_of_expr(expr.subscript_exprs[0], resolver)), int(count)


def _kind(expr: tree.Expr) -> str:
    return KINDS.get(type(expr), type(expr).__name__.lower())
