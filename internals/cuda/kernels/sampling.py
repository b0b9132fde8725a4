"""Random permutations and random categories: the kernels of `randperm` and `multinomial`
(`aten/src/ATen/native/cuda/Randperm.cuh`, `MultinomialKernel.cu`).
"""

from __future__ import annotations

import numpy as np

from internals.machine_code.records import Element, Elements

from ..language import cuda, device_function, kernel, template
from .distributions import uniform1
from .philox import philox

T = template("T")  # the dtype of the weights
C = template("C")  # the dtype to compare in
FOUR = np.uint64(4)


@kernel
def shuffle_islands(keys: Elements, order: Elements, n: int, seed: int, offset: int):
    """Shuffles each run ("island") of equal keys. A permutation is `order` sorted by random keys,
    and where two keys are equal, the sort leaves their elements in order, not at random.

    The thread at the start of a run shuffles it, by Fisher and Yates' method: each element, from
    the last on, is swapped with a random one of those up to and including itself.
    """
    i = cuda.grid(1)
    # the first of a run of at least two
    if i + 1 < n and keys[i] == keys[i + 1] and (i == 0 or keys[i] != keys[i - 1]):
        size = 2
        while i + size < n and keys[i + size] == keys[i]:
            size += 1
        for k in range(size - 1, 0, -1):
            other = np.int64(word(seed, i, offset, size - 1 - k) % np.uint64(k + 1))
            swapped = order[i + k]
            order[i + k] = order[i + other]
            order[i + other] = swapped


@device_function
def word(seed: int, thread: Element, offset: int, number: int):
    """Word `number` of the thread's subsequence, counted from `offset`, which counts in fours of
    words.
    """
    four = np.uint64(offset + np.uint64(number) // FOUR)
    w0, w1, w2, w3 = philox(seed, np.uint64(thread), four)
    place = number % 4
    if place == 0:
        return np.uint64(w0)
    if place == 1:
        return np.uint64(w1)
    if place == 2:
        return np.uint64(w2)
    return np.uint64(w3)


@kernel
def sample(
    out: Elements,
    cumulative: Elements,
    weights: Elements,
    samples: Element,
    categories: Element,
    row_threads: Element,
    seed: int,
    offset: int,
):
    """Draws samples with replacement: out (rows, samples) from the cumulative distributions
    (rows, categories), a distribution for each blockIdx.y.

    Each sample is a uniform number; a binary search finds the category in whose part of the row it
    falls. `row_threads` is how many threads a row has in PyTorch, which numbers the subsequences.
    """
    row = cuda.blockIdx.y
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < samples:
        w0, _, _, _ = philox(seed, np.uint64(row * row_threads + i), offset)
        x = C(T(uniform1(w0)))
        # the first category whose cumulative probability is at least x
        start = 0
        end = categories
        while start < end:
            middle = (start + end) // 2
            if C(cumulative[row * categories + middle]) < x:
                start = middle + 1
            else:
                end = middle
        start = min(start, categories - 1)
        # rounding may have led to a category of probability 0, which must not be drawn
        while start > 0 and C(weights[row * categories + start]) == C(0):
            start -= 1
        out[row * samples + i] = start
