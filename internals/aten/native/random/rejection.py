"""Poisson and binomial numbers (`aten/src/ATen/native/Distributions.cpp: sample_poisson`,
`Distributions.h: sample_binomial`).

For small means events are counted one by one: Poisson multiplies uniform numbers until the product
falls below exp(-rate); binomial adds up the distances from one success to the next until they
exceed the number of trials. Large means, from 10 on, are drawn by transformed rejection (Hörmann
1993): a uniform number is stretched over the integers, so that nearly the right share of them falls
on each, and a second one decides whether to keep the result or to try again. So the number of words
that an element takes from the generator differs from element to element.

For the same seed the numbers are PyTorch's; for means beyond 1e8 some are not, because a rounding
decides whether to try again.

How the real one differs: a rate of infinity gives the smallest integer there, and with a number of
trials that is NaN it never returns. Rejection for binomials is TensorFlow's variant, there and
here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from internals.aten.broadcasting import broadcast_shapes, memory_order
from internals.aten.dtype_checks import check_dtype, not_implemented
from internals.aten.native.views import expand
from internals.core import dtype as dt
from internals.core.dtype import SCALAR_TYPE_NAME
from internals.core.generator import Generator, one_by_one
from internals.core.tensor_impl import Tensor, array, empty_contiguous

from .filling import on_cpu

Uniform = Callable[[], float]
REJECTION_THRESHOLD = 10
# The error of Stirling's formula for log(k!), for k from 0 to 9; `_stirling_tail` computes others.
STIRLING_TAILS = [
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
    0.0166446911898211, 0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
    0.00925546218271273, 0.00833056343336287,
]  # fmt: skip


def poisson(self: Tensor, generator: Generator | None) -> Any:
    """The number of times that an event happens which happens `self` times on average, drawn for
    each element. Raises RuntimeError for rates below 0, and NaN.
    """
    check_dtype("poisson_cpu", self.dtype, dt.FLOATING)
    rates = array(self)
    if not (rates >= 0).all():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    t = empty_contiguous(self.shape, self.dtype)
    with one_by_one(on_cpu(generator)) as uniform:
        numbers = [_poisson(rate, uniform) for rate in rates.astype(np.float64).ravel().tolist()]
    array(t)[...] = np.array(numbers, np.float64).reshape(t.shape)
    return t


def binomial(count: Tensor, prob: Tensor, generator: Generator | None) -> Any:
    """The number of successes in `count` trials, each with probability `prob`; the two broadcast.

    Raises ValueError unless both are floating, RuntimeError for two dtypes, NotImplementedError for
    float16.
    """
    dtype = count.dtype
    if dtype.category != dt.FLOATING:
        raise ValueError(
            "binomial only supports floating-point dtypes for count, got: "
            f"{SCALAR_TYPE_NAME[dtype]}"
        )
    if prob.dtype.category != dt.FLOATING:
        raise ValueError(
            "binomial only supports floating-point dtypes for prob, got: "
            f"{SCALAR_TYPE_NAME[prob.dtype]}"
        )
    if prob.dtype is not dtype:
        raise RuntimeError(
            f"Found dtype {SCALAR_TYPE_NAME[prob.dtype]} but expected {SCALAR_TYPE_NAME[dtype]}"
        )
    if dtype is dt.float16:
        raise not_implemented("binomial_cpu", dtype)
    t = empty_contiguous(broadcast_shapes(count.shape, prob.shape), dtype)
    trials, chances = expand(count, t.shape), expand(prob, t.shape)
    # the generator is read in the order in which PyTorch's TensorIterator visits the elements
    order = tuple(range(t.dim()))
    if t.shape != count.shape:
        order = memory_order(t.shape, [trials.stride(), chances.stride()])
    a, b = (array(x).transpose(order).ravel() for x in (trials, chances))
    with one_by_one(on_cpu(generator)) as uniform, np.errstate(invalid="ignore", over="ignore"):
        numbers = [_binomial(n, p, uniform) for n, p in zip(a, b)]
    array(t).transpose(order)[...] = np.array(numbers, dtype.np).reshape(
        [t.shape[d] for d in order]
    )
    return t


def _poisson(rate: float, uniform: Uniform) -> float:
    """One number; beyond 2⁶³, which int64 cannot hold, it is the rate itself."""
    if rate == 0 or rate >= 2.0**63:
        return rate
    if rate >= REJECTION_THRESHOLD:
        return _poisson_by_rejection(rate, uniform)
    # -log of a uniform number is the time to the next event, at rate 1; the times add up to `rate`
    # when the product of the numbers falls to exp(-rate)
    limit, product, events = math.exp(-rate), uniform(), 0
    while product > limit:
        product *= uniform()
        events += 1
    return events


def _poisson_by_rejection(rate: float, uniform: Uniform) -> float:
    """One number, by the algorithm PTRS of Hörmann (1993), which the constants are from."""
    log_rate = math.log(rate)
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    log_of_inverse_alpha = math.log(1.1239 + 1.1328 / (b - 3.4))
    inside = 0.9277 - 3.6224 / (b - 2)
    while True:
        # u in [-1/2, 1/2) becomes the candidate k; near the edges it is stretched without bound
        u, v = uniform() - 0.5, uniform()
        to_edge = 0.5 - abs(u)
        k = math.floor((2 * a / to_edge + b) * u + rate + 0.43) if to_edge else -1
        if to_edge >= 0.07 and v <= inside:  # most candidates: accepted without a logarithm
            return k
        if k < 0 or (to_edge < 0.013 and v > to_edge):
            continue
        # exact: log of v and of the stretch at u, against the log of the probability of k
        height = _log(v) + log_of_inverse_alpha - math.log(a / (to_edge * to_edge) + b)
        if height <= -rate + k * log_rate - math.lgamma(k + 1):
            return k


def _binomial(count: Any, prob: Any, uniform: Uniform) -> Any:
    """One number; `count` and `prob` are numpy's scalars, so that products and differences are
    rounded to their dtype.
    """
    if count <= 0 or prob <= 0:
        return 0
    if prob >= 1:
        return count
    if math.isnan(prob) or not math.isfinite(count):
        return math.nan if math.isnan(prob) or math.isnan(count) else count
    # where success is likely, failures are drawn: they are fewer
    likely = prob > 0.5
    rarer = 1 - prob if likely else prob
    method = _binomial_by_rejection if count * rarer >= REJECTION_THRESHOLD else _binomial_by_gaps
    k = method(count, rarer, uniform)
    return count - type(count)(k) if likely else k


def _binomial_by_gaps(count: Any, prob: Any, uniform: Uniform) -> float:
    """One number: the successes until the gaps between them, which have a geometric distribution,
    exceed `count` trials.
    """
    log_failure = float(np.log1p(-prob))
    trials, successes, limit = 0.0, 0, float(count)
    while True:
        # the logarithm of a uniform number to the base of the chance of failure, rounded up
        trials += math.ceil(_log(uniform()) / log_failure) if log_failure else math.inf
        if trials > limit:
            return successes
        successes += 1


def _binomial_by_rejection(count: Any, prob: Any, uniform: Uniform) -> Any:
    """One number, by the algorithm BTRS of Hörmann (1993), which the constants are from."""
    number = type(count)
    deviation = float(np.sqrt(count * prob * (1 - prob)))
    # ratio: the odds of success; mode: the most likely number of successes
    centre, ratio, mode = (
        float(count * prob) + 0.5,
        float(prob / (1 - prob)),
        float(np.floor((count + 1) * prob)),
    )
    n, p = float(count), float(prob)
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    alpha = (2.83 + 5.1 / b) * deviation
    inside = 0.92 - 4.2 / b
    while True:
        u, v = uniform() - 0.5, uniform()
        to_edge = 0.5 - abs(u)
        k = number(math.floor((2 * a / to_edge + b) * u + centre)) if to_edge else number(-1)
        if k < 0 or k > count:
            continue
        if to_edge >= 0.07 and v <= inside:
            return k
        # log(P(k) / P(mode)), its factorials by Stirling's formula
        failures, k = count - k, float(k)
        fail_1, k_1 = float(failures + 1), float(number(k) + 1)
        bound = (
            (mode + 0.5) * math.log((mode + 1) / (ratio * (n - mode + 1)))
            + float(count + 1) * math.log((n - mode + 1) / fail_1)
            + (k + 0.5) * math.log(ratio * fail_1 / k_1)
            + _stirling_tail(mode)
            + _stirling_tail(n - mode)
            - _stirling_tail(k)
            - _stirling_tail(float(failures))
        )
        if _log(v * alpha / (a / (to_edge * to_edge) + b)) <= bound:
            return k


def _stirling_tail(k: float) -> float:
    """log(k!) minus Stirling's formula for it: a table, or the series in 1 / (k + 1)."""
    if k <= 9:
        return STIRLING_TAILS[int(k)]
    square = (k + 1) * (k + 1)
    return (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)


def _log(x: float) -> float:
    """log(x) as C computes it: -inf for 0, where Python raises ValueError."""
    return math.log(x) if x > 0 else -math.inf
