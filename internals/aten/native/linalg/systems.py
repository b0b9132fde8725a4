"""Checks of the two sides of A X = B (`aten/src/ATen/native/LinearAlgebraUtils.h`:
`checkInputsSolver`).

How the real one differs: it does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from internals.aten.broadcasting import broadcast_shapes

from . import checks

if TYPE_CHECKING:
    from internals._tensor import Tensor


def check_system(name: str, A: Tensor, B: Tensor, left: bool) -> None:
    """Raises RuntimeError unless A is square and B as high, for A X = B, or (without `left`) as
    wide, for X A = B.
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
    """The sizes that the batches of matrices of these sizes broadcast to. Raises RuntimeError if
    they do not.
    """
    return tuple(broadcast_shapes(first[:-2], second[:-2]))
