"""`sort` and `topk` on the device, for rows of up to 1024 elements (`aten/src/ATen/native/cuda/Sort.cpp`, `TensorTopK.cpp`).

Longer rows are sorted on the CPU, by the fallback that every operator without a kernel takes: it is counted, seen in the dispatch
trace, and an error where fallbacks are not allowed.

How the real one differs: it sorts rows of any length, and `topk` finds the k-th element by its digits (radix select) first.
"""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

from internals._generated import ops
from internals.aten.native import sorting as cpu
from internals.aten.set_output import set_output
from internals.core import dtype as dt
from internals.core import return_types
from internals.core.tensor_impl import empty_contiguous

from ..device_array import flat
from ..fallback import on_cpu
from ..kernels import sort as kernels
from ..kernels.sort import LONGEST
from .opmath import acc_type, scalar_type


def sort(self: Any, dim: int = -1, descending: bool = False, out: Any = None) -> Any:
    """The values along `dim` in order, and the positions they had. Raises RuntimeError for complex numbers."""
    return sort_stable(self, True, dim, descending, out)


def sort_stable(self: Any, stable: bool | None, dim: int = -1, descending: bool = False, out: Any = None) -> Any:
    """`sort`; equal elements keep their order whatever `stable` says."""
    d = cpu.check_sort(self, dim)
    if self.dim() and self.shape[d] > LONGEST:
        return on_cpu(ops.sort_stable_op, self, stable, dim, descending, out=out)
    values, indices = cpu.sort_outputs(self, out)
    _first(values, indices, self, self.shape[d] if self.dim() else 1, d, descending)
    return (return_types.sort if out is None else return_types.sort_out)(values, indices)


def topk(self: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True, out: Any = None) -> Any:
    """The `k` largest (or smallest) along `dim`, in order, and their positions. Raises RuntimeError when there are fewer."""
    d = cpu.check_topk(self, k, dim)
    if self.dim() and self.shape[d] > LONGEST:
        return on_cpu(ops.topk_op, self, k, dim, largest, sorted, out=out)
    sizes = (*self.shape[:d], k, *self.shape[d + 1 :]) if self.dim() else ()
    values = set_output(sizes, self.dtype, out and out[0], device=self.device)
    indices = set_output(sizes, dt.int64, out and out[1], device=self.device)
    _first(values, indices, self, k if self.dim() else 1, d, largest)
    return (return_types.topk if out is None else return_types.topk_out)(values, indices)


def _first(values: Any, indices: Any, self: Any, k: int, d: int, descending: bool) -> None:
    """The first `k` of each row of `self` along dimension `d`, sorted, into `values` and `indices`."""
    if not values.numel():
        return
    targets = (values, indices)
    results = [empty_contiguous(t.shape, t.dtype, t.device) for t in targets]
    x = self.contiguous()
    n, inner = (self.shape[d], prod(self.shape[d + 1 :])) if self.dim() else (1, 1)
    size = max(2, 1 << (n - 1).bit_length())
    kernel = sort_kernel(descending, acc_type(self.dtype), scalar_type(self.dtype))
    kernel[x.numel() // n, max(32, size // 2)](*map(flat, results), flat(x), n, size, k, inner)
    for target, result in zip(targets, results):
        ops.copy_(target, result, False)


@cache
def sort_kernel(descending: bool, T: Any, OUT: Any) -> Any:
    precedes = kernels.larger_first if descending else kernels.smaller_first
    return kernels.sort_rows.bind(T=T, OUT=OUT, precedes=precedes)


def instances() -> list[tuple[Any, tuple[Any, ...]]]:
    """Kernels of this file, with the types of their arguments."""
    found: list[tuple[Any, tuple[Any, ...]]] = []
    for d in (dt.float16, dt.float32, dt.float64, dt.int64, dt.uint8, dt.bool_):
        array = f"{d.name}[:]"
        for descending in (True, False):
            kernel = sort_kernel(descending, acc_type(d), scalar_type(d))
            found.append((kernel, (array, "int64[:]", array, int, int, int, int)))
    return found
