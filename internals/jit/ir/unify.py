"""The least type that covers two others: the type of an If whose arms differ (`unifyTypes` in
`aten/src/ATen/core/type.cpp`).

    Tensor, None                  Tensor?
    int, int?                     int?
    (int, None), (int, float)     (int, float?)
    int, str                      None: there is none

How the real one differs: it can fall back to a Union or to Any if asked; here two types that do not
fit have no common type.
"""

from __future__ import annotations

from collections.abc import Sequence

from .tensor_type import TensorType
from .types import DictType, FutureType, ListType, NoneType, OptionalType, TupleType, Type, optional


def unify_types(a: Type, b: Type) -> Type | None:
    """The common type of `a` and `b`, or None if there is none."""
    if isinstance(a, TensorType) and isinstance(b, TensorType):
        return a.merge(b)
    if a.isSubtypeOf(b):
        return b
    if b.isSubtypeOf(a):
        return a
    if isinstance(a, NoneType) or isinstance(b, NoneType):
        return optional(b if isinstance(a, NoneType) else a)
    if isinstance(a, OptionalType) or isinstance(b, OptionalType):
        inner = unify_types(*(t.element if isinstance(t, OptionalType) else t for t in (a, b)))
        return optional(inner) if inner is not None else None
    if isinstance(a, TupleType) and isinstance(b, TupleType) and len(a.elements) == len(b.elements):
        parts = [unify_types(x, y) for x, y in zip(a.elements, b.elements)]
        return TupleType([p for p in parts if p is not None]) if None not in parts else None
    if isinstance(a, FutureType) and isinstance(b, FutureType):
        inner = unify_types(a.element, b.element)
        return FutureType(inner) if inner is not None else None
    # Lists and dicts are invariant, so only tensors of different shapes have a common type there.
    if isinstance(a, ListType) and isinstance(b, ListType):
        return ListType(TensorType.get()) if _both_tensors(a.element, b.element) else None
    if isinstance(a, DictType) and isinstance(b, DictType) and a.key == b.key:
        return DictType(a.key, TensorType.get()) if _both_tensors(a.value, b.value) else None
    return None


def unify_type_list(types: Sequence[Type]) -> Type | None:
    """The common type of one or more types, or None if there is none."""
    common: Type | None = types[0]
    for t in types[1:]:
        common = unify_types(common, t) if common is not None else None
    return common


def _both_tensors(a: Type, b: Type) -> bool:
    return isinstance(a, TensorType) and isinstance(b, TensorType)
