"""Philox4x32-10: random words from a counter (`aten/src/ATen/core/PhiloxRNGEngine.h`,
`curand_philox4x32_x.h`).

A generator whose state changes with every number is of no use to ten thousand threads at once.
Philox has no state: it is a function, like a cipher, that mixes a counter with a key. The key is
the seed. The counter has 128 bits: its upper half is the thread's number (the *subsequence*), its
lower half counts the thread's calls. So every thread computes its own numbers, no two threads share
any, and only the seed and an offset have to be remembered.

A round multiplies two of the four words and mixes the upper halves of the products with the other
two. The key changes a little before each round but the first. After ten rounds the numbers pass all
tests of TestU01's BigCrush.

How the real one differs: cuRAND keeps counter, key and the last four words in a struct, to hand
them out one by one.
"""

from __future__ import annotations

import numpy as np

from internals.machine_code.records import Element

from ..language import device_function

MULTIPLIER_0, MULTIPLIER_1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
# the fractions of the golden ratio and of the square root of 3, times 2**32
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
        # 32 by 32 bits give 64: the lower halves move on as they are, the upper halves are mixed in
        p0, p1 = np.uint64(MULTIPLIER_0 * np.uint64(c0)), np.uint64(MULTIPLIER_1 * np.uint64(c2))
        c0, c1, c2, c3 = (
            np.uint32(np.uint32(p1 >> HALF_WORD) ^ c1 ^ np.uint32(k0)),
            np.uint32(p1 & LOW),
            np.uint32(np.uint32(p0 >> HALF_WORD) ^ c3 ^ np.uint32(k1)),
            np.uint32(p0 & LOW),
        )
        k0, k1 = np.uint64((k0 + KEY_STEP_0) & LOW), np.uint64((k1 + KEY_STEP_1) & LOW)
    return c0, c1, c2, c3
