"""The parts with which `reduction.reduce` becomes a sum, a maximum, a norm
(`native/cuda/Reduce*.cu`, `SharedReduceOps.h`).

An element x is converted (`R`), taken into an accumulator of type `T`, accumulators are combined,
and the last one is finished to the dtype of the result (`OUT`). Half precision is accumulated in
single, integers in int64. `p` is the one number that some of them need: the count that a mean
divides by, the order of a norm. What combines two accumulators that are numbers is an elementwise
operation: `add`, `mul`, `maximum`, `minimum` of `functors.py`.

Some carry a pair or a triple: positions of extremes, logsumexp, variance. A variance in one pass is
Welford's: from mean and squared distance of two sets follow those of their union. So is logsumexp:
of two sums of exponentials, each relative to its own largest element, one is rescaled to the larger
of the two.

How the real one differs: it is a C++ struct for each of them, and the accumulator of a sum of int8
is int32; logsumexp is a maximum, an exponential and a sum, one kernel after the other.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..language import device_function, template

if TYPE_CHECKING:
    from internals.machine_code.records import Element, Elements

T = template("T")  # the type to accumulate in
R = template("R")  # the type that elements are converted to first
OUT = template("OUT")  # the type of the result
FIRST = template("FIRST")  # the number that changes nothing, or that every other one beats
S = template("S")  # the type of positions
MEAN = template("MEAN")  # the type of the mean beside a variance
LAST = template("LAST")  # a position behind all others
take, combine, finish = template("take"), template("combine"), template("finish")


@device_function
def neutral():
    return T(FIRST)


@device_function
def fold_number(acc: Element, x: Elements, i: int, p: Elements):
    return combine(acc, take(x, p))


@device_function
def write_number(out: Elements, second: Element, third: Element, at: int, acc: Element, p: int):
    out[at] = finish(acc, p)


@device_function
def itself(x: Element, p: Element):
    return T(R(x))


@device_function
def truth(x: Element, p: Element):
    """1 for what is not zero; NaN is not."""
    return T(1) if R(x) != R(0) else T(0)


@device_function
def magnitude(x: Element, p: Element):
    return abs(T(R(x)))


@device_function
def square(x: Element, p: Element):
    y = T(R(x))
    return y * y


@device_function
def power(x: Element, p: Element):
    return math.pow(abs(T(R(x))), p)


@device_function
def as_it_is(acc: Element, p: Element):
    return OUT(acc)


@device_function
def divided(acc: Element, p: Element):
    return OUT(acc / p)


@device_function
def root(acc: Element, p: Element):
    return OUT(math.sqrt(acc))


@device_function
def root_p(acc: Element, p: Element):
    return OUT(math.pow(acc, T(1) / p))


@device_function
def nowhere():
    """The extreme of no elements."""
    return T(FIRST), S(LAST)


@device_function
def fold_place(acc: Element, x: Element, i: int, p: int):
    return combine(acc, (T(R(x)), S(i)))


@device_function
def first_largest(a: Elements, b: Elements):
    """The larger value with its position: NaN before all numbers, and the earlier one of equals."""
    a_is_nan, b_is_nan = a[0] != a[0], b[0] != b[0]
    if a[0] > b[0] or (a_is_nan and not b_is_nan):
        return a
    if b[0] > a[0] or (b_is_nan and not a_is_nan):
        return b
    return a if a[1] < b[1] else b


@device_function
def first_smallest(a: Elements, b: Elements):
    a_is_nan, b_is_nan = a[0] != a[0], b[0] != b[0]
    if a[0] < b[0] or (a_is_nan and not b_is_nan):
        return a
    if b[0] < a[0] or (b_is_nan and not a_is_nan):
        return b
    return a if a[1] < b[1] else b


@device_function
def write_value_and_place(
    out: Elements, second: Elements, third: Element, at: int, acc: Elements, p: int
):
    out[at] = OUT(acc[0])
    second[at] = acc[1]


@device_function
def write_place(out: Elements, second: Element, third: Element, at: int, acc: Elements, p: int):
    out[at] = acc[1]


@device_function
def no_exponentials():
    return T(-math.inf), T(0)


@device_function
def fold_exponential(acc: Element, x: Element, i: int, p: int):
    return combine(acc, (T(R(x)), T(1)))


@device_function
def add_exponentials(a: Elements, b: Elements):
    """(largest, sum of exp(x - largest)) of both. Where `largest` stays as it was, also at
    infinity, nothing is rescaled.
    """
    largest = a[0] if a[0] > b[0] or a[0] != a[0] else b[0]
    left = a[1] if a[0] == largest else a[1] * math.exp(a[0] - largest)
    right = b[1] if b[0] == largest else b[1] * math.exp(b[0] - largest)
    return largest, left + right


@device_function
def write_logarithm(out: Elements, second: Element, third: Element, at: int, acc: Elements, p: int):
    out[at] = OUT(math.log(acc[1]) + acc[0])


@device_function
def no_moments():
    return T(0), T(0), T(0)


@device_function
def fold_moments(acc: Elements, x: Element, i: int, p: int):
    """(mean, sum of squared distances from it, count) with one element more."""
    y = T(R(x))
    count = acc[2] + T(1)
    distance = y - acc[0]
    mean = acc[0] + distance / count
    return mean, acc[1] + distance * (y - mean), count


@device_function
def merge_moments(a: Elements, b: Elements):
    """The moments of the union of two sets."""
    if a[2] == T(0):
        return b
    if b[2] == T(0):
        return a
    count = a[2] + b[2]
    distance = b[0] - a[0]
    share = b[2] / count
    return a[0] + distance * share, a[1] + b[1] + distance * distance * a[2] * share, count


@device_function
def variance(squares: Element, freedom: Element):
    return squares / freedom


@device_function
def deviation(squares: Element, freedom: Element):
    return math.sqrt(squares / freedom)


@device_function
def write_moment(
    out: Elements, second: Element, third: Element, at: int, acc: Elements, freedom: Element
):
    out[at] = OUT(finish(acc[1], freedom))


@device_function
def write_moment_and_mean(
    out: Elements, second: Elements, third: Element, at: int, acc: Elements, freedom: Element
):
    out[at] = OUT(finish(acc[1], freedom))
    second[at] = MEAN(acc[0] if acc[2] > T(0) else T(math.nan))
