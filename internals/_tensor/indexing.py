"""Indexing: `x[...]` and `x[...] = value` (`torch/csrc/autograd/python_variable_indexing.cpp`,
`ATen/TensorIndexing.h`).

The parts of an index are applied from left to right. Integers become `select`, slices `slice`, None
and booleans `unsqueeze`. Each of these is a view of the view before, so basic indexing copies
nothing. Index tensors (and lists, and numpy arrays) are deferred, each with its dimension; if there
are any, a single `index` (reading) or `index_put_` (writing) applies them at the end.

    x[0, :, None, [2, 1]]  =  index(unsqueeze(select(x, 0, 0), 1), [None, None, tensor([2, 1])])

Under a trace, slices are recorded as they are written, and assigned numbers as constant tensors, so
that the trace also fits tensors of other sizes.

How the real one differs: it also handles `__torch_function__` and symbolic integers.
"""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.overlap import check_no_internal_overlap
from internals.core.arg_types import as_int
from internals.core.dtype import INTEGRAL, SCALAR_TYPE_NAME, bool_, uint8
from internals.core.hot import hot
from internals.core.tensor_impl import Tensor, TensorImpl, from_array, host_array
from internals.core.tracer import TracedInt, tracer

_INTEGERS = (int, np.integer)
_END = (1 << 63) - 1  # the end of a slice that has none: the largest int64


def getitem(self: Tensor, index: Any) -> Any:
    """`x[index]`: a view, unless the index contains tensors, lists or arrays. Raises IndexError,
    ValueError or TypeError.
    """
    # the common kinds first, without a tuple and a loop; each returns a new tensor, never x itself
    kind = index.__class__
    if kind is int:
        return _select(self, 0, index, 0)
    if kind is slice:
        sliced = _slice(self, 0, index)
        return ops.slice_Tensor(self, 0, None, None, 1) if sliced is self else sliced
    if index is Ellipsis:
        return ops.alias(self)
    if index is None:
        return ops.unsqueeze(self, 0)
    sliced, tensors = _apply(self, _as_tuple(index))
    if tensors:
        return ops.index_Tensor(sliced, tensors)
    return ops.alias(self) if sliced is self else sliced


def setitem(self: Tensor, index: object, value: object) -> None:
    """`x[index] = value`: write a tensor, or a number, broadcast to the shape of `x[index]`."""
    if not isinstance(value, TensorImpl):
        _check_number(self, value)
    if index is False:  # selects nothing
        return
    if index.__class__ is int:
        return _write(_select(self, 0, index, 0), value)
    if index.__class__ is slice:
        return _write(_slice(self, 0, index), value)
    sliced, tensors = _apply(self, (None,) if index is True else _as_tuple(index))
    if not tensors:
        return _write(sliced, value)
    if isinstance(value, TensorImpl):
        value = _without_leading_ones(value)
    elif hot.off and tracer.state is not None:
        value = from_array(np.asarray(value, self.dtype.np))
    else:
        value = ops.scalar_tensor(value, self.dtype, None, self.device, None)
    ops.index_put_(sliced, tensors, value, False)


def _apply(self: Tensor, index: tuple[Any, ...]) -> tuple[Any, list[Any]]:
    """The view that the basic parts of `index` select, and the list of index tensors that remain to
    be applied to it: one entry for each dimension up to the last indexed one, None where there is
    no tensor. A mask is one entry, though it indexes as many dimensions as it has:

        x                       (N, C, H, W)
        x[0, :, mask]           mask is (H, W)
        ->  x[0], [None, mask]  the view is (C, H, W)
    """
    specified = sum(map(_dimensions, index))
    if specified > self.dim():
        raise IndexError(f"too many indices for tensor of dimension {self.dim()}")
    # `dim`: the dimension of `result` that the next part applies to. `masked`: how many dimensions
    # masks have indexed beyond their first, so the list of tensors is shorter by that.
    result, dim, masked = self, 0, 0
    tensors: list[Any] = []
    for position, item in enumerate(index):
        if item.__class__ is slice:
            result = _slice(result, dim, item)
            dim += 1
            continue
        if item is Ellipsis:  # skip the dimensions that no part applies to
            dim += self.dim() - specified
            continue
        if item is None:
            result = ops.unsqueeze(result, dim)
            dim += 1
            continue
        if item is not True and item is not False and isinstance(item, _INTEGERS):
            result = _select(result, dim, item, position)
            continue
        if not isinstance(item, (bool, TensorImpl)):
            if not _is_sequence(item):
                result = _select(result, dim, _as_integer(item), position)
                continue
            item = _index_tensor(item)
        # a 0-dim tensor counts as the number it contains
        if isinstance(item, TensorImpl) and not item.shape and item.dtype.category <= INTEGRAL:
            if item.dtype not in (bool_, uint8):
                result = _select(result, dim, as_int(item), position)
                continue
            item = bool(ops.item(item))
        if isinstance(item, bool):  # a new dimension, of size 1 for True and 0 for False
            result = ops.unsqueeze(result, dim)
            item = from_array(np.zeros(int(item), np.int64))
        # pad with None up to the entry for `dim`
        tensors += [None] * (dim - masked - len(tensors)) + [item]
        used = max(item.dim(), 1) if item.dtype in (bool_, uint8) else 1
        dim, masked = dim + used, masked + used - 1
    return result, tensors


def _dimensions(item: Any) -> int:
    """The number of dimensions of the tensor that a part of the index applies to. As in PyTorch, a
    mask that is not a tensor yet (a nested list) counts as 1.
    """
    if item is None or item is Ellipsis or item is True or item is False:
        return 0
    if isinstance(item, TensorImpl):
        return item.dim() if item.dtype in (bool_, uint8) else 1
    return 1


def _select(t: Tensor, dim: int, index: Any, position: int) -> Any:
    """`t.select(dim, index)`, with the errors of indexing: `position` is that of the integer in the
    index.
    """
    try:
        return ops.select_int(t, dim, index if index.__class__ in (int, TracedInt) else int(index))
    except IndexError:
        raise _select_error(t, dim, index, position) from None


def _select_error(t: Tensor, dim: int, index: int, position: int) -> Exception:
    """The error for a failed `select`, whose own error does not mention the index."""
    if not t.dim():
        return IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` "
            "in C++ to convert a 0-dim tensor to a number"
        )
    if not -(1 << 63) <= index < 1 << 63:
        return ValueError("Overflow when unpacking long long")
    return IndexError(
        f"index {index} is out of bounds for dimension {position} with size {t.size(dim)}"
    )


def _slice(t: Tensor, dim: int, item: slice) -> Any:
    """The slice `item` of dimension `dim`; `t` itself if it selects everything. Raises IndexError
    for a 0-dim tensor, ValueError for a step below 1.
    """
    sizes = t._geometry.sizes
    if not sizes:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    n = sizes[dim]
    if hot.off and tracer.state is not None:
        return _slice_for_all_sizes(t, dim, item)
    start, stop, step = item.indices(n)
    if step < 0:
        raise ValueError("step must be greater than zero")
    # everything; a start of -n is not recognised, and gives a view
    if not item.start and stop == n and step == 1:
        return t
    return ops.slice_Tensor(t, dim, start, stop, step)


def _slice_for_all_sizes(t: Tensor, dim: int, item: slice) -> Any:
    """A slice under a trace. It is recorded with the bounds that were written, and even if it
    selects everything of this tensor: other tensors may be longer.
    """
    bounds = [
        default if b is None else as_int(b) if isinstance(b, TensorImpl) else operator.index(b)
        for b, default in ((item.start, 0), (item.stop, _END), (item.step, 1))
    ]
    if bounds[2] <= 0:
        raise ValueError("step must be greater than zero")
    return ops.slice_Tensor(t, dim, *bounds)


def _as_tuple(index: Any) -> tuple[Any, ...]:
    """The parts of an index. A list of fewer than 32 elements, with sequences, slices, tensors,
    None or ... among them, is taken for a tuple, with a warning.
    """
    if isinstance(index, tuple):
        return index
    if isinstance(index, (TensorImpl, np.ndarray)) or not _is_sequence(index) or len(index) >= 32:
        return (index,)
    if not any(
        i is None or i is Ellipsis or isinstance(i, (slice, TensorImpl)) or _is_sequence(i)
        for i in index
    ):
        return (index,)
    warnings.warn(
        "Using a non-tuple sequence for multidimensional indexing is deprecated and will be "
        "changed in pytorch 2.9; use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be "
        "interpreted as tensor index, x[torch.tensor(seq)], which will result either in an error "
        "or a different result",
        UserWarning,
        stacklevel=4,
    )
    return tuple(index)


def _index_tensor(data: Any) -> Any:
    """A list, range or numpy array as an index tensor: bool and uint8 are kept, other dtypes become
    int64.
    """
    if not isinstance(data, np.ndarray):
        data = _plain(data)
        _check_regular(data)
        data = np.array(data)
    if data.dtype.kind in "USO":
        raise TypeError(f"new(): invalid data type '{_innermost(data).__class__.__name__}'")
    if data.dtype not in (np.bool_, np.uint8):
        with np.errstate(all="ignore"):
            data = data.astype(np.int64)
    t = from_array(data)
    return t if tracer.state is None else ops.to_device(t, t.device, t.dtype, False, False, None)


def _write(target: Tensor, value: object) -> None:
    """Copy `value`, broadcast, into the view `target`."""
    if hot.off and tracer.state is not None and not isinstance(value, TensorImpl):
        value = from_array(np.asarray(value, target.dtype.np))
    if not isinstance(value, TensorImpl):
        check_no_internal_overlap(target)
        ops.fill__Scalar(target, value)
        return
    if value.shape == target.shape:
        ops.copy_(target, value, False)
    elif not value.shape:
        ops.fill__Tensor(target, value)
    else:
        ops.copy_(target, ops.expand(_without_leading_ones(value), target.shape, False), False)


def _without_leading_ones(value: Any) -> Any:
    """A view of `value` without the dimensions of size 1 at its start, (1, 1, H, W) -> (H, W): it
    may have more dimensions than the view it is written to.
    """
    sizes = value.shape
    first = next((d for d, n in enumerate(sizes) if n != 1), len(sizes))
    return (
        ops.view(value, sizes[first:]) if first or (hot.off and tracer.state is not None) else value
    )


def _check_number(self: Tensor, value: object) -> None:
    """Raises TypeError for a value that is neither a tensor nor a number, and ValueError for an
    integer of more than 64 bits.
    """
    if not isinstance(value, (int, float, complex, np.integer)):
        raise TypeError(
            f"can't assign a {_type_name(value)} to a "
            f"internals.{SCALAR_TYPE_NAME[self.dtype]}Tensor"
        )
    if isinstance(value, _INTEGERS) and not -(1 << 63) <= value < 1 << 63:
        raise ValueError("Overflow when unpacking long long")


def _as_integer(item: Any) -> int:
    """A part of an index as an int. Raises IndexError for objects that are not integers."""
    try:
        if not isinstance(item, (np.generic, float, complex)):
            return operator.index(item)
    except TypeError:
        pass
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
        f"indices (got {_type_name(item)})"
    )


def _is_sequence(item: object) -> bool:
    """Whether `item` can be indexed by position (PySequence_Check of Python's C API)."""
    return hasattr(item.__class__, "__getitem__") and not isinstance(item, (dict, np.generic))


def _plain(data: Any) -> Any:
    """Nested sequences, possibly of tensors and arrays, as nested lists."""
    if isinstance(data, TensorImpl):
        return host_array(data).tolist()
    if isinstance(data, np.ndarray):
        return data.tolist()
    if isinstance(data, (str, bytes)) or not _is_sequence(data):
        return data
    return [_plain(x) for x in data]


def _check_regular(data: Any, dim: int = 0) -> None:
    """Raises ValueError if nested lists at one level have different lengths, TypeError if some are
    not lists, and RuntimeError for None. `dim` is the level.
    """
    if isinstance(data, list) and data and isinstance(data[0], list):
        for row in data:
            if not isinstance(row, list):
                raise TypeError(f"expected a sequence at dim {dim + 1} (got {_type_name(row)})")
            if len(row) != len(data[0]):
                raise ValueError(
                    f"expected sequence of length {len(data[0])} at dim {dim + 1} (got {len(row)})"
                )
        _check_regular([x for row in data for x in row], dim + 1)
    elif isinstance(data, list):
        for x in data:
            if x is None:
                raise RuntimeError("Could not infer dtype of NoneType")


def _innermost(a: Any) -> Any:
    """The first element of a numpy array, as a Python object."""
    value = a.flat[0]
    return value.item() if isinstance(value, np.generic) else value


def _type_name(value: object) -> str:
    """The name of the value's class for error messages: `float`, `numpy.float64`."""
    kind = value.__class__
    return f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else str(kind.__name__)
