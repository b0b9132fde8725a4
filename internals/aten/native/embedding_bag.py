"""Bags of embeddings: the sum, mean or maximum of the rows that each bag names
(`aten/src/ATen/native/EmbeddingBag.cpp`).

`offsets` says where in `indices` each bag begins. The last bag ends with the indices, also with
`include_last_offset`: the additional offset is ignored. An empty bag is 0. The row `padding_idx` is
not counted. For the backward pass the leaf kernel also returns which bag each index is in, how many
rows count in each bag, and for a maximum which row it came from.

How the real one differs: FBGEMM has compiled loops for sums and means of single precision, which
omit these additional results. They end the last bag at the last offset; where that is not the
number of indices, the gradients contain uninitialised memory. There are sparse gradients, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals._generated import ops
from internals.core import dtype as dt
from internals.core.dtype import SCALAR_TYPE_NAME
from internals.core.tensor_impl import Array, Tensor, array, empty_contiguous, snapshot

from .embedding import segment_sums

SUM, MEAN, MAX = range(3)


def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = SUM,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
) -> Any:
    """(bags, and three tensors for the backward pass). `weight` is (num_weights, dim), the bags are
    (number of bags, dim). Only sums can have `per_sample_weights`.
    """
    return embedding_bag_padding_idx(
        weight,
        indices,
        offsets,
        scale_grad_by_freq,
        mode,
        sparse,
        per_sample_weights,
        include_last_offset,
        None,
    )


def embedding_bag_padding_idx(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Tensor | None,
    include_last_offset: bool,
    padding_idx: int | None,
) -> Any:
    """`embedding_bag` that does not count the row `padding_idx`, which may be negative. Raises
    RuntimeError if there is no such row.
    """
    if padding_idx is None:
        padding_idx = -1
    else:
        rows = weight.shape[0]
        if not -rows <= padding_idx < rows:
            raise RuntimeError(
                f"padding_idx must be within the number of embeddings, -{rows} through {rows - 1}, "
                f"but got {padding_idx}"
            )
        padding_idx %= rows
    needs_gradient = (
        weight.requires_grad or per_sample_weights is not None and per_sample_weights.requires_grad
    )
    bag = ops._embedding_bag if needs_gradient else ops._embedding_bag_forward_only
    return bag(
        weight,
        indices.contiguous(),
        offsets.contiguous(),
        scale_grad_by_freq,
        mode,
        sparse,
        per_sample_weights,
        include_last_offset,
        padding_idx,
    )


@np.errstate(all="ignore")
def _embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = SUM,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> tuple[Any, Any, Any, Any]:
    """(bags, the bag of each index, the number of rows that count in each bag, the rows of the
    maxima).

    Raises RuntimeError for tensors that do not fit, for offsets that do not begin with 0 or go
    beyond the indices, and for indices that are not rows of `weight`.
    """
    # (number of indices,): bags of a matrix of indices are cut from its elements, row by row
    rows, begins = snapshot(indices).reshape(-1), snapshot(offsets)
    check_bags(weight, indices, offsets, begins, mode, per_sample_weights, include_last_offset)
    sizes = _sizes(begins, rows.size, include_last_offset)
    # (number of indices that are in a bag,): the bag of each of them, in ascending order
    bags = np.repeat(np.arange(sizes.size), sizes)
    _check_rows(rows[: bags.size], bags, weight.shape[0])
    counted = rows[: bags.size] != padding_idx
    lengths = np.bincount(bags[counted], minlength=sizes.size)
    found = array(weight)[rows[: bags.size][counted]]
    out = empty_contiguous((sizes.size, weight.shape[1]), weight.dtype)
    largest = np.zeros(out.shape if mode == MAX else sizes.size, np.int64)
    if mode == MAX:
        _maxima(found, rows[: bags.size][counted], lengths, array(out), largest)
    else:
        weights = (
            None if per_sample_weights is None else array(per_sample_weights)[: bags.size][counted]
        )
        _sums(found, weights, lengths, mode, array(out))
    return out, _integers(bags, indices), _integers(lengths, indices), _integers(largest, indices)


def check_bags(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    begins: Array,
    mode: int,
    per_sample_weights: Tensor | None,
    include_last_offset: bool,
) -> None:
    """Raises RuntimeError for tensors that do not fit, other dtypes, and offsets (`begins` as an
    array) that do not begin with 0, that decrease, or that go beyond the indices.
    """
    if weight.dim() != 2:
        raise RuntimeError(
            f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}"
        )
    if indices.dim() not in (1, 2):
        raise RuntimeError(
            f"input has to be a 1D or 2D Tensor, but got Tensor of dimension {indices.dim()}"
        )
    if offsets.dim() != 1:
        raise RuntimeError(
            f"offsets has to be a 1D Tensor, but got Tensor of dimension {offsets.dim()}"
        )
    _check_dtype("indices", indices, (dt.int64, dt.int32), "Long, Int")
    _check_dtype("indices", offsets, (dt.int64, dt.int32), "Long, Int")
    _check_dtype(
        "weight", weight, (dt.float16, dt.float32, dt.float64), "Half, BFloat16, Float, Double"
    )
    if mode not in (SUM, MEAN, MAX):
        raise RuntimeError("`mode` must be sum, mean, or max.")
    if include_last_offset and not offsets.shape[0]:
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    if offsets.shape[0]:
        first, last = begins[[0, -1]]
        if first:
            raise RuntimeError(
                "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start "
                "from position 0. "
                f"However, got {first}"
            )
        if last > indices.shape[0]:
            raise RuntimeError(
                f"offsets[-1] can not be greater than input's length {indices.shape[0]} but got "
                f"offsets[-1] of {last}"
            )
        if (np.diff(begins) < 0).any():
            raise RuntimeError("embedding_bag: offsets have to increase")
    if per_sample_weights is not None:
        _check_weights(per_sample_weights, weight, indices, mode)


def _check_weights(per_sample_weights: Tensor, weight: Tensor, indices: Tensor, mode: int) -> None:
    """Raises RuntimeError unless it is a sum, with a weight of the same dtype for each index."""
    if mode != SUM:
        raise RuntimeError("embedding_bag: per_sample_weights only supported with mode='sum'")
    if per_sample_weights.dtype is not weight.dtype:
        names = [
            f"internals.{SCALAR_TYPE_NAME[t.dtype]}Tensor" for t in (weight, per_sample_weights)
        ]
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for "
            f"argument #1 'per_sample_weights'; but type {names[0]} does not equal {names[1]} "
            "(while checking arguments for embedding_bag)"
        )
    if per_sample_weights.dim() != 1 or per_sample_weights.numel() != indices.numel():
        raise RuntimeError(
            f"per_sample_weights has to have shape [{indices.numel()}], one weight for each index, "
            f"but has {list(per_sample_weights.shape)}"
        )


def _check_dtype(name: str, t: Tensor, allowed: tuple[Any, ...], names: str) -> None:
    """Raises RuntimeError unless the dtype is allowed; `names` lists those for the message."""
    if t.dtype not in allowed:
        raise RuntimeError(
            f"Expected tensor for argument #1 '{name}' to have one of the following scalar types: "
            f"{names}; but got internals.{SCALAR_TYPE_NAME[t.dtype]}Tensor instead (while checking "
            "arguments for embedding_bag)"
        )


def _check_rows(rows: Array, bags: Array, num_weights: int) -> None:
    """Raises RuntimeError for the first index that is not in 0 ... num_weights - 1."""
    wrong = np.flatnonzero((rows < 0) | (rows >= num_weights))
    if wrong.size:
        raise RuntimeError(
            f"Index {bags[wrong[0]]} of input takes value {rows[wrong[0]]} which is not in the "
            f"valid range [0, {num_weights})"
        )


def _sizes(offsets: Array, indices: int, include_last_offset: bool) -> Any:
    """The number of indices in each bag, padding included."""
    return np.diff(offsets[:-1] if include_last_offset else offsets, append=indices)


def _sums(found: Array, weights: Array | None, lengths: Array, mode: int, out: Array) -> None:
    """Write the sums or means of the rows `found` (counted indices, dim) to `out`; a bag has
    `lengths[i]` of them, and they are in the order of the bags.
    """
    out.fill(0)
    filled = np.flatnonzero(lengths)
    if not filled.size:
        return
    rows = found.astype(np.float32 if found.dtype == np.float16 else found.dtype, copy=False)
    if weights is not None:
        rows = rows * weights[:, None]
    sums = segment_sums(rows, (np.cumsum(lengths) - lengths)[filled], lengths[filled])
    out[filled] = sums / lengths[filled, None].astype(sums.dtype) if mode == MEAN else sums


def _maxima(found: Array, rows: Array, lengths: Array, out: Array, largest: Array) -> None:
    """Write the maxima of the rows `found` to `out`, and the row of each maximum to `largest`.

    It compares the first rows of all bags, then their second rows, and so on.
    """
    out.fill(0)
    starts = np.cumsum(lengths) - lengths
    for k in range(lengths.max(initial=0)):
        longer = np.flatnonzero(lengths > k)
        here = found[starts[longer] + k]
        greater = np.full(here.shape, True) if k == 0 else here > out[longer]
        out[longer] = np.where(greater, here, out[longer])
        largest[longer] = np.where(greater, rows[starts[longer] + k][:, None], largest[longer])


def _integers(a: Array, like: Tensor) -> Tensor:
    """An array as a tensor with the dtype of `like`."""
    result = empty_contiguous(a.shape, like.dtype)
    array(result)[...] = a
    return result
