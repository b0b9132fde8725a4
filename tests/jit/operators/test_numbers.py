"""Arithmetic, comparisons and conversions of numbers: every overload against real TorchScript, on
values at the edges.
"""

from __future__ import annotations

import math
from typing import Any

import pytest

from internals.jit.operators import find_operator, find_operators
from tests.jit import oracle as jit_oracle

INF, NAN = math.inf, math.nan
SAMPLES: dict[str, list[Any]] = {
    "int": [-7, -1, 0, 2, 3, 64, 2**31],
    "float": [-2.5, -0.0, 0.5, 1.0, 2.5, 7.0, 1e300, INF, -INF, NAN],
    "complex": [1 + 2j, -1.5 - 2j, 2 + 1j],
    "bool": [True, False],
    "str": ["", "a", "B c", "-12", "1.5"],
    "Scalar": [-7, 2, -2.5, 0.5, 7.0],
    "int[]": [[], [3, 1, 2], [2], [-1, 0]],
    "float[]": [[], [0.5, -1.0], [2.5]],
    "bool[]": [[], [True, False], [True, True]],
    "str[]": [[], ["b", "a"]],
}
SYMBOLS = [
    *(f"aten::{n}" for n in (
        "add sub mul div floordiv remainder fmod mathremainder copysign atan2 polar pow log neg "
        "round floor ceil angle atan asin acos sin cos tan asinh acosh atanh sinh cosh tanh exp "
        "sqrt log10 log1p expm1 lgamma gamma erf erfc fabs degrees radians eq ne lt gt le ge Int "
        "Float Bool Complex __and__ __or__ __xor__ __not__ __lshift__ __rshift__ isnan isinf "
        "isfinite gcd divmod modf frexp ldexp __round_to_zero_floordiv sum all any __range_length "
        "__derive_index"
    ).split()),
    "prim::abs", "prim::max", "prim::min",
]  # fmt: skip


def differs_on_purpose(name: str, args: tuple[Any, ...]) -> bool:
    """Where real PyTorch kills the process, or C++ leaves open what happens."""
    if name.endswith((".int", "remainder", "floordiv")) and name.startswith(
        ("aten::remainder", "aten::__round", "aten::floordiv")
    ):
        return args[1] == 0  # killed by SIGFPE
    if "shift" in name:
        return args[1] < 0
    if name.startswith("aten::Complex"):
        return any(type(a) is int and abs(a) >= 2**31 for a in args)  # its ints go through 32 bits
    if (
        name.startswith("aten::polar")
        or "complex" in name
        and name.startswith(("aten::pow", "aten::log"))
    ):
        return any(a == 0 or not math.isfinite(abs(a)) or abs(a) > 1e200 for a in args)
    if name.startswith("aten::divmod") and "_" in name:
        return not all(abs(a) < 2**31 for a in args)  # goes through 32 bits as well
    return name in ("aten::ldexp", "aten::Int.Scalar") and 2**31 in args


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_every_overload_agrees_with_pytorch(symbol: str) -> None:
    seen = 0
    for operator in find_operators(symbol):
        types = [str(a.type) for a in operator.schema.arguments]
        if (
            operator.handle is not None
            or not all(t in SAMPLES for t in types)
            or operator.name == "aten::pow.int_to_int"
        ):
            continue
        # Float.int comes second
        assert jit_oracle.matched(symbol, types) in (operator.name, "aten::Float.Scalar")
        seen += jit_oracle.compare_with_pytorch(operator, SAMPLES, differs_on_purpose)
    assert seen


def call(name: str, *args: Any) -> Any:
    return find_operator(name).fn(*args)


@pytest.mark.parametrize(
    ("power", "expected"),
    [(1 + 1j, "0j"), (-1 + 1j, "(inf+nanj)"), (1j, "(nan+nanj)"), (0j, "(nan+nanj)")],
)
def test_powers_of_a_complex_zero(power: complex, expected: str) -> None:
    assert str(call("aten::pow.complex", 0j, power)) == expected


def test_ints_wrap_around() -> None:
    largest = 2**63 - 1
    assert call("aten::add.int", largest, 1) == -(2**63)
    assert call("aten::sub.int", -largest, 2) == largest
    assert call("aten::mul.int", 2**62, 4) == 0
    assert call("aten::neg.int", -(2**63)) == -(2**63)
    assert (
        call("aten::__lshift__.int", 1, 63) == -(2**63) and call("aten::__lshift__.int", 1, 64) == 1
    )
    assert call("aten::factorial.int", 5) == 120


@pytest.mark.parametrize(
    "number", [2.0**63, 1.5 * 2.0**63, 1e300, -(2.0**63), 2.0**63 - 1024, -1.5 * 2.0**63]
)
def test_a_float_that_no_int_holds_becomes_the_smallest(number: float) -> None:
    assert call("aten::Int.float", number) == (
        int(number) if -(2.0**63) <= number < 2.0**63 else -(2**63)
    )


def test_division_by_zero() -> None:
    assert call("aten::div.int", 1, 0) == INF and math.isnan(call("aten::div.float", 0.0, 0.0))
    assert call("aten::floordiv.float", -7.0, 0.0) == -INF
    for name in ("aten::floordiv.int", "aten::remainder.int", "aten::__round_to_zero_floordiv.int"):
        with pytest.raises(RuntimeError, match="(?i)division"):
            call(name, 1, 0)


def test_rounding() -> None:
    assert (
        call("aten::floordiv.int", -7, 2) == -4
        and call("aten::__round_to_zero_floordiv.int", -7, 2) == -3
    )
    assert call("aten::remainder.int", -7, 2) == 1 and call("aten::fmod.int", -7, 2) == -1.0
    assert call("aten::round.float", 2.5) == 2.0 and call("aten::ceil.float", 2.5) == 3
    with pytest.raises(RuntimeError, match="Cannot convert float nan to integer"):
        call("aten::ceil.float", NAN)


TEXTS = [
    "1.5",
    " 1.5",
    "1.5 ",
    "",
    "nan",
    "-inf",
    "1_000",
    "0x10",
    "1e400",
    "+2",
    "12",
    " 12",
    "12 ",
    "1x",
    "9" * 20,
]


@pytest.mark.parametrize("text", TEXTS)
def test_numbers_in_strings(text: str) -> None:
    for name, result in (("aten::Float.str", "float"), ("aten::Int.str", "int")):
        jit_oracle.compare(name, ["str"], [text], result)
