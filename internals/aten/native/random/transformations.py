"""Random numbers computed from the generator's words (`aten/src/ATen/core/TransformationHelper.h`,
`native/cpu/DistributionTemplates.h`).

Each function takes a generator and a count and returns that many numbers. A word is 32 random bits.
The same seed gives the same numbers as PyTorch because words are consumed in its order:

- uniform: one word a float32 (its lower 24 bits), two a float64 (53 bits).
- normal, 16 values or more in contiguous memory: uniforms first, then Box-Muller on blocks of 16,
  where value j pairs with value j + 8; if the last block is not full, the last 16 values are drawn
  again.
- normal otherwise: Box-Muller in double, the second value of a pair kept in the generator for the
  next call.
- exponential, log-normal, Cauchy, geometric: from a double, or a normal number made one at a time.
- integers: a word modulo the range; two words once the range reaches 2**28.

Compared with PyTorch 2.13 these agree bit for bit: uniform, integers, permutations, and bernoulli
and multinomial where PyTorch does not use MKL for them. Normals agree up to the last bit or two: a
logarithm and a cosine are not rounded alike everywhere.

How the real one differs: it computes one number at a time. On Intel processors it draws
`bernoulli_(p)` and exponentials from a stream of MKL instead.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from internals.core.dtype import dtype, float16, float64
from internals.core.generator import Generator, drawing, uniform32, uniform64
from internals.core.tensor_impl import Array

BLOCK = 16  # the numbers that PyTorch's vectorised loop makes at once


def uniform(g: Generator, n: int, kind: dtype, low: float = 0.0, high: float = 1.0) -> Any:
    """`n` numbers in [low, high) of the dtype `kind`, float32 or float64; float16 is drawn as
    float32.
    """
    if kind is float64:
        return uniform64(g, n) * (high - low) + low
    a, b = np.float32(low), np.float32(high)
    # in double, so that there is one rounding, as with a fused multiply-add
    return (uniform32(g, n) * float(b - a) + float(a)).astype(np.float32)


def normal_block(g: Generator, n: int, kind: dtype, mean: float, std: float) -> Any:
    """`n` >= 16 normal numbers, by Box-Muller on blocks of 16; the dtype is that of `uniform`."""
    whole = n - n % BLOCK
    # PyTorch draws uniforms for the incomplete block, too, and overwrites them; but not for float16
    u = uniform(g, whole if kind is float16 else n, kind)
    values = np.empty(n, u.dtype)
    values[:whole] = box_muller(u[:whole], mean, std)
    if n % BLOCK:
        # the last 16 are drawn again, though most of them belong to a block that was complete
        values[-BLOCK:] = box_muller(uniform(g, BLOCK, kind), mean, std)
    return values


def box_muller(u: Array, mean: float, std: float) -> Any:
    """Uniforms to normals: of each 16, the first 8 give the radius, sqrt(-2 log(1 - u)), and the
    last 8 the angle, 2 pi u. The cosines come first, then the sines.
    """
    pairs = u.reshape(-1, 2, 8)
    number = u.dtype.type
    # Logarithm and cosine in double, then rounded: in single they differ from machine to machine,
    # as numpy has vector loops of its own for some processors.
    radius = np.sqrt(
        number(-2) * np.log((number(1) - pairs[:, 0]).astype(np.float64)).astype(u.dtype)
    )
    angle = (number(2) * number(math.pi) * pairs[:, 1]).astype(np.float64)
    both = np.stack(
        [radius * np.cos(angle).astype(u.dtype), radius * np.sin(angle).astype(u.dtype)], 1
    )
    return (both * number(std) + number(mean)).reshape(-1)


def normal_serial(g: Generator, n: int) -> Any:
    """`n` standard normal numbers in double, pair by pair; an odd one out is kept for the next
    call.
    """
    # locked, as the kept value and the words have to be taken together
    with drawing:
        values = [] if g.next_normal is None or not n else [np.array([g.next_normal])]
        missing = n - len(values)
        if values:
            g.next_normal = None
        pairs = (missing + 1) // 2
        u = uniform64(g, 2 * pairs)  # angle, radius, angle, radius, ...
        radius = np.sqrt(-2.0 * np.log1p(-u[1::2]))
        angle = 2.0 * math.pi * u[0::2]
        fresh = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).reshape(-1)
        if missing % 2:
            g.next_normal = float(fresh[-1])
    return np.concatenate([*values, fresh[:missing]])


def integers(g: Generator, n: int, low: int, span: int) -> Any:
    """`n` integers from `low` to `low + span - 1`, as int64; a span of 2**64 means all int64 there
    are. The remainder of a word prefers small numbers a little, as in PyTorch.
    """
    if span >= 1 << 64:
        return g.random64(n).view(np.int64)
    words = g.random64(n) if span >= 1 << 28 else g.random32(n)
    return (words % np.uint64(span)).view(np.int64) + np.int64(low)


def exponential(g: Generator, n: int) -> Any:
    """`n` numbers from the exponential distribution with rate 1, in double."""
    return -np.log1p(-uniform64(g, n))


def geometric(g: Generator, n: int, p: float) -> Any:
    """`n` numbers of tries until the first success, which has probability `p`, in double."""
    with np.errstate(divide="ignore"):
        return np.ceil(np.log(uniform64(g, n)) / math.log1p(-p))


def permutation(g: Generator, n: int) -> Any:
    """0 to n-1 shuffled by Fisher and Yates: position i changes places with a random one from i on.

    Each step depends on the one before, so this is a Python loop; only the draws are made at once.
    """
    order = list(range(n))
    if n > 1:
        # position i has n - i candidates, itself among them
        offsets = g.random32(n - 1) % np.arange(n, 1, -1, dtype=np.uint64)
        for i, z in enumerate(offsets.tolist()):
            order[i], order[i + z] = order[i + z], order[i]
    return np.array(order, np.int64)
