"""Complex numbers: parts, conjugates, directions; what the fuzz tests do not reach."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import internals
from tests.answers import answer
from tests.side_by_side import cases, check, expression
from tests.support import to_numpy

LIKE_PYTORCH = cases("""
    T.complex(x(2), x(2, 1))
    T.complex(x(), x(dtype="float64"))
    T.complex(x(2, dtype="int64"), x(2))
    T.complex(x(2), x(2), out=x(2, dtype="complex128"))
    T.complex(real=x(0, 3), imag=x(0, 3))
    T.polar(x(2), x(3))
    T.polar(x(2, dtype="float16"), x(2, dtype="float16"))
    T.polar(abs=x(2, dtype="float64"), angle=x(2, dtype="float64"), out=x(2, dtype="complex128"))
    T.angle(x.of([1.0, -1, nan, 0.0, -0.0, inf, -inf]))
    T.angle(x.of([1 + 1j, -1, complex(-1, -0.0), complex(nan, 0), complex(0, inf)], "complex64"))
    T.angle(x.of([True, False], "bool")), T.angle(x(3, dtype="uint8")),
        T.angle(x(3, dtype="float16"))
    T.angle(x(2, dtype="complex64"), out=x(2, dtype="float64")).dtype.itemsize
    T.angle(x(2, dtype="complex64"), out=x(2, dtype="complex64"))
    T.angle(x(2, dtype="complex64"), out=x(2, dtype="int64"))
    T.sgn(x.of([3 + 4j, 0, complex(nan, 0), complex(inf, 0)], "complex64"))
    T.sgn(x.of([-2.0, 0, nan, inf])), x(3, dtype="int64").sgn_(), T.sgn(x.of([True, False], "bool"))
    T.sgn(x(2, dtype="complex64"), out=x(2, dtype="complex128"))
    x(2, dtype="complex64").sign()
    x(2, 3, dtype="complex64").t().conj_physical().stride()
    T.conj_physical(x(2, dtype="complex64"), out=x(2, dtype="complex128"))
    T.conj_physical(x(2), out=x(2, dtype="float64"))
    x(2, dtype="bool").conj_physical(), x(2).conj(), x(2).resolve_conj(), x(2).resolve_neg()
    x(2, dtype="complex64").conj_physical_(), x(2, dtype="int64").conj_physical_()
    T.is_conj(x(2, dtype="complex64")), x(2).is_neg(), T.is_complex(x(2)),
        T.is_complex(x(1, dtype="complex64"))
    T.isreal(x.of([1, 1j, complex(nan, 0), complex(0, -0.0)], "complex64"))
    T.isreal(x.of([1.0, nan])), T.isreal(x(2, dtype="bool")), x(0, dtype="complex64").isreal()
    T.vdot(x(3, dtype="complex64"), x(3, dtype="complex64"))
    T.vdot(x(3, dtype="complex64"), x(3, dtype="complex64"), out=x(2, dtype="complex64"))
    T.vdot(x(3), x(3)), x(0).vdot(x(0)), x(2, dtype="int64").vdot(x(2, dtype="int64"))
    T.vdot(x(3), x(3, dtype="complex64"))
    T.vdot(x(3), x(4))
    T.vdot(x(3), x(3, 1))
    x(2, 3, dtype="complex64").H, x(2, 3, 4, dtype="complex64").mH, x(2, 3).adjoint()
    x(2, 3, 4).H
    x(3, dtype="complex64").mH
    x(3).adjoint()
    T.real(x(3)), x(2, dtype="complex64").real, T.imag(x(2, dtype="complex64"))
    T.imag(x(3))
    x(3).imag
    T.view_as_real(x(2))
    T.view_as_complex(x(3, 3))
    T.view_as_complex(x(2, 2, dtype="int64"))
    T.view_as_complex(x(2, 3).t()[:2])
    T.view_as_complex(x(5)[1:3])
    T.view_as_complex(x(2, 5)[:, :2])
    int(x.of(2 + 0j, "complex64")), float(x.of(2.5 - 0j, "complex128")),
        complex(x.of(1 + 2j, "complex64"))
    int(x.of(2 + 1j, "complex64"))
    float(x.of(1j, "complex64"))
    str(T.complex64.to_complex())[-9:], str(T.float64.to_complex())[-10:],
        str(T.complex128.to_real())[-7:]
    T.int64.to_complex()
""")


@pytest.mark.parametrize("text", LIKE_PYTORCH)
def test_like_pytorch(text: str) -> None:
    check(expression(text))


def test_beside_numpy() -> None:
    values = np.array([3 + 4j, -2, 1j, 0.5 - 1j])
    z = internals.tensor(values)
    for name, expected in {
        "angle": np.angle(values), "sgn": values / np.abs(values), "conj": values.conj(),
        "conj_physical": values.conj(), "real": values.real, "isreal": values.imag == 0,
    }.items():  # fmt: skip
        np.testing.assert_allclose(to_numpy(getattr(internals, name)(z)), expected, rtol=1e-12)
    np.testing.assert_allclose(to_numpy(internals.polar(z.abs(), z.angle())), values, rtol=1e-12)
    np.testing.assert_allclose(to_numpy(internals.complex(z.real, z.imag)), values)
    assert z.vdot(z * 1j).item() == pytest.approx(np.vdot(values, values * 1j))


PARTS = [0.0, -0.0, 1.0, -0.5, -256.0, np.inf, -np.inf, np.nan]
SPECIAL = np.array([complex(a, b) for a in PARTS for b in PARTS])
PAIRS = np.array(np.meshgrid(SPECIAL, SPECIAL)).reshape(2, -1)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize(
    "name",
    ["sgn", "abs", "angle", "reciprocal", "exp",
     "expm1", "log", "log2", "log10", "sqrt", "rsqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh",
     "asin", "acos", "atan", "asinh", "acosh", "atanh", "isfinite", "isnan", "isinf", "nan_to_num",
     "sigmoid", "logaddexp", "logcumsumexp", "logsumexp", -2, -1, -0.5, 0.5, 2, 3],
)  # fmt: skip
def test_infinities_nans_and_zeros(name: Any, dtype: str) -> None:
    def case(T: Any, x: Any) -> Any:
        if not isinstance(name, str):
            return T.view_as_real(x.of(SPECIAL, dtype) ** name)
        if name == "logaddexp":
            return T.view_as_real(T.logaddexp(*x.of(PAIRS, dtype)))
        if name.startswith("log") and name.endswith("sumexp"):
            return T.view_as_real(getattr(T, name)(x.of(PAIRS, dtype), 0))
        result = getattr(T, name)(x.of(SPECIAL, dtype))
        return T.view_as_real(result) if result.is_complex() else result

    check(case, atol=1e-6)


def test_logarithms_of_sums_where_a_real_part_is_infinite() -> None:
    inf, nan = float("inf"), float("nan")
    t = internals.tensor(
        [complex(-inf, 2), 1j, complex(inf, 1), complex(inf, nan), 1j], dtype=internals.complex128
    )
    sums = to_numpy(t.logcumsumexp(0))
    assert sums[0] == -inf and sums[1] == 1j and sums[2].real == inf
    assert np.isnan(sums[3:].real).all() and np.isnan(sums[3:].imag).all()
    assert internals.logaddexp(t[0], t[0]).item() == complex(-inf, 2)
    assert str(internals.tensor([complex(inf, 0)]).sgn()) == "tensor([nan+0.j])"


def test_a_conjugate_is_computed_not_put_off() -> None:
    z = internals.tensor([1 + 2j])
    c = z.conj()
    c.mul_(2)
    assert (z.tolist(), c.tolist()) == ([1 + 2j], [2 - 4j]) and c._base is None and not c.is_conj()
    assert c.resolve_conj() is c and c.resolve_neg() is c
    real = internals.ones(2)
    assert real.conj() is real and real.conj_physical() is real


def test_parts_are_written_through() -> None:
    z = internals.zeros(2, dtype=internals.complex64)
    z.real, z.imag = internals.tensor([1.0, 2.0]), 3
    assert z.tolist() == [1 + 3j, 2 + 3j]
    z.imag.neg_()
    assert z.tolist() == [1 - 3j, 2 - 3j] and z._version == 3


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"])
def test_least_squares_with_complex_weights(name: str) -> None:
    """A training loop: its losses are PyTorch's, and they fall."""
    stream = np.random.default_rng(0)
    a, b = (stream.standard_normal((2, *s)) for s in ((6, 3), (6,)))

    def losses(T: Any) -> list[float]:
        A, y = (T.complex(T.tensor(t[0].tolist()), T.tensor(t[1].tolist())) for t in (a, b))
        w = T.zeros(3, dtype=T.complex64, requires_grad=True)
        optimizer = getattr(T.optim, name)([w], lr=0.02)
        found = []
        for _ in range(6):
            optimizer.zero_grad()
            loss = (A @ w - y).abs().pow(2).sum()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return found

    ours = losses(internals)
    assert ours == pytest.approx(answer(losses, family="layers"), rel=1e-4) and ours[-1] < ours[0]
