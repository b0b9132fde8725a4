"""`cumsum` and `cumprod` on the device (`aten/src/ATen/native/cuda/ScanKernels.cpp`).

How the real one differs: it has instances for complex numbers; here those are left to the CPU.
"""

from __future__ import annotations

from functools import cache, partial
from math import prod
from typing import TYPE_CHECKING, Any

from internals.core.dtype import dtype
from internals.core.tensor_impl import Tensor, empty_contiguous

from ..device_array import flat
from ..fallback import NoKernel
from ..kernels import scan as kernels
from ..kernels.accumulators import THREADS
from ..kernels.block_reduction import accumulator, block_total
from ..kernels.functors import add, mul
from ..launch import launch_1d, threads_for
from .opmath import acc_type, dtype_of, scalar_type
from .reducing import BLOCKS_PER_PROCESSOR, converted, processors, write_back

if TYPE_CHECKING:
    from internals.machine_code.templates import DeviceFunction

TILE = THREADS * kernels.ITEMS  # elements that a block scans at a time


def _scan(combine: DeviceFunction, target: Tensor, self: Tensor, d: int) -> None:
    """target = the running `combine` of `self` along dimension `d`."""
    if self.is_complex() or target.is_complex():
        raise NoKernel
    source = converted(self, target.dtype).contiguous()
    # sharing memory is safe only if each element lies at the same address in both
    shares = target is not source and target._storage is source._storage
    result = (
        empty_contiguous(self.shape, target.dtype, self.device)
        if shares or not target.is_contiguous()
        else target
    )
    n, inner = (self.shape[d], prod(self.shape[d + 1 :])) if self.dim() else (1, 1)
    _launch(combine, result, source, n, inner)
    write_back((result,), (target,))


cumsum, cumprod = partial(_scan, add), partial(_scan, mul)


def _launch(combine: DeviceFunction, result: Tensor, source: Tensor, n: int, inner: int) -> None:
    """Scans contiguous `source`, (outer, n, inner) along its middle dimension, into `result`."""
    T, R, OUT = (
        acc_type(result.dtype),
        _read_as(source.dtype, result.dtype),
        scalar_type(result.dtype),
    )
    rows = result.numel() // n
    if inner > 1:
        launch_1d(
            column_kernel(combine, T, R, OUT), rows, flat(result), flat(source), rows, n, inner
        )
        return
    chunk = _chunk(n, rows, processors(result.device.index) * BLOCKS_PER_PROCESSOR)
    chunks = -(-n // chunk)
    totals = None
    if chunks > 1:
        totals = empty_contiguous((rows, chunks), dtype_of(T), result.device)
        kernel = total_kernel(combine, T, R)
        kernel[rows * chunks, THREADS](flat(totals), flat(source), n, chunk, chunks)
        _launch(combine, totals, totals, chunks, 1)  # (rows, chunks), in place
    threads = threads_for(-(-chunk // kernels.ITEMS), THREADS)
    so_far = flat(result if totals is None else totals)  # not read if there is one chunk
    row_kernel(combine, T, R, OUT)[rows * chunks, threads](
        flat(result), flat(source), so_far, n, chunk, chunks
    )


def _chunk(n: int, rows: int, blocks: int) -> int:
    """The length of the chunks of a row: whole tiles, and short enough that `blocks` blocks have
    work, but at least 4 tiles.
    """
    parts = max(1, min(blocks // rows, n // (4 * TILE)))
    return n if parts == 1 else -(-n // (parts * TILE)) * TILE


def _read_as(source: dtype, result: dtype) -> Any:
    """The type that elements are converted to before they are accumulated: the result's if it
    differs, as if `self` had been converted first.
    """
    return acc_type(source) if source is result else scalar_type(result)


def _types(combine: DeviceFunction, T: type, R: type) -> dict[str, Any]:
    """The template parameters that all three kernels have."""
    return {"T": T, "R": R, "FIRST": 0 if combine is add else 1, "combine": combine}


@cache
def row_kernel(combine: DeviceFunction, T: type, R: type, OUT: type) -> Any:
    """The kernel for rows of neighbours (inner = 1)."""
    return kernels.scan_rows.bind(**_types(combine, T, R), OUT=OUT)


@cache
def column_kernel(combine: DeviceFunction, T: type, R: type, OUT: type) -> Any:
    """The kernel for elements that lie `inner` > 1 apart."""
    return kernels.scan_columns.bind(**_types(combine, T, R), OUT=OUT)


@cache
def total_kernel(combine: DeviceFunction, T: type, R: type) -> Any:
    """The kernel for the totals of a row's chunks."""
    sum_of_lanes = block_total(accumulator("number", T), combine, True)
    return kernels.chunk_totals.bind(**_types(combine, T, R), sum_of_lanes=sum_of_lanes)
