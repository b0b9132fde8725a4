"""Is what the pickle says what the code says? (`restoreAccurateTypeIfPossible` of `torch/csrc/jit/serialization/unpickler.cpp`.)

The code of an archive declares `weight : Tensor` and `sizes : List[int]`, and is compiled accordingly; the pickle brings the
values. That each value is of the type declared for it is checked here, all the way down, because the compiled graph relies on
it.

How the real one differs: it labels lists and dicts with the declared types, and does not look whether their contents agree.
"""

from __future__ import annotations

from typing import Any

from internals.core.device import device
from internals.core.tensor_impl import TensorImpl
from internals.jit.ir import (
    AnyType,
    BoolType,
    ClassType,
    ComplexType,
    DeviceObjType,
    DictType,
    FloatType,
    IntType,
    ListType,
    NoneType,
    NumberType,
    OptionalType,
    StringType,
    TensorType,
    TupleType,
    Type,
)

from ..errors import ArchiveError

SIMPLE: dict[type[Type], tuple[type, ...]] = {
    TensorType: (TensorImpl,), FloatType: (float,), ComplexType: (complex,), BoolType: (bool,), StringType: (str,),
    NumberType: (int, float, complex), NoneType: (type(None),), DeviceObjType: (device,),
}  # fmt: skip


def check_type(value: Any, type: Type, place: str, seen: set[tuple[int, Type]] | None = None) -> None:
    """Raises ArchiveError, naming the place, unless `value` is of this type."""
    seen = set() if seen is None else seen
    if isinstance(value, (list, dict, tuple)):
        if (id(value), type) in seen:  # met before: a list may be held by many
            return
        seen.add((id(value), type))
    if isinstance(type, OptionalType):
        if value is not None:
            check_type(value, type.element, place, seen)
    elif isinstance(type, ListType):
        _expect(isinstance(value, list), value, type, place)
        for i, each in enumerate(value):
            check_type(each, type.element, f"{place}[{i}]", seen)
    elif isinstance(type, DictType):
        _expect(isinstance(value, dict), value, type, place)
        for key, each in value.items():
            check_type(key, type.key, f"a key of {place}", seen)
            check_type(each, type.value, f"{place}[{key!r}]", seen)
    elif isinstance(type, TupleType):
        _expect(isinstance(value, tuple) and len(value) == len(type.elements), value, type, place)
        for i, (each, element) in enumerate(zip(value, type.elements)):
            check_type(each, element, f"{place}[{i}]", seen)
    elif isinstance(type, IntType):
        _expect(
            isinstance(value, int) and not isinstance(value, bool) and -1 << 63 <= value < 1 << 63, value, type, place
        )
    elif isinstance(type, ClassType):
        _expect(getattr(value, "__dict__", {}).get("_jit_type") is type, value, type, place)
    elif isinstance(type, AnyType):
        _check_anything(value, place, seen)
    else:
        _expect(isinstance(value, SIMPLE.get(type.__class__, ())), value, type, place)


def _check_anything(value: Any, place: str, seen: set[tuple[int, Type]]) -> None:
    """A value that may be of any type is at least one of those that graphs have."""
    parts = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else []
    for each in parts:
        check_type(each, AnyType.get(), place, seen)
    known = (TensorImpl, int, float, complex, str, type(None), device, list, tuple, dict)
    _expect(isinstance(value, known) or "_jit_type" in getattr(value, "__dict__", {}), value, AnyType.get(), place)


def _expect(fits: bool, value: Any, type: Type, place: str) -> None:
    if not fits:
        shown = f"{value!r:.50}" if isinstance(value, (int, float, str, bool)) else f"a {value.__class__.__name__}"
        raise ArchiveError(f"{place} is declared to be of type {type.annotation_str}, but is {shown}")
