"""Operator schemas: the one line that declares an op (`aten/src/ATen/core/function_schema.h`, `torchgen/model.py`).

`parse_schema("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor")` gives a `FunctionSchema`, and `str()` of
it gives the line back. A `!` in an annotation, `Tensor(a!)`, says that the op writes to that argument; `Tensor(a)` on an
argument and a result says that the result is a view of it. `*` makes the rest keyword-only.

How the real one differs: PyTorch has two parsers, one in C++ for the JIT and one in Python for code generation, and more
types (SymInt, Storage, Dimname, quantizers, function types).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

BASE_TYPES = ("Tensor", "Scalar", "int", "float", "bool", "str", "complex", "ScalarType", "Layout", "Device", "MemoryFormat",
              "Generator", "Storage", "Stream")  # fmt: skip


@dataclass(frozen=True)
class Type:
    """`int[2]?` is base "int", is_list, list_size 2, optional. `Tensor?[]` has optional_elements."""

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
    """One parameter. `alias` is "" or the alias set, as in `Tensor(a!)`; `default` is None when `has_default` is False."""

    name: str
    type: Type
    has_default: bool = False
    default: Any = None
    kwarg_only: bool = False
    alias: str = ""

    @property
    def is_write(self) -> bool:
        return self.alias.endswith("!")

    def __str__(self) -> str:
        t = str(self.type)
        if self.alias:
            t = t.replace(self.type.base, f"{self.type.base}({self.alias})", 1)
        return f"{t} {self.name}" + (f"={_show_default(self.default, self.type)}" if self.has_default else "")


@dataclass(frozen=True)
class Return:
    """One result, with a name when the schema gives one."""

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
    """A parsed declaration. `name` has no namespace and no overload: "add"; `overload` is "Tensor" or ""."""

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
        return str(self.returns[0]) if len(self.returns) == 1 else f"({', '.join(map(str, self.returns))})"


_HEAD = re.compile(
    r"^(?:(?P<ns>\w+)::)?(?P<name>\w+)(?:\.(?P<overload>\w+))?\((?P<args>.*)\)\s*->\s*(?P<returns>.+)$", re.S
)
_TYPE = re.compile(
    r"^(?P<base>\w+)(?:\((?P<alias>[^)]*)\))?(?P<inner>\?)?(?P<list>\[(?P<size>\d*)\])?(?:\((?P<alias2>[^)]*)\))?(?P<optional>\?)?$"
)


def parse_schema(text: str) -> FunctionSchema:
    """Parse one declaration. Raises ValueError that names the part which could not be read."""
    m = _HEAD.match(text.strip())
    if not m:
        raise ValueError(f"not a schema: {text!r} (expected `name.overload(Type arg, ...) -> Type`)")
    arguments, kwarg_only = [], False
    for part in _split(m["args"]):
        if part == "*":
            kwarg_only = True
        elif part:
            arguments.append(_parse_argument(part, kwarg_only, text))
    returns = m["returns"].strip()
    inner = returns[1:-1] if returns.startswith("(") else returns
    return FunctionSchema(
        m["ns"] or "aten",
        m["name"],
        m["overload"] or "",
        tuple(arguments),
        tuple(_parse_return(r, text) for r in _split(inner) if r),
    )


def parse_type(text: str) -> tuple[Type, str]:
    """A type and its alias annotation ("" if none). Raises ValueError for an unknown type."""
    m = _TYPE.match(text.strip())
    if not m or m["base"] not in BASE_TYPES:
        raise ValueError(f"unknown type {text!r}; known are {', '.join(BASE_TYPES)} with [], [n] and ?")
    inner, outer = bool(m["inner"]), bool(m["optional"])
    is_list = m["list"] is not None
    alias = (m["alias"] or m["alias2"] or "").split(" ->")[0].strip()
    size = int(m["size"]) if m["size"] else None
    return Type(m["base"], is_list, size, outer or (inner and not is_list), inner and is_list), alias


def _parse_argument(text: str, kwarg_only: bool, whole: str) -> Argument:
    declared, _, default = text.partition("=")
    type_text, _, name = declared.strip().rpartition(" ")
    if not type_text or not name.isidentifier():
        raise ValueError(f"not an argument: {text!r} in {whole!r} (expected `Type name` or `Type name=default`)")
    type, alias = parse_type(type_text)
    if not default:
        return Argument(name, type, kwarg_only=kwarg_only, alias=alias)
    return Argument(name, type, True, _parse_default(default.strip(), type, whole), kwarg_only, alias)


def _parse_return(text: str, whole: str) -> Return:
    type_text, _, name = text.strip().rpartition(" ")
    if not type_text:
        type_text, name = name, ""
    type, alias = parse_type(type_text)
    return Return(type, name, alias)


_NAMED_DEFAULTS = {
    "None": None,
    "True": True,
    "False": False,
    "Mean": 1,
    "Sum": 2,
    "inf": float("inf"),
    "-inf": float("-inf"),
}


def _parse_default(text: str, type: Type, whole: str) -> Any:
    if text in _NAMED_DEFAULTS:
        return _NAMED_DEFAULTS[text]
    if text.startswith("["):
        return [_parse_default(t, Type(type.base), whole) for t in _split(text[1:-1]) if t]
    if text[0] in "\"'":
        return text[1:-1]
    if type.base in ("MemoryFormat", "Layout", "ScalarType"):
        return text
    try:
        value: Any = float(text) if any(c in text for c in ".e") else int(text)
    except ValueError:
        raise ValueError(f"can't read the default {text!r} in {whole!r}") from None
    if type.is_list and type.list_size and type.base == "int":
        return [value] * type.list_size
    return float(value) if type.base == "float" else value


def _show_default(value: Any, type: Type) -> str:
    if isinstance(value, list):
        if type.list_size and len(value) == type.list_size and len(set(value)) == 1:
            return _show_default(value[0], type)
        return f"[{', '.join(_show_default(v, type) for v in value)}]"
    return f'"{value}"' if isinstance(value, str) and type.base == "str" else str(value)


def _split(text: str) -> Iterator[str]:
    """Split at the commas that are not inside brackets."""
    depth, start = 0, 0
    for i, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            yield text[start:i].strip()
            start = i + 1
    yield text[start:].strip()
