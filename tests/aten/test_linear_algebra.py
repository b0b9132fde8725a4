"""The matmul family, side by side with PyTorch where it is installed, and against numpy
everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import internals
from tests.side_by_side import cases, check, expression, ours, random_array
from tests.support import assert_same, examples, to_numpy

DTYPES = [
    "uint8",
    "int8",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]

VALUES = cases("""
    T.mm(x(2, 3), x(3, 4))
    T.mm(x(3, 2).t(), x(4, 3).t())
    T.mm(x(8, 9)[::2, ::3], x(6, 4)[::2])
    T.mm(x(0, 3), x(3, 4))
    T.mm(x(2, 0), x(0, 4))
    T.mm(x(0, 3), x(3, 0))
    x(2, 3).mm(x(3, 4))
    x(2, 3) @ x(3, 4)
    T.mm(x(2, 3), x(3, 4), out=x(5))
    T.mm(x(2, 3), x(3, 4), out=x(4, 2).t())
    T.bmm(x(5, 2, 3), x(5, 3, 4))
    T.bmm(x(2, 3, 4).transpose(0, 1), x(3, 4, 2))
    T.bmm(x(2, 3, 4), x(2, 5, 4).transpose(1, 2))
    T.bmm(x(0, 3, 4), x(0, 4, 5))
    T.bmm(x(2, 3, 0), x(2, 0, 5))
    T.mv(x(2, 3), x(3))
    T.mv(x(2, 0), x(0))
    x(3, 2).t().mv(x(6)[::2])
    T.dot(x(5), x(5))
    T.dot(x(0), x(0))
    x(5).dot(x(10)[::2])
    T.outer(x(2), x(3))
    T.outer(x(2, dtype="int64"), x(3))
    T.outer(x(2, dtype="bool"), x(3, dtype="bool"))
    T.outer(x(2, dtype="int64"), x(3, dtype="int64"), out=x(2, 3))
    T.addmm(x(2, 4), x(2, 3), x(3, 4))
    T.addmm(x(2, 4), x(2, 3), x(3, 4), beta=0.5, alpha=2)
    T.addmm(x(4), x(2, 3), x(3, 4))
    T.addmm(x(2, 1), x(2, 3), x(3, 4))
    T.addmm(x.of(3.0), x(2, 3), x(3, 4))
    T.addmm(x.of([[nan] * 4] * 2), x(2, 3), x(3, 4), beta=0)
    T.addmm(x(2, 4), x.of([[nan] * 3] * 2), x(3, 4), alpha=0)
    T.addmm(x.of([[1] * 4] * 2, "float16"), x.of([[nan] * 3] * 2, "float16"),
        x.of([[1] * 4] * 3, "float16"), alpha=0)
    T.addmv(x(2), x.of([[nan] * 3] * 2), x(3), alpha=0)
    T.addmv(x(2), x.of([[nan] * 3] * 2), x(1).expand(3), alpha=0)
    T.addbmm(x.of([[1] * 4] * 2, "float16"), x.of([[[nan] * 3] * 2], "float16"),
        x.of([[[1] * 4] * 3], "float16"), alpha=0)
    T.addmm(x(2, 4), x(2, 0), x(0, 4), beta=2)
    T.addmm(x(2, 4), x(2, 3), x(3, 4), beta=x.of(2.0))
    T.addmm(x(2, 4), x(2, 3), x(3, 4), out=x(2, 4))
    x(2, 4).addmm(x(2, 3), x(3, 4), alpha=3)
    x(2, 4).addmm_(x(2, 3), x(3, 4), beta=2, alpha=3)
    x(4, 2).t().addmm_(x(2, 3), x(3, 4))
    T.addmm(x(2, 4, dtype="int64"), x(2, 3, dtype="int64"), x(3, 4, dtype="int64"), alpha=1.5,
        beta=2.5)
    T.addmm(x(2, 4, dtype="float16"), x(2, 3, dtype="float16"), x(3, 4, dtype="float16"), alpha=1.5,
        beta=2.5)
    T.addmm(x(2, 4, dtype="complex64"), x(2, 3, dtype="complex64"), x(3, 4, dtype="complex64"),
        alpha=1.5j, beta=2 - 1j)
    T.addmv(x(2), x(2, 3), x(3), beta=0.5, alpha=2)
    T.addmv(x(1), x(2, 3), x(3))
    T.addmv(x.of(1.0), x(2, 3), x(3))
    T.addmv(x.of([nan, nan]), x(2, 3), x(3), beta=0)
    T.addmv(x(2), x(2, 0), x(0), beta=3)
    T.addmv(x(2, dtype="int64"), x(2, 3, dtype="int64"), x(3, dtype="int64"), alpha=1.5)
    x(2).addmv_(x(2, 3), x(3))
    T.addbmm(x(3, 5), x(2, 3, 4), x(2, 4, 5), beta=2, alpha=0.5)
    T.addbmm(x(5), x(2, 3, 4), x(2, 4, 5))
    T.addbmm(x(3, 5), x(0, 3, 4), x(0, 4, 5), beta=2)
    T.addbmm(x(3, 5), x(2, 3, 4).fill_(nan), x(2, 4, 5), alpha=0)
    x(3, 5).addbmm_(x(2, 3, 4), x(2, 4, 5))
    T.baddbmm(x(2, 3, 5), x(2, 3, 4), x(2, 4, 5), beta=2, alpha=0.5)
    T.baddbmm(x(5), x(2, 3, 4), x(2, 4, 5))
    T.baddbmm(x(2, 3, 5).fill_(nan), x(2, 3, 4), x(2, 4, 5), beta=0)
    T.baddbmm(x(2, 3, 5), x(2, 3, 4).fill_(nan), x(2, 4, 5), alpha=0)
    T.baddbmm(x(2, 3, 5, dtype="int64"), x(2, 3, 4, dtype="int64"), x(2, 4, 5, dtype="int64"),
        alpha=1.5)
    x(2, 3, 5).baddbmm_(x(2, 3, 4), x(2, 4, 5))
    T.matmul(x(3), x(3))
    T.matmul(x(3), x(3, 4))
    T.matmul(x(2, 3), x(3))
    T.matmul(x(2, 3), x(3, 4))
    T.matmul(x(3), x(5, 3, 4))
    T.matmul(x(3), x(6, 5, 3, 4))
    T.matmul(x(5, 2, 3), x(3))
    T.matmul(x(6, 5, 2, 3), x(3))
    T.matmul(x(5, 2, 3), x(3, 4))
    T.matmul(x(2, 5, 3).transpose(0, 1), x(3, 4))
    T.matmul(x(2, 3), x(5, 3, 4))
    T.matmul(x(5, 1, 2, 3), x(6, 3, 4))
    T.matmul(x(5, 6, 2, 3), x(1, 6, 3, 4))
    T.matmul(x(1, 2, 3), x(6, 3, 4))
    T.matmul(x(5, 0, 3), x(3, 4))
    T.matmul(x(5, 2, 0), x(5, 0, 4))
    T.matmul(x(0, 2, 3), x(3))
    T.matmul(x(2, 3), x(3, 2), out=x(1))
    x(2, 3).matmul(x(3))
    F.linear(x(2, 3), x(4, 3))
    F.linear(x(2, 3), x(4, 3), x(4))
    F.linear(x(3), x(4, 3))
    F.linear(x(3), x(4, 3), x(4))
    F.linear(x(3), x(3))
    F.linear(x(2, 3), x(3))
    F.linear(x(5, 2, 3), x(4, 3), x(4))
    F.linear(x(5, 2, 3), x(4, 3))
    F.linear(x(6, 5, 2, 3), x(4, 3), x(4))
    F.linear(x(2, 5, 3).transpose(0, 1), x(4, 3), x(4))
    F.linear(x(2, 3), x(4, 3), x(2, 4))
    F.linear(input=x(2, 3), weight=x(4, 3), bias=None)
""")

ERRORS = cases("""
    T.mm(x(2, 3), x(2, 3))
    T.mm(x(2), x(2, 3))
    T.mm(x(2, 3), x(3))
    T.mm(x(2, 3), x(3, 4, dtype="float64"))
    T.mm(x(2, 3, dtype="int64"), x(3, 4))
    T.mm(x(2, 3, dtype="float16"), x(3, 4, dtype="complex64"))
    T.mm(x(2, 3, dtype="uint8"), x(3, 4, dtype="int8"))
    T.mm(x(2, 3, dtype="bool"), x(3, 4, dtype="bool"))
    T.mm(x(2, 3), x(3, 4), out=x(2, 4, dtype="float64"))
    T.mm(x(2, 3), x(3, 4), out=x(2, 4, dtype="int64"))
    T.mm(x(2, 3), x(3, 4), out=x(2, 1).expand(2, 4))
    T.mm(x(2, 3), "a")
    T.bmm(x(2, 3, 4), x(2, 3, 4))
    T.bmm(x(2, 3, 4), x(3, 4, 4))
    T.bmm(x(2, 3), x(2, 3, 4))
    T.bmm(x(2, 3, 4), x(2, 4))
    T.bmm(x(2, 3, 4, dtype="int64"), x(2, 4, 3))
    T.bmm(x(2, 3, 4, dtype="bool"), x(2, 4, 3, dtype="bool"))
    T.bmm(x(2, 3, 4), x(2, 4, 3), out=x(2, 3, 3, dtype="float64"))
    T.mv(x(2, 3), x(2))
    T.mv(x(2, 3), x(3, 1))
    T.mv(x(3), x(3))
    T.mv(x(2, 3), x(3, dtype="float64"))
    T.mv(x(2, 3, dtype="bool"), x(3, dtype="bool"))
    T.mv(x(2, 3), x(3), out=x(2, dtype="float64"))
    T.dot(x(2), x(3))
    T.dot(x(2, 2), x(3))
    T.dot(x(2), x(2, dtype="float64"))
    T.dot(x(2, dtype="bool"), x(2, dtype="bool"))
    T.dot(x(2), x(2), out=x(dtype="float64"))
    T.outer(x(2, 2), x(3))
    T.outer(x(2), x(3, 1))
    T.outer(x(2), x(3), out=x(2, 3, dtype="int64"))
    T.addmm(x(2, 5), x(2, 3), x(3, 4))
    T.addmm(x(2, 4), x(2, 3), x(2, 4))
    T.addmm(x(1, 2, 4), x(2, 3), x(3, 4))
    T.addmm(x(2, 4, dtype="float64"), x(2, 3), x(3, 4))
    T.addmm(x(2, 4), x(2, 3), x(3, 4, dtype="float64"))
    T.addmm(x(2, 4, dtype="bool"), x(2, 3, dtype="bool"), x(3, 4, dtype="bool"))
    T.addmm(x(2, 4), x(2, 3, 2), x(3, 4))
    T.addmm(x(2, 4), x(2, 3), x(3))
    T.addmm(x(2, 4), x(2, 3), x(3, 4), alpha=1j)
    x(4).addmm_(x(2, 3), x(3, 4))
    x(2, 5).addmm_(x(2, 3), x(3, 4))
    x(2, 4, dtype="float64").addmm_(x(2, 3), x(3, 4))
    T.addmv(x(3), x(2, 3), x(3))
    T.addmv(x(2), x(2, 3), x(2))
    T.addmv(x(2, 1), x(2, 3), x(3))
    T.addmv(x(2, dtype="float64"), x(2, 3), x(3))
    T.addmv(x(2), x(2, 3), x(3), out=x(2, dtype="float64"))
    x(1).addmv_(x(2, 3), x(3))
    T.addbmm(x(3, 4), x(2, 3, 4), x(2, 4, 5))
    T.addbmm(x(3, 5), x(2, 3, 4), x(2, 3, 5))
    T.addbmm(x(3, 5), x(2, 3, 4), x(3, 4, 5))
    T.addbmm(x(3, 5, dtype="float64"), x(2, 3, 4), x(2, 4, 5))
    T.addbmm(x(3, 5), x(2, 3, 4), x(2, 4, 5, dtype="float64"))
    T.baddbmm(x(2, 3, 6), x(2, 3, 4), x(2, 4, 5))
    T.baddbmm(x(2, 3, 5), x(2, 3, 4), x(2, 3, 5))
    T.baddbmm(x(2, 3, 5, dtype="float64"), x(2, 3, 4), x(2, 4, 5))
    T.baddbmm(x(2, 3, 5), x(2, 3, 4), x(2, 4, 5, dtype="float64"))
    T.baddbmm(x(2, 3, 5), x(2, 3), x(2, 4, 5))
    T.baddbmm(x(2, 3, 5), x(2, 3, 4), x(2, 4, 5), out=x(2, 3, 5, dtype="float64"))
    x(5).baddbmm_(x(2, 3, 4), x(2, 4, 5))
    x(2, 3, 5, dtype="float64").baddbmm_(x(2, 3, 4), x(2, 4, 5))
    T.matmul(x(), x(2))
    T.matmul(x(2), x())
    T.matmul(x(2), x(3))
    T.matmul(x(3), x(2, 4))
    T.matmul(x(2, 3), x(4))
    T.matmul(x(3), x(5, 2, 4))
    T.matmul(x(5, 2, 3), x(4))
    T.matmul(x(5, 2, 3), x(2, 4))
    T.matmul(x(2, 3), x(5, 2, 4))
    T.matmul(x(5, 1, 2, 3), x(6, 2, 4))
    T.matmul(x(5, 2, 2, 3), x(6, 3, 4))
    T.matmul(x(5, 2, 3), x(5, 3, 4, dtype="float64"))
    T.matmul(x(2, 3, dtype="bool"), x(3, 4, dtype="bool"))
    F.linear(x(2, 3), x(4, 3), x(5))
    F.linear(x(2, 3), x(4, 2), x(4))
    F.linear(x(2, 3), x(4, 2))
    F.linear(x(5, 2, 3), x(4, 2), x(4))
    F.linear(x(2, 3, dtype="float64"), x(4, 3), x(4))
    F.linear(x(2, 3), x(2, 4, 3))
    F.linear(x(), x(2))
""")

EINSUM = cases("""
    T.einsum("ij,jk", x(2, 3), x(3, 4))
    T.einsum("ij,jk->ki", x(2, 3), x(3, 4))
    T.einsum("i...->...", x(2, 3, 4))
    T.einsum("i...->i", x(2, 3, 4))
    T.einsum("...->", x(2, 3, 4))
    T.einsum("...ij,...jk->...ik", x(5, 2, 3), x(3, 4))
    T.einsum("...ij,...jk", x(5, 1, 2, 3), x(4, 3, 6))
    T.einsum("ij,j...->i...", x(2, 3), x(3, 4, 5))
    T.einsum("...,...", x(2, 1), x(3))
    T.einsum("ii", x(3, 3))
    T.einsum("ii->i", x(3, 3))
    T.einsum("iji->j", x(3, 4, 3))
    T.einsum("iii->i", x(3, 3, 3))
    T.einsum("ij,ij->", x(3, 4), x(3, 4))
    T.einsum("ij,ij->ij", x(1, 4), x(3, 4))
    T.einsum("ij,kj->", x(2, 3), x(4, 3))
    T.einsum("ij->ji", x(2, 3))
    T.einsum("ji", x(2, 3))
    T.einsum("Ab", x(2, 3))
    T.einsum("bA", x(2, 3))
    T.einsum("i,j", x(2), x(3))
    T.einsum("i,i", x(3), x(3))
    T.einsum("", x())
    T.einsum(",", x(), x())
    T.einsum("->", x())
    T.einsum("ij,jk,kl->il", x(2, 3), x(3, 4), x(4, 5))
    T.einsum("bn,anm,bm->ba", x(2, 5), x(3, 5, 4), x(2, 4))
    T.einsum("i,i,i->i", x(3), x(3), x(3))
    T.einsum("i,i,i", x(3), x(3), x(3))
    T.einsum("b i d, b j d -> b i j", x(2, 3, 4), x(2, 5, 4))
    T.einsum("bhid,bhjd->bhij", x(2, 3, 4, 5), x(2, 3, 6, 5))
    T.einsum("ij->", x(2, 3, dtype="bool"))
    T.einsum("ij,jk->ik", x(2, 3, dtype="int64"), x(3, 4, dtype="int64"))
    T.einsum("ij,jk->ik", x(0, 3), x(3, 4))
    T.einsum("ij,jk->ik", x(2, 0), x(0, 4))
    T.einsum(x(2, 3), [0, 1], x(3, 4), [1, 2], [0, 2])
    T.einsum(x(2, 3), [0, 1], x(3, 4), [1, 2])
    T.einsum(x(2, 3), [..., 0], [0])
    T.einsum(x(2, 3), [..., 0], [0, ...])
    T.einsum("ij->ji", [x(2, 3)])
    T.einsum("ij,jk->ik", x(2, 3), x(2, 4))
    T.einsum("ij,jk->ikl", x(2, 3), x(3, 4))
    T.einsum("ij,jk->ikk", x(2, 3), x(3, 4))
    T.einsum("ij,jk", x(2, 3))
    T.einsum("ij", x(2, 3), x(2, 3))
    T.einsum("ijk", x(2, 3))
    T.einsum("i", x(2, 3))
    T.einsum("ij->i1", x(2, 3))
    T.einsum("i1->i", x(2, 3))
    T.einsum("ij-ji", x(2, 3))
    T.einsum("i..->.", x(2, 3, 4))
    T.einsum("ij->.", x(2, 3))
    T.einsum("...ij->......", x(2, 3))
    T.einsum("...i...->i", x(2, 3, 4))
    T.einsum("...ijk", x(2, 3))
    T.einsum("ii", x(3, 4))
    T.einsum("i->ii", x(2))
    T.einsum("i,i", x(2), x(3))
    T.einsum("...i,...i->...", x(2, 4), x(3, 4))
    T.einsum(x(2, 3), [0, 60], [0])
    T.einsum(x(2))
    T.einsum(5, x(2))
""")


@pytest.mark.parametrize("case", VALUES)
def test_values(case: str) -> None:
    check(expression(case), strides=".t().addmm_" not in case)


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case: str) -> None:
    check(expression(case))


@pytest.mark.parametrize("case", EINSUM)
def test_einsum(case: str) -> None:
    check(expression(case))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", [
    "T.mm(x(9, 30, dtype=D), x(30, 8, dtype=D))", "T.bmm(x(2, 3, 4, dtype=D), x(2, 4, 3, dtype=D))",
    "T.mv(x(4, 5, dtype=D), x(5, dtype=D))", "T.dot(x(9, dtype=D), x(9, dtype=D))",
])  # fmt: skip
def test_dtypes(case: str, dtype: str) -> None:
    tolerance = {"rtol": 5e-3, "atol": 2e-2} if dtype == "float16" else {"rtol": 1e-4, "atol": 1e-5}
    check(expression(case.replace("=D", f"={dtype!r}")), strides=True, **tolerance)


REFERENCES: dict[str, tuple[list[tuple[int, ...]], Callable[..., Any]]] = {
    "mm": ([(2, 3), (3, 4)], np.matmul),
    "bmm": ([(5, 2, 3), (5, 3, 4)], np.matmul),
    "mv": ([(2, 3), (3,)], np.matmul),
    "dot": ([(7,), (7,)], np.dot),
    "outer": ([(2,), (3,)], np.outer),
    "matmul": ([(5, 1, 2, 3), (6, 3, 4)], np.matmul),
    "addmm": ([(4,), (2, 3), (3, 4)], lambda s, a, b: s + a @ b),
    "addmv": ([(2,), (2, 3), (3,)], lambda s, a, b: s + a @ b),
    "addbmm": ([(2, 4), (5, 2, 3), (5, 3, 4)], lambda s, a, b: s + (a @ b).sum(0)),
    "baddbmm": ([(5, 2, 4), (5, 2, 3), (5, 3, 4)], lambda s, a, b: s + a @ b),
}


@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.parametrize("dtype", ["int64", "float64", "complex128"])
def test_against_numpy(name: str, dtype: str) -> None:
    shapes, reference = REFERENCES[name]
    x = ours()
    inputs = [x(*s, dtype=dtype) for s in shapes]
    expected = np.asarray(reference(*map(to_numpy, inputs)))
    assert_same(getattr(internals, name)(*inputs), expected)
    assert_same(getattr(inputs[0], name)(*inputs[1:]), expected)
    out = x(*expected.shape, dtype=dtype)
    assert getattr(internals, name)(*inputs, out=out) is out
    assert_same(out, expected)


def test_linear_against_numpy() -> None:
    x = ours()
    a, w, b = x(5, 2, 3, dtype="float64"), x(4, 3, dtype="float64"), x(4, dtype="float64")
    expected = to_numpy(a) @ to_numpy(w).T + to_numpy(b)
    assert_same(internals.nn.functional.linear(a, w, b), expected)


def test_integers_are_exact_beyond_the_precision_of_floats() -> None:
    a, b = ours().of([[2**53, 1]], "int64"), ours().of([[1], [1]], "int64")
    assert internals.mm(a, b).item() == 2**53 + 1


def test_half_is_summed_in_single_precision() -> None:
    ones = ours().of(np.ones((1, 4096)), "float16")  # float16 alone would stop counting at 2048
    assert internals.mm(ones, ones.t()).item() == 4096


def test_out_may_be_an_input() -> None:
    a = ours()(3, 3)
    expected = to_numpy(a) @ to_numpy(a)
    internals.mm(a, a, out=a)
    np.testing.assert_allclose(to_numpy(a), expected, rtol=1e-5)


def test_in_place_counts_as_a_write() -> None:
    x = ours()
    a = x(2, 4)
    assert a.addmm_(x(2, 3), x(3, 4)) is a and a._version == 1


@given(st.data())
@examples(30)
def test_matmul_broadcasts_as_numpy(data: st.DataObject) -> None:
    """Any pair of batch shapes that broadcast, any operand possibly 1-D, any operand possibly
    transposed in memory.
    """
    n, k, m = (data.draw(st.integers(0, 4)) for _ in range(3))
    batch = data.draw(st.lists(st.integers(1, 3), max_size=3))
    a_batch, b_batch = (
        [data.draw(st.sampled_from([1, s])) for s in batch[i:]]
        for i in (data.draw(st.integers(0, 3)), 0)
    )
    a_sizes = data.draw(st.sampled_from([(k,), (*a_batch, n, k)]))
    b_sizes = data.draw(st.sampled_from([(k,), (*b_batch, k, m)]))
    stream = np.random.default_rng(data.draw(st.integers(0, 99)))
    tensors = []
    for sizes in (a_sizes, b_sizes):
        if len(sizes) > 1 and data.draw(st.booleans()):
            tensors.append(
                internals.from_numpy(
                    random_array(stream, (*sizes[:-2], sizes[-1], sizes[-2]), "float64")
                ).mT
            )
        else:
            tensors.append(internals.from_numpy(random_array(stream, sizes, "float64")))
    assert_same(internals.matmul(*tensors), np.asarray(np.matmul(*map(to_numpy, tensors))))


@given(st.data())
@examples(30)
def test_einsum_agrees_with_numpy(data: st.DataObject) -> None:
    sizes = dict(zip("abcde", data.draw(st.lists(st.integers(0, 3), min_size=5, max_size=5))))
    operands = data.draw(st.lists(st.text("abcde", max_size=4), min_size=1, max_size=3))
    used = sorted(set("".join(operands)))
    output = "".join(data.draw(st.permutations(used))[: data.draw(st.integers(0, len(used)))])
    equation = f"{','.join(operands)}->{output}"
    x = ours()
    tensors = [x(*(sizes[c] for c in s), dtype="float64") for s in operands]
    assert_same(
        internals.einsum(equation, *tensors),
        np.asarray(np.einsum(equation, *map(to_numpy, tensors))),
    )
