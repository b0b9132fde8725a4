"""Padding that repeats the elements at the border
(`aten/src/ATen/native/{ReflectionPad,ReplicationPadding}.cpp`).

Reflection reads the positions 2 1 | 0 1 2 3 | 2 1, replication 0 0 | 0 1 2 3 | 3 3. A row of such
positions is an index, so padding is one `index_select` for each dimension, and its gradient one
`index_add`: an element that was read twice gets both gradients. Negative amounts crop, and need no
code of their own: the positions just begin later or end earlier.

The operators have derivatives of their own, though their kernels call operators: a padding is one
node of the graph.

How the real one differs: a loop over the output for each number of dimensions, and another for each
gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from internals.aten.dtype_checks import check_same_dtype, not_implemented
from internals.core.dtype import BOOL, FLOATING
from internals.core.formats import channels_last
from internals.core.tensor_impl import Tensor, from_array

from .memory_format import suggests_channels_last


class Border(NamedTuple):
    """A kind of padding: its name, and a function (positions, n) -> positions in 0 ... n - 1, for
    positions that may lie outside.
    """

    name: str
    positions: Callable[[Any, int], Any]


# |i| mirrors at 0; the same at the other end, with the distance from n - 1
REFLECTION = Border("reflection_pad", lambda i, n: (n - 1) - np.abs((n - 1) - np.abs(i)))
REPLICATION = Border("replication_pad", lambda i, n: np.clip(i, 0, n - 1))


def _padded(border: Border, n: int, self: Tensor, padding: Sequence[int]) -> Any:
    """`self` with `n` dimensions padded by `padding`, [before, after] from the last one on."""
    _check(border, n, self, padding)
    if self.dtype.category == BOOL:
        raise not_implemented(f"{border.name}{n}d", self.dtype)
    result = self.detach()
    for dim, index in _indices(border, self, padding):
        result = result.index_select(dim, index)
    return _ordered_as(self, result)


# (N, C, W) or (C, W) with [left, right] elements more, mirrored. Raises RuntimeError for amounts as
# large as W.
reflection_pad1d = partial(_padded, REFLECTION, 1)
# (N, C, H, W) or (C, H, W) with [left, right, top, bottom] elements more.
reflection_pad2d = partial(_padded, REFLECTION, 2)
# (N, C, D, H, W) or (C, D, H, W) with [left, right, top, bottom, front, back] elements more.
reflection_pad3d = partial(_padded, REFLECTION, 3)
# The same, with the outermost elements repeated, any number of times.
replication_pad1d = partial(_padded, REPLICATION, 1)
replication_pad2d = partial(_padded, REPLICATION, 2)
replication_pad3d = partial(_padded, REPLICATION, 3)


def _padding_gradient(
    border: Border, n: int, grad_output: Tensor, self: Tensor, padding: Sequence[int]
) -> Any:
    """The gradient of the input, with the sizes of `self`: the gradients of an element that was
    read several times are added up.
    """
    sizes = _check(border, n, self, padding)
    for name, expected, got in zip(
        ("width", "height", "depth"), reversed(sizes[-n:]), reversed(grad_output.shape)
    ):
        if expected != got:
            raise RuntimeError(f"grad_output {name} unexpected. Expected: {expected}, Got: {got}")
    if grad_output.shape[:-n] != self.shape[:-n]:
        raise RuntimeError(
            f"grad_output of sizes {list(grad_output.shape)} is not that of an input of "
            f"{list(self.shape)}"
        )
    check_same_dtype(grad_output, self)
    if self.dtype.category < FLOATING:
        raise not_implemented(f"{border.name}{n}d_backward", self.dtype)
    result = grad_output.detach()
    for dim, index in _indices(border, self, padding):
        inside = [*result.shape[:dim], self.shape[dim], *result.shape[dim + 1 :]]
        result = result.new_zeros(inside).index_add(dim, index, result)
    return _ordered_as(self, result)


# Each gradient is added where its element was read. Raises RuntimeError where sizes or dtypes do
# not fit.
reflection_pad1d_backward = partial(_padding_gradient, REFLECTION, 1)
reflection_pad2d_backward = partial(_padding_gradient, REFLECTION, 2)
reflection_pad3d_backward = partial(_padding_gradient, REFLECTION, 3)
replication_pad1d_backward = partial(_padding_gradient, REPLICATION, 1)
replication_pad2d_backward = partial(_padding_gradient, REPLICATION, 2)
replication_pad3d_backward = partial(_padding_gradient, REPLICATION, 3)


def _indices(border: Border, t: Tensor, padding: Sequence[int]) -> Iterator[tuple[int, Any]]:
    """(dimension, positions to read) for each padded dimension, the last one first."""
    for i in range(0, len(padding), 2):
        dim = t.dim() - 1 - i // 2
        positions = border.positions(
            np.arange(-padding[i], t.shape[dim] + padding[i + 1]), t.shape[dim]
        )
        yield dim, from_array(np.asarray(positions, np.int64)).to(t.device)


def _ordered_as(t: Tensor, result: Tensor) -> Any:
    """`result`, in channels_last order if `t` is in that order."""
    return result.contiguous(memory_format=channels_last) if suggests_channels_last(t) else result


def _check(border: Border, n: int, t: Tensor, padding: Sequence[int]) -> tuple[int, ...]:
    """The sizes after padding. Raises RuntimeError for the wrong number of dimensions or amounts,
    for reflections as large as the input, and where no elements would be left.
    """
    if len(padding) != 2 * n:
        raise RuntimeError(f"padding size is expected to be {2 * n}, but got: {len(padding)}")
    has_batch = t.dim() == n + 2
    sizes_of_item = t.shape[1:] if has_batch else t.shape
    if t.dim() not in (n + 1, n + 2) or 0 in sizes_of_item:
        raise RuntimeError(
            f"Expected {n + 1}D or {n + 2}D (batch mode) tensor with possibly 0 batch size and "
            f"other non-zero dimensions for input, but got: {list(t.shape)}"
        )
    sizes = list(t.shape)
    for i in range(n):
        dim, before, after = t.dim() - 1 - i, padding[2 * i], padding[2 * i + 1]
        if border is REFLECTION and max(before, after) >= sizes[dim]:
            raise RuntimeError(
                f"Argument #{4 + 2 * i}: Padding size should be less than the corresponding input "
                f"dimension, but got: padding ({before}, {after}) at dimension {dim} of input "
                f"{list(t.shape)}"
            )
        sizes[dim] += before + after
    if max(sizes[-n:]) < 1:
        given, left = (
            " ".join(f"{name}: {size}" for name, size in zip("DHW"[-n:], s[-n:]))
            for s in (t.shape, sizes)
        )
        raise RuntimeError(f"input ({given}) is too small. Calculated output {left}")
    if min(sizes) < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(sizes)}: {sizes}")
    return tuple(sizes)
