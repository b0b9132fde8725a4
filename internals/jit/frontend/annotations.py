"""What an annotation object means as a type of the IR: `int`, `List[Tensor]`, `int | None` (`torch/jit/annotations.py`).

Signatures of functions that are not compiled and attributes of modules come this way. Annotations in source that is compiled are
read by `type_expressions.py`, which ends here when Python knows the names.

`Tensor` stands for all tensors, `torch.FloatTensor` as well: dtypes are not checked. No annotation means Tensor.

How the real one differs: it has unions other than Optional, enums, user classes, interfaces, streams and remote references.
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

from internals.core.device import device
from internals.core.dtype import dtype
from internals.core.generator import Generator
from internals.core.tensor_impl import TensorImpl
from internals.legacy import TENSOR_TYPES

from .. import names
from ..ir import (
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
from .error_report import error
from .resolution import Resolver, closure_resolver, mapping_resolver
from .source import source_lines

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
KEYS = (IntType, FloatType, ComplexType, TensorType, DeviceObjType, StringType)

ONE = "without a contained type. Please add a contained type, e.g."
BARE = {
    id(typing.Tuple): f"Tuple {ONE} Tuple[int]",  # noqa: UP006
    id(typing.List): f"List {ONE} List[int]",  # noqa: UP006
    id(typing.Dict): "Dict without contained types. Please add contained type, e.g. Dict[int, int]",  # noqa: UP006
    id(typing.Optional): f"Optional {ONE} Optional[int]",
}


def type_of_annotation(annotation: Any, where: SourceRange, resolver: Resolver | None = None) -> Type:
    """The type an annotation object means. Raises ValueError if it means none."""
    found = try_type_of_annotation(annotation, where, resolver)
    if found is None:
        raise ValueError(f"Unknown type annotation: '{annotation}' at {where.highlight()}")
    return found


def try_type_of_annotation(annotation: Any, where: SourceRange, resolver: Resolver | None = None) -> Type | None:
    """The same; None for what is no type of TorchScript. Raises RuntimeError for `List` without an element type."""
    if annotation is inspect.Signature.empty:
        return TensorType.getInferred()
    if isinstance(annotation, str | typing.ForwardRef):
        return _of_text(annotation, where, resolver)
    if id(annotation) in BARE:
        raise RuntimeError(f"Attempted to use {BARE[id(annotation)]}")
    origin = typing.get_origin(annotation)
    if origin is not None:
        return _of_generic(annotation, origin, typing.get_args(annotation), where, resolver)
    if inspect.isclass(annotation) and (issubclass(annotation, TensorImpl) or annotation in TENSOR_TYPES.values()):
        return TensorType.get()
    try:
        known = BY_OBJECT.get(annotation)
    except TypeError:  # it cannot be hashed, so it is no type
        return None
    if known is not None:
        return known
    if inspect.isclass(annotation) and issubclass(annotation, tuple) and hasattr(annotation, "_fields"):
        return named_tuple(annotation, where)
    if inspect.isclass(annotation) and issubclass(annotation, enum.Enum):
        raise error(where, f"enums are not supported here: '{annotation.__name__}'; pass the value, an int or a str")
    return None


def named_tuple(cls: type, where: SourceRange) -> TupleType:
    """The type of a NamedTuple class or a `collections.namedtuple`, whose fields are Tensors."""
    annotations = inspect.get_annotations(cls)
    resolver = mapping_resolver(vars(sys.modules.get(cls.__module__, builtins)))
    fields: tuple[str, ...] = cls._fields  # type: ignore[attr-defined]
    empty = inspect.Signature.empty
    types_ = [type_of_annotation(annotations.get(field, empty), where, resolver) for field in fields]
    return TupleType(types_, fields, names.qualified_name(cls))


def signature_types(
    fn: Callable[..., Any], where: SourceRange, resolver: Resolver | None = None, is_method: bool = False
) -> tuple[list[Type], Type] | None:
    """The types of the parameters and of the result of a function that is not compiled; None if it says none.

    Annotations count first, then a type comment in the source. For a method, `self` is left out.
    """
    try:
        signature = inspect.signature(fn)
    except ValueError:
        return None
    resolver = resolver or closure_resolver(fn)
    annotations = [signature.return_annotation, *(p.annotation for p in signature.parameters.values())]
    if any(each is not inspect.Signature.empty for each in annotations):
        returned, *given = (type_of_annotation(each, where, resolver) for each in annotations)
        return given[is_method:], returned
    return _comment_types(fn, resolver)


def _comment_types(fn: Callable[..., Any], resolver: Resolver) -> tuple[list[Type], Type] | None:
    from .type_expressions import type_of_expr

    try:
        comment = type_comments.find("".join(source_lines(fn)[0]))
    except (OSError, TypeError):
        return None
    if comment is None:
        return None
    decl = type_comments.parse(comment)
    given = [type_of_expr(param.type, resolver) for param in decl.params if param.type is not None]
    return given, type_of_expr(decl.return_type, resolver) if decl.return_type is not None else TensorType.get()


def dict_type(key: Type, value: Type) -> DictType:
    """Raises RuntimeError for keys that cannot be."""
    if not isinstance(key, KEYS):
        raise RuntimeError(
            f"Cannot create dict for key type '{key}', only int, float, complex, Tensor, device and string keys are supported"
        )
    return DictType(key, value)


def _of_generic(
    annotation: Any, origin: Any, args: tuple[Any, ...], where: SourceRange, resolver: Resolver | None
) -> Type | None:
    if origin in (Union, types.UnionType):
        return _of_union(annotation, args, where, resolver)
    if origin is tuple and args == ((),):
        args = ()
    if Ellipsis in args:
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


def _of_union(annotation: Any, args: tuple[Any, ...], where: SourceRange, resolver: Resolver | None) -> Type:
    if set(args) == {int, float, complex}:
        return NumberType.get()
    members = []
    for each in args:
        member = try_type_of_annotation(each, where, resolver)
        if member is None:
            raise AssertionError(
                f"Unsupported annotation {annotation!r} could not be resolved because {each!r} could not be resolved. At\n"
                f"SourceRange at:\n{where.highlight()}"
            )
        members.append(member)
    return union(members, where)


def union(members: list[Type], where: SourceRange) -> Type:
    """`T | None` is an optional; `int | float | complex` a number. Raises RuntimeError for other unions."""
    distinct = list(dict.fromkeys(members))
    rest = [each for each in distinct if not isinstance(each, NoneType)]
    if {type(each) for each in rest} == {IntType, FloatType, ComplexType}:
        number = NumberType.get()
        return number if len(rest) == len(distinct) else optional(number)
    if len(rest) == 1:
        return rest[0] if len(distinct) == 1 else optional(rest[0])
    spelled = ", ".join(each.annotation_str for each in distinct)
    raise error(
        where, f"Union[{spelled}] is not supported here: use Optional[T], or one type and a conversion before the call"
    )


def _of_text(annotation: str | typing.ForwardRef, where: SourceRange, resolver: Resolver | None) -> Type | None:
    """`from __future__ import annotations` leaves text, and so do quotes."""
    from .type_expressions import type_of_string

    text = annotation if isinstance(annotation, str) else annotation.__forward_arg__
    try:
        return type_of_string(tree.StringLiteral(where, text), resolver or mapping_resolver({}))
    except RuntimeError:
        return None
