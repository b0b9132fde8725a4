"""`randperm` and `multinomial` (`aten/src/ATen/native/cuda/Randperm.cu`, `MultinomialKernel.cu`,
`native/Distributions.cpp`).

A permutation is the order that results from sorting random keys. Keys are short, so that sorting is
cheap, and long enough that few are equal; elements with equal keys are shuffled among themselves. A
sample without replacement is a race: each category finishes after an exponential time divided by
its weight, and the first ones win.

The work is done by other operators, `sort` and `topk`.

How the real one differs: its radix sort looks only at as many bits as a key has.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.native.random.checks import check_weights
from internals.core import dtype as dt
from internals.core.device import CPU
from internals.core.generator import Generator
from internals.core.tensor_impl import Tensor, array, empty_contiguous

from ..device_array import flat
from ..kernels import sampling as kernels
from ..launch import launch_1d, threads_for
from ..random import generator_for
from .opmath import opmath_type
from .random import exponential, integers

SAMPLE_THREADS = 128  # threads of a block in PyTorch


def permutation(out: Tensor, generator: Generator | None) -> None:
    """Fills `out` (n,) with 0 to n - 1 in random order."""
    n, where = out.numel(), out.device
    bits = key_bits(n)
    number = dt.int32 if bits <= 32 else dt.int64
    info = np.iinfo(number.np)
    keys = empty_contiguous((n,), number, where)
    integers(keys, generator, int(info.min), int(info.max) - int(info.min), True)
    if bits < number.itemsize * 8:
        keys = ops.bitwise_and_Scalar(keys, (1 << bits) - 1)
    keys, order = ops.sort_stable(keys, True, 0, False)
    seed, position = generator_for(generator, where).philox_state(n)
    launch_1d(kernels.shuffle_islands, n, flat(keys), flat(order), n, seed, position)
    ops.copy_(out, order, False)


def key_bits(n: int) -> int:
    """The number of bits of a key for `n` elements, with which all keys differ with a probability
    of 0.9.

    Of 2^b keys, n are all different with a probability of about exp(-n² / 2^(b + 1)) (the birthday
    problem); PyTorch's formula solves a closer approximation for 2^b.
    """
    return min(64, math.ceil(math.log2(n - (6 * n * n + 1) / (12 * math.log(0.9)))))


def multinomial(
    self: Tensor, num_samples: int, replacement: bool, generator: Generator | None
) -> Any:
    """`num_samples` indices from each row of (rows, categories) or (categories,), drawn with
    probabilities proportional to its weights. The host waits, to check them.

    Raises RuntimeError for weights that are negative, not finite or all zero, or when there are too
    few to draw from.
    """
    on_cpu = ops._to_copy(self, None, None, CPU, None, False, None)
    check_weights(self, array(on_cpu), num_samples, replacement)
    if not replacement or num_samples == 1:
        times = ops.empty_like(self, None, None, None, None, None)
        exponential(times, generator, 1.0)
        scores = ops.div_Tensor(self, times)  # 1 / the category's time: the largest is first
        if num_samples == 1:
            return ops.argmax(scores, -1, True)
        return ops.topk(scores, num_samples, -1, True, True)[1]
    weights = ops.div_Tensor(self, ops.sum_dim_IntList(self, [-1], True, None)).contiguous()
    cumulative = ops.cumsum(weights, -1, None).contiguous()
    categories = self.shape[-1]
    rows = self.numel() // categories
    out = empty_contiguous((*self.shape[:-1], num_samples), dt.int64, self.device)
    seed, position = generator_for(generator, self.device).philox_state(4)
    block = threads_for(num_samples, SAMPLE_THREADS)
    # PyTorch has a whole number of blocks for each row: this numbers the subsequences
    row_threads = (num_samples + SAMPLE_THREADS - 1) // SAMPLE_THREADS * SAMPLE_THREADS
    grid = ((num_samples + block - 1) // block, rows)
    arrays = (flat(out), flat(cumulative), flat(weights))
    kernel = _sample(self.dtype)
    kernel[grid, block](*arrays, num_samples, categories, row_threads, seed, position)
    return out


def _sample(kind: dt.dtype) -> Any:
    return kernels.sample.bind(T=kind.np.type, C=opmath_type(kind))
