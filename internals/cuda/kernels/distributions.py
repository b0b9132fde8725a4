"""Kernels that fill a tensor with random numbers
(`aten/src/ATen/native/cuda/DistributionTemplates.h`, `curand_normal.h`).

Thread t reads subsequence t of the generator. Each call of `philox` gives it four words of 32 bits,
from which it makes four float numbers, or two doubles. It does not write these side by side: the
elements it fills lie a whole grid apart (`step`), so that neighbouring threads write to
neighbouring addresses. In a small tensor each thread uses only the first of its four numbers. That
is wasteful, but it decides which numbers belong to a seed, so it has to be done as PyTorch does.

A distribution is a `draw`, which turns words into numbers, and a `transform`, which turns each
number into an element; `store` writes it. cuRAND's uniform numbers lie in (0, 1], so that their
logarithm exists.

How the real one differs: there sine, cosine and logarithm come from the GPU's fast units
(`__sincosf`), so that normal numbers agree in about the first six digits, not in the last.
"""

from __future__ import annotations

import math

import numpy as np

from internals.machine_code.records import Element, Elements

from ..language import cuda, device_function, kernel, template
from .assertion import check
from .copy import offset_of
from .philox import philox

draw = template("draw")  # words to numbers
transform = template("transform")  # (number, a, b) to an element
write = template("write")  # `store` with its transform, or `toss`
T = template("T")  # the dtype of the elements
C = template("C")  # the dtype to compute in
ONE = np.uint64(1)
# a word w is the interval from w to w + 1 of 2**32: UNIT is its length in (0, 1], HALF_UNIT takes
# its middle; TURN is its length on a circle of 2 pi; 53 bits are the digits of a double
UNIT32, HALF_UNIT32 = np.float32(2**-32), np.float32(2**-33)
TURN32, HALF_TURN32 = np.float32(2 * math.pi * 2**-32), np.float32(math.pi * 2**-32)
UNIT53, HALF_UNIT53 = np.float64(2**-53), np.float64(2**-54)
SHIFT_21, SHIFT_32 = np.uint64(21), np.uint64(32)


@kernel
def distribution4(
    out: Elements,
    n: int,
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    seed: int,
    offset: int,
    step: int,
    a: Element,
    b: Element,
):
    """Thread t fills elements t, t + step, t + 2 step and t + 3 step, and goes on from t + 4 step
    with four more words.
    """
    first = cuda.grid(1)
    thread = np.uint64(first)
    while first < n:
        w0, w1, w2, w3 = philox(seed, thread, offset)
        x0, x1, x2, x3 = draw(w0, w1, w2, w3)
        write(out, first, n, sizes, strides, x0, a, b)
        write(out, first + step, n, sizes, strides, x1, a, b)
        write(out, first + 2 * step, n, sizes, strides, x2, a, b)
        write(out, first + 3 * step, n, sizes, strides, x3, a, b)
        first += 4 * step
        offset = np.uint64(offset + ONE)  # the next four words of the subsequence


@kernel
def distribution2(
    out: Elements,
    n: int,
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    seed: int,
    offset: int,
    step: int,
    a: Element,
    b: Element,
):
    """The same for numbers of 64 bits, of which four words make two."""
    first = cuda.grid(1)
    thread = np.uint64(first)
    while first < n:
        w0, w1, w2, w3 = philox(seed, thread, offset)
        x0, x1 = draw(w0, w1, w2, w3)
        write(out, first, n, sizes, strides, x0, a, b)
        write(out, first + step, n, sizes, strides, x1, a, b)
        first += 2 * step
        offset = np.uint64(offset + ONE)


@device_function
def store(
    out: Elements,
    i: int,
    n: int,
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    x: Element,
    a: Element,
    b: Element,
):
    """The `write` of `distribution4`: element i, if there is one, from the drawn number x."""
    if i < n:
        out[offset_of(i, sizes, strides)] = transform(x, a, b)


@kernel
def bernoulli_by_element(
    out: Elements,
    p: Elements,
    n: int,
    sizes: tuple[int, ...],
    out_strides: tuple[int, ...],
    p_strides: tuple[int, ...],
    seed: int,
    offset: int,
):
    """1 with the probability at the same position of `p`, else 0. Thread t fills elements 4t to
    4t + 3, with a word for each.
    """
    thread = cuda.grid(1)  # no loop: the grid is large enough for all n
    if 4 * thread < n:
        w0, w1, w2, w3 = philox(seed, np.uint64(thread), offset)
        x0, x1, x2, x3 = uniform4(w0, w1, w2, w3)
        write(out, p, 4 * thread, n, sizes, out_strides, p_strides, x0)
        write(out, p, 4 * thread + 1, n, sizes, out_strides, p_strides, x1)
        write(out, p, 4 * thread + 2, n, sizes, out_strides, p_strides, x2)
        write(out, p, 4 * thread + 3, n, sizes, out_strides, p_strides, x3)


@device_function
def toss(
    out: Elements,
    p: Elements,
    i: int,
    n: int,
    sizes: tuple[int, ...],
    out_strides: tuple[int, ...],
    p_strides: tuple[int, ...],
    x: Element,
):
    """The `write` of `bernoulli_by_element`: 1 if the uniform number x is at most p[i]."""
    if i < n:
        probability = C(p[offset_of(i, sizes, p_strides)])
        check(0 <= probability <= 1)  # fails for NaN too
        out[offset_of(i, sizes, out_strides)] = T(1) if x <= probability else T(0)


# Draws


@device_function
def bits4(w0: Element, w1: Element, w2: Element, w3: Element):
    """The words themselves, for integers."""
    return w0, w1, w2, w3


@device_function
def bits2(w0: Element, w1: Element, w2: Element, w3: Element):
    """Two numbers of 64 bits, the first word of each in the upper half."""
    return (
        np.uint64((np.uint64(w0) << SHIFT_32) | np.uint64(w1)),
        np.uint64((np.uint64(w2) << SHIFT_32) | np.uint64(w3)),
    )


@device_function
def uniform1(w: Element):
    """The middle of interval w of the 2**32 that (0, 1] is cut into; for the last ones float32
    rounds it to 1.
    """
    return np.float32(np.float32(w) * UNIT32 + HALF_UNIT32)


@device_function
def uniform4(w0: Element, w1: Element, w2: Element, w3: Element):
    return uniform1(w0), uniform1(w1), uniform1(w2), uniform1(w3)


@device_function
def uniform53(w0: Element, w1: Element):
    """A float64 in (0, 1] from 53 bits: w1 gives bits 21 to 52, w0 bits 0 to 31 (11 are shared)."""
    return np.float64(
        np.float64(np.uint64(w0) ^ (np.uint64(w1) << SHIFT_21)) * UNIT53 + HALF_UNIT53
    )


@device_function
def uniform2(w0: Element, w1: Element, w2: Element, w3: Element):
    return uniform53(w0, w1), uniform53(w2, w3)


@device_function
def box_muller(w0: Element, w1: Element):
    """Two independent normal numbers: the coordinates of a point in the plane, with its distance
    from the origin drawn from one word and its direction from the other.
    """
    radius = np.float32(math.sqrt(np.float32(-2) * np.float32(math.log(uniform1(w0)))))
    angle = np.float32(np.float32(w1) * TURN32 + HALF_TURN32)
    return np.float32(radius * np.float32(math.sin(angle))), np.float32(
        radius * np.float32(math.cos(angle))
    )


@device_function
def normal4(w0: Element, w1: Element, w2: Element, w3: Element):
    x0, x1 = box_muller(w0, w1)
    x2, x3 = box_muller(w2, w3)
    return x0, x1, x2, x3


@device_function
def normal2(w0: Element, w1: Element, w2: Element, w3: Element):
    """The same in float64, which takes two words for each uniform number."""
    radius = math.sqrt(-2.0 * math.log(uniform53(w0, w1)))
    angle = 2.0 * math.pi * uniform53(w2, w3)
    return np.float64(radius * math.sin(angle)), np.float64(radius * math.cos(angle))


# Transforms


@device_function
def between(x: Element, low: Element, high: Element):
    """Maps (0, 1] to [low, high): a result that is `high` becomes `low`.

    The two are compared as C: to compare halves, numba would have to compile a function of CUDA's
    headers.
    """
    value = T(x * C(T(high - low)) + low)
    return T(low) if C(value) == C(T(high)) else value


@device_function
def scaled(x: Element, mean: Element, std: Element):
    """A normal number with the given mean and deviation from a standard one."""
    return T(x * std + mean)


@device_function
def below(x: Element, p: Element, unused: Element):
    """1 with probability `p`."""
    return T(1) if x < p else T(0)


@device_function
def exponential(x: Element, rate: Element, half_epsilon: Element):
    """-log(x) / rate. Where the logarithm would be 0 it is -half_epsilon instead: an exponential
    number is never 0.
    """
    log = C(-half_epsilon) if x >= C(1) - half_epsilon else C(math.log(x))
    return T(C(-1) / rate * log)


@device_function
def modulo(x: Element, span: Element, low: Element):
    """An integer from `low` to `low + span - 1`; C is int64, or float32 on the way to float16."""
    return T(C(np.int64(np.uint64(x) % span) + low))


@device_function
def any_integer(x: Element, unused: Element, unused_too: Element):
    """All 64 bits as they come."""
    return T(np.int64(x))
