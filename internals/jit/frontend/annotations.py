"""From annotations to types of the IR (`torch/jit/annotations.py`,
`torch/csrc/jit/frontend/script_type_parser.cpp`).

    def f(x: Vec, n: "Optional[int]", m: torch.Tensor): ...

An annotation comes in one of two forms. For attributes of modules, and for functions that are not
compiled, it is a Python object: `int`, `List[Tensor]`, `int | None` (`type_of_annotation`). In
source that is being compiled, it is an expression of the tree (`type_of_expr`).

The expression is first evaluated, with the names that are visible where the function was defined,
so aliases work (`Vec = List[int]`). Where Python does not know a name, it is looked up among the
types (`Tensor`, `number`, `Device`) and type constructors (`List`, `Optional`) of TorchScript; if
it is neither, the error underlines it.

`Tensor` and `torch.FloatTensor` both mean any tensor: dtypes are not checked. A parameter without
annotation is a Tensor.

How the real one differs: it has unions other than Optional, enums, user classes, interfaces,
streams and remote references; it looks the text of an expression up before it evaluates it.
"""

from __future__ import annotations

import builtins
import enum
import inspect
import sys
import types
import typing
from collections.abc import Callable
from typing import Any, Union

from internals.construction.legacy import TENSOR_TYPES
from internals.core.device import device
from internals.core.dtype import dtype
from internals.core.generator import Generator
from internals.core.tensor_impl import TensorImpl

from .. import names
from ..ir import (
    AnyListType,
    AnyTupleType,
    AnyType,
    BoolType,
    ComplexType,
    DeviceObjType,
    DictType,
    FloatType,
    FutureType,
    GeneratorType,
    IntType,
    ListType,
    NoneType,
    NumberType,
    SourceRange,
    StringType,
    TensorType,
    TupleType,
    Type,
    optional,
)
from . import tree, type_comments
from .build_expressions import build_expression
from .error_report import error
from .resolution import Resolver, closure_resolver, mapping_resolver
from .source import SourceContext, parse_expression, source_lines

BY_OBJECT: dict[Any, Type] = {
    None: NoneType.get(),
    type(None): NoneType.get(),
    float: FloatType.get(),
    complex: ComplexType.get(),
    int: IntType.get(),
    str: StringType.get(),
    bool: BoolType.get(),
    Any: AnyType.get(),
    device: DeviceObjType.get(),
    Generator: GeneratorType.get(),
    dtype: IntType.get(),
}
# types that the keys of a dict may have
KEYS = (IntType, FloatType, ComplexType, TensorType, DeviceObjType, StringType)

ONE = "without a contained type. Please add a contained type, e.g."
# by id, because an annotation need not be hashable
BARE = {
    id(typing.Tuple): f"Tuple {ONE} Tuple[int]",  # noqa: UP006
    id(typing.List): f"List {ONE} List[int]",  # noqa: UP006
    id(typing.Dict): "Dict without contained types. Please add contained type, e.g. "  # noqa: UP006
    "Dict[int, int]",
    id(typing.Optional): f"Optional {ONE} Optional[int]",
}


def type_of_annotation(
    annotation: object, where: SourceRange, resolver: Resolver | None = None
) -> Type:
    """The type that an annotation object stands for. Raises ValueError if it is not a type."""
    found = try_type_of_annotation(annotation, where, resolver)
    if found is None:
        raise ValueError(f"Unknown type annotation: '{annotation}' at {where.highlight()}")
    return found


def try_type_of_annotation(
    annotation: object, where: SourceRange, resolver: Resolver | None = None
) -> Type | None:
    """The type that an annotation object stands for, or None if it is not a type of TorchScript.

    Raises RuntimeError for `List` without an element type, for enums, and for unions other than
    Optional.
    """
    if annotation is inspect.Signature.empty:
        return TensorType.getInferred()
    if isinstance(annotation, str | typing.ForwardRef):
        return _of_text(annotation, where, resolver)
    if id(annotation) in BARE:
        raise RuntimeError(f"Attempted to use {BARE[id(annotation)]}")
    origin = typing.get_origin(annotation)
    if origin is not None:
        return _of_generic(annotation, origin, typing.get_args(annotation), where, resolver)
    if inspect.isclass(annotation) and (
        issubclass(annotation, TensorImpl) or annotation in TENSOR_TYPES.values()
    ):
        return TensorType.get()
    try:
        known = BY_OBJECT.get(annotation)
    except TypeError:  # not hashable, so not a type
        return None
    if known is not None:
        return known
    if (
        inspect.isclass(annotation)
        and issubclass(annotation, tuple)
        and hasattr(annotation, "_fields")
    ):
        return named_tuple(annotation, where)
    if inspect.isclass(annotation) and issubclass(annotation, enum.Enum):
        raise error(
            where,
            f"enums are not supported here: '{annotation.__name__}'; pass the value, an int or a "
            "str",
        )
    return None


def named_tuple(cls: type, where: SourceRange) -> TupleType:
    """The type of a NamedTuple class or a `collections.namedtuple`, whose fields are Tensors."""
    annotations = inspect.get_annotations(cls)
    resolver = mapping_resolver(vars(sys.modules.get(cls.__module__, builtins)))
    fields: tuple[str, ...] = cls._fields  # type: ignore[attr-defined]
    empty = inspect.Signature.empty
    types_ = [
        type_of_annotation(annotations.get(field, empty), where, resolver) for field in fields
    ]
    return TupleType(types_, fields, names.qualified_name(cls))


def signature_types(
    fn: Callable[..., Any],
    where: SourceRange,
    resolver: Resolver | None = None,
    is_method: bool = False,
) -> tuple[list[Type], Type] | None:
    """The parameter types and the return type of a function that is not compiled; None if it
    declares none.

    Annotations come first, then a type comment in the source. The `self` of a method is omitted.
    """
    try:
        signature = inspect.signature(fn)
    except ValueError:
        return None
    resolver = resolver or closure_resolver(fn)
    annotations = [
        signature.return_annotation,
        *(p.annotation for p in signature.parameters.values()),
    ]
    if any(each is not inspect.Signature.empty for each in annotations):
        returned, *given = (type_of_annotation(each, where, resolver) for each in annotations)
        return given[is_method:], returned
    return _comment_types(fn, resolver)


def _comment_types(fn: Callable[..., Any], resolver: Resolver) -> tuple[list[Type], Type] | None:
    """The types in `# type: (int, Tensor) -> Tensor`; None without a comment or without source."""
    try:
        comment = type_comments.find("".join(source_lines(fn)[0]))
    except (OSError, TypeError):
        return None
    if comment is None:
        return None
    decl = type_comments.parse(comment)
    given = [type_of_expr(param.type, resolver) for param in decl.params if param.type is not None]
    if decl.return_type is None:
        return given, TensorType.get()
    return given, type_of_expr(decl.return_type, resolver)


def dict_type(key: Type, value: Type) -> DictType:
    """`Dict[key, value]`. Raises RuntimeError for a type that keys cannot have."""
    if not isinstance(key, KEYS):
        raise RuntimeError(
            f"Cannot create dict for key type '{key}', only int, float, complex, Tensor, device "
            "and string keys are supported"
        )
    return DictType(key, value)


def _of_generic(
    annotation: object,
    origin: Any,
    args: tuple[Any, ...],
    where: SourceRange,
    resolver: Resolver | None,
) -> Type | None:
    """The type of `origin[args]`, such as `List[int]`; None if the origin or an argument is not a
    type of TorchScript.
    """
    if origin in (Union, types.UnionType):
        return _of_union(annotation, args, where, resolver)
    if origin is tuple and args == ((),):  # `Tuple[()]`, as old versions of `typing` hold it
        args = ()
    if Ellipsis in args:  # `Tuple[int, ...]`: a tuple has a fixed length in TorchScript
        return None
    if origin is dict and len(args) == 2:
        for each in args:
            if try_type_of_annotation(each, where, resolver) is None:
                raise ValueError(f"Unknown type annotation: '{each}' at {where.highlight()}")
    elements = [try_type_of_annotation(each, where, resolver) for each in args]
    known = [each for each in elements if each is not None]
    if len(known) < len(elements):
        return None
    if origin is tuple:
        return TupleType(known)
    if origin is list:
        return ListType(known[0])
    if origin is dict:
        return dict_type(*known)
    return FutureType(known[0]) if getattr(origin, "__name__", "") == "Future" else None


def _of_union(
    annotation: Any, args: tuple[Any, ...], where: SourceRange, resolver: Resolver | None
) -> Type:
    """The type of a union object with the members `args`. Raises AssertionError if a member is not
    a type of TorchScript.
    """
    if set(args) == {int, float, complex}:
        return NumberType.get()
    members = []
    for each in args:
        member = try_type_of_annotation(each, where, resolver)
        if member is None:
            raise AssertionError(
                f"Unsupported annotation {annotation!r} could not be resolved because {each!r} "
                "could not be resolved. At\n"
                f"SourceRange at:\n{where.highlight()}"
            )
        members.append(member)
    return union(members, where)


def union(members: list[Type], where: SourceRange) -> Type:
    """The type of a union: `T | None` is an Optional, `int | float | complex` a number. Raises
    RuntimeError for other unions.
    """
    distinct = list(dict.fromkeys(members))  # without repetitions, in the order written
    rest = [each for each in distinct if not isinstance(each, NoneType)]
    if {type(each) for each in rest} == {IntType, FloatType, ComplexType}:
        number = NumberType.get()
        return number if len(rest) == len(distinct) else optional(number)
    if len(rest) == 1:
        return rest[0] if len(distinct) == 1 else optional(rest[0])
    spelled = ", ".join(each.annotation_str for each in distinct)
    raise error(
        where,
        f"Union[{spelled}] is not supported here: use Optional[T], or one type and a conversion "
        "before the call",
    )


def _of_text(
    annotation: str | typing.ForwardRef, where: SourceRange, resolver: Resolver | None
) -> Type | None:
    """The type of an annotation that is text: in quotes, or in a module with `from __future__
    import annotations`. None if it is not a type.
    """
    text = annotation if isinstance(annotation, str) else annotation.__forward_arg__
    try:
        return type_of_string(tree.StringLiteral(where, text), resolver or mapping_resolver({}))
    except RuntimeError:
        return None


# Annotations in source.

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
UNKNOWN = object()  # a mark of its own, because None is a valid annotation


def type_of_expr(expr: tree.Expr, resolver: Resolver) -> Type:
    """The type that an expression stands for. It is looked up

    1. among the types of the archive, if the code comes from one;
    2. else as a Python object: `Vec`, for `Vec = List[int]`;
    3. by its constructor: `A | B`, `List[A]`, a string in quotes;
    4. among the names of TorchScript's types (`BY_NAME`): `Tensor`, `number`.

    Raises RuntimeError, with the expression underlined, if it is not a type.
    """
    resolve_type = getattr(resolver, "resolve_type", None)
    # 1. Names in the code of an archive refer to its own types, never to Python objects.
    if resolve_type is not None:
        named = type_name(expr)
        known = None if named is None else resolve_type(named)
        if known is not None:
            return known
    # 2. A Python object. None is left to step 4.
    found = UNKNOWN if resolve_type is not None else evaluate(expr, resolver)
    if found is not UNKNOWN and found is not None:
        as_object = try_type_of_annotation(found, expr.range, resolver)
        if as_object is not None:
            return as_object
    # 3. A constructor.
    if isinstance(expr, tree.BinOp) and expr.kind == "|":
        return union([type_of_expr(each, resolver) for each in _members(expr)], expr.range)
    if isinstance(expr, tree.Subscript):
        return _type_of_subscript(expr, resolver)
    if isinstance(expr, tree.StringLiteral):
        return type_of_string(expr, resolver)
    # 4. A name.
    name = type_name(expr)
    if name is None:
        raise error(
            expr.range, f"Expression of type {_kind(expr)} cannot be used in a type expression"
        )
    if name not in BY_NAME:
        raise error(expr.range, f"Unknown type name '{name}'")
    return BY_NAME[name]


def type_of_param(param: tree.Param, resolver: Resolver) -> tuple[Type, int | None]:
    """The type of a parameter, and N if it is annotated `BroadcastingListN[T]` (else None): a
    single T may then be passed for a list of N.
    """
    if param.type is None:
        return TensorType.getInferred(), None
    broadcast = _broadcasting_list(param.type, resolver)
    return broadcast or (type_of_expr(param.type, resolver), None)


def evaluate(expr: tree.Expr, resolver: Resolver) -> Any:
    """The object that names, attributes and subscripts evaluate to; UNKNOWN if that fails."""
    try:
        return _evaluate(expr, resolver)
    except Exception:
        # the user's `__getattr__` and `__getitem__` may raise anything
        return UNKNOWN


def type_name(expr: tree.Expr) -> str | None:
    """The dotted name that an expression spells: `Tensor`, `None`, `a.b.C`; `torch.Tensor` is
    shortened to `Tensor`. None for other expressions.
    """
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
    """The object that an expression evaluates to. Raises NameError for other kinds of expression,
    and whatever the objects in it raise.
    """
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
    """The type of `List[int]` and the like, by the name of the constructor. Raises RuntimeError for
    an unknown constructor, or a wrong number of element types.
    """
    name = type_name(expr.value)
    if name is None:
        raise error(expr.value.range, "Subscripted type must be a type identifier")
    full_name, name = name, name.removeprefix("typing.")
    if name not in (
        "Optional",
        "Union",
        "List",
        "list",
        "Future",
        "Dict",
        "dict",
        "Tuple",
        "tuple",
    ):
        raise error(expr.range, f"Unknown type constructor {full_name}")
    parts = expr.subscript_exprs
    if (  # `Tuple[()]`, the empty tuple
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
    """The type that a string in quotes stands for: a class may be named before it is defined."""
    if hasattr(resolver, "resolve_type"):  # an archive has no quoted types
        raise error(expr.range, f"Unknown type name '{expr.text}'")
    try:
        parsed = build_expression(
            SourceContext(expr.text, None, 1), parse_expression(expr.text.strip())
        )
        found = _members_evaluated(parsed, resolver)
    except Exception:  # not valid Python, or not part of TorchScript
        found = UNKNOWN
    as_object = None if found is UNKNOWN else try_type_of_annotation(found, expr.range, resolver)
    if as_object is None:
        raise error(expr.range, f"Unknown type name '{expr.text}'")
    return as_object


def _members_evaluated(expr: tree.Expr, resolver: Resolver) -> Any:
    """The object of an expression; `A | B` is evaluated as `Union[A, B]`, which also takes members
    that do not define `|`.
    """
    if isinstance(expr, tree.BinOp) and expr.kind == "|":
        return Union[tuple(_evaluate(each, resolver) for each in _members(expr))]  # noqa: UP007
    return _evaluate(expr, resolver)


def _members(expr: tree.Expr) -> list[tree.Expr]:
    """The operands of `A | B | C`, which is parsed as `(A | B) | C`."""
    if isinstance(expr, tree.BinOp) and expr.kind == "|":
        return [*_members(expr.lhs), *_members(expr.rhs)]
    return [expr]


def _broadcasting_list(expr: tree.Expr, resolver: Resolver) -> tuple[Type, int] | None:
    """`List[T]` and N for `BroadcastingListN[T]`, an Optional of it and N for `Optional[...]` or
    `... | None` around it; None for any other annotation.
    """
    inner = None  # the expression within the Optional
    if (
        isinstance(expr, tree.Subscript)
        and type_name(expr.value) == "Optional"
        and len(expr.subscript_exprs) == 1
    ):
        inner = expr.subscript_exprs[0]
    elif (
        isinstance(expr, tree.BinOp) and expr.kind == "|" and isinstance(expr.rhs, tree.NoneLiteral)
    ):
        inner = expr.lhs
    if inner is not None:
        inside = _broadcasting_list(inner, resolver)
        return inside and (optional(inside[0]), inside[1])
    name = type_name(expr.value) if isinstance(expr, tree.Subscript) else None
    if (
        not isinstance(expr, tree.Subscript)
        or name is None
        or not name.startswith("BroadcastingList")
    ):
        return None
    if len(expr.subscript_exprs) != 1:
        raise error(expr.range, "Broadcasting lists must have exactly one element type")
    count = name.removeprefix("BroadcastingList")
    if not (count.isdigit() and count[0] != "0"):
        raise error(
            expr.range, f"Expected a positive length after BroadcastingList, found '{count}'"
        )
    return ListType(type_of_expr(expr.subscript_exprs[0], resolver)), int(count)


def _kind(expr: tree.Expr) -> str:
    return tree.KINDS.get(type(expr), type(expr).__name__.lower())
