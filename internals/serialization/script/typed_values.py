"""Checks that the values in the pickle have the types that the code declares
(`restoreAccurateTypeIfPossible` in `torch/csrc/jit/serialization/unpickler.cpp`).

The code of an archive declares `weight : Tensor` and `sizes : List[int]`, and is compiled for these
types; the pickle has the values. Each value is checked against its declared type, at any depth, as
the compiled graph relies on it.

The size of the values is also checked: forty lists, each of which contains the next one twice, take
a few hundred bytes in the pickle, but 2^40 elements for a program that visits all of them.

How the real one differs: it marks lists and dicts with the declared types, and does not check
their contents.
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

# At most LARGEST elements and objects, plus SHARE for each byte of the pickle; those that are
# shared count as often as they can be reached.
LARGEST, SHARE = 1 << 16, 4
# types whose values are checked by `isinstance` alone
SIMPLE: dict[type[Type], tuple[type, ...]] = {
    TensorType: (TensorImpl,), FloatType: (float,), ComplexType: (complex,), BoolType: (bool,),
    StringType: (str,), NumberType: (int, float, complex), NoneType: (type(None),),
    DeviceObjType: (device,),
}  # fmt: skip


def check_type(
    value: Any, type: Type, place: str, seen: set[tuple[int, Type]] | None = None
) -> None:
    """Raises ArchiveError, with the place, unless `value` is of this type. `seen` are the
    containers that have been checked, as (id, type).
    """
    seen = set() if seen is None else seen
    if isinstance(value, (list, dict, tuple)):
        if (id(value), type) in seen:  # shared, or inside itself
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
            check_type(each, type.value, f"{place}[{_shown(key)}]", seen)
    elif isinstance(type, TupleType):
        _expect(isinstance(value, tuple) and len(value) == len(type.elements), value, type, place)
        for i, (each, element) in enumerate(zip(value, type.elements)):
            check_type(each, element, f"{place}[{i}]", seen)
    elif isinstance(type, IntType):
        _expect(
            isinstance(value, int) and not isinstance(value, bool) and -1 << 63 <= value < 1 << 63,
            value,
            type,
            place,
        )
    elif isinstance(type, ClassType):
        _expect(getattr(value, "__dict__", {}).get("_jit_type") is type, value, type, place)
    elif isinstance(type, AnyType):
        _check_anything(value, place, seen)
    else:
        _expect(isinstance(value, SIMPLE.get(type.__class__, ())), value, type, place)


def _shown(key: int | str) -> str:
    """A key in the place of a value, at most 50 characters, as a place may have many of them."""
    return repr(key[:50] if isinstance(key, str) else key)


class Sizes:
    """Counts elements and objects as if nothing were shared: those reached in two ways count twice.
    `nbytes` is the size of the pickle.
    """

    def __init__(self, nbytes: int) -> None:
        self.most = LARGEST + SHARE * nbytes
        # id -> (value, which keeps the id its own; size)
        self.known: dict[int, tuple[Any, int]] = {}

    def check(self, value: Any, place: str) -> None:
        """Raises ArchiveError if `value` and its parts are more than a pickle of this length should
        describe.
        """
        if self.of(value) > self.most:
            raise ArchiveError(
                f"{place} has more than {self.most} elements and objects, counted as often as they "
                "are reached"
            )

    def of(self, value: object) -> int:
        """The size of a value, each container computed once, limited to 2^62."""
        parts = parts_of(value)
        if not parts:
            return 1
        if id(value) not in self.known:
            self.known[id(value)] = value, 1  # ends the recursion if it contains itself
            self.known[id(value)] = value, min(1 + sum(map(self.of, parts)), 1 << 62)
        return self.known[id(value)][1]


def parts_of(value: object) -> list[Any]:
    """The items of a container, keys too, or the attributes of an object; [] for other values."""
    if isinstance(value, dict):
        return [*value, *value.values()]
    if isinstance(value, (list, tuple)):
        return list(value)
    type = getattr(value, "__dict__", {}).get("_jit_type")
    return [] if type is None else [getattr(value, name, None) for name in type.attributes]


def _check_anything(value: object, place: str, seen: set[tuple[int, Type]]) -> None:
    """Raises ArchiveError unless a value of the type Any is of one of the types in graphs."""
    for each in parts_of(value) if isinstance(value, (list, tuple, dict)) else ():
        check_type(each, AnyType.get(), place, seen)
    known = (TensorImpl, int, float, complex, str, type(None), device, list, tuple, dict)
    _expect(
        isinstance(value, known) or "_jit_type" in getattr(value, "__dict__", {}),
        value,
        AnyType.get(),
        place,
    )


def _expect(fits: bool, value: object, type: Type, place: str) -> None:
    if not fits:
        shown = (
            f"{value!r:.50}"
            if isinstance(value, (int, float, str, bool))
            else f"a {value.__class__.__name__}"
        )
        raise ArchiveError(
            f"{place} is declared to be of type {type.annotation_str}, but is {shown}"
        )
