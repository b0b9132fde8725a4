"""exp, log, sin and the rest of internals/machine_code/vector_math: with more digits, at the ends
of the range, as vectors.
"""

from __future__ import annotations

import math
import platform
import re

import numpy as np
import pytest

from internals.machine_code import kernel, template
from internals.machine_code.compile import llvm_text
from internals.machine_code.vector_math import FUNCTIONS
from tests.answers import answer

pytestmark = pytest.mark.sampled(1 / 3)

pytest.importorskip("numba", reason="compiles kernels")

T = template("T")
f = template("f")
ONE = {line.name: line for line in FUNCTIONS if line.arity == 1}
TWO = {line.name: line for line in FUNCTIONS if line.arity == 2}
WITHIN_FIVE = ("exp", "log", "tanh", "sigmoid", "erf", "sin", "cos")  # in all of float32
C_LIBRARY = {"fmod", "remainder", "floor_divide"}, {"pow"}  # either dtype; float64
# float64: vectors where the CPU is quick at loading from several places, AVX-512's are
GATHERS = {"sin", "cos", "tan"}
FLOATS = [np.float32, np.float64]
ENDS = [
    0.0,
    -0.0,
    math.inf,
    -math.inf,
    math.nan,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    -2.0,
    3.0,
    1e-40,
    -1e-40,
    5e-324,
    100.0,
    -100.0,
    1e30,
]


@kernel
def apply_one(begin, end, x, out):
    for i in range(begin, end):
        out[i] = f(x[i])


@kernel
def apply_two(begin, end, x, y, out):
    for i in range(begin, end):
        out[i] = f(x[i], y[i])


def bound_to(line, dtype):
    return (apply_one if line.arity == 1 else apply_two).bind(f=line.function, T=dtype)


def signature(line, dtype):
    return " ".join(["*f4" if dtype is np.float32 else "*f8"] * (line.arity + 1))


def compiled(line, *arrays):
    dtype = arrays[0].dtype.type
    arrays = [np.ascontiguousarray(a) for a in arrays]
    out = np.empty(arrays[0].shape, dtype)
    bound_to(line, dtype).entry(signature(line, dtype))(
        0, out.size, *[a.ctypes.data for a in (*arrays, out)]
    )
    return out


def exact(name, wide, *arrays):
    """The function in the wider type `wide`."""
    with np.errstate(all="ignore"):
        v = [a.astype(wide) for a in arrays]
        x = v[0]
        match name:
            case "sigmoid":
                return np.where(x < 0, np.exp(np.minimum(x, 0)), 1) / (1 + np.exp(-np.abs(x)))
            case "erf" | "erfc" as which:
                return np.array([getattr(math, which)(float(e)) for e in x], wide)
            case "rsqrt":
                return 1 / np.sqrt(x)
            case "reciprocal":
                return 1 / x
            case "cube":
                return x * x * x
            case "round":
                return np.rint(x)
            case "frac":
                return np.where(np.isinf(x), np.nan, x - np.trunc(x))
            case "sign":
                return np.where(np.isnan(x), 0, np.sign(x))
            case "asin" | "acos" | "atan" | "atan2" as inverse:
                return getattr(np, inverse.replace("a", "arc", 1))(*v)
            case "pow":
                return np.power(*v)
            case "remainder":
                return np.where(np.isinf(v[1]) & np.isinf(x), np.nan, np.mod(*v))
            case same:
                return getattr(np, same)(*v)


def units_in_the_last_place(got, wanted):
    """How far off each result is, in spacings of its type at the exact result; inf where only one
    is NaN or infinite.
    """
    with np.errstate(all="ignore"):
        rounded = wanted.astype(got.dtype)
        same = (np.isnan(got) & np.isnan(rounded)) | ((got == rounded) & ~np.isfinite(rounded))
        off = np.abs(got.astype(wanted.dtype) - wanted) / np.spacing(np.abs(rounded)).astype(
            wanted.dtype
        )
        return np.where(same, 0, np.where(np.isfinite(off), off, np.inf))


def any_number(dtype, rng, n):
    """Random bits: every exponent is as likely, denormals, infinities and NaN among them."""
    if dtype is np.float32:
        return rng.integers(0, 2**32, n, dtype=np.uint32).view(np.float32)
    return rng.integers(0, 2**64, n, dtype=np.uint64).view(np.float64)


def usual_numbers(dtype, rng, n):
    parts = (
        rng.normal(size=n),
        rng.uniform(-1, 1, n),
        rng.uniform(-110, 110, n),
        1 + rng.normal(size=n) / 1000,
    )
    return np.concatenate(parts).astype(dtype)


def wider(dtype):
    if dtype is np.float32:
        return np.float64
    if np.finfo(np.longdouble).nmant <= 52:
        pytest.skip("numpy has nothing wider than float64 here")
    return np.longdouble


def allowed(line, dtype):
    """What the table says, and a little more for CPUs that round products before adding."""
    seen = getattr(line, dtype.__name__)
    return seen + (0.4 if seen > 0.6 else 0.01)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ONE)
def test_close_to_the_exact_result(name, dtype):
    rng = np.random.default_rng(7)
    x = np.concatenate(
        [any_number(dtype, rng, 40_000), usual_numbers(dtype, rng, 10_000), np.array(ENDS, dtype)]
    )
    wanted = exact(name, wider(dtype), x)
    off = units_in_the_last_place(compiled(ONE[name], x), wanted)
    worst = int(np.argmax(off))
    # the reference is a float64 as well
    slack = 1.0 if name in ("erf", "erfc") and dtype is np.float64 else 0.0
    assert off[worst] <= allowed(ONE[name], dtype) + slack, (
        f"{name}({x[worst]!r}) is {off[worst]} units off"
    )


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", [n for n in TWO if n != "floor_divide"])
def test_close_to_the_exact_result_of_two_numbers(name, dtype):
    rng = np.random.default_rng(8)
    n = 10_000
    some = [usual_numbers(dtype, rng, n), usual_numbers(dtype, rng, n)]
    x = np.concatenate([any_number(dtype, rng, n), rng.permutation(some[0]), np.round(some[0])])
    y = np.concatenate(
        [any_number(dtype, rng, n), rng.permutation(some[1]), np.round(some[1] / 10)]
    )
    if name in ("fmod", "remainder", "maximum", "minimum"):
        with np.errstate(invalid="ignore"):
            wanted = exact(name, dtype, x, y).astype(wider(dtype))
    else:
        wanted = exact(name, wider(dtype), x, y)
    if name == "remainder":
        x, y, wanted = (a[np.isfinite(x) & np.isfinite(y)] for a in (x, y, wanted))
    off = units_in_the_last_place(compiled(TWO[name], x, y), wanted)
    worst = int(np.argmax(off))
    assert off[worst] <= allowed(TWO[name], dtype), (
        f"{name}({x[worst]!r}, {y[worst]!r}) is {off[worst]} units off"
    )


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_next_to_multiples_of_a_quarter_turn(name, dtype):
    """There x - n pi/2 cancels: of float32 numbers up to 3e38, those that come closest to a
    multiple.
    """
    n = np.concatenate(
        [np.arange(1, 20_000), np.unique(np.geomspace(2e4, 6e5, 20_000).astype(int))]
    )
    near = (n * np.longdouble(math.pi / 2)).astype(dtype)
    if dtype is np.float32:
        near = np.concatenate(
            [
                near,
                np.ldexp(np.float32(1), np.arange(128)),
                np.ldexp(np.float32(16367173), np.arange(3, 104)),
            ]
        )
    else:
        # Of all doubles, the one that is nearest to a multiple: 60 bits of the quotient's fraction
        # are zero.
        near = np.concatenate([near, np.ldexp(1.0, np.arange(1024)), [6381956970095103 * 2.0**797]])
    line = ONE[name]
    off = units_in_the_last_place(compiled(line, near), exact(name, wider(dtype), near))
    assert off.max() <= allowed(line, dtype)


@pytest.mark.slow
@pytest.mark.parametrize("name", WITHIN_FIVE)
def test_every_127th_of_all_float32_numbers_is_within_five_units(name):
    for start in range(0, 2**32, 2**28):
        x = (
            np.arange(start + start % 127, start + 2**28, 127, dtype=np.uint64)
            .astype(np.uint32)
            .view(np.float32)
        )
        assert (
            units_in_the_last_place(compiled(ONE[name], x), exact(name, np.float64, x)).max() <= 5
        )


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ONE)
def test_ends_of_the_range(name, dtype):
    """NaN, infinities, denormals, and zeros with their sign."""
    x = np.array(ENDS, dtype)
    got, wanted = compiled(ONE[name], x), exact(name, dtype, x)
    np.testing.assert_allclose(got, wanted, rtol=1e-5 if dtype is np.float32 else 1e-14, atol=0)
    signed = ~np.isnan(got) & ~((x == 0) & (name in ("frac", "sign")))
    np.testing.assert_array_equal(np.signbit(got[signed]), np.signbit(wanted[signed]))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", TWO)
def test_ends_of_the_range_of_two_numbers_as_in_torch(name, dtype):
    ends = [
        e for e in ENDS if not (name in ("fmod", "remainder") and 0 < abs(e) < 1e-30)
    ]  # SLEEF's quotient overflows: NaN
    x, y = (
        np.ascontiguousarray(a.ravel())
        for a in np.meshgrid(np.array(ends, dtype), np.array(ends, dtype))
    )
    wanted = answer(
        lambda real: getattr(real, name)(real.from_numpy(x), real.from_numpy(y))
    ).numpy()
    got = compiled(TWO[name], x, y)
    if name in ("fmod", "remainder"):
        kept = np.abs(x) < 1e29
        x, y, got, wanted = (a[kept] for a in (x, y, got, wanted))
    np.testing.assert_allclose(got, wanted, rtol=1e-5 if dtype is np.float32 else 1e-14, atol=0)
    signed = ~np.isnan(got) & ~(
        got == 0 if name in ("maximum", "minimum") else np.zeros(got.shape, bool)
    )
    np.testing.assert_array_equal(np.signbit(got[signed]), np.signbit(wanted[signed]))


def test_results_may_be_denormal():
    for name, x, wanted in [
        ("exp", -100.0, 3.783506e-44),
        ("exp", -103.9, 1e-45),
        ("exp2", -149.0, 1e-45),
        ("erfc", 10.0, 2.8e-45),
    ]:
        assert compiled(ONE[name], np.array([x], np.float32))[0] == np.float32(wanted)
    assert compiled(ONE["exp"], np.array([-745.0]))[0] == 5e-324
    assert compiled(ONE["log"], np.array([1e-45], np.float32))[0] == np.float32(-103.27893)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", [*ONE, *TWO])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_python_form_says_the_same(name, dtype):
    """Line by line in Python: a product that the CPU adds without rounding it first may move the
    last places.
    """
    line = (ONE | TWO)[name]
    x = usual_numbers(dtype, np.random.default_rng(9), 50)
    y = usual_numbers(dtype, np.random.default_rng(10), 50)
    arrays = (x,) if line.arity == 1 else (x, y)
    out = np.empty_like(x)
    bound_to(line, dtype)(0, x.size, *arrays, out)
    np.testing.assert_array_max_ulp(
        out, compiled(line, *arrays), maxulp=4 if getattr(line, dtype.__name__) > 0.5 else 0
    )


@pytest.mark.sampled(1 / 6)
@pytest.mark.skipif(
    platform.machine().lower() not in ("x86_64", "amd64", "arm64", "aarch64"),
    reason="a CPU without vectors",
)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_loop_is_vectorised(name, dtype):
    line = (ONE | TWO)[name]
    text = llvm_text(bound_to(line, dtype), signature(line, dtype))
    calls = {c for c in re.findall(r"call [^@\n]*@(\w+)\(", text) if not c.startswith("_ZN")}
    if name not in C_LIBRARY[0] and not (dtype is np.float64 and name in C_LIBRARY[1] | GATHERS):
        assert re.search(
            rf"store <\d+ x {'(float|i32)' if dtype is np.float32 else '(double|i64)'}>", text
        )
        # the last numbers, which fill no vector
        assert calls <= {"sqrt", "sqrtf"}, "one number at a time"
