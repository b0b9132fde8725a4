"""The gradients of bags of embeddings (`aten/src/ATen/native/EmbeddingBag.cpp`).

A bag's gradient goes to every row that counted in it, divided by their number for a mean, or
multiplied by the row's weight. For a maximum, each column's gradient goes to the row that the
maximum came from. `offset2bag`, `bag_size` and `maximum_indices` are the additional results of
`_embedding_bag` (`embedding_bag.py`).

How the real one differs: there is a sparse gradient, too. With `scale_grad_by_freq` its CPU kernel
reads the wrong frequency (`counts[indices_data[i]]`, where `i` counts rows, not indices), and so
may divide by that of another row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals.core.dtype import SCALAR_TYPE_NAME, dtype
from internals.core.tensor_impl import Array, Tensor, array, empty_contiguous, snapshot

from .embedding import check_indices, check_rows, sums_by_row
from .embedding_bag import MAX, MEAN, SUM
from .gradient_checks import check_elements, check_sizes


def _embedding_bag_backward(
    grad: Tensor,
    indices: Tensor,
    offsets: Tensor,
    offset2bag: Tensor,
    bag_size: Tensor,
    maximum_indices: Tensor,
    num_weights: int,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Tensor | None,
    padding_idx: int = -1,
) -> Any:
    """The gradient of the table (num_weights, dim). Raises NotImplementedError with `sparse`."""
    if sparse:
        raise NotImplementedError(
            "embedding_bag(sparse=True): sparse gradients are not implemented; leave sparse out"
        )
    return _embedding_bag_dense_backward(
        grad, indices, offset2bag, bag_size, maximum_indices, num_weights, scale_grad_by_freq, mode,
        per_sample_weights, padding_idx,
    )  # fmt: skip


@np.errstate(all="ignore")
def _embedding_bag_dense_backward(
    grad: Tensor,
    indices: Tensor,
    offset2bag: Tensor,
    bag_size: Tensor,
    maximum_indices: Tensor,
    num_weights: int,
    scale_grad_by_freq: bool,
    mode: int,
    per_sample_weights: Tensor | None,
    padding_idx: int = -1,
) -> Any:
    """The gradient of the table (num_weights, dim), for `grad` (number of bags, dim). With
    `scale_grad_by_freq` a row's gradient is divided by how often the row occurs in `indices`.
    """
    bags, rows = _checked(grad, indices, offset2bag, padding_idx, num_weights)
    g = array(grad)
    check_elements(
        "embedding_bag_backward", "bag_size", bag_size if mode in (MAX, MEAN) else None, len(g)
    )
    check_sizes(
        "embedding_bag_backward",
        "maximum_indices",
        maximum_indices if mode == MAX else None,
        grad.shape,
    )
    check_sizes("embedding_bag_backward", "per_sample_weights", per_sample_weights, indices.shape)
    if mode not in (SUM, MEAN, MAX):
        raise RuntimeError(
            f"embedding_bag_backward: mode has to be 0 (sum), 1 (mean) or 2 (max), but got {mode}"
        )
    if mode == MAX:
        check_indices("embedding_bag", maximum_indices)
        return _to_maxima(
            g, snapshot(maximum_indices), array(bag_size) > 0, num_weights, grad.dtype
        )
    counted = np.flatnonzero(rows != padding_idx)
    # (counted indices, dim): the gradient that each index passes to its row
    shares = g[bags[counted]]
    if mode == MEAN:
        shares = shares / array(bag_size).reshape(-1)[bags[counted], None].astype(g.dtype)
    if per_sample_weights is not None:
        shares = shares * array(per_sample_weights)[counted, None]
    return sums_by_row(rows[counted], shares, num_weights, grad.dtype, scale_grad_by_freq)


def _embedding_bag_per_sample_weights_backward(
    grad: Tensor,
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    offset2bag: Tensor,
    mode: int,
    padding_idx: int = -1,
) -> Any:
    """The gradient of the weights: for each index the dot product of its row and its bag's
    gradient, 0 for padding. Raises RuntimeError unless `mode` is a sum.
    """
    if mode != SUM:
        raise RuntimeError(
            "embedding_bag_backward: per_sample_weights only supported for mode='sum'"
        )
    bags, rows = _checked(grad, indices, offset2bag, padding_idx, weight.size(0))
    check_sizes("embedding_bag_backward", "weight", weight, (weight.shape[0], grad.shape[1]))
    result = empty_contiguous((indices.shape[0],), grad.dtype)
    out = array(result)
    out.fill(0)
    counted = np.flatnonzero(rows != padding_idx)
    out[counted] = np.einsum("kd,kd->k", array(grad)[bags[counted]], array(weight)[rows[counted]])
    return result


def _checked(
    grad: Tensor,
    indices: Tensor,
    offset2bag: Tensor,
    padding_idx: int,
    num_weights: int,
) -> tuple[Any, Any]:
    """The bag and the row of each index that is in a bag.

    Raises RuntimeError for other dtypes and numbers of dimensions, IndexError for bags and rows out
    of range.
    """
    if not grad.dtype.is_floating_point:
        raise RuntimeError(
            "Expected tensor for argument #1 'grad_' to have one of the following scalar types: "
            "Half, BFloat16, Float, Double; "
            f"but got internals.{SCALAR_TYPE_NAME[grad.dtype]}Tensor instead (while checking "
            "arguments for embedding_bag)"
        )
    check_indices("embedding_bag", indices)
    check_indices("embedding_bag", offset2bag)
    for t, dims, what in (
        (grad, 2, "grad"),
        (indices, 1, "indices"),
        (offset2bag, 1, "offset2bag"),
    ):
        if t.dim() != dims:
            raise RuntimeError(
                f"embedding_bag_backward: {what} has to be a {dims}D Tensor, but got dimension "
                f"{t.dim()}"
            )
    bags = snapshot(offset2bag)
    rows = snapshot(indices)[: bags.size]
    check_rows(bags, grad.shape[0])
    check_rows(rows[rows != padding_idx], num_weights)
    return bags, rows


def _to_maxima(g: Array, rows: Array, filled: Array, num_weights: int, dtype: dtype) -> Tensor:
    """The table's gradient for maxima: g[i, d] is added at (rows[i, d], d), for bags that are not
    empty.
    """
    filled = filled.reshape(-1)
    check_rows(rows[filled], num_weights)
    result = empty_contiguous((num_weights, g.shape[1]), dtype)
    table = array(result)
    table.fill(0)
    np.add.at(table, (rows[filled], np.arange(g.shape[1])), g[filled])
    return result
