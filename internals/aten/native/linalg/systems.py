"""Checks of the two sides of A X = B (`aten/src/ATen/native/LinearAlgebraUtils.h`:
`checkInputsSolver`).

Without `left` the equation is X A = B. A is (..., n, n) and B (..., n, k), or (..., k, n).

How the real one differs: `common_batch` is `_linalg_broadcast_batch_dims` there, which also expands
both tensors.
"""

from __future__ import annotations

from collections.abc import Sequence

from internals.aten.broadcasting import broadcast_shapes
from internals.core.tensor_impl import Tensor

from . import checks


def check_system(name: str, A: Tensor, B: Tensor, left: bool) -> None:
    """Raises RuntimeError unless A is square and B has as many rows, for A X = B, or (without
    `left`) as many columns, for X A = B.
    """
    checks.square(name, A)
    checks.matrices(name, B, "B")
    side = -2 if left else -1
    if A.shape[side] != B.shape[side]:
        (n, m), (k, l) = A.shape[-2:], B.shape[-2:]  # noqa: E741
        equation = "AX = B" if left else "XA = B"
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {equation} ({n}x{m} and "
            f"{k}x{l})"
        )


def is_vector(A: Tensor, B: Tensor) -> bool:
    """Whether B is a vector or a batch of them: it has one dimension, or the sizes of A without the
    last.
    """
    return B.dim() == 1 or tuple(B.shape) == tuple(A.shape[:-1])


def common_batch(first: Sequence[int], second: Sequence[int]) -> tuple[int, ...]:
    """The batch sizes that two batches of matrices broadcast to: all sizes but the last two. Raises
    RuntimeError if they do not broadcast.
    """
    return tuple(broadcast_shapes(first[:-2], second[:-2]))
