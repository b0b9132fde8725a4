"""Loops that numpy does not have: the error function, the logistic function, exact division
(`aten/src/ATen/native/Math.h`).

`TensorIterator.run` calls a loop as `loop(*arrays, out=array)`. `out` may be the very memory of an
operand, so no operand may be read once `out` has been written (an operation in place on each
element is fine). Half precision is computed in single and rounded once. Numbers that belong to the
operation, like a slope or a bound, are keyword arguments, bound by `functools.partial`: so a
backend with loops of its own sees which loop it is, and its numbers.

How the real one differs: `erf` and its kind come from SLEEF and from Cephes; the formulas here for
`erf` are those of FreeBSD's msun (Sun Microsystems, 1993), evaluated on whole arrays, and in single
precision the rational function of XLA.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import numpy as np

from internals.core.scalar import Scalar
from internals.core.tensor_impl import Array

Loop = Callable[..., None]


def in_single(loop: Loop) -> Loop:
    """`loop` with half-precision operands computed in single precision and rounded once, at the
    end.
    """

    @wraps(loop)
    def run(*operands: Any, out: Array, **numbers: Any) -> None:
        if out.dtype != np.float16:
            return loop(*operands, out=out, **numbers)
        result = np.empty(out.shape, np.float32)
        loop(
            *[np.asarray(x, np.float32) if x.dtype == np.float16 else x for x in operands],
            out=result,
            **numbers,
        )
        out[...] = result

    return run


def copy(a: Any, *rest: Any, out: Array) -> None:
    """The first operand as it is, converted to the dtype of `out`; others are ignored."""
    np.copyto(out, a, casting="unsafe")


def negative(a: Array, out: Array) -> None:
    """-a, as a times -1: numpy 2.4's `negative` writes real numbers to the wrong places when `out`
    has certain strides.
    """
    # -1 of an unsigned dtype is its largest number, all bits set: times that wraps around to -a
    if a.dtype.kind == "c":
        np.negative(a, out=out)
    else:
        np.multiply(a, -a.dtype.type(1) if a.dtype.kind != "u" else ~a.dtype.type(0), out=out)


@in_single
def sigmoid(a: Array, out: Array) -> None:
    """1 / (1 + exp(-a)). exp overflows to inf for very negative a, and 1 / inf is the right answer,
    0.
    """
    negative(a, out)
    np.exp(out, out=out)
    np.add(out, 1, out=out)
    np.reciprocal(out, out=out)


def complex_reciprocal(a: Array, out: Array) -> None:
    """1 / a by a division, which is infinite at 0; numpy's `reciprocal` is NaN there."""
    np.divide(1, a, out=out)


@in_single
def rsqrt(a: Any, out: Any) -> None:
    """1 / sqrt(a): inf at 0, NaN below."""
    np.sqrt(a, out=out)
    np.divide(1, out, out=out)


def exp2(a: Array, out: Array) -> None:
    """2 to a complex power, exp(a * log(2)), for which numpy has no loop. Each part is scaled by
    itself: a complex product with an infinite part would be NaN.
    """
    log = np.empty_like(a)
    np.multiply(a.real, np.log(2), out=log.real, casting="same_kind")
    np.multiply(a.imag, np.log(2), out=log.imag, casting="same_kind")
    np.exp(log, out=out)


@in_single
def sinc(a: Array, out: Array) -> None:
    """sin(pi a) / (pi a), where numpy's own computes in double precision."""
    angle = a * a.dtype.type(np.pi)
    out[...] = np.where(angle == 0, 1, np.sin(angle) / angle)


def sign(a: Array, out: Array) -> None:
    """(0 < a) - (a < 0): 0 for NaN, where numpy's sign is NaN."""
    np.subtract(np.greater(a, 0), np.less(a, 0), out=out, dtype=a.dtype, casting="unsafe")


def heaviside(a: Array, values: Array, out: Array) -> None:
    """0 below 0, 1 above, `values` at 0; 0 for NaN, where numpy's is NaN."""
    out[...] = np.where(a == 0, values, a > 0)


@in_single
def frac(a: Array, out: Array) -> None:
    """The part behind the point, with the sign of a."""
    np.subtract(a, np.trunc(a), out=out)


def round_to(decimals: int) -> Loop:
    """The loop that rounds to `decimals` digits: scale, round half to even, scale back. Negative
    `decimals` are digits before the point.
    """
    # 10.0 ** 309 raises OverflowError
    scale = 10.0 ** abs(decimals) if abs(decimals) <= 308 else math.inf
    return partial(round_after_point if decimals > 0 else round_before_point, scale=scale)


@in_single
def round_after_point(a: Array, out: Array, scale: float) -> None:
    """Round to multiples of 1 / scale, a power of 10. As 0.1 is not exact, both steps use 10."""
    factor = a.dtype.type(scale)
    np.multiply(a, factor, out=out)
    np.rint(out, out=out)
    np.divide(out, factor, out=out)


@in_single
def round_before_point(a: Any, out: Any, scale: float) -> None:
    """Round to multiples of `scale`, a power of 10."""
    factor = a.dtype.type(scale)
    np.divide(a, factor, out=out)
    np.rint(out, out=out)
    np.multiply(out, factor, out=out)


def floor_divide(a: Array, b: Scalar | Array, out: Array) -> None:
    """Division rounded down. Raises RuntimeError for an integer divided by zero."""
    _check_divisor(a, b)
    np.floor_divide(a, b, out=out)


def trunc_divide(a: Array, b: Scalar | Array, out: Array) -> None:
    """Division rounded towards zero, as C does it. Raises RuntimeError for an integer divided by
    zero.
    """
    if np.result_type(a) == np.float16:
        return in_single(trunc_divide)(a, b, out=out)
    if a.dtype.kind in "iu":
        _check_divisor(a, b)
        # without the remainder, which has the sign of a, the division is exact
        np.floor_divide(a - np.fmod(a, b), b, out=out)
    else:
        np.divide(a, b, out=out)
        np.trunc(out, out=out)


@in_single
def remainder(a: Any, b: Any, out: Any) -> None:
    """The remainder of a / b with the quotient rounded down: it has the sign of b. Raises
    RuntimeError for an integer modulo zero.
    """
    if a.dtype.kind in "iu":
        _check_divisor(a, b)
        np.remainder(a, b, out=out)
        return
    rest = np.fmod(a, b)  # exact, with the sign of a; adding b moves it to the other side of 0
    wrong_sign = (rest != 0) & ((rest < 0) != (np.asarray(b) < 0))
    # numpy gives a scalar for 0-d operands, which cannot be written to
    np.add(rest, b, out=rest, where=wrong_sign) if np.ndim(rest) else None
    np.copyto(out, rest if np.ndim(rest) else (rest + b if wrong_sign else rest))


def fmod(a: Array, b: Scalar | Array, out: Array) -> None:
    """The remainder of a / b with the quotient rounded towards zero: it has the sign of a.

    Raises RuntimeError for an integer modulo zero.
    """
    _check_divisor(a, b)
    np.fmod(a, b, out=out)


def power(a: Array, exponent: Scalar, out: Array) -> None:
    """a ** exponent, where the exponent may be a number."""
    np.power(a, exponent, out=out)


def integer_power(a: Scalar | Array, exponent: Scalar | Array, out: Array) -> None:
    """a ** exponent for integers. A negative power, for which numpy raises an error, is 0 unless a
    is 1 or -1.
    """
    if not np.any(np.less(exponent, 0)):
        np.power(a, exponent, out=out)
        return
    result = np.power(a, np.maximum(exponent, 0))
    odd = (np.asarray(exponent) & 1).astype(bool)
    inverse = np.where(a == 1, 1, np.where(a == -1, np.where(odd, -1, 1), 0))
    out[...] = np.where(np.less(exponent, 0), inverse, result)


def ones(a: Array, out: Array) -> None:
    """1, whatever a is: the power 0."""
    out[...] = 1


def cube(a: Array, out: Array) -> None:
    """a ** 3, as two products."""
    np.multiply(a * a, a, out=out)


def inverse_square(a: Array, out: Array) -> None:
    """a ** -2."""
    np.divide(1, a * a, out=out)


def inverse_root(a: Array, out: Array) -> None:
    """a ** -0.5."""
    np.divide(1, np.sqrt(a), out=out)


@in_single
def add_scaled(a: Array, b: Scalar | Array, out: Array, alpha: Scalar) -> None:
    """a + alpha * b."""
    np.add(a, np.multiply(b, alpha), out=out)


@in_single
def subtract_scaled(a: Scalar | Array, b: Scalar | Array, out: Array, alpha: Scalar) -> None:
    """a - alpha * b."""
    np.subtract(a, np.multiply(b, alpha), out=out)


@in_single
def erf(a: Any, out: Array) -> None:
    """The error function, to one unit in the last place of float32 and about 1e-16 of float64.

    It is odd, so it is computed for |a|, by another formula on each of three intervals.
    """
    if out.dtype == np.float32:
        return _erf_single(a, out)
    x = np.abs(np.asarray(a, np.float64))
    result = np.ones_like(x)  # beyond 6 it is 1 to the last bit
    for low, high, piece in (
        (0.0, 0.84375, _erf_near_0),
        (0.84375, 1.25, _erf_near_1),
        (1.25, 6.0, _erf_far),
    ):
        inside = (x >= low) & (x < high)
        if inside.any():
            result[inside] = piece(x[inside])
    result[np.isnan(x)] = np.nan
    np.copysign(result, a, out=out, casting="same_kind")


# erf(x) is x times a quotient of polynomials in x², to 4e-8: enough for single precision if
# evaluated in double. Beyond the limit it is 1.
_ERF_LIMIT = 3.84
_ERF_OVER = (
    1.128379143519084,
    0.18520832239976145,
    0.050955695062380861,
    0.0034082910107109506,
    0.00022905065861350646,
)
_ERF_UNDER = (
    1.0, 0.49746925110067538, 0.11098505178285362, 0.014070470171167667, 0.0010179625278914885,
    0.000023547966471313185, -1.1791602954361697e-7,
)  # fmt: skip


def _erf_single(a: Scalar | Array, out: Array) -> None:
    """erf in double precision by one quotient for all arguments, rounded to float32 at the end."""
    x = np.asarray(a, np.float64).clip(-_ERF_LIMIT, _ERF_LIMIT)
    square = np.asarray(x * x)
    np.divide(
        x * _polynomial(square, _ERF_OVER),
        _polynomial(square, _ERF_UNDER),
        out=out,
        casting="same_kind",
    )


def _check_divisor(a: Any, b: Any) -> None:
    """Raises RuntimeError, with PyTorch's text, for integers where b has a 0: they have no infinity
    for x / 0.
    """
    if a.dtype.kind in "iu" and not np.all(b):
        raise RuntimeError("ZeroDivisionError")


def _polynomial(x: Array, coefficients: tuple[float, ...]) -> Any:
    """The polynomial at x by Horner's rule; `coefficients` start with the constant term."""
    result = np.full_like(x, coefficients[-1])
    for c in coefficients[-2::-1]:
        result *= x
        result += c
    return result


def _erf_near_0(x: Array) -> Any:
    """x + x * P(x²) / Q(x²)."""
    z = x * x
    return x + x * (_polynomial(z, _PP) / _polynomial(z, (1.0, *_QQ)))


def _erf_near_1(x: Array) -> Any:
    """A constant near erf(1), plus a quotient of polynomials in x - 1."""
    s = x - 1.0
    return _ERX + _polynomial(s, _PA) / _polynomial(s, (1.0, *_QA))


def _erf_far(x: Array) -> Any:
    """1 - erfc(x), where erfc(x) = exp(-x² - 0.5625 + R(1 / x²) / S(1 / x²)) / x."""
    s = 1.0 / (x * x)
    nearer = x < 1 / 0.35
    ratio = np.where(
        nearer,
        _polynomial(s, _RA) / _polynomial(s, (1.0, *_SA)),
        _polynomial(s, _RB) / _polynomial(s, (1.0, *_SB)),
    )
    # exp would magnify the rounding error of x²; the square of a float32 is exact in float64, and
    # (head - x) * (head + x) is the rest of -x²
    head = x.astype(np.float32).astype(np.float64)
    return 1.0 - np.exp(-head * head - 0.5625) * np.exp((head - x) * (head + x) + ratio) / x


# msun's coefficients: the numerators P, R and the denominators Q, S, whose first term is 1
_ERX = 8.45062911510467529297e-01
_PP = (
    1.28379167095512558561e-01, -3.25042107247001499370e-01, -2.84817495755985104766e-02,
    -5.77027029648944159157e-03, -2.37630166566501626084e-05,
)  # fmt: skip
_QQ = (
    3.97917223959155352819e-01, 6.50222499887672944485e-02, 5.08130628187576562776e-03,
    1.32494738004321644526e-04, -3.96022827877536812320e-06,
)  # fmt: skip
_PA = (
    -2.36211856075265944077e-03, 4.14856118683748331666e-01, -3.72207876035701323847e-01,
    3.18346619901161753674e-01, -1.10894694282396677476e-01, 3.54783043256182359371e-02,
    -2.16637559486879084300e-03,
)  # fmt: skip
_QA = (
    1.06420880400844228286e-01, 5.40397917702171048937e-01, 7.18286544141962662868e-02,
    1.26171219808761642112e-01, 1.36370839120290507362e-02, 1.19844998467991074170e-02,
)  # fmt: skip
_RA = (
    -9.86494403484714822705e-03, -6.93858572707181764372e-01, -1.05586262253232909814e01,
    -6.23753324503260060396e01, -1.62396669462573470355e02, -1.84605092906711035994e02,
    -8.12874355063065934246e01, -9.81432934416914548592e00,
)  # fmt: skip
_SA = (
    1.96512716674392571292e01, 1.37657754143519042600e02, 4.34565877475229228821e02,
    6.45387271733267880336e02, 4.29008140027567833386e02, 1.08635005541779435134e02,
    6.57024977031928170135e00, -6.04244152148580987438e-02,
)  # fmt: skip
_RB = (
    -9.86494292470009928597e-03, -7.99283237680523006574e-01, -1.77579549177547519889e01,
    -1.60636384855821916062e02, -6.37566443368389627722e02, -1.02509513161107724954e03,
    -4.83519191608651397019e02,
)  # fmt: skip
_SB = (
    3.03380607434824582924e01, 3.25792512996573918826e02, 1.53672958608443695994e03,
    3.19985821950859553908e03, 2.55305040643316442583e03, 4.74528541206955367215e02,
    -2.24409524465858183362e01,
)  # fmt: skip
