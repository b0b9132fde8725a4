"""The parts with which `reduction.reduce` becomes a sum, a maximum, a norm (`native/cuda/Reduce*.cu`, `SharedReduceOps.h`).

An element x is converted (`R`), taken into an accumulator of type `T`, accumulators are combined, and the last one is finished
to the dtype of the result (`OUT`). Half precision is accumulated in single, integers in int64. `p` is the one number that some
of them need: the count that a mean divides by, the order of a norm. What combines two accumulators that are numbers is an
elementwise operation: `add`, `mul`, `maximum`, `minimum` of `functors.py`.

The pairs and triples are in `reduction_functors_wide.py`.

How the real one differs: it is a C++ struct for each of them, and the accumulator of a sum of int8 is int32.
"""

from __future__ import annotations

import math

from ..language import device_function, template

T = template("T")  # the type to accumulate in
R = template("R")  # the type that elements are converted to first
OUT = template("OUT")  # the type of the result
FIRST = template("FIRST")  # the number that changes nothing
take, combine, finish = template("take"), template("combine"), template("finish")


@device_function
def neutral():
    return T(FIRST)


@device_function
def fold_number(acc, x, i, p):
    return combine(acc, take(x, p))


@device_function
def write_number(out, second, third, at, acc, p):
    out[at] = finish(acc, p)


@device_function
def itself(x, p):
    return T(R(x))


@device_function
def truth(x, p):
    """1 for what is not zero; NaN is not."""
    return T(1) if R(x) != R(0) else T(0)


@device_function
def magnitude(x, p):
    return abs(T(R(x)))


@device_function
def square(x, p):
    y = T(R(x))
    return y * y


@device_function
def power(x, p):
    return math.pow(abs(T(R(x))), p)


@device_function
def as_it_is(acc, p):
    return OUT(acc)


@device_function
def divided(acc, p):
    return OUT(acc / p)


@device_function
def root(acc, p):
    return OUT(math.sqrt(acc))


@device_function
def root_p(acc, p):
    return OUT(math.pow(acc, T(1) / p))
