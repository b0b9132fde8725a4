"""Schemas: the arguments and results of operators and functions, in JIT types
(`aten/src/ATen/core/function_schema.h`).

    schema = parse_schema("aten::append.t(t[](a!) self, t(c -> *) el) -> t[](a!)")
    schema.arguments[0].type            # ListType of the type variable t
    schema.arguments[0].alias_info      # (a!): the op writes to the set called a

All parts of the JIT use schemas: the compiler matches calls with `arguments`, the verifier checks
nodes, and alias analysis uses the alias annotations. These name the sets of memory that a value may
point into:

    (a)       on an argument and on a result: the result may be a view of the argument
    (a!)      the op also writes to that memory
    (a -> *)  the value is in set a before, and afterwards in the wildcard set, which may be
              anything: an element appended to a list can be reached from wherever the list can be

`str(schema)` is the text as PyTorch prints it; `schema_parser.py` reads it. `internals.core.schema`
has the dispatcher's schemas, which have only the types that operators are declared with.

How the real one differs: it has one class for the dispatcher and the JIT; types that print alike
may be different (`int` and `SymInt`), and a schema records for each argument whether code
generation added it.
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

    `type` is the type in the IR. For `ScalarType`, `Layout` and `MemoryFormat` that is int, and
    `enum` has the name in the text. `N` is the length in `int[2] stride=1`, for which a call may
    pass a single int.
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
        """Whether this is an `out=` argument."""
        return self.kwarg_only and self.is_write

    @property
    def is_write(self) -> bool:
        """Whether the operator writes to this argument."""
        return self.alias_info is not None and self.alias_info.is_write

    def __str__(self) -> str:
        # as in `int[2]? stride=1`: the question mark comes last, after the length and the alias set
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
    """The schema of one overload. `name` is qualified ("aten::add"), `overload_name` may be "".
    `is_vararg` and `is_varret` are for `...` among the arguments or results: any number of them.
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
        """The name with the overload: `aten::add.Tensor`."""
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
    """The text of a default value. A list of equal ints is shortened: `int[2] stride=1`."""
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
    """A number as PyTorch prints it (`IValue::operator<<`): a float has 17 digits, and a point if
    it is a whole number (`1.`, `0.10000000000000001`, `inf`).
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
