"""Resampling images of bytes in integer arithmetic
(`aten/src/ATen/native/cpu/UpSampleKernelAVXAntialias.h`, after Pillow-SIMD).

A weight becomes an integer of 16 bits: itself times the largest power of two that leaves room for
the largest of them. Products add up in 32 bits, and every pass ends with bytes again, rounded and
cut off at 0 and 255: first along rows, then along columns. So a cubic filter overshoots less than
with floats in between.

How the real one differs: sixteen products at once, in vector registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def mixed_bytes(x: Any, dim: int, positions: Sequence[Any], weights: Sequence[Any]) -> Any:
    """The array of bytes `x`, its dimension `dim` made anew of sums of some `positions` with
    `weights`.
    """
    weights = _each_position_once(positions, weights)
    bits = _bits(max(w.max() for w in weights))
    across = [-1] + [1] * (x.ndim - dim - 1)
    total = np.int32(1 << bits - 1)
    for at, weight in zip(positions, weights):
        scaled = weight * (1 << bits)
        whole = np.trunc(scaled + np.copysign(0.5, scaled)).astype(np.int32)
        total = total + x.take(at, dim) * whole.reshape(across)
    return np.clip(total >> bits, 0, 255).astype(np.uint8)


def _each_position_once(positions: Sequence[Any], weights: Sequence[Any]) -> list[Any]:
    """At a border a filter reads the last pixel several times: the first of them gets the sum of
    the weights, the others none.
    """
    sums = [w.copy() for w in weights]
    for later in range(1, len(sums)):
        for earlier in range(later):
            same = positions[later] == positions[earlier]
            sums[earlier] += np.where(same, sums[later], 0)
            sums[later] = np.where(same, 0, sums[later])
    return sums


def _bits(largest: float) -> int:
    """How many bits weights may be moved to the left, so that the `largest` of them fits into
    15.
    """
    bits = 0
    while bits < 22 and int(0.5 + largest * (1 << bits + 1)) < 1 << 15:
        bits += 1
    return bits
