"""The language, as users write it: what a review found."""

from __future__ import annotations

from typing import Any

import pytest

import internals as torch
from internals import Tensor, jit


def takes_int(n: int) -> int:
    return n


def takes_float(x: float) -> float:
    return x


def bools(t: Tensor, b: bool) -> tuple[int, int, float, int, float, Tensor, Tensor]:
    count = 0
    for _ in range(3):
        count += b
    return count, takes_int(b), takes_float(b), b + b, b * 1.5, torch.ones(b, 2), torch.full([2], b)


def returns_int(b: bool) -> int:
    return b


def test_a_bool_is_converted_where_a_number_is_expected() -> None:
    count, i, f, two, product, ones, full = jit.script(bools)(torch.ones(2), True)
    assert (count, i, f, two, product) == (3, 1, 1.0, 2, 1.5)
    assert [type(x) for x in (count, i, f, two, product)] == [int, int, float, int, float]
    assert ones.shape == (1, 2)
    assert full.dtype == torch.int64
    assert jit.script(returns_int)(True) == 1
    assert "aten::Int(%b" in str(jit.script(returns_int).graph)


def text(x: float) -> tuple[str, str, str]:
    return str(x), f"{x}", str([x])


@pytest.mark.parametrize(
    ("x", "shown"),
    [
        (2.0, "2."),
        (1e12, "1000000000000."),
        (1e18, "1000000000000000000."),
        (1e20, "1e+20"),
        (-0.0, "0."),
        (0.1, "0.10000000000000001"),
    ],
)
def test_text_of_floats(x: float, shown: str) -> None:
    assert jit.script(text)(x) == (shown, shown, f"[{shown}]")


def largest(t: Tensor) -> Any:
    return t.max(0)


def test_several_results_are_a_plain_tuple() -> None:
    f = jit.script(largest)
    assert type(f(torch.ones(2, 2))) is tuple
    assert "NamedTuple(values : Tensor, indices : Tensor)" in str(f.graph)


def properties(t: Tensor) -> tuple[bool, Tensor, list[int]]:
    return t.is_leaf, t.real, torch.Size([1, 2])


def test_properties() -> None:
    leaf, real, size = jit.script(properties)(torch.ones(1))
    assert (leaf, real.item(), size) == (True, 1.0, [1, 2])


def asks(t: Tensor) -> Tensor:
    if jit.is_tracing():
        return t + 1
    return t


def test_nobody_traces_compiled_code() -> None:
    assert jit.script(asks)(torch.zeros(1)).item() == 0
    assert jit.trace(asks, torch.zeros(1))(torch.zeros(1)).item() == 1
    assert jit.is_tracing() is False
