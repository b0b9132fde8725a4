"""The functions that make `reduction.reduce` a sum, a maximum, a variance, a norm
(`aten/src/ATen/native/cuda/Reduce*.cu`, `SharedReduceOps.h`).

An element x is converted to `R` and folded into an accumulator of type `T`. Accumulators are
combined, and the last one is converted to the dtype of the result, `OUT`. Half precision is
accumulated in single, integers in int64. `p` is the one number that some functions need: the count
that a mean divides by, the order of a norm. Accumulators that are numbers are combined by an
elementwise operation: `add`, `mul`, `maximum`, `minimum` of `functors.py`.

Some reductions carry a pair or a triple: positions of extremes, logsumexp, variance. Both of the
latter need one pass. For a variance (Welford), the mean and squared distances of two sets give
those of their union. For logsumexp, two sums of exponentials are each relative to their own largest
element; one of them is rescaled to the larger of the two.

How the real one differs: it has a C++ struct for each of them, and the accumulator of a sum of int8
is int32; logsumexp is a maximum, an exponential and a sum, one kernel after the other.
"""

from __future__ import annotations

import math

from internals.machine_code.records import Element, Elements

from ..language import device_function, template
from .accumulators import Pair, Triple

T = template("T")  # the type to accumulate in
R = template("R")  # the type that elements are converted to first
OUT = template("OUT")  # the type of the result
FIRST = template("FIRST")  # the accumulator of no elements: 0 for a sum, -inf for a maximum
S = template("S")  # the type of positions
MEAN = template("MEAN")  # the type of the mean beside a variance
LAST = template("LAST")  # a position behind all others
take, combine, finish = template("take"), template("combine"), template("finish")


@device_function
def neutral():
    """The accumulator of no elements."""
    return T(FIRST)


@device_function
def fold_number(acc: Element, x: Element, i: int, p: Element):
    """`fold` of all whose accumulator is a number: `take` prepares the element."""
    return combine(acc, take(x, p))


@device_function
def write_number(out: Elements, second: Element, third: Element, at: int, acc: Element, p: Element):
    """`write` of all whose accumulator is a number."""
    out[at] = finish(acc, p)


@device_function
def itself(x: Element, p: Element):
    """`take` of a sum, a product or an extreme: the element as it is."""
    return T(R(x))


@device_function
def truth(x: Element, p: Element):
    """`take` of `any`, `all` and the norm of order 0: 1 if the element is not zero, as NaN."""
    return T(1) if R(x) != R(0) else T(0)


@device_function
def magnitude(x: Element, p: Element):
    """`take` of the norms of order 1, infinity and -infinity."""
    return abs(T(R(x)))


@device_function
def square(x: Element, p: Element):
    """`take` of the norm of order 2."""
    y = T(R(x))
    return y * y


@device_function
def power(x: Element, p: Element):
    """`take` of the norm of any other order p."""
    return math.pow(abs(T(R(x))), p)


@device_function
def as_it_is(acc: Element, p: Element):
    """`finish` where the accumulator is the result."""
    return OUT(acc)


@device_function
def divided(acc: Element, p: Element):
    """`finish` of a mean; p is the count."""
    return OUT(acc / p)


@device_function
def root(acc: Element, p: Element):
    """`finish` of the norm of order 2."""
    return OUT(math.sqrt(acc))


@device_function
def root_p(acc: Element, p: Element):
    """`finish` of the norm of any other order p."""
    return OUT(math.pow(acc, T(1) / p))


@device_function
def nowhere():
    """The extreme of no elements, at a position behind all others."""
    return T(FIRST), S(LAST)


@device_function
def fold_index(acc: Pair, x: Element, i: int, p: Element):
    """`fold` of an extreme with its position: element x is the pair (x, i)."""
    return combine(acc, (T(R(x)), S(i)))


@device_function
def first_largest(a: Pair, b: Pair):
    """The larger value with its position: NaN before all numbers, and the earlier one of equals."""
    a_is_nan, b_is_nan = a[0] != a[0], b[0] != b[0]
    if a[0] > b[0] or (a_is_nan and not b_is_nan):
        return a
    if b[0] > a[0] or (b_is_nan and not a_is_nan):
        return b
    return a if a[1] < b[1] else b


@device_function
def first_smallest(a: Pair, b: Pair):
    """The smaller value with its position, otherwise the same."""
    a_is_nan, b_is_nan = a[0] != a[0], b[0] != b[0]
    if a[0] < b[0] or (a_is_nan and not b_is_nan):
        return a
    if b[0] < a[0] or (b_is_nan and not a_is_nan):
        return b
    return a if a[1] < b[1] else b


@device_function
def write_value_and_index(
    out: Elements, second: Elements, third: Element, at: int, acc: Pair, p: Element
):
    """`write` of `max` and `min` along a dimension: the value and its position."""
    out[at] = OUT(acc[0])
    second[at] = acc[1]


@device_function
def write_index(out: Elements, second: Element, third: Element, at: int, acc: Pair, p: Element):
    """`write` of `argmax` and `argmin`: the position."""
    out[at] = acc[1]


@device_function
def no_exponentials():
    """logsumexp of no elements: (largest, sum of exp(x - largest))."""
    return T(-math.inf), T(0)


@device_function
def fold_exponential(acc: Pair, x: Element, i: int, p: Element):
    """`fold` of logsumexp: element x alone is (x, exp(x - x)) = (x, 1)."""
    return combine(acc, (T(R(x)), T(1)))


@device_function
def add_exponentials(a: Pair, b: Pair):
    """(largest, sum of exp(x - largest)) of both together. The sum whose largest element stays is
    not rescaled: at infinity, exp(inf - inf) would be NaN.
    """
    largest = a[0] if a[0] > b[0] or a[0] != a[0] else b[0]
    left = a[1] if a[0] == largest else a[1] * math.exp(a[0] - largest)
    right = b[1] if b[0] == largest else b[1] * math.exp(b[0] - largest)
    return largest, left + right


@device_function
def write_logarithm(out: Elements, second: Element, third: Element, at: int, acc: Pair, p: Element):
    """`write` of logsumexp: log(sum of exp(x - largest)) + largest."""
    out[at] = OUT(math.log(acc[1]) + acc[0])


@device_function
def no_moments():
    """The moments of no elements: (mean, sum of squared distances from it, count)."""
    return T(0), T(0), T(0)


@device_function
def fold_moments(acc: Triple, x: Element, i: int, p: Element):
    """(mean, sum of squared distances from it, count) with one element more."""
    y = T(R(x))
    count = acc[2] + T(1)
    distance = y - acc[0]
    mean = acc[0] + distance / count
    return mean, acc[1] + distance * (y - mean), count


@device_function
def merge_moments(a: Triple, b: Triple):
    """The moments of the union of two sets (Chan's formula)."""
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
    """`finish` of a variance; `freedom` is the count minus the correction."""
    return squares / freedom


@device_function
def deviation(squares: Element, freedom: Element):
    """`finish` of a standard deviation."""
    return math.sqrt(squares / freedom)


@device_function
def write_moment(
    out: Elements, second: Element, third: Element, at: int, acc: Triple, freedom: Element
):
    """`write` of a variance or standard deviation."""
    out[at] = OUT(finish(acc[1], freedom))


@device_function
def write_moment_and_mean(
    out: Elements, second: Elements, third: Element, at: int, acc: Triple, freedom: Element
):
    """`write` of `var_mean` and `std_mean`: both, where the mean of no elements is NaN."""
    out[at] = OUT(finish(acc[1], freedom))
    second[at] = MEAN(acc[0] if acc[2] > T(0) else T(math.nan))
