"""The methods of strings, and formatting (`torch/csrc/jit/runtime/register_prim_ops.cpp`).

For `find`, `count` and their like, an `end` of -1 is the end of the string, in Python one character
less.

How the real one differs: a string is a sequence of bytes; only ASCII letters have a case, and `len`
and indices count bytes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .c_math import to_int
from .registry import op, register_operator, register_operators
from .value_text import value_text

WHITESPACE = " \\n\\t\\f\\v"  # as a schema spells it


def method(signature: str, fn: Callable[..., Any]) -> None:
    """Register `aten::<signature>`, whose first argument is `str self`."""
    name, _, rest = signature.partition("(")
    register_operator(f"aten::{name}(str self{', ' * (not rest.startswith(')'))}{rest}", fn)


def _span(text: str, start: int, end: int) -> tuple[int, int]:
    """`start` and `end` as indices from the front. A negative `start` counts as in Python, but -1
    as `end` is the end itself.
    """
    n = len(text)
    start = max(start + n, 0) if start < 0 else start
    end = max(end + n + 1, 0) if end < 0 else min(end, n)
    return start, end


def in_span(search: Callable[..., Any]) -> Callable[..., Any]:
    """Returns `search`, a method of `str` that takes a range of indices, with `_span` applied."""
    return lambda self, substr, start, end: search(self, substr, *_span(self, start, end))


def must_find(find: Callable[..., int]) -> Callable[..., int]:
    """Returns `find` or `rfind` with a RuntimeError in place of the result -1."""

    def index(self: str, substr: str, start: int, end: int) -> int:
        found = find(self, substr, start, end)
        if found < 0:
            raise RuntimeError("ValueError: substring not found")
        return found

    return index


SPAN = "str self, str substr, int start=0, int end=-1"
register_operators(
    {
        f"aten::find({SPAN}) -> int": in_span(str.find),
        f"aten::rfind({SPAN}) -> int": in_span(str.rfind),
        f"aten::index.str({SPAN}) -> int": must_find(in_span(str.find)),
        f"aten::rindex({SPAN}) -> int": must_find(in_span(str.rfind)),
        f"aten::count({SPAN}) -> int": in_span(str.count),
        f"aten::startswith({SPAN}) -> bool": in_span(str.startswith),
        f"aten::endswith({SPAN}) -> bool": in_span(str.endswith),
    }
)
for name in ("lower", "upper", "swapcase", "capitalize", "title"):
    method(f"{name}() -> str", getattr(str, name))
for name in (
    "isspace",
    "isalpha",
    "isnumeric",
    "islower",
    "istitle",
    "isupper",
    "isalnum",
    "isdigit",
    "isdecimal",
    "isidentifier",
):
    method(f"{name}() -> bool", getattr(str, name))
method("isprintable() -> bool", str.isprintable)
method("expandtabs(int tabsize=8) -> str", str.expandtabs)
for name in ("center", "ljust", "rjust"):
    method(f'{name}(int width, str fillchar=" ") -> str', getattr(str, name))
method("zfill(int width) -> str", str.zfill)
for name in ("strip", "lstrip", "rstrip"):
    method(f'{name}(str chars="{WHITESPACE}") -> str', getattr(str, name))
method("join(str[] values) -> str", str.join)
method("partition(str separator) -> (str, str, str)", str.partition)
method("rpartition(str separator) -> (str, str, str)", str.rpartition)
method("replace(str old, str new, int max=-1) -> str", str.replace)
method("splitlines(bool keepends=False) -> str[]", str.splitlines)
method('rsplit(str separator=" ", int max=-1) -> str[]', str.rsplit)
method("split.str(str? separator=None, int max=-1) -> str[]", str.split)

register_operators(
    {
        "aten::add.str(str a, str b) -> str": lambda a, b: a + b,
        "aten::len.str(str s) -> int": len,
        "aten::list(str t) -> str[]": list,
        "aten::bin(int i) -> str": bin,
        "aten::oct(int i) -> str": oct,
        "aten::hex(int i) -> str": hex,
    }
)


@op("aten::chr(int i) -> str")
def chr_(i: int) -> str:
    """The character with code `i`. Raises RuntimeError unless 0 <= i < 256."""
    if not 0 <= i <= 255:
        raise RuntimeError(f"chr() arg not in range(0x110000), found {i}")
    return chr(i)


@op("aten::ord(str string) -> int")
def ord_(string: str) -> int:
    """The code of a character. Raises RuntimeError for a string of any other length."""
    if len(string) != 1:
        raise RuntimeError(f"String for ord() must be 1 character, found {len(string)}")
    return ord(string)


@op(
    "aten::__getitem__.str(str s, int index) -> str",
    "prim::StringIndex(str string, int index) -> str",
)
def getitem(s: str, index: int) -> str:
    """`s[index]`. Raises RuntimeError for an index outside of the string."""
    if not -len(s) <= index < len(s):
        raise RuntimeError("string index out of range")
    return s[index]


@op("aten::slice.str(str string, int? start=None, int? end=None, int step=1) -> str")
def slice_(string: str, start: int | None, end: int | None, step: int) -> str:
    """`string[start:end:step]`. Raises RuntimeError for a step of 0."""
    if step == 0:
        raise RuntimeError("List slice should have non-zero step")
    return string[start:end:step]


@op("aten::format(str self, ...) -> str")
def format_(self: str, *values: Any) -> str:
    """The text with each `{}` replaced by the next value; any other braces are text. Surplus values
    are ignored. Raises RuntimeError if there are too few.
    """
    parts = self.split("{}")  # one part more than there are `{}`
    if len(parts) - 1 > len(values):
        raise RuntimeError(f"Too few arguments for format string: {self}")
    return "".join(
        part + value for part, value in zip(parts, [*map(value_text, values[: len(parts) - 1]), ""])
    )


@op("aten::percentFormat(str self, ...) -> str")
def percent_format(self: str, *values: Any) -> str:
    """`self % value`, where several values are a tuple. Raises RuntimeError if their number or
    types don't fit the specifiers, which are one character: `%d`, not `%3d`.
    """
    given = values[0] if isinstance(values[0], tuple) else (values[0],)
    text, used, at = "", 0, 0  # the result so far, values used, where `self` is read next
    while (percent := self.find("%", at)) >= 0:
        if percent == len(self) - 1:
            raise RuntimeError("Incomplete format specifier")
        text += self[at:percent]
        at = percent + 2
        if self[percent + 1] == "%":
            text += "%"
            continue
        if used == len(given):
            raise RuntimeError("Too few arguments for format string")
        text += _formatted(self[percent + 1], given[used])
        used += 1
    if used != len(given):
        raise RuntimeError("Too many arguments for format string")
    return text + self[at:]


def _formatted(key: str, value: Any) -> str:
    """The text of a value by the specifier `%key`."""
    is_number = isinstance(value, (int, float, complex)) and not isinstance(value, bool)
    if key in "dieEfF" and not is_number:
        raise RuntimeError(f"%{key} requires a number for formatting, but got {_tag(value)}")
    if key in "di":
        return str(
            value if isinstance(value, int) else to_int(value) if math.isfinite(value) else -(2**31)
        )
    if key in "eEfF":
        return f"%{key}" % value
    if key == "c":
        if isinstance(value, int) and not isinstance(value, bool):
            return chr(value % 256)
        if not isinstance(value, str) or len(value) != 1:
            raise RuntimeError(f"%c requires an int or char for formatting, but got {_tag(value)}")
        return value
    if key == "s":
        return value_text(value)
    raise RuntimeError(f"The specifier %{key} is not supported in TorchScript format strings")


_TAGS = {
    bool: "Bool", int: "Int", float: "Double", complex: "ComplexDouble", str: "String",
    list: "GenericList", dict: "GenericDict", tuple: "Tuple", type(None): "None",
}  # fmt: skip


def _tag(value: Any) -> str:
    """The C++ tag of a value's type, for messages."""
    return _TAGS.get(type(value), "Tensor" if hasattr(value, "dtype") else type(value).__name__)
