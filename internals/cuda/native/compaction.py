"""Operators whose result has a size that depends on the data: `nonzero`, `masked_select`,
`repeat_interleave` (`aten/src/ATen/native/cuda/Nonzero.cu`).

The size is computed on the device, and the host needs it to allocate the result. So it waits, for
the count and everything queued before it: such is the price of a shape that depends on the data.

How the real one differs: `nonzero_static` takes the size as an argument and does not wait, as
`repeat_interleave` does here too.
"""

from __future__ import annotations

from typing import Any

from internals._generated import ops
from internals.aten.native.indexing import check_masked_select, check_nonzero_out, nonzero_output
from internals.aten.native.shape import check_repeats
from internals.aten.native.views import expand
from internals.aten.set_output import set_output
from internals.core import dtype as dt
from internals.core.formats import contiguous_format
from internals.core.tensor_impl import Tensor, empty_contiguous

from ..device_array import flat
from ..kernels import compaction as kernels
from ..launch import counted, launch_1d, threads_for


def nonzero(self: Tensor, out: Tensor | None = None) -> Any:
    """The positions of the elements that are not zero, one a row: shape (count, ndim), int64. Waits
    for the device.
    """
    check_nonzero_out(out)
    positions = true_positions(self)
    n = positions.numel()
    out = nonzero_output(self, n, out)
    if self.dim():
        stride, step = out.stride()
        launch_1d(
            counted(kernels.coordinates, self.numel()),
            n,
            flat(out),
            flat(positions),
            n,
            tuple(self.shape),
            stride,
            step,
        )
    return out


def where(condition: Tensor) -> tuple[Any, ...]:
    """The indices of the elements that are not zero, one tensor (count,) for each dimension. Waits
    for the device.
    """
    return tuple(
        ops.unbind_int(nonzero(condition if condition.dim() else ops.unsqueeze(condition, 0)), 1)
    )


def masked_select(self: Tensor, mask: Tensor, out: Tensor | None = None) -> Any:
    """The elements where the mask, broadcast, is true, as a 1-d tensor. Waits for the device."""
    shape = check_masked_select(self, mask, out)
    source = expand(self, shape)
    positions = true_positions(expand(mask, shape))
    n = positions.numel()
    out = set_output((n,), self.dtype, out, device=self.device)
    sizes, strides = tuple(source.shape) or (1,), tuple(source.stride()) or (1,)
    kernel = counted(kernels.take, source.numel())
    launch_1d(kernel, n, flat(out), flat(source), flat(positions), n, sizes, strides, out.stride(0))
    return out


def repeat_interleave_Tensor(repeats: Tensor, output_size: int | None = None) -> Any:
    """Each position i, `repeats[i]` times: `[1, 2, 0]` gives `[0, 1, 1]`. Waits for the device
    unless `output_size` is given.
    """
    check_repeats(repeats, "repeat_interleave_cuda")
    n = repeats.numel()
    before = _scan(ops.contiguous(repeats, contiguous_format), n)
    total = int(before[n].item()) if output_size is None else output_size
    if total < 0:
        raise RuntimeError("repeats can not be negative")
    out = empty_contiguous((total,), repeats.dtype, repeats.device)
    launch_1d(kernels.repeat_positions, n, flat(out), flat(before), n, total)
    return out


def true_positions(mask: Tensor) -> Any:
    """The numbers, in index order, of the elements of `mask` that are not zero: int64, 1-d. Waits
    for the device.
    """
    n = mask.numel()
    if not n:
        return empty_contiguous((0,), dt.int64, mask.device)
    sizes, strides = tuple(mask.shape) or (1,), tuple(mask.stride()) or (1,)  # 0-d as 1-d
    block = threads_for(n)
    blocks = (n + block - 1) // block
    counts = empty_contiguous((blocks,), dt.int64, mask.device)
    # count, scan, write: see `kernels/compaction.py`
    counted(kernels.count, n)[blocks, block](flat(counts), flat(mask), n, sizes, strides)
    before = _scan(counts, blocks)
    # `item` waits for the total, which is behind the sums
    positions = empty_contiguous((int(before[blocks].item()),), dt.int64, mask.device)
    if positions.numel():
        write = counted(kernels.write_positions, n)
        write[blocks, block](flat(positions), flat(before), flat(mask), n, sizes, strides)
    return positions


def _scan(counts: Tensor, n: int) -> Any:
    """n + 1 sums (int64): of counts[:i] for each i, and of all n. One block computes them."""
    sums = empty_contiguous((n + 1,), dt.int64, counts.device)
    if not n:
        return ops.zero_(sums)
    block = threads_for(n)
    kernels.scan_exclusive[1, block](flat(sums), flat(counts), n)
    return sums
