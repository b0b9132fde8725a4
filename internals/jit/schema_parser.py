"""The parser of schemas with JIT types (`torch/csrc/jit/frontend/function_schema_parser.cpp`).

The grammar is that of `internals/core/schema_parser.py`, whose parser this derives from. Types are
read by `ir/type_parser.py`, with their annotations: `t[](a!) self`, `int[2] stride=1`,
`ScalarType? dtype=None`.
"""

from __future__ import annotations

from typing import Any

from internals.core.dtype import ALL as DTYPES
from internals.core.schema_parser import DefaultKind, SchemaParser
from internals.jit.ir.type_parser import ParsedType, TypeParser
from internals.jit.ir.types import FloatType, ListType, OptionalType

from .schema import Argument, FunctionSchema

ENUMS = ("ScalarType", "Layout", "MemoryFormat")
# names that a schema may have as default values, and what the IR has for them: enumerations are
# ints, `Mean` and `Sum` are the reductions of the losses
NAMED_DEFAULTS: dict[str, Any] = {
    "None": None, "True": True, "False": False, "inf": float("inf"), "nan": float("nan"), "Mean": 1,
    "Sum": 2, "strided": 0, "contiguous_format": 0, "preserve_format": 1, "channels_last": 2,
    "long": 4, "float": 6, "double": 7, **{d.name: d.code for d in DTYPES},
}  # fmt: skip


def parse_schema(text: str) -> FunctionSchema:
    """The schema that a text describes. A name without namespace is in aten. Raises RuntimeError,
    which shows the wrong place in the text.
    """
    parts = _Parser(text).parse()
    return FunctionSchema(
        f"{parts.namespace}::{parts.name}", parts.overload, parts.arguments, parts.returns,
        parts.is_vararg, parts.is_varret,
    )  # fmt: skip


class _Parser(SchemaParser[ParsedType, Argument, Argument]):
    """The parser of `internals.core`, with the JIT's types and arguments."""

    named_defaults = NAMED_DEFAULTS

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.type = TypeParser(self.reader).parse  # type: ignore[method-assign]

    def default_kind(self, type: ParsedType) -> DefaultKind:
        """How a default value of this type is written: a list, its length, floats or not."""
        inner = type.type.element if isinstance(type.type, OptionalType) else type.type
        element = inner.element if isinstance(inner, ListType) else inner
        return DefaultKind(isinstance(inner, ListType), type.size, isinstance(element, FloatType))

    def argument(self, name: str, type: ParsedType, **rest: Any) -> Argument:
        """An argument or result; `rest` may have `default` and `kwarg_only`."""
        enum = type.text.partition("(")[0].rstrip("?")
        return Argument(
            name, type.type, rest.get("default"), "default" in rest, rest.get("kwarg_only", False),
            type.size, type.alias_info, enum if enum in ENUMS else "",
        )  # fmt: skip

    result = argument
