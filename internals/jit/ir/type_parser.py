"""The parser of types, as graphs print them and as schemas spell them
(`torch/csrc/jit/frontend/schema_type_parser.cpp`).

`parse_type("Dict(str, int[])?")` returns a `Type`. In a schema a type may have additions: an alias
annotation, `Tensor(a!)`, and for a list the length to which a single element is repeated, `int[2]`.
`TypeParser.parse` returns them beside the type. In a graph a tensor type has what is known of the
tensor: `Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu)`.

A lower-case name that is not a type is a type variable: the `t` of `aten::append.t(t[](a!) self, t
el) -> t[](a!)`.

How the real one differs: it does not read all types that graphs print (`__torch__.M` of a module,
`FloatTensor`, `Future[int]`, `NamedTuple(a : int)`); and it knows unions, enums and streams.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

from internals.core.device import TYPES as DEVICE_TYPES, device
from internals.core.dtype import SCALAR_TYPE_NAME
from internals.core.schema_parser import UNKNOWN_TYPE
from internals.core.token_reader import END, IDENT, NUMBER, TokenReader

from . import types as t
from .alias_info import WILDCARD, AliasInfo
from .class_type import ClassType
from .tensor_type import TensorType

BASE_TYPES: dict[str, t.Type] = {
    "int": t.IntType.get(), "float": t.FloatType.get(), "bool": t.BoolType.get(),
    "complex": t.ComplexType.get(),
    "str": t.StringType.get(), "string": t.StringType.get(), "Scalar": t.NumberType.get(),
    "number": t.NumberType.get(),
    "None": t.NoneType.get(), "NoneType": t.NoneType.get(), "Any": t.AnyType.get(),
    "Device": t.DeviceObjType.get(), "Generator": t.GeneratorType.get(),
    "PyObject": t.PyObjectType.get(),
    "Storage": t.StorageType.get(), "Stream": t.StreamObjType.get(),
    "list": t.AnyListType.get(), "tuple": t.AnyTupleType.get(), "Function": t.FunctionType(),
    # Ints in the IR, which become objects when the operator is called (`enums.py`).
    "ScalarType": t.IntType.get(), "Layout": t.IntType.get(), "MemoryFormat": t.IntType.get(),
    "SymInt": t.IntType.get(), "DeviceIndex": t.IntType.get(), "Dimname": t.StringType.get(),
}  # fmt: skip

DTYPES = {name: dtype for dtype, name in SCALAR_TYPE_NAME.items()}


def parse_type(
    text: str, *, in_graph: bool = True, classes: dict[str, ClassType] | None = None
) -> t.Type:
    """The type that `text` spells. Raises RuntimeError, with the position, if it is not a type.

    `in_graph=False` reads it as in a schema, where `Tensor(*)` is a tensor that may share memory
    with anything and not a tensor of one dimension. `classes` are the class types known by name; a
    name that is not among them is added.
    """
    reader = TokenReader(text)
    parsed = TypeParser(reader, in_graph=in_graph, classes=classes).parse()
    if reader.current.kind != END:
        raise reader.expected(END)
    return parsed.type


class ParsedType(NamedTuple):
    """A type with its additions in a schema. `size` is the N of `int[N]`; `text` is the type as
    written, which may tell more than the type: `ScalarType? dtype` is an `int?` to the compiler.
    """

    type: t.Type
    alias_info: AliasInfo | None = None
    size: int | None = None
    text: str = ""


class TypeParser:
    """Reads types from a `TokenReader`, leaving it after the last token of the type."""

    def __init__(
        self,
        reader: TokenReader,
        *,
        in_graph: bool = False,
        classes: dict[str, ClassType] | None = None,
    ) -> None:
        self.reader, self.in_graph = reader, in_graph
        self.classes = classes if classes is not None else {}
        self._fresh = itertools.count()

    def parse(self) -> ParsedType:
        """Reads a type with its suffixes: `T[]`, `T[2]`, `T?`, each with its annotation."""
        reader, size = self.reader, None
        start = reader.current.start
        type, alias = self._unsuffixed()
        while True:
            # `T[]`, or `Tensor[AutogradZero]`, a gradient that does not exist
            if reader.at("[") and reader.lookahead().text in ("]", "AutogradZero"):
                reader.next()
                if reader.accept("AutogradZero"):
                    type = type.with_(undefined=True) if isinstance(type, TensorType) else type
                    reader.expect("]")
                    continue
                reader.next()
                type, alias = t.ListType(type), self._container_alias(alias)
            elif not self.in_graph and reader.at("[") and reader.lookahead().kind == NUMBER:
                reader.next()
                size = reader.integer()
                reader.expect("]")
                type, alias = t.ListType(type), self._container_alias(alias)
            elif reader.accept("?"):
                type = t.optional(type)
            else:
                return ParsedType(type, alias, size, reader.text[start : reader.previous.end])

    def _unsuffixed(self) -> tuple[t.Type, AliasInfo | None]:
        reader = self.reader
        token = reader.current
        if token.text == "(":
            return t.TupleType(
                [part.type for part in reader.items("(", ",", ")", self.parse)]
            ), None
        if token.kind != IDENT:
            raise reader.expected(IDENT)
        name = reader.next().text
        # read by `_future`, `_namedtuple`, `_dict`, `_torch`
        if name in ("Future", "NamedTuple", "Dict", "__torch__"):
            return getattr(self, f"_{name.strip('_').lower()}")(), self._alias()
        if (tensor := self._tensor(name)) is not None:
            return tensor, self._alias()
        if name in BASE_TYPES:
            return BASE_TYPES[name], self._alias()
        if name[0].islower():
            return t.VarType(name), self._alias()
        raise reader.error(UNKNOWN_TYPE, token)

    # Types with parts

    def _future(self) -> t.Type:
        """Reads the rest of `Future[int]`, as graphs print it, or `Future(int)`, as schemas spell
        it.
        """
        closing = "]" if self.reader.accept("[") else ")"
        if closing == ")":
            self.reader.expect("(")
        element = self.parse().type
        self.reader.expect(closing)
        return t.FutureType(element)

    def _dict(self) -> t.Type:
        """Reads the rest of `Dict(str, int)`."""
        self.reader.expect("(")
        key = self.parse().type
        self.reader.expect(",")
        value = self.parse().type
        self.reader.expect(")")
        return t.DictType(key, value)

    def _namedtuple(self) -> t.Type:
        """Reads the rest of `NamedTuple(a : int, b : Tensor)`."""

        def field() -> tuple[str, t.Type]:
            name = self.reader.expect_kind(IDENT).text
            self.reader.expect(":")
            return name, self.parse().type

        fields = self.reader.items("(", ",", ")", field)
        return t.TupleType([type for _, type in fields], [name for name, _ in fields])

    def _torch(self) -> t.Type:
        """Reads `__torch__.package.module.Class`; the same name gives the same class type."""
        name = "__torch__"
        while self.reader.accept("."):
            name += "." + self.reader.expect_kind(IDENT).text
        found = self.classes.get(name)
        if found is None:
            found = self.classes[name] = ClassType(name)
        return found

    # Tensors

    def _tensor(self, name: str) -> TensorType | None:
        """The tensor type that begins with `name`: `Tensor`, `Float(2, 3)`, `FloatTensor`; None
        if the name is not that of a tensor type.
        """
        # `Float(...)` has a known rank, `FloatTensor` only a dtype
        ranked = DTYPES.get(name)
        dtype = ranked or (DTYPES.get(name.removesuffix("Tensor")) if self.in_graph else None)
        if name != "Tensor" and (dtype is None or not self.in_graph):
            return None
        details = self.reader.at("(") and self.in_graph
        if not details and ranked is None:
            return TensorType(dtype) if dtype else TensorType.get()
        sizes: list[int | None] = []
        known: dict[str, object] = {}

        def detail() -> None:
            if self.reader.current.kind == IDENT:
                self._named_detail(known)
            elif self.reader.accept("*"):
                sizes.append(None)
            else:
                sizes.append(self.reader.integer(signed=False))

        begin = self.reader.current
        self.reader.items("(", ",", ")", detail)
        strides = known.get("strides")
        if isinstance(strides, list) and len(strides) != len(sizes):
            raise self.reader.error(
                f"expected as many strides as sizes but found {len(strides)} for {len(sizes)}",
                begin,
            )
        rank_known = ranked is not None or bool(sizes)
        return TensorType(dtype, sizes=sizes if rank_known else None, **known)  # type: ignore[arg-type]

    def _named_detail(self, known: dict[str, object]) -> None:
        """Reads `strides=[3, 1]`, `requires_grad=0` or `device=cuda:0` into `known`."""
        reader, token = self.reader, self.reader.current
        if token.text not in ("strides", "requires_grad", "device"):
            raise reader.error(f"Unexpected specifier '{token.text}'", token)
        reader.next()
        reader.expect("=")
        if token.text == "strides":
            known["strides"] = reader.items("[", ",", "]", lambda: reader.integer(signed=False))
        elif token.text == "requires_grad":
            known["requires_grad"] = bool(reader.integer())
        else:
            name = reader.expect_kind(IDENT)
            if name.text not in DEVICE_TYPES:
                raise reader.error(f"cannot parse device type '{name.text}'", name)
            known["device"] = device(name.text, reader.integer() if reader.accept(":") else None)

    # Alias annotations

    def _alias(self) -> AliasInfo | None:
        """Reads `(a)`, `(a!)`, `(a! -> a|b)`, or `!` alone, which writes to a set without a name;
        None if there is no annotation.
        """
        reader = self.reader
        if reader.accept("!"):
            fresh = (f"${next(self._fresh)}",)
            return AliasInfo(fresh, fresh, is_write=True)
        if not reader.accept("("):
            return None
        before = self._alias_sets()
        is_write = reader.accept("!")
        after = self._alias_sets() if reader.accept("->") else before
        reader.expect(")")
        return AliasInfo(before, after, is_write)

    def _alias_sets(self) -> tuple[str, ...]:
        """Reads `a|b`; with a wildcard among them, it is the only one that counts."""
        sets: list[str] = []
        while True:
            sets.append(
                WILDCARD if self.reader.accept("*") else self.reader.expect_kind(IDENT).text
            )
            if not self.reader.accept("|"):
                return (WILDCARD,) if WILDCARD in sets else tuple(sets)

    def _container_alias(self, inner: AliasInfo | None) -> AliasInfo | None:
        """Reads the annotation after `[]`, and puts `inner`, that of the elements, into it. Without
        one of its own, a list is written to if its elements are.
        """
        outer = self._alias()
        if inner is None:
            return outer
        return (outer or AliasInfo(is_write=inner.is_write)).with_contained(inner)
