"""Reads operator schemas (`torch/csrc/jit/frontend/function_schema_parser.cpp`).

    schema   = name ["." overload] "(" argument {"," argument} ["*"] ["..."] ")" "->" results
    argument = type name ["=" default]
    results  = type [name] | "(" results ")" | "..."

Types are read by `ir/type_parser.py`, with their annotations: `t[](a!) self`, `int[2] stride=1`, `ScalarType? dtype=None`.

How the real one differs: it can read a schema without types for the arguments, and knows names of more defaults.
"""

from __future__ import annotations

from typing import Any

from internals.core.dtype import ALL as DTYPES
from internals.jit.ir.token_reader import END, IDENT, NUMBER, STRING, TokenReader, unquote
from internals.jit.ir.type_parser import ParsedType, TypeParser
from internals.jit.ir.types import FloatType, ListType, OptionalType, Type

from .schema import Argument, FunctionSchema

ENUMS = ("ScalarType", "Layout", "MemoryFormat")
NAMED_DEFAULTS: dict[str, Any] = {
    "None": None, "True": True, "False": False, "inf": float("inf"), "nan": float("nan"), "Mean": 1, "Sum": 2,
    "strided": 0, "contiguous_format": 0, "preserve_format": 1, "channels_last": 2, "long": 4, "float": 6, "double": 7,
    **{d.name: d.code for d in DTYPES},
}  # fmt: skip


def parse_schema(text: str) -> FunctionSchema:
    """Read one schema. A name without namespace is in aten. Raises RuntimeError that shows where the text goes wrong."""
    reader = TokenReader(text)
    schema = SchemaParser(reader).parse()
    if reader.current.kind != END:
        raise reader.expected(END)
    return schema


class SchemaParser:
    """Reads schemas from a `TokenReader`, leaving it after the last token of the schema."""

    def __init__(self, reader: TokenReader) -> None:
        self.reader = reader
        self.types = TypeParser(reader)

    def parse(self) -> FunctionSchema:
        reader = self.reader
        name = reader.expect_kind(IDENT).text
        namespace = "aten"
        if reader.accept(":"):
            reader.expect(":")
            namespace, name = name, reader.expect_kind(IDENT).text
        overload = reader.expect_kind(IDENT).text if reader.accept(".") else ""
        arguments, is_vararg = self._arguments()
        reader.expect("->")
        returns, is_varret = self._returns()
        return FunctionSchema(f"{namespace}::{name}", overload, arguments, returns, is_vararg, is_varret)

    def _arguments(self) -> tuple[tuple[Argument, ...], bool]:
        kwarg_only = False

        def argument() -> Argument | str:
            nonlocal kwarg_only
            if self.reader.accept("..."):
                return "..."
            if self.reader.accept("*"):
                kwarg_only = True
                return "*"
            return self._argument(kwarg_only)

        found = self.reader.items("(", ",", ")", argument)
        return tuple(a for a in found if isinstance(a, Argument)), "..." in found

    def _argument(self, kwarg_only: bool) -> Argument:
        parsed = self.types.parse()
        name = self.reader.expect_kind(IDENT).text
        if not self.reader.accept("="):
            return _argument(name, parsed, kwarg_only=kwarg_only)
        default = self._default(parsed.type, parsed.size)
        return _argument(name, parsed, kwarg_only=kwarg_only, default_value=default, has_default=True)

    def _returns(self) -> tuple[tuple[Argument, ...], bool]:
        if self.reader.at("("):
            found = self.reader.items("(", ",", ")", self._result)
        else:
            found = [self._result()]
        return tuple(r for r in found if r is not None), None in found

    def _result(self) -> Argument | None:
        if self.reader.accept("..."):
            return None
        parsed = self.types.parse()
        named = self.reader.current.kind == IDENT
        return _argument(self.reader.next().text if named else "", parsed)

    def _default(self, type: Type, size: int | None) -> Any:
        """The default as the Python value the argument then has: `int[2] stride=1` gives [1, 1]."""
        if isinstance(type, OptionalType):
            if self.reader.accept("None"):
                return None
            type = type.element
        if not isinstance(type, ListType):
            return self._constant(type)
        element = type.element
        if self.reader.at("["):
            return self.reader.items("[", ",", "]", lambda: self._constant(element))
        return [self._constant(element)] * (size or 1)

    def _constant(self, type: Type) -> Any:
        reader = self.reader
        sign = -1 if reader.accept("-") else 1
        token = reader.next()
        if token.kind == NUMBER:
            is_int = token.text.isdigit() and not isinstance(type, FloatType)
            return sign * (int(token.text) if is_int else float(token.text))
        if token.kind == STRING:
            return unquote(token.text)
        if token.text not in NAMED_DEFAULTS:
            raise reader.error(f"{token.text!r} is not a default value", token)
        value = NAMED_DEFAULTS[token.text]
        return -value if sign < 0 else value


def _argument(name: str, parsed: ParsedType, **rest: Any) -> Argument:
    enum = parsed.text.partition("(")[0].rstrip("?")
    return Argument(
        name, parsed.type, N=parsed.size, alias_info=parsed.alias_info, enum=enum if enum in ENUMS else "", **rest
    )
