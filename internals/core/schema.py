"""Operator schemas: the line of text that declares an operator
(`aten/src/ATen/core/function_schema.h`, `torchgen/model.py`).

`parse_schema("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor")` returns a
`FunctionSchema`, whose `str()` is the line again. `Tensor(a!)`, with a `!`, is an argument that the
operator writes to; `Tensor(a)` on an argument and on a result means that the result is a view of
it. Arguments after `*` are keyword-only.

How the real one differs: PyTorch has two parsers, one in C++ for dispatcher and JIT and one in
Python for code generation, and more types (SymInt, Storage, Dimname, quantizers, function types).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from keyword import iskeyword
from typing import Any

from .schema_parser import UNKNOWN_TYPE, DefaultKind, SchemaParser
from .token_reader import IDENT, NUMBER

BASE_TYPES = (
    "Tensor", "Scalar", "int", "float", "bool", "str", "complex", "ScalarType", "Layout", "Device",
    "MemoryFormat", "Generator", "Storage", "Stream",
)  # fmt: skip


@dataclass(frozen=True)
class Type:
    """The type of an argument or a result. `int[2]?` has base "int", is_list, list_size 2 and
    optional; `Tensor?[]` has optional_elements.
    """

    base: str
    is_list: bool = False
    list_size: int | None = None
    optional: bool = False
    optional_elements: bool = False

    def __str__(self) -> str:
        element = self.base + ("?" if self.optional_elements else "")
        listed = f"{element}[{self.list_size or ''}]" if self.is_list else element
        return listed + ("?" if self.optional else "")


@dataclass(frozen=True)
class Argument:
    """One parameter. `alias` is the annotation, "a!" in `Tensor(a!)`, or ""; `default` is None when
    `has_default` is False.
    """

    name: str
    type: Type
    has_default: bool = False
    default: Any = None
    kwarg_only: bool = False
    alias: str = ""

    @property
    def is_write(self) -> bool:
        return self.alias.endswith("!")

    @property
    def python_name(self) -> str:
        return python_name(self.name)

    def __str__(self) -> str:
        t = str(self.type)
        if self.alias:
            t = t.replace(self.type.base, f"{self.type.base}({self.alias})", 1)
        return f"{t} {self.name}" + (
            f"={_show_default(self.default, self.type)}" if self.has_default else ""
        )


@dataclass(frozen=True)
class Return:
    """One result; `name` is "" if the schema has none."""

    type: Type
    name: str = ""
    alias: str = ""

    def __str__(self) -> str:
        t = str(self.type)
        if self.alias:
            t = t.replace(self.type.base, f"{self.type.base}({self.alias})", 1)
        return f"{t} {self.name}" if self.name else t


@dataclass(frozen=True)
class FunctionSchema:
    """A parsed schema: of "aten::add.Tensor(...)" the `namespace` is "aten", `name` "add" and
    `overload` "Tensor", or "" if there is none.
    """

    namespace: str
    name: str
    overload: str
    arguments: tuple[Argument, ...]
    returns: tuple[Return, ...]
    _index: dict[str, int] = field(default_factory=dict, compare=False, repr=False)

    @property
    def full_name(self) -> str:
        """`aten::add.Tensor`."""
        return f"{self.namespace}::{self.name}" + (f".{self.overload}" if self.overload else "")

    @property
    def is_out(self) -> bool:
        return any(a.kwarg_only and a.is_write for a in self.arguments)

    @property
    def is_inplace(self) -> bool:
        return self.name.endswith("_") and not self.name.endswith("__")

    @property
    def is_mutable(self) -> bool:
        return any(a.is_write for a in self.arguments)

    @property
    def is_view(self) -> bool:
        """Whether a result may share the memory of an argument that is not written to."""
        return not self.is_mutable and any(r.alias for r in self.returns)

    def __str__(self) -> str:
        return f"{self.full_name}({self.signature()}) -> {self._returns()}"

    def signature(self) -> str:
        """The parameter list as it stands between the parentheses."""
        parts, starred = [], False
        for a in self.arguments:
            if a.kwarg_only and not starred:
                parts.append("*")
                starred = True
            parts.append(str(a))
        return ", ".join(parts)

    def _returns(self) -> str:
        return (
            str(self.returns[0])
            if len(self.returns) == 1
            else f"({', '.join(map(str, self.returns))})"
        )


def python_name(name: str) -> str:
    """The name of an argument in Python: `from_` for `from`, which is a keyword."""
    return f"{name}_" if iskeyword(name) else name


def parse_schema(text: str) -> FunctionSchema:
    """The schema of a line of text. Raises RuntimeError that shows the place of a mistake."""
    return _Parser(text).schema()


class _Parser(SchemaParser[tuple[Type, str], Argument, Return]):
    """The parser for the dispatcher. Some defaults are names: enums of C++ (`Mean` is 1), and
    dtypes and formats, whose names are kept.
    """

    named_defaults = {
        "None": None, "True": True, "False": False, "Mean": 1, "Sum": 2, "inf": float("inf"),
        "long": "long", "contiguous_format": "contiguous_format",
    }  # fmt: skip

    def schema(self) -> FunctionSchema:
        """Reads the whole text. Raises RuntimeError for one with "...", which only the JIT
        takes.
        """
        parts = self.parse()
        if parts.is_vararg or parts.is_varret:
            raise RuntimeError(
                f"{self.reader.text}: an operator of the dispatcher has as many arguments and "
                "results as it says"
            )
        return FunctionSchema(
            parts.namespace, parts.name, parts.overload, parts.arguments, parts.returns
        )

    def type(self) -> tuple[Type, str]:
        """A type and its alias annotation, "" if there is none."""
        reader = self.reader
        base = reader.expect_kind(IDENT)
        if base.text not in BASE_TYPES:
            raise reader.error(UNKNOWN_TYPE, base)
        alias, optional = self._alias(), reader.accept("?")
        if not reader.accept("["):
            return Type(base.text, optional=optional), alias
        size = reader.integer() if reader.current.kind == NUMBER else None
        reader.expect("]")
        alias = alias or self._alias()
        return Type(base.text, True, size, reader.accept("?"), optional), alias

    def _alias(self) -> str:
        """The annotation in parentheses, if there is one: "a!" for `(a! -> *)`, else ""."""
        if not self.reader.accept("("):
            return ""
        words = self.reader.expect_kind(IDENT).text + "!" * self.reader.accept("!")
        if self.reader.accept("->") and not self.reader.accept("*"):
            self.reader.expect_kind(IDENT)
        self.reader.expect(")")
        return words

    def default_kind(self, type: tuple[Type, str]) -> DefaultKind:
        return DefaultKind(type[0].is_list, type[0].list_size, type[0].base == "float")

    def argument(self, name: str, type: tuple[Type, str], **rest: Any) -> Argument:
        return Argument(name, type[0], "default" in rest, alias=type[1], **rest)

    def result(self, name: str, type: tuple[Type, str]) -> Return:
        return Return(type[0], name, type[1])


def _show_default(value: object, type: Type) -> str:
    """A default as schemas have it: `1` for [1, 1] of an `int[2]`."""
    if isinstance(value, list):
        if type.list_size and len(value) == type.list_size and len(set(value)) == 1:
            return _show_default(value[0], type)
        return f"[{', '.join(_show_default(v, type) for v in value)}]"
    return f'"{value}"' if isinstance(value, str) and type.base == "str" else str(value)
