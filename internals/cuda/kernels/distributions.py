"""From random words to random numbers in a tensor
(`aten/src/ATen/native/cuda/DistributionTemplates.h`, `curand_normal.h`).

Thread t is subsequence t of the generator. Each time it asks, it gets four words, and makes four
float numbers of them, or two doubles. It does not put these side by side: the elements it fills lie
a whole grid apart (`step`), so that neighbouring threads write to neighbouring addresses. A small
tensor takes only the first of the four from each thread; that is wasteful, and part of which
numbers a seed stands for.

A distribution is a `draw`, which makes numbers of words, and a `transform`, which makes of each
number what is wanted; `store` puts it into its place. cuRAND's uniform numbers lie in (0, 1], so
that their logarithm exists.

How the real one differs: sine, cosine and logarithm come from the GPU's fast units there
(`__sincosf`), so that normal numbers agree in the first six or so digits, not in the last.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..language import cuda, device_function, kernel, template
from .assertion import check
from .copy import offset_of
from .philox import philox

if TYPE_CHECKING:
    from internals.machine_code.records import Element, Elements

draw = template("draw")  # words to numbers
transform = template("transform")  # (number, a, b) to an element
write = template("write")  # `store` with its transform, or `toss`
T = template("T")  # the dtype of the elements
C = template("C")  # the dtype to compute in
ONE = np.uint64(1)
UNIT32, HALF_UNIT32 = np.float32(2**-32), np.float32(2**-33)
TURN32, HALF_TURN32 = np.float32(2 * math.pi * 2**-32), np.float32(math.pi * 2**-32)
UNIT53, HALF_UNIT53 = np.float64(2**-53), np.float64(2**-54)
SHIFT_21, SHIFT_32 = np.uint64(21), np.uint64(32)


@kernel
def distribution4(
    out: Elements,
    n: Elements,
    sizes: int,
    strides: tuple[int, ...],
    seed: int,
    offset: int,
    step: int,
    a: Elements,
    b: Elements,
):
    """Each thread fills elements t, t + step, t + 2 step, t + 3 step; then it asks for four more
    words.
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
        offset = np.uint64(offset + ONE)


@kernel
def distribution2(
    out: Elements,
    n: Elements,
    sizes: int,
    strides: tuple[int, ...],
    seed: int,
    offset: int,
    step: int,
    a: Elements,
    b: Elements,
):
    """The same for numbers of 64 bits: two from four words."""
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
    """1 with the probability at the same place of `p`. Thread t fills the elements 4t to 4t + 3, a
    word for each.
    """
    thread = cuda.grid(1)
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
    if i < n:
        probability = C(p[offset_of(i, sizes, p_strides)])
        check(0 <= probability <= 1)
        out[offset_of(i, sizes, out_strides)] = T(1) if x <= probability else T(0)


# Draws


@device_function
def bits4(w0: Element, w1: Element, w2: Element, w3: Element):
    return w0, w1, w2, w3


@device_function
def bits2(w0: Element, w1: Element, w2: Element, w3: Element):
    return (
        np.uint64((np.uint64(w0) << SHIFT_32) | np.uint64(w1)),
        np.uint64((np.uint64(w2) << SHIFT_32) | np.uint64(w3)),
    )


@device_function
def uniform1(w: Element):
    """The middle of one of 2**32 intervals of (0, 1]; that of the last is 1 in float32."""
    return np.float32(np.float32(w) * UNIT32 + HALF_UNIT32)


@device_function
def uniform4(w0: Element, w1: Element, w2: Element, w3: Element):
    return uniform1(w0), uniform1(w1), uniform1(w2), uniform1(w3)


@device_function
def uniform53(w0: Element, w1: Element):
    return np.float64(
        np.float64(np.uint64(w0) ^ (np.uint64(w1) << SHIFT_21)) * UNIT53 + HALF_UNIT53
    )


@device_function
def uniform2(w0: Element, w1: Element, w2: Element, w3: Element):
    return uniform53(w0, w1), uniform53(w2, w3)


@device_function
def box_muller(w0: Element, w1: Element):
    """Two independent normal numbers: a point of the plane, its distance from one word, its
    direction from the other.
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
    radius = math.sqrt(-2.0 * math.log(uniform53(w0, w1)))
    angle = 2.0 * math.pi * uniform53(w2, w3)
    return np.float64(radius * math.sin(angle)), np.float64(radius * math.cos(angle))


# Transforms


@device_function
def between(x: Element, low: Element, high: Element):
    """(0, 1] to [low, high): what comes out as `high` becomes `low`.

    They are compared as C: for halves numba would have to compile a function from CUDA's headers.
    """
    value = T(x * C(T(high - low)) + low)
    return T(low) if C(value) == C(T(high)) else value


@device_function
def scaled(x: Element, mean: Element, std: Element):
    return T(x * std + mean)


@device_function
def below(x: Element, p: Element, unused: Element):
    """1 with probability `p`."""
    return T(1) if x < p else T(0)


@device_function
def exponential(x: Element, rate: Element, half_epsilon: Element):
    """-log(x) / rate, where a logarithm that would be 0 is replaced: an exponential number is never
    0.
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
