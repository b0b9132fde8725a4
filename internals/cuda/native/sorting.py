"""`sort` and `topk` on the device, for rows of up to 1024 elements
(`aten/src/ATen/native/cuda/Sort.cpp`, `TensorTopK.cpp`).

Longer rows are sorted on the CPU, by the fallback of every operator without a kernel: it is
counted, shown in the dispatch trace, and an error where fallbacks are not allowed.

How the real one differs: it sorts rows of any length, and `topk` finds the k-th element by its
digits (radix select) first.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import prod
from typing import Any

from internals.core.tensor_impl import Tensor, empty_contiguous

from ..device_array import flat
from ..fallback import NoKernel
from ..kernels import sort as kernels
from ..kernels.sort import LONGEST
from .opmath import acc_type, scalar_type
from .reducing import write_back


def first(targets: Sequence[Any], self: Tensor, k: int, d: int, descending: bool) -> None:
    """Fills `targets`, (values, positions), with the first `k` of each row of `self` along
    dimension `d`, sorted.
    """
    n, inner = (self.shape[d], prod(self.shape[d + 1 :])) if self.dim() else (1, 1)
    if n > LONGEST:
        raise NoKernel
    results = [empty_contiguous(t.shape, t.dtype, t.device) for t in targets]
    x = self.contiguous()
    size = max(2, 1 << (n - 1).bit_length())  # the next power of two
    kernel = sort_kernel(descending, acc_type(self.dtype), scalar_type(self.dtype))
    # a block for each row, a thread for each pair that a round compares
    kernel[x.numel() // n, max(32, size // 2)](*map(flat, results), flat(x), n, size, k, inner)
    write_back(results, targets)


@cache
def sort_kernel(descending: bool, T: type, OUT: type) -> Any:
    """The kernel that compares in T and writes values of type OUT."""
    precedes = kernels.larger_first if descending else kernels.smaller_first
    return kernels.sort_rows.bind(T=T, OUT=OUT, precedes=precedes)
