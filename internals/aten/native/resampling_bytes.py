"""Resampling images of bytes in integer arithmetic
(`aten/src/ATen/native/cpu/UpSampleKernelAVXAntialias.h`, after Pillow-SIMD).

A weight becomes an integer of 16 bits: it is multiplied by the largest power of two with which the
largest weight still fits. The products add up in 32 bits. Every pass, first along rows, then along
columns, ends with bytes again, rounded and cut off at 0 and 255; so a cubic filter overshoots less
than with floats in between.

How the real one differs: it multiplies sixteen bytes at once, in vector registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def mixed_bytes(x: Any, dim: int, positions: Sequence[Any], weights: Sequence[Any]) -> Any:
    """The array of bytes `x` with its dimension `dim` resampled, as `resampling.taps` describes:
    the sum of each of the `weights`, an array (m), times the elements at its `positions`, also (m).
    """
    weights = _each_position_once(positions, weights)
    bits = _bits(max(w.max() for w in weights))
    across = [-1] + [1] * (x.ndim - dim - 1)
    total = np.int32(1 << bits - 1)  # half a unit, so that the shift at the end rounds
    for at, weight in zip(positions, weights):
        scaled = weight * (1 << bits)
        # rounded to the nearest, halves away from 0
        whole = np.trunc(scaled + np.copysign(0.5, scaled)).astype(np.int32)
        total = total + x.take(at, dim) * whole.reshape(across)
    return np.clip(total >> bits, 0, 255).astype(np.uint8)


def _each_position_once(positions: Sequence[Any], weights: Sequence[Any]) -> list[Any]:
    """The weights, with those of equal positions added up, as several rounded weights would not
    give the rounded sum.

    At a border a filter reads the last pixel several times: the first tap that does gets the sum of
    the weights, the others 0.
    """
    sums = [w.copy() for w in weights]
    for later in range(1, len(sums)):
        for earlier in range(later):
            same = positions[later] == positions[earlier]
            sums[earlier] += np.where(same, sums[later], 0)
            sums[later] = np.where(same, 0, sums[later])
    return sums


def _bits(largest: float) -> int:
    """The number of bits, at most 22, by which weights are shifted to the left, so that the
    `largest` of them fits into 15 bits.
    """
    bits = 0
    while bits < 22 and int(0.5 + largest * (1 << bits + 1)) < 1 << 15:
        bits += 1
    return bits
