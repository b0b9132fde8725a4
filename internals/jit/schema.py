"""What an operator takes and gives, in JIT types (`aten/src/ATen/core/function_schema.h`).

    schema = parse_schema("aten::append.t(t[](a!) self, t(c -> *) el) -> t[](a!)")
    schema.arguments[0].type            # ListType of the type variable t
    schema.arguments[0].alias_info      # (a!): the op writes to the set called a

The schema is where every part of the JIT looks an operator up: the compiler matches calls against
`arguments`, the verifier checks nodes against it, and alias analysis needs nothing but the
annotations. An annotation names the sets of memory a value may point into: `(a)` on an argument and
on a result means the result may be a view of the argument, `!` that the op writes there, `(a -> *)`
that the value enters the set called a and leaves it for the wildcard set, which may be anything: an
element appended to a list can be reached through any value that may be that list.

`str(schema)` is the text as PyTorch prints it; `schema_parser.py` reads it. `internals.core.schema`
has the dispatcher's schemas, which know only the types that operators are declared with.

How the real one differs: one class serves the dispatcher and the JIT; types that print alike may be
two there (`int` and `SymInt`), and a schema says for each argument whether it came from code
generation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import copysign, isfinite
from typing import Any

from internals.jit.ir.alias_info import AliasInfo
from internals.jit.ir.types import IntType, ListType, OptionalType, StringType, TupleType, Type


@dataclass(frozen=True)
class Argument:
    """One parameter or result.

    `type` is what the IR sees. Where the text says `ScalarType`, `Layout` or `MemoryFormat` that is
    an int, and `enum` keeps the name. `N` is the length in `int[2] stride=1`, which lets a call
    pass one int for all.
    """

    name: str
    type: Type
    default_value: Any = None
    has_default: bool = False
    kwarg_only: bool = False
    N: int | None = None
    alias_info: AliasInfo | None = None
    enum: str = ""

    def has_default_value(self) -> bool:
        return self.has_default

    @property
    def is_out(self) -> bool:
        return self.kwarg_only and self.is_write

    @property
    def is_write(self) -> bool:
        return self.alias_info is not None and self.alias_info.is_write

    def __str__(self) -> str:
        is_optional = isinstance(self.type, OptionalType)
        type = self.type.element if isinstance(self.type, OptionalType) else self.type
        if isinstance(type, ListType):
            inside = "".join(map(str, self.alias_info.contained[:1])) if self.alias_info else ""
            shown = f"{type.element}{inside}[{self.N or ''}]"
        else:
            shown = self.enum or str(type)
        shown += str(self.alias_info or "")
        shown += "?" * is_optional + (f" {self.name}" if self.name else "")
        return shown + (
            f"={_show_default(self.default_value, self.type)}" if self.has_default else ""
        )


@dataclass(frozen=True)
class FunctionSchema:
    """`name` is qualified ("aten::add"), `overload_name` may be empty; `is_vararg` and `is_varret`
    stand for `...`.
    """

    name: str
    overload_name: str
    arguments: tuple[Argument, ...]
    returns: tuple[Argument, ...]
    is_vararg: bool = False
    is_varret: bool = False
    _index: dict[str, int] = field(default_factory=dict, compare=False, repr=False)

    @property
    def operator_name(self) -> str:
        """`aten::add.Tensor`."""
        return f"{self.name}.{self.overload_name}" if self.overload_name else self.name

    @property
    def is_mutable(self) -> bool:
        """Whether the op writes to one of its arguments."""
        return any(a.is_write for a in self.arguments)

    def argument_index(self, name: str) -> int | None:
        """The position of the argument called `name`, or None."""
        if not self._index:
            self._index.update({a.name: i for i, a in enumerate(self.arguments)})
        return self._index.get(name)

    def __str__(self) -> str:
        parts, starred = [], False
        for a in self.arguments:
            if a.kwarg_only and not starred:
                parts.append("*")
                starred = True
            parts.append(str(a))
        if self.is_vararg:
            parts.append("...")
        return f"{self.operator_name}({', '.join(parts)}) -> {self._show_returns()}"

    def _show_returns(self) -> str:
        shown = [str(r) for r in self.returns] + ["..."] * self.is_varret
        if len(shown) == 1 and not shown[0].startswith("("):
            return shown[0]
        return f"({', '.join(shown)})"


def _show_default(value: object, type: Type) -> str:
    inner = type.element if isinstance(type, OptionalType) else type
    if isinstance(inner, StringType) and isinstance(value, str):
        return quoted(value)
    if isinstance(value, (list, tuple)):
        is_ints = isinstance(type, ListType) and isinstance(type.element, IntType)
        if is_ints and len(value) > 1 and len(set(value)) == 1:
            return show_number(value[0])
        shown = ", ".join(map(show_number, value))
        if isinstance(inner, TupleType):
            return f"({shown},)" if len(value) == 1 else f"({shown})"
        return f"[{shown}]"
    return show_number(value)


def show_number(value: object) -> str:
    """A float prints as `1.`, `0.10000000000000001` or `inf`: 17 digits and always with a point
    (`IValue::operator<<`).
    """
    if not isinstance(value, float):
        return str(value)
    if isfinite(value) and abs(value) < 1e10 and value == int(value):
        return ("-" if copysign(1, value) < 0 else "") + f"{abs(int(value))}."
    return f"{value:.17g}"


_ESCAPES = {
    "\\": "\\\\", "'": "\\'", '"': '\\"', "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n",
    "\r": "\\r", "\t": "\\t", "\v": "\\v",
}  # fmt: skip


def quoted(text: str) -> str:
    """`text` in double quotes, escaped as in C (`printQuotedString`)."""
    shown = []
    for byte in text.encode():
        c = chr(byte)
        shown.append(_ESCAPES.get(c) or (c if " " <= c <= "~" else f"\\{byte:03o}"))
    return f'"{"".join(shown)}"'
