"""Which dtype results: the whole table of two dtypes, and who is heard first."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import internals as torch
from internals.core.dtype import ALL
from internals.core.promotion import can_cast, promote_types, result_type
from tests.answers import answer

# Rows and columns: uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128 bool
TABLE = """
u1 i2 i2 i4 i8 f2 f4 f8 c8 c16 u1
i2 i1 i2 i4 i8 f2 f4 f8 c8 c16 i1
i2 i2 i2 i4 i8 f2 f4 f8 c8 c16 i2
i4 i4 i4 i4 i8 f2 f4 f8 c8 c16 i4
i8 i8 i8 i8 i8 f2 f4 f8 c8 c16 i8
f2 f2 f2 f2 f2 f2 f4 f8 c8 c16 f2
f4 f4 f4 f4 f4 f4 f4 f8 c8 c16 f4
f8 f8 f8 f8 f8 f8 f8 f8 c16 c16 f8
c8 c8 c8 c8 c8 c8 c8 c16 c8 c16 c8
c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16
u1 i1 i2 i4 i8 f2 f4 f8 c8 c16 b1
"""


def test_promote_types_is_the_table() -> None:
    rows = [line.split() for line in TABLE.strip().splitlines()]
    for a, row in zip(ALL, rows):
        for b, code in zip(ALL, row):
            assert promote_types(a, b).np == np.dtype("?" if code == "b1" else code), (a, b)


def test_promote_types_and_can_cast_are_pytorchs() -> None:
    def table(torch: Any) -> list[Any]:
        pairs = product([getattr(torch, d.name) for d in ALL], repeat=2)
        return [(torch.promote_types(x, y), torch.can_cast(x, y)) for x, y in pairs]

    for (a, b), (promoted, castable) in zip(product(ALL, ALL), answer(table), strict=True):
        assert promote_types(a, b).name == promoted.removeprefix("torch.")
        assert can_cast(a, b) == castable


def operands(T: Any, dtypes: Any) -> list[Any]:
    """Of each dtype a tensor with dimensions and one without; and the Python numbers."""
    tensors = [T.ones(shape, dtype=d) for d in dtypes for shape in ((2,), ())]
    return [*tensors, True, 3, 2.5, 1j]


def test_result_type_of_every_pair_and_some_triples_is_pytorchs() -> None:
    def pairs(T: Any) -> list[Any]:
        given = operands(T, [getattr(T, d.name) for d in ALL])
        return [
            (a, b)
            for a, b in product(given, repeat=2)
            if hasattr(a, "dtype") or hasattr(b, "dtype")
        ]

    theirs = answer(lambda real: [str(real.result_type(a, b)) for a, b in pairs(real)])
    for (a, b), expected in zip(pairs(torch), theirs, strict=True):
        # we have no half of it
        expected = expected.removeprefix("torch.").replace("complex32", "complex64")
        assert result_type([a, b]).name == expected, (a, b)
        assert torch.result_type(a, b) is result_type([a, b])


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda t: t.ones(2, dtype=t.int32) + 1, "int32"),
        (lambda t: t.ones(2, dtype=t.int32) + 1.5, "float32"),
        (lambda t: t.ones(2, dtype=t.float16) + 1.5, "float16"),
        (lambda t: t.ones(2) + t.ones((), dtype=t.float64), "float32"),
        (lambda t: t.ones(2, dtype=t.int64) + t.ones((), dtype=t.float64), "float64"),
        (lambda t: t.ones(2, dtype=t.bool) + 1, "int64"),
        (lambda t: t.ones(2, dtype=t.uint8) + t.ones(2, dtype=t.int8), "int16"),
        (lambda t: t.ones(2, dtype=t.float16) + 1j, "complex32"),
        (lambda t: t.ones(2, dtype=t.float64) + 1j, "complex128"),
    ],
)
def test_who_is_heard(make: Any, expected: str) -> None:
    if expected == "complex32":  # PyTorch has a complex half, we do not: the next wider one results
        expected = "complex64"
    assert make(torch).dtype.name == expected


def test_the_default_dtype_decides_what_integers_become() -> None:
    try:
        torch.set_default_dtype(torch.float64)
        assert torch.ones(2, dtype=torch.int64).exp().dtype is torch.float64
        assert torch.tensor(1.5).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    with pytest.raises(
        TypeError, match="only floating-point types are supported as the default type"
    ):
        torch.set_default_dtype(torch.int64)
