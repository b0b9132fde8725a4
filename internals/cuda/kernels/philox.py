"""Philox4x32-10: random words from a counter (`aten/src/ATen/core/PhiloxRNGEngine.h`,
`curand_philox4x32_x.h`).

A generator with a state that is carried from number to number is of no use to ten thousand threads
at once. Philox has none: it is a function, like a cipher, that mixes a counter under a key. The key
is the seed. The counter, 128 bits long, is filled by who asks: its upper half says which thread it
is (the *subsequence*), its lower half how many times that thread asked before. So every thread
finds its own numbers, no two threads share any, and nothing has to be remembered but seed and
offset.

A round multiplies two of the four words and mixes the upper halves of the products with the other
two; ten rounds, the key changed a little before each but the first, pass every statistical test
there is.

How the real one differs: cuRAND keeps counter, key and the last four words in a struct, to hand
them out one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..language import device_function

if TYPE_CHECKING:
    from internals.machine_code.records import Element

MULTIPLIER_0, MULTIPLIER_1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
# golden ratio, square root of 3 - 1
KEY_STEP_0, KEY_STEP_1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
LOW, HALF_WORD = np.uint64(0xFFFFFFFF), np.uint64(32)


@device_function
def philox(seed: int, subsequence: Element, position: int):
    """The four 32-bit words (uint32) that a thread gets at `position`; all three arguments are
    uint64.
    """
    k0, k1 = np.uint64(seed & LOW), np.uint64(seed >> HALF_WORD)
    c0, c1 = np.uint32(position & LOW), np.uint32(position >> HALF_WORD)
    c2, c3 = np.uint32(subsequence & LOW), np.uint32(subsequence >> HALF_WORD)
    for _ in range(10):
        p0, p1 = np.uint64(MULTIPLIER_0 * np.uint64(c0)), np.uint64(MULTIPLIER_1 * np.uint64(c2))
        c0, c1, c2, c3 = (
            np.uint32(np.uint32(p1 >> HALF_WORD) ^ c1 ^ np.uint32(k0)),
            np.uint32(p1 & LOW),
            np.uint32(np.uint32(p0 >> HALF_WORD) ^ c3 ^ np.uint32(k1)),
            np.uint32(p0 & LOW),
        )
        k0, k1 = np.uint64((k0 + KEY_STEP_0) & LOW), np.uint64((k1 + KEY_STEP_1) & LOW)
    return c0, c1, c2, c3
