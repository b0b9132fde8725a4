"""Strings: methods, formatting and hashes against real TorchScript. ASCII only: bytes count there,
characters here.
"""

from __future__ import annotations

from typing import Any

import pytest

from internals.jit.operators import find_operator, find_operators
from tests.jit import oracle as jit_oracle

TEXTS = ["", "a", "B c", "abab", "ab\n cd", "  x ", "A_1", "hello World"]
SAMPLES: dict[str, list[Any]] = {
    "str": TEXTS, "int": [-3, -1, 0, 1, 9], "int?": [None, -2, 0, 1, 7], "bool": [True, False],
    "str?": [None, "a", " "], "str[]": [[], ["a"], ["b", "", "a"]],
}  # fmt: skip
METHODS = (
    "lower upper swapcase capitalize title isspace isalpha isnumeric islower istitle isupper "
    "isalnum isdigit isdecimal isprintable expandtabs zfill strip lstrip rstrip join partition "
    "rpartition replace rsplit split add len list ord chr bin oct hex slice find rfind index "
    "rindex count startswith endswith splitlines center ljust rjust __getitem__"
)


def differs_on_purpose(name: str, args: tuple[Any, ...]) -> bool:
    """Where PyTorch hangs, shows an error of C++'s strings, or is not like Python by mistake."""
    name = name.removeprefix("aten::")
    if name == "count" and args[3] != -1:
        return True
    if name in ("find", "rfind", "index.str", "rindex", "count", "startswith", "endswith"):
        return args[1] == "" or args[2] > len(args[0]) or args[2] < 0 or args[3] not in (-1, 9)
    if name in ("replace", "rsplit", "partition", "rpartition") and args[1] == "":
        return True
    if name in ("center", "ljust", "rjust"):
        return len(args[2]) != 1 or args[1] < 0
    if name == "splitlines":
        return args[1]
    if name == "__getitem__.str":
        return not -len(args[0]) <= args[1] < len(args[0])
    if name == "chr":
        return args[0] < 0
    return name == "split.str" and (args[1] is None and args[2] == 0)


@pytest.mark.parametrize("method", METHODS.split())
def test_methods_agree_with_pytorch(method: str) -> None:
    seen = 0
    for operator in find_operators(f"aten::{method}"):
        types = [str(a.type) for a in operator.schema.arguments]
        if operator.handle is not None or "str" not in "".join(types) + str(
            operator.schema.returns[0].type
        ):
            continue
        if not all(t in SAMPLES for t in types) or types[0] == "str[]":
            continue
        seen += jit_oracle.compare_with_pytorch(operator, SAMPLES, differs_on_purpose)
    assert seen


def call(name: str, *args: Any) -> Any:
    return find_operator(name).fn(*args)


def test_errors_name_what_is_wrong() -> None:
    for name, args, message in (
        ("aten::index.str", ("abc", "z", 0, -1), "substring not found"),
        ("aten::ord", ("ab",), "String for ord\\(\\) must be 1 character, found 2"),
        ("aten::chr", (300,), "chr\\(\\) arg not in range"),
        ("aten::__getitem__.str", ("abc", 3), "string index out of range"),
        ("aten::slice.str", ("abc", 0, 3, 0), "non-zero step"),
    ):
        with pytest.raises(RuntimeError, match=message):
            call(name, *args)


VALUES = [
    ("int", 3), ("float", 1.0), ("float", 0.1), ("float", 1e20), ("float", float("inf")),
    ("bool", True), ("str", "a'b"), ("complex", 1 - 2j), ("NoneType", None),
    ("(int, (float, str))", (1, (2.5, "q"))), ("(int)", (1,)), ("()", ()), ("int[]", [1, 2]),
    ("str[]", ["a", "b"]), ("float[][]", [[1.0], [2.5, 3.0]]), ("Dict(str, int)", {"a": 1, "b": 2}),
]  # fmt: skip


@pytest.mark.parametrize(("type", "value"), VALUES)
def test_str_format_and_hash_of_any_value(type: str, value: Any) -> None:
    for name, types, args, result in (
        ("aten::str", [type], [value], "str"),
        ("aten::format", ["str", type], ["<{}>", value], "str"),
        ("aten::hash.generic", [type], [value], "int"),
    ):
        jit_oracle.compare(name, types, args, result)


PERCENT = [
    ("%d", "int", 1), ("%d", "float", 1.5), ("%i|%s", "(int, str)", (1, "q")),
    ("%s", "int[]", [1, 2]), ("%c", "int", 65),
    ("%f %e %F %E", "(float, float, int, float)", (1.5, 2.5, 3, 4.5)), ("%c", "str", "z"),
    ("%c", "str", "zz"), ("%d", "str", "a"), ("100%% %s", "float", 1.5), ("%x", "int", 255),
    ("%5d", "int", 2), ("%", "int", 1), ("none", "int", 1), ("%s %s", "int", 1),
]  # fmt: skip


@pytest.mark.parametrize(("text", "type", "value"), PERCENT)
def test_percent(text: str, type: str, value: Any) -> None:
    jit_oracle.compare("aten::percentFormat", ["str", type], [text, value], "str")


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
def test_what_is_no_number_is_the_least_int_of_32_bits(value: float) -> None:
    """As x86 converts it."""
    assert find_operator("aten::percentFormat").fn("%d", value) == "-2147483648"


@pytest.mark.parametrize("text", ["{} {}", "{}", "{{}} {}", "{0}", "a{b", ""])
def test_format_knows_only_empty_braces(text: str) -> None:
    jit_oracle.compare("aten::format", ["str", "int"], [text, 1], "str")
