"""The grammar of operator schemas (`torch/csrc/jit/frontend/function_schema_parser.cpp`).

    schema   = name ["." overload] "(" argument {"," argument} ["*"] ["..."] ")" "->" results
    argument = type name ["=" default]
    results  = type [name] | "(" results ")" | "..."

There are two subclasses, which read the types: that of the dispatcher (`schema.py`), for which a
type is a word with suffixes, and that of the JIT (`internals/jit/schema_parser.py`), whose types
are those of the values in its graphs.

How the real one differs: it can read a schema without types for the arguments, and has more
defaults that are names.
"""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeVar

from .token_reader import END, IDENT, NUMBER, STRING, TokenReader, unquote

T = TypeVar("T")
A = TypeVar("A")
R = TypeVar("R")

UNKNOWN_TYPE = (
    "unknown type specifier. Common valid schema types include Tensor, SymInt, int, float, bool, "
    "Scalar; for a full list, please see "
    "https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/README.md#func "
)


class Parts(NamedTuple):
    """The parts of a schema. The namespace is "aten" if none is given. `is_vararg` and `is_varret`
    say that "..." stands at the end of the arguments and in place of the results.
    """

    namespace: str
    name: str
    overload: str
    arguments: tuple[Any, ...]
    is_vararg: bool
    returns: tuple[Any, ...]
    is_varret: bool


class DefaultKind(NamedTuple):
    """The facts about a type that reading a default needs: `int[2] stride=1` means [1, 1]."""

    is_list: bool
    size: int | None
    is_float: bool


class SchemaParser(Generic[T, A, R]):
    """The parser of one schema, for types T, arguments A and results R, which subclasses make.
    Raises RuntimeError that shows the place of a mistake.
    """

    named_defaults: dict[str, Any] = {}

    def __init__(self, text: str) -> None:
        self.reader = TokenReader(text)

    def type(self) -> T:
        """Reads a type, with its annotation."""
        raise NotImplementedError

    def default_kind(self, type: T) -> DefaultKind:
        """The facts about `type` that are needed to read a default of it."""
        raise NotImplementedError

    def argument(self, name: str, type: T, **rest: Any) -> A:
        """Makes an argument. `rest` has `kwarg_only` and, if there is one, `default`."""
        raise NotImplementedError

    def result(self, name: str, type: T) -> R:
        """Makes a result; its name may be ""."""
        raise NotImplementedError

    def parse(self) -> Parts:
        """Reads the whole text."""
        reader = self.reader
        # aten::add.Tensor: the first word may be the namespace
        name = reader.expect_kind(IDENT).text
        namespace = "aten"
        if reader.accept(":"):
            reader.expect(":")
            namespace, name = name, reader.expect_kind(IDENT).text
        overload = reader.expect_kind(IDENT).text if reader.accept(".") else ""
        self.kwarg_only = False
        found = reader.items("(", ",", ")", self._argument)
        reader.expect("->")
        returned = reader.items("(", ",", ")", self._result) if reader.at("(") else [self._result()]
        if reader.current.kind != END:
            raise reader.expected(END)
        arguments = tuple(a for a in found if not isinstance(a, str))
        returns = tuple(r for r in returned if r is not None)
        is_vararg, is_varret = "..." in found, None in returned
        return Parts(namespace, name, overload, arguments, is_vararg, returns, is_varret)

    def _argument(self) -> A | str:
        """Reads an argument, or "*" or "...", which stand in its place."""
        reader = self.reader
        if reader.accept("..."):
            return "..."
        if reader.accept("*"):
            self.kwarg_only = True
            return "*"
        type = self.type()
        name = reader.expect_kind(IDENT).text
        if not reader.accept("="):
            return self.argument(name, type, kwarg_only=self.kwarg_only)
        default = self._default(self.default_kind(type))
        return self.argument(name, type, kwarg_only=self.kwarg_only, default=default)

    def _result(self) -> R | None:
        """Reads a result; None for "..."."""
        if self.reader.accept("..."):
            return None
        type = self.type()
        is_named = self.reader.current.kind == IDENT
        return self.result(self.reader.next().text if is_named else "", type)

    def _default(self, kind: DefaultKind) -> Any:
        """Reads a default: a constant or a list of them. A constant for a list is repeated."""
        if kind.is_list and self.reader.at("["):
            return self.reader.items("[", ",", "]", lambda: self._constant(kind.is_float))
        value = self._constant(kind.is_float)
        return [value] * (kind.size or 1) if kind.is_list and value is not None else value

    def _constant(self, is_float: bool) -> Any:
        """Reads a number, a string or one of `named_defaults`."""
        reader = self.reader
        sign = -1 if reader.accept("-") else 1
        token = reader.next()
        if token.kind == NUMBER:
            is_int = token.text.isdigit() and not is_float
            return sign * (int(token.text) if is_int else float(token.text))
        if token.kind == STRING:
            return unquote(token.text)
        if token.text not in self.named_defaults:
            raise reader.error("invalid numeric default value", token)
        value = self.named_defaults[token.text]
        return -value if sign < 0 else value
