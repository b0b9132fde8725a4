"""Products of many matrices (`aten/src/ATen/native/LinearAlgebra.cpp`: `multi_dot_impl`).

The parentheses in A B C do not change the product, only its cost: with a vector at the end, A (B c)
is two products of a matrix and a vector, while (A B) c starts with a product of two matrices. The
cheapest order is found by dynamic programming: for two neighbours, for three, and so on, each from
the shorter ones.

How the real one differs: for three matrices it compares the two orders directly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals._generated import ops
from internals.aten.dtype_checks import TYPE_META_NAME

from .deprecation import deprecated


def linalg_multi_dot(tensors: Sequence[Any]) -> Any:
    """The product of two or more matrices, in the order that takes the fewest multiplications.

    The first and the last may be vectors. Raises RuntimeError for other shapes, and for two dtypes.
    """
    _check_dims(tensors)
    matrices, first, last = list(tensors), tensors[0], tensors[-1]
    # a vector at the left is a row (1, n), one at the right a column (n, 1)
    if first.dim() == 1:
        matrices[0] = ops.unsqueeze(first, 0)
    if last.dim() == 1:
        matrices[-1] = ops.unsqueeze(last, -1)
    _check_sizes(matrices)
    sizes = [matrices[0].shape[0], *(m.shape[1] for m in matrices)]
    result = _product(matrices, cheapest(sizes), 0, len(matrices) - 1)
    # the dimensions that were added to vectors go again
    return ops.view(result, [n for n, t in zip(result.shape, (first, last)) if t.dim() == 2])


def _product(matrices: Sequence[Any], split: dict[tuple[int, int], int], i: int, j: int) -> Any:
    """The product of the matrices i to j inclusive, divided where `split` says."""
    if i == j:
        return matrices[i]
    k = split[i, j]
    return ops.mm(_product(matrices, split, i, k), _product(matrices, split, k + 1, j))


def chain_matmul(matrices: Sequence[Any]) -> Any:
    """`linalg.multi_dot` of matrices only, by an older name; of one matrix, a copy.

    Raises RuntimeError for vectors and for an empty list.
    """
    deprecated("chain_matmul", "linalg.multi_dot")
    for m in matrices:
        if m.dim() != 2:
            raise RuntimeError(f"Tensor dimension is {m.dim()}, expected 2 instead.")
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    return ops.clone(matrices[0], None) if len(matrices) == 1 else ops.linalg_multi_dot(matrices)


def cheapest(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """Where to divide the product of each run of matrices; matrix k is (sizes[k], sizes[k + 1]).

    `result[i, j] == k` stands for (i ... k) (k + 1 ... j); of several equally cheap k the first.
    """
    n = len(sizes) - 1
    cost = {(i, i): 0 for i in range(n)}
    split = {}
    for length in range(1, n):  # short runs first: longer ones are made of them
        for i in range(n - length):
            j = i + length
            # the last product is (sizes[i], sizes[k + 1]) @ (sizes[k + 1], sizes[j + 1])
            costs = [
                (cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            ]
            cost[i, j], split[i, j] = min(costs)
    return split


def _check_dims(tensors: Sequence[Any]) -> None:
    """Raises RuntimeError unless these are two or more matrices of one dtype; the first and the
    last may be vectors.
    """
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    for which, t in (("first", tensors[0]), ("last", tensors[-1])):
        if t.dim() not in (1, 2):
            raise RuntimeError(
                f"multi_dot(): the {which} tensor must be 1D or 2D but got {t.dim()}D"
            )
    for i, t in enumerate(tensors[1:-1], 1):
        if t.dim() != 2:
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {t.dim()}D")
    for i, t in enumerate(tensors):
        if t.dtype is not tensors[0].dtype:
            raise RuntimeError(
                "multi_dot(): all tensors must have be the same dtype but tensor 0 is "
                f"{TYPE_META_NAME[tensors[0].dtype]} and tensor {i} {TYPE_META_NAME[t.dtype]}"
            )


def _check_sizes(matrices: Sequence[Any]) -> None:
    """Raises RuntimeError unless each matrix has as many columns as the next one has rows."""
    for i, (a, b) in enumerate(zip(matrices, matrices[1:])):
        if a.shape[1] != b.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {i} and {i + 1} with shapes {list(a.shape)} and "
                f"{list(b.shape)} cannot be multiplied"
            )
