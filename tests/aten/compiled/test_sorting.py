"""Radix sort and topk by machine code: order, stability, NaN, signed zeros, layouts, against numpy
and PyTorch.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals as torch
from internals.aten.compiled import sorting
from internals.aten.compiled.rows import address
from internals.core.tensor_impl import array, from_array
from internals.machine_code import compiled_kernels
from tests.core.large_results import few_numbers, fingerprint
from tests.side_by_side import check
from tests.support import examples

NAMES = ("float32", "float64", "int64", "int32", "int16", "int8", "uint8", "bool")
ODD = (math.nan, math.inf, -math.inf, 0.0, -0.0, 1e-40, -1e-40, 1.5, -1.5)


@st.composite
def rows(draw: st.DrawFn, names: tuple[str, ...] = NAMES) -> Any:
    """A tensor with many equal elements, rows long enough for machine code or not, in one of
    several layouts.
    """
    name = draw(st.sampled_from(names))
    sizes = draw(
        st.sampled_from(((64,), (130,), (3, 70), (70, 3), (2, 65, 3), (5, 4), (0, 70), (2, 0)))
    )
    stream = np.random.default_rng(draw(st.integers(0, 99)))
    if name[0] == "f":
        a = np.array(ODD, name)[stream.integers(0, len(ODD), sizes)]
        a = np.where(stream.random(sizes) < 0.3, stream.standard_normal(sizes), a).astype(name)
    else:
        a = (
            stream.integers(0, 256, sizes, np.uint8).astype(name)
            if draw(st.booleans())
            else extremes(name, sizes, stream)
        )
    t = from_array(a)
    return t.t() if len(sizes) == 2 and draw(st.booleans()) else t


def extremes(name: str, sizes: tuple[int, ...], stream: Any) -> Any:
    if name == "bool":
        return stream.integers(0, 2, sizes).astype(bool)
    limits = np.iinfo(name)
    return np.array([limits.min, limits.min + 1, 0, 1, limits.max], name)[
        stream.integers(0, 5, sizes)
    ]


@examples(150)
@given(rows(), st.data())
def test_sort_is_numpys_stable_one(x: Any, data: Any) -> None:
    dim, descending = data.draw(st.integers(0, x.dim() - 1)), data.draw(st.booleans())
    with compiled_kernels(False):
        expected = torch.sort(x, dim, descending)
    with compiled_kernels(threshold=0):
        found = torch.sort(x, dim, descending)
    np.testing.assert_array_equal(array(found.indices), array(expected.indices))
    np.testing.assert_array_equal(array(found.values), array(expected.values))
    assert found.values.stride() == expected.values.stride()
    if x.is_floating_point():
        np.testing.assert_array_equal(
            np.signbit(array(found.values)), np.signbit(array(expected.values))
        )


@examples(150)
@given(rows(tuple(n for n in NAMES if n != "bool")), st.data())
def test_topk_is_the_beginning_of_sort(x: Any, data: Any) -> None:
    dim, largest = data.draw(st.integers(0, x.dim() - 1)), data.draw(st.booleans())
    k = data.draw(st.integers(0, x.shape[dim]))
    with compiled_kernels(False):
        expected = torch.sort(x, dim, largest)
    with compiled_kernels(threshold=0):
        found = torch.topk(x, k, dim, largest)
    np.testing.assert_array_equal(array(found.values), array(expected.values.narrow(dim, 0, k)))
    taken = np.take_along_axis(array(x), array(found.indices), dim)
    np.testing.assert_array_equal(taken, array(found.values))
    if 0 < k <= sorting.FEW:  # equal ones in the order in which they come
        np.testing.assert_array_equal(
            array(found.indices), array(expected.indices.narrow(dim, 0, k))
        )


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("sizes, dim", [((300, 200), 1), ((300, 200), 0), ((70_000,), 0)])
@pytest.mark.parametrize("descending", [False, True])
def test_beside_pytorch(dtype: str, sizes: tuple[int, ...], dim: int, descending: bool) -> None:
    def case(T: Any, x: Any) -> Any:
        both = T.sort(x(*sizes, dtype=dtype), dim=dim, descending=descending, stable=True)
        return [*few_numbers(T, both.values), *map(fingerprint, both)]

    check(case)
    check(lambda T, x: few_numbers(T, T.topk(x(*sizes, dtype=dtype), 7, dim, descending).values))


def test_into_itself() -> None:
    x = from_array(np.random.default_rng(0).standard_normal((100, 200)).astype(np.float32))
    expected = np.sort(array(x))
    torch.sort(x, out=(x, torch.empty(0, dtype=torch.int64)))
    np.testing.assert_array_equal(array(x), expected)


def test_python_is_the_reference() -> None:
    """The kernels run as Python give the same as their machine code."""
    x = np.array([[3, -1, 7, -1, 2**40], [0, 5, 5, -(2**63), 1]])
    sort = sorting.sorts_of_rows.bind(**sorting._keys(x.dtype))
    best = sorting.best_of_rows.bind(before=sorting.smaller_than_nan)
    results = []
    for compiled in (False, True):
        out, at = np.empty_like(x), np.empty_like(x)
        keys, places, counts = (
            np.empty((2, 5), np.int64),
            np.empty((2, 5), np.int32),
            np.empty(8 * 256, np.int32),
        )
        arrays = (x, out, at, keys, places, counts)
        first, second = np.empty((2, 3), np.int64), np.empty((2, 3), np.int64)
        if compiled:
            sort.entry("*i8 *i8 *i8 *i8 *i4 *i4 i8 i8 i8 i8")(
                0, 1, *map(address, arrays), 5, 2, 1, -1
            )
            best.entry("*i8 *i8 *i8 i8 i8")(0, 2, address(x), address(first), address(second), 5, 3)
        else:
            sort(0, 1, *(a.reshape(-1) for a in arrays), 5, 2, 1, -1)
            best(0, 2, *(a.reshape(-1) for a in (x, first, second)), 5, 3)
        results.append((out, at, first, second))
    for python, machine in zip(*results):
        np.testing.assert_array_equal(python, machine)
    assert results[1][0].tolist() == [[2**40, 7, 3, -1, -1], [5, 5, 1, 0, -(2**63)]]
    assert results[1][1].tolist() == [[4, 2, 0, 1, 3], [1, 2, 4, 0, 3]]
    assert results[1][2].tolist() == [[-1, -1, 3], [-(2**63), 0, 1]]
