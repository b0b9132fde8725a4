"""Reading and writing by index tensors and masks
(`aten/src/ATen/native/TensorAdvancedIndexing.cpp`).

`internals._tensor.indexing` turns `x[[1, 2], [3, 2], [1, 0]]` into `index(x, [tensor, tensor,
tensor])`. `AdvancedIndex` decides what that means; the kernels here move the elements. Operators
with a `dim` argument are in `scatter_gather`.

How the real one differs: its loops run in threads, except for `index_put_` with `accumulate=True`:
that is serial, so that sums are the same every time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.broadcasting import broadcast_shapes
from internals.aten.on_device import on_device
from internals.aten.overlap import check_no_internal_overlap, check_no_overlap
from internals.aten.set_output import set_output
from internals.aten.writing import become_view, resize_output
from internals.core import dtype as dt
from internals.core.device import CPU
from internals.core.dtype import SCALAR_TYPE_NAME
from internals.core.geometry import geometry
from internals.core.scalar import checked
from internals.core.tensor_impl import Tensor, array, empty, make, snapshot
from internals.core.warn import warn
from internals.machine_code.settings import settings

from .adding_rows import add_at
from .advanced_index import MASKS, AdvancedIndex, check_mask
from .copying import clone


def index(self: Tensor, indices: Sequence[Tensor | None], out: Tensor | None = None) -> Any:
    """A copy of `self[indices]`. Raises IndexError for indices out of range, and for shapes that do
    not fit.
    """
    if not any(i is not None for i in indices):
        raise IndexError("at least one index must be provided")
    wanted = AdvancedIndex(self, indices)
    out = index_output(wanted, out)
    if not self._geometry.stored:
        return on_device("indexing.index", out, wanted)
    if (
        out.numel() >= settings.least
        and len(wanted.dims) == 1
        and _selected_by_machine_code(wanted, indices, out)
    ):
        return out
    if out.numel():
        try:
            array(out)[...] = array(self)[wanted.key]
        except IndexError:  # numpy's message is another one
            raise wanted.range_error() from None
    return out


def index_put_(
    self: Tensor,
    indices: Sequence[Tensor | None],
    values: Tensor,
    accumulate: bool = False,
) -> Any:
    """`self[indices] = values`, or `+=` with `accumulate`, where repeated indices add as often as
    they occur.

    Raises IndexError as `index` does, RuntimeError when `values` has another dtype or does not
    broadcast.
    """
    return _index_put_impl_(self, indices, values, accumulate, False)


def _index_put_impl_(
    self: Tensor,
    indices: Sequence[Tensor | None],
    values: Tensor,
    accumulate: bool = False,
    unsafe: bool = False,
) -> Any:
    """`index_put_`; `unsafe`, which in PyTorch omits checks of the range, has no effect."""
    if len(indices) > self.dim():
        raise IndexError(
            f"too many indices for tensor of dimension {self.dim()} (got {len(indices)})"
        )
    warn_if_expanded(self, "index_put_", "tensor[indices] = tensor")
    # one value at the true positions of a mask: numpy fills them without listing the positions
    masked = None if accumulate or values.numel() != 1 else single_mask(self, indices)
    if masked is not None:
        first, mask = masked
        warn_if_expanded(self, "masked_fill_", "tensor[mask] = scalar")
        if self.device is not CPU:
            return on_device("indexing.fill_masked", self, first, mask, values)
        array(self)[(slice(None),) * first + (snapshot(mask),)] = checked(
            array(values).item(), self.dtype
        )
        return self
    if values.device is not self.device:  # a 0-d tensor on the CPU, which `device_check` permits
        values = ops._to_copy(values, None, None, self.device, None, False, None)
    check_no_overlap(self, values, *indices)
    wanted = AdvancedIndex(self, indices)
    _check_values(wanted, values)
    if self.device is not CPU:
        return on_device("indexing.put", self, wanted, values, accumulate)
    source = np.broadcast_to(array(values), wanted.shape)
    if not source.size:
        return self
    try:
        if accumulate:
            with np.errstate(all="ignore"):
                added = source.size >= settings.least and _added_by_machine_code(
                    wanted, indices, values
                )
                # None: machine code found an index out of range
                if added is None:
                    raise IndexError
                if added:
                    pass
                elif wanted.dims == [0]:
                    add_at(array(self), wanted.key[0], source)
                else:
                    np.add.at(array(self), wanted.key, source)
        else:
            array(self)[wanted.key] = source
    except IndexError:
        raise wanted.range_error() from None
    return self


def index_put(
    self: Tensor,
    indices: Sequence[Tensor | None],
    values: Tensor,
    accumulate: bool = False,
) -> Any:
    """`index_put_` on a copy of `self`."""
    return _index_put_impl_(clone(self, None), indices, values, accumulate)


def masked_select(self: Tensor, mask: Tensor, out: Tensor | None = None) -> Any:
    """The elements where the mask, broadcast, is true, as a 1-d tensor. Raises RuntimeError for a
    mask that is not bool.
    """
    shape = check_masked_select(self, mask, out)
    selected = np.broadcast_to(array(self), shape)[np.broadcast_to(snapshot(mask), shape)]
    out = set_output(selected.shape, self.dtype, out, device=self.device)
    array(out)[...] = selected
    return out


def nonzero(self: Tensor, out: Tensor | None = None) -> Any:
    """The positions of the elements that are not zero, one per row: (count, ndim), int64."""
    check_nonzero_out(out)
    a = snapshot(self)
    columns = np.nonzero(a) if a.ndim else ()
    out = nonzero_output(self, columns[0].size if columns else int(a.item() != 0), out)
    for d, column in enumerate(columns):
        array(out)[:, d] = column
    return out


def nonzero_static(self: Tensor, size: int, fill_value: int = -1, out: Tensor | None = None) -> Any:
    """The first `size` rows of `nonzero`, with rows of `fill_value` at the end if there are fewer.
    Raises RuntimeError for a negative `size`.
    """
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    check_nonzero_out(out, "nonzero_static")
    out = set_output((size, self.dim()), dt.int64, out)
    positions = nonzero(self)
    n = min(positions.shape[0], size)
    array(out)[:n], array(out)[n:] = array(positions)[:n], fill_value
    return out


def nonzero_output(self: Tensor, count: int, out: Tensor | None) -> Any:
    """The tensor (count, ndim) that `nonzero` fills. If it is new or resized, its strides are
    (1, count), as PyTorch's are: each column is contiguous.
    """
    by_columns = geometry((count, self.dim()), (1, count), dt.int64, self.device)
    if out is None:
        return empty(by_columns)
    check_no_internal_overlap(out)
    if resize_output(out, (count, self.dim())):
        become_view(out, make(out.untyped_storage(), by_columns, out.storage_offset()))
    return out


def nonzero_numpy(self: Tensor) -> Any:
    """`nonzero(as_tuple=True)`: the positions as one tensor for each dimension, which can be used
    as an index.
    """
    return ops.unbind_int(ops.nonzero(ops.unsqueeze(self, 0) if not self.dim() else self), 1)


def index_output(wanted: AdvancedIndex, out: Tensor | None) -> Any:
    """The tensor that `index` fills. Raises RuntimeError for an `out` of another dtype."""
    self = wanted.source
    if out is None:
        return empty(geometry(wanted.shape, wanted.strides(), self.dtype, self.device))
    if out.dtype is not self.dtype:
        raise RuntimeError(
            f"index_out: self ({SCALAR_TYPE_NAME[self.dtype]}) and result "
            f"({SCALAR_TYPE_NAME[out.dtype]}) must have the same scalar type"
        )
    return set_output(wanted.shape, self.dtype, out, device=self.device)


def _selected_by_machine_code(
    wanted: AdvancedIndex, indices: Sequence[Tensor | None], out: Tensor
) -> bool:
    """Let machine code copy the slices that a single index tensor names to `out`. Returns whether
    it did: there is no kernel for masks and for some dtypes.
    """
    (index,) = (i for i in indices if i is not None)
    if index.dtype in MASKS:
        return False
    from internals.aten.compiled.gathering import index_select

    return index_select(out, wanted.source, wanted.dims[0], index, wraps=True) is True


def _added_by_machine_code(
    wanted: AdvancedIndex, indices: Sequence[Tensor | None], values: Tensor
) -> bool | None:
    """Let machine code add `values` to the slices that a single index tensor names. Returns whether
    it did, or None if an index was out of range.
    """
    tensors = [i for i in indices if i is not None]
    if (
        len(tensors) != 1
        or tensors[0].dim() != 1
        or tensors[0].dtype in MASKS
        or tuple(values.shape) != tuple(wanted.shape)
    ):
        return False
    from internals.aten.compiled.gathering import index_add

    return index_add(wanted.source, wanted.dims[0], tensors[0], values, wraps=True)


# Checks before anything is read or written, on any device


def _check_values(wanted: AdvancedIndex, values: Tensor) -> None:
    """Raises RuntimeError for values of another dtype, or of a shape that does not broadcast to
    that of `self[indices]`.
    """
    self, value_sizes, result_sizes = wanted.source, tuple(values.shape), tuple(wanted.shape)
    padded = (1,) * (len(result_sizes) - len(value_sizes)) + value_sizes
    if len(value_sizes) > len(result_sizes) or any(
        n not in (1, m) for n, m in zip(padded, result_sizes)
    ):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(value_sizes)} cannot be broadcast to "
            f"indexing result of shape {list(result_sizes)}"
        )
    if values.dtype is not self.dtype:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{SCALAR_TYPE_NAME[self.dtype]} for the destination and "
            f"{SCALAR_TYPE_NAME[values.dtype]} for the source."
        )


def check_masked_select(self: Tensor, mask: Tensor, out: Tensor | None) -> tuple[int, ...]:
    """The shape that both broadcast to. Raises RuntimeError for a mask that is not bool, or an
    `out` of another dtype.
    """
    if mask.dtype is not dt.bool_:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    if out is not None and out.dtype is not self.dtype:
        raise RuntimeError("masked_select(): self and result must have the same scalar type")
    return broadcast_shapes(mask.shape, self.shape)


def check_nonzero_out(out: Tensor | None, name: str = "nonzero") -> None:
    """Raises RuntimeError for an `out` that is not int64."""
    if out is not None and out.dtype is not dt.int64:
        raise RuntimeError(
            f"{name}: Expected out tensor to have scalar type Long but got scalar "
            f"type{SCALAR_TYPE_NAME[out.dtype]}"
        )


def single_mask(self: Tensor, indices: Sequence[Tensor | None]) -> tuple[int, Tensor] | None:
    """(first dimension, mask) if the only index is a mask, else None. Raises IndexError for a mask
    of other sizes, RuntimeError for one that is not bool.
    """
    masks = [(d, i) for d, i in enumerate(indices) if i is not None]
    if len(masks) != 1 or masks[0][1].dtype not in MASKS:
        return None
    first, mask = masks[0]
    check_mask(mask, self.shape, first)
    if mask.dtype is not dt.bool_:
        raise RuntimeError(
            "masked_fill_ only supports boolean masks, but got mask with dtype unsigned char"
        )
    return first, mask


def warn_if_expanded(self: Tensor, op: str, syntax: str) -> None:
    """Warns when elements of `self` share memory: `op` would write to several at once."""
    try:
        check_no_internal_overlap(self)
    except RuntimeError:
        warn(
            f"Use of {op} on expanded tensors is deprecated. Please clone() the tensor before "
            f"performing this operation. This also applies to advanced indexing e.g. {syntax}"
        )
