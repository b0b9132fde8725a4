"""Functions that split a tensor: `tensor_split`, `hsplit`, `vsplit`, `dsplit`; `unsafe_split`
(`TensorShape.cpp`).

`tensor_split` takes a number of parts, which need not divide the dimension, or the indices to split
at, which work as in a slice. The parts are views. Those of the `unsafe` functions show the same
memory, but autograd does not treat them as views: it relies on the promise that they are not
written to.

How the real one differs: it has no limit to the number of empty parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from internals._generated import ops
from internals.core import dtype as dt
from internals.core.dtype import SCALAR_TYPE_NAME
from internals.core.geometry import wrap_dim
from internals.core.tensor_impl import Tensor

from . import views

MOST_EMPTY = 1 << 17  # the limit to parts without elements; so many take half a second


def tensor_split_sections(self: Tensor, sections: int, dim: int = 0) -> Any:
    """`sections` parts whose sizes differ by one at most, the larger ones first.

    Raises RuntimeError for less than one part, and for far more parts than there are elements.
    """
    d = _check_dim(self, dim)
    if sections <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
    n = self.shape[d]
    check_number_of_parts("number of sections", sections, n)
    least, longer = divmod(n, sections)
    starts = [i * least + min(i, longer) for i in range(sections + 1)]
    return tuple(ops.slice_Tensor(self, d, start, end, 1) for start, end in pairwise(starts))


def tensor_split_indices(self: Tensor, indices: Sequence[int], dim: int = 0) -> Any:
    """The parts between 0, the `indices` and the end. Negative indices count from the end; those
    out of range are clamped, as in a slice.
    """
    d = _check_dim(self, dim)
    bounds = zip([0, *indices], [*indices, self.shape[d]])
    return tuple(ops.slice_Tensor(self, d, start, end, 1) for start, end in bounds)


def tensor_split_tensor(self: Tensor, tensor_indices_or_sections: Tensor, dim: int = 0) -> Any:
    """`tensor_split` by an int64 tensor on the CPU: a 0-d one is the number of parts, a 1-d one
    holds the indices.
    """
    given = tensor_indices_or_sections
    _check_dim(self, dim)
    if given.device.type != "cpu":
        raise RuntimeError(
            "tensor_split expected tensor_indices_or_sections to be on cpu, but it's on "
            f"{given.device.type}"
        )
    if given.dtype is not dt.int64:
        raise RuntimeError(
            "tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
            f"{SCALAR_TYPE_NAME[given.dtype]}"
        )
    if given.dim() > 1:
        raise RuntimeError(
            "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
            f"one-dimensional tensor, but got a tensor with {given.dim()} dims"
        )
    if not given.dim():
        return tensor_split_sections(self, given.item(), dim)
    return tensor_split_indices(self, given.tolist(), dim)


def hsplit_int(self: Tensor, sections: int) -> Any:
    """Parts along dimension 1, for a vector along its only one. Raises RuntimeError unless they are
    equally long.
    """
    return _even(self, sections, _across(self), "hsplit")


def hsplit_array(self: Tensor, indices: Sequence[int]) -> Any:
    """Parts along dimension 1, for a vector along its only one, split at `indices`."""
    return tensor_split_indices(self, indices, _across(self))


def vsplit_int(self: Tensor, sections: int) -> Any:
    """Parts along dimension 0. Raises RuntimeError unless they are equally long, and for a
    vector.
    """
    return _even(_at_least(self, 2, "vsplit"), sections, 0, "vsplit")


def vsplit_array(self: Tensor, indices: Sequence[int]) -> Any:
    """Parts along dimension 0, split at `indices`. Raises RuntimeError for a vector."""
    return tensor_split_indices(_at_least(self, 2, "vsplit"), indices, 0)


def dsplit_int(self: Tensor, sections: int) -> Any:
    """Parts along dimension 2. Raises RuntimeError unless they are equally long, and for a
    matrix.
    """
    return _even(_at_least(self, 3, "dsplit"), sections, 2, "dsplit")


def dsplit_array(self: Tensor, indices: Sequence[int]) -> Any:
    """Parts along dimension 2, split at `indices`. Raises RuntimeError for a matrix."""
    return tensor_split_indices(_at_least(self, 3, "dsplit"), indices, 2)


def unsafe_split(self: Tensor, split_size: int, dim: int = 0) -> Any:
    """`split` into parts that do not count as views. After a write to one of them, the others and
    `self` must not be used any more, as autograd does not notice it.
    """
    return _unrelated(views.split_Tensor(self, split_size, dim))


def unsafe_split_with_sizes(self: Tensor, split_sizes: Sequence[int], dim: int = 0) -> Any:
    """`split_with_sizes` into parts that do not count as views."""
    return _unrelated(views.split_with_sizes(self, split_sizes, dim))


def check_number_of_parts(name: str, parts: int, size: int) -> None:
    """Raises RuntimeError for more than `MOST_EMPTY` parts, if there are also more than `size`:
    such a number of empty parts can only be a mistake.
    """
    if parts > max(size, MOST_EMPTY):
        raise RuntimeError(
            f"{name} must be at most {max(size, MOST_EMPTY)} for a dimension of size {size}, got "
            f"{parts}"
        )


def _unrelated(parts: Sequence[Any]) -> Any:
    """The parts without their place in the graph of autograd."""
    for part in parts:
        part._geometry = part._geometry.without_grad
    return tuple(parts)


def _across(self: Tensor) -> int:
    """The dimension that `hsplit` splits: 1, or 0 of a vector."""
    return 0 if _at_least(self, 1, "hsplit").dim() == 1 else 1


def _at_least(self: Tensor, ndim: int, op: str) -> Any:
    """`self`. Raises RuntimeError, naming `op`, unless it has `ndim` dimensions or more."""
    if self.dim() < ndim:
        raise RuntimeError(
            f"torch.{op} requires a tensor with at least {ndim} dimension, but got a tensor with "
            f"{self.dim()} dimensions!"
        )
    return self


def _even(self: Tensor, sections: int, dim: int, op: str) -> Any:
    """`sections` equally long parts. Raises RuntimeError where the size is not divisible."""
    n = self.shape[dim]
    if sections == 0 or n % sections:
        raise RuntimeError(
            f"torch.{op} attempted to split along dimension {dim}, but the size of the dimension "
            f"{n} is not divisible by the split_size {sections}!"
        )
    return tensor_split_sections(self, sections, dim)


def _check_dim(self: Tensor, dim: int) -> int:
    """`dim`, counted from the front. Raises RuntimeError for a 0-d tensor."""
    if not self.dim():
        raise RuntimeError(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"
        )
    return wrap_dim(dim, self.dim())
