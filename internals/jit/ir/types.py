"""The types of TorchScript values (`aten/src/ATen/core/jit_type.h`, `jit_type_base.h`).

Every value of a graph has one. Types are immutable and compared by value; those without parts are
singletons, `IntType.get()`. A type has three spellings: `str()`, in messages and schemas (`int[]`,
`Dict(str, int)`); `annotation_str`, as Python annotates it (`List[int]`); and `repr_str()`, in
graphs, where a tensor's type has all that is known of it (`Float(2, 3, strides=[3, 1],
requires_grad=0, device=cpu)`).

A type has at most `LARGEST` parts, each counted as often as it is spelled: with `B = Tuple[A, A]`,
`C = Tuple[B, B]` and so on, twenty lines would make a type of a million parts, which takes hours to
print or compare.

`isSubtypeOf` says which values may stand where a type is expected: an int for a `Scalar`, an `int`
for an `int?`, a tensor of known shape for a `Tensor`. Lists and dicts are invariant, because they
can be written to: as an `int?[]`, an `int[]` could be given a None.

The tensor type is in `tensor_type.py`, that of modules in `class_type.py`.

How the real one differs: there are more (unions, enums, interfaces, symbolic ints, rrefs, streams),
of any size, and types are reference counted and compared by structure or by pointer, whichever is
cheaper.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

T = TypeVar("T", bound="Type")
Text = str  # inside the classes below, `str` is a method
LARGEST, DEEPEST = 1 << 14, 100  # most parts of a type, most levels of types inside types


class Type:
    """A TorchScript type. Subclasses define `parts`, by which two of them are compared, and `name`,
    their spelling.
    """

    __slots__ = ("_hash",)
    name = ""
    size = depth = 1  # how many types it is spelled with, and how many of them are nested

    def parts(self) -> tuple[Any, ...]:
        return ()

    def kind(self) -> Text:
        return type(self).__name__

    def str(self) -> Text:
        """The spelling in messages and schemas: `int[]`."""
        return self.name

    @property
    def annotation_str(self) -> Text:
        """The spelling of a Python annotation: `List[int]`."""
        return self.name

    def repr_str(self) -> Text:
        """The spelling in graphs: that of schemas, unless a subclass says more."""
        return self.str()

    def containedTypes(self) -> list[Type]:
        return []

    def withContained(self, types: list[Type]) -> Type:
        """The same container of other types; the type itself if it is not a container."""
        return self

    def isSubtypeOf(self, other: Type) -> bool:
        """Whether a value of this type may stand where `other` is expected."""
        if self == other or isinstance(other, AnyType):
            return True
        return isinstance(other, OptionalType) and self.isSubtypeOf(other.element)

    def __eq__(self, other: object) -> bool:
        return self is other or (type(self) is type(other) and self.parts() == other.parts())

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            self._hash: int = hash((type(self), self.parts()))
            return self._hash

    def __str__(self) -> Text:
        return self.str()

    def __repr__(self) -> Text:
        return self.annotation_str


class SingletonType(Type):
    """A type without parts. `get()` returns the only instance."""

    __slots__ = ()

    @classmethod
    def get(cls: type[T]) -> T:
        found = _singletons.get(cls)
        if found is None:
            found = _singletons[cls] = cls()
        return found  # type: ignore[return-value]


_singletons: dict[type, Type] = {}


class AnyType(SingletonType):
    __slots__ = ()
    name = "Any"


class NumberType(SingletonType):
    """An int, a float or a complex: `Scalar` in schemas."""

    __slots__ = ()
    name = "Scalar"

    @property
    def annotation_str(self) -> Text:
        return "number"


class NumericType(SingletonType):
    """A subtype of `Scalar`: int, float and complex, but not bool."""

    __slots__ = ()

    def isSubtypeOf(self, other: Type) -> bool:
        return isinstance(other, NumberType) or super().isSubtypeOf(other)


class IntType(NumericType):
    __slots__ = ()
    name = "int"


class FloatType(NumericType):
    __slots__ = ()
    name = "float"


class ComplexType(NumericType):
    __slots__ = ()
    name = "complex"


class BoolType(SingletonType):
    __slots__ = ()
    name = "bool"


class StringType(SingletonType):
    __slots__ = ()
    name = "str"


class NoneType(SingletonType):
    """The type of None, which may stand for anything optional."""

    __slots__ = ()
    name = "NoneType"

    def isSubtypeOf(self, other: Type) -> bool:
        return isinstance(other, OptionalType) or super().isSubtypeOf(other)


class DeviceObjType(SingletonType):
    __slots__ = ()
    name = "Device"


class GeneratorType(SingletonType):
    __slots__ = ()
    name = "Generator"


class StorageType(SingletonType):
    """Memory without a type: the argument of `aten::set_`."""

    __slots__ = ()
    name = "Storage"


class StreamObjType(SingletonType):
    """A queue of work on a GPU: the argument of `aten::record_stream`."""

    __slots__ = ()
    name = "Stream"


class PyObjectType(SingletonType):
    __slots__ = ()
    name = "PyObject"


class AnyListType(SingletonType):
    """Any list: the type that `isinstance(x, list)` asks for."""

    __slots__ = ()
    name = "list"


class AnyTupleType(SingletonType):
    __slots__ = ()
    name = "tuple"


class VarType(Type):
    """A type variable of a schema: `t` in `aten::append.t(t[](a!) self, t el) -> t[](a!)`."""

    __slots__ = ("name",)

    def __init__(self, name: Text) -> None:
        self.name = name

    def parts(self) -> tuple[Any, ...]:
        return (self.name,)


class SingleElementType(Type):
    """A type with one other type in it, `element`."""

    __slots__ = ("element", "size", "depth")

    def __init__(self, element: Type) -> None:
        self.element = element
        self.size, self.depth = measured((element,))

    def parts(self) -> tuple[Any, ...]:
        return (self.element,)

    def getElementType(self) -> Type:
        return self.element

    def containedTypes(self) -> list[Type]:
        return [self.element]

    def withContained(self, types: list[Type]) -> Type:
        return self.__class__(*types)


class OptionalType(SingleElementType):
    """A value of type `element`, or None. Make it by `optional`, which avoids
    `Optional[Optional[T]]` and `Optional[None]`.
    """

    __slots__ = ()

    def str(self) -> Text:
        return self.element.str() + "?"

    @property
    def annotation_str(self) -> Text:
        return f"Optional[{self.element.annotation_str}]"

    def repr_str(self) -> Text:
        return self.element.repr_str() + "?"

    def isSubtypeOf(self, other: Type) -> bool:
        if isinstance(other, OptionalType):
            return self.element.isSubtypeOf(other.element)
        return super().isSubtypeOf(other)


class ListType(SingleElementType):
    """A list whose elements have the type `element`: `int[]`."""

    __slots__ = ()

    def str(self) -> Text:
        return self.element.str() + "[]"

    @property
    def annotation_str(self) -> Text:
        return f"List[{self.element.annotation_str}]"

    def repr_str(self) -> Text:
        return self.element.repr_str() + "[]"

    def isSubtypeOf(self, other: Type) -> bool:
        return isinstance(other, AnyListType) or super().isSubtypeOf(other)


class FutureType(SingleElementType):
    """The result of `fork`, a value of type `element` that is computed in another thread."""

    __slots__ = ()

    def str(self) -> Text:
        return f"Future({self.element.str()})"

    @property
    def annotation_str(self) -> Text:
        return f"Future[{self.element.annotation_str}]"

    def repr_str(self) -> Text:
        return f"Future[{self.element.repr_str()}]"

    def isSubtypeOf(self, other: Type) -> bool:
        if isinstance(other, FutureType):
            return self.element.isSubtypeOf(other.element)
        return super().isSubtypeOf(other)


class DictType(Type):
    """A dict with keys of one type and values of one type: `Dict(str, int)`."""

    __slots__ = ("key", "value", "size", "depth")

    def __init__(self, key: Type, value: Type) -> None:
        self.key, self.value = key, value
        self.size, self.depth = measured((key, value))

    def parts(self) -> tuple[Any, ...]:
        return self.key, self.value

    def getKeyType(self) -> Type:
        return self.key

    def getValueType(self) -> Type:
        return self.value

    def containedTypes(self) -> list[Type]:
        return [self.key, self.value]

    def withContained(self, types: list[Type]) -> Type:
        return DictType(*types)

    def str(self) -> Text:
        return f"Dict({self.key.str()}, {self.value.str()})"

    @property
    def annotation_str(self) -> Text:
        return f"Dict[{self.key.annotation_str}, {self.value.annotation_str}]"


class TupleType(Type):
    """A tuple of known length. A named tuple has `names` and `qualified_name`."""

    __slots__ = ("elements", "names", "qualified_name", "size", "depth")

    def __init__(
        self,
        elements: Sequence[Type],
        names: Sequence[str] | None = None,
        qualified_name: Text | None = None,
    ) -> None:
        self.elements: tuple[Type, ...] = tuple(elements)
        self.names: tuple[Text, ...] | None = tuple(names) if names is not None else None
        self.qualified_name = qualified_name
        self.size, self.depth = measured(self.elements)

    def parts(self) -> tuple[Any, ...]:
        return self.elements, self.names, self.qualified_name

    def containedTypes(self) -> list[Type]:
        return list(self.elements)

    def withContained(self, types: list[Type]) -> Type:
        return TupleType(types, self.names, self.qualified_name)

    def str(self) -> Text:
        return self.qualified_name or f"({', '.join(e.str() for e in self.elements)})"

    @property
    def annotation_str(self) -> Text:
        if self.qualified_name:
            return self.qualified_name
        return f"Tuple[{', '.join(e.annotation_str for e in self.elements) or '()'}]"

    def repr_str(self) -> Text:
        if self.names:
            fields = (f"{n} : {e.repr_str()}" for n, e in zip(self.names, self.elements))
            return f"NamedTuple({', '.join(fields)})"
        return f"({', '.join(e.repr_str() for e in self.elements)})"

    def isSubtypeOf(self, other: Type) -> bool:
        if isinstance(other, AnyTupleType):
            return True
        # element by element: a tuple cannot be written to
        if isinstance(other, TupleType):
            fits = len(self.elements) == len(other.elements) and (
                other.names is None or self.names == other.names
            )
            return fits and all(a.isSubtypeOf(b) for a, b in zip(self.elements, other.elements))
        return super().isSubtypeOf(other)


class FunctionType(Type):
    """The type of one function: the callee of a `prim::CallFunction`."""

    __slots__ = ("function",)
    name = "Function"

    def __init__(self, function: Any = None) -> None:
        self.function = function

    def parts(self) -> tuple[Any, ...]:
        return (id(self.function),)


CONTAINERS = (OptionalType, ListType, DictType, TupleType, FutureType)


def measured(parts: Sequence[Type]) -> tuple[int, int]:
    """Size and depth of a type with these parts. Raises RuntimeError above `LARGEST` or
    `DEEPEST`.
    """
    size = depth = 1
    for part in parts:
        size += part.size
        depth = max(depth, 1 + part.depth)
    if size > LARGEST:
        raise RuntimeError(f"a type of {size} parts, written out; the largest has {LARGEST}")
    if depth > DEEPEST:
        raise RuntimeError(f"a type of {depth} types inside each other; the deepest has {DEEPEST}")
    return size, depth


def optional(element: Type) -> Type:
    """`element?`, or `element` itself if that includes None already."""
    return (
        element if isinstance(element, (OptionalType, NoneType, AnyType)) else OptionalType(element)
    )
