"""The condition number, `linalg.cond` (`aten/src/ATen/native/BatchLinearAlgebra.cpp`:
`linalg_cond`).

It says how much an error in B can grow in the X of A X = B: the norm of A times that of its
inverse. In the 2-norm these are the largest singular value, and one over the smallest. The
condition number of a singular matrix is infinite.

How the real one differs: it overwrites the inverse where a matrix is singular, and so in some norms
it cannot be differentiated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from internals._generated import ops
from internals.core.scalar import Scalar
from internals.core.tensor_impl import Tensor

from . import checks

NAME = "linalg.cond"


def linalg_cond(self: Tensor, p: Scalar | None = None) -> Any:
    """The condition number in the norm `p`: 2 (or None) or -2, and of square matrices also 1, -1,
    inf or -inf.

    Raises RuntimeError for less than two dimensions, for another `p`, and for dtypes other than
    float32, float64 and complex.
    """
    if self.dim() < 2:
        raise RuntimeError(f"{NAME}: The input tensor must have at least 2 dimensions.")
    order = 2 if p is None else p
    # in the 2-norm the singular values, in descending order, are enough: no inverse is needed
    if abs(order) == 2:
        if not self.numel():
            return _zeros(self)
        S = ops.linalg_svdvals(self, None)
        largest, smallest = ops.narrow(S, -1, 0, 1), ops.narrow(S, -1, -1, 1)
        ratio = (
            ops.div_Tensor(largest, smallest) if order == 2 else ops.div_Tensor(smallest, largest)
        )
        return ops.squeeze_dim(ratio, -1)
    if abs(order) not in (1, float("inf")):
        raise RuntimeError(f"{NAME} got an invalid norm type: {order}")
    checks.square(f"{NAME}(ord={order})", self)
    if not self.numel():
        return _zeros(self)
    of_inverse = _norm_of_inverse(
        self, lambda t: ops.linalg_matrix_norm(t, order, [-2, -1], False, None)
    )
    return _without_nan(
        ops.mul_Tensor(ops.linalg_matrix_norm(self, order, [-2, -1], False, None), of_inverse)
    )


def linalg_cond_p_str(self: Tensor, p: str) -> Any:
    """The condition number of square matrices in the norm "fro" or "nuc". Raises as
    `linalg_cond`.
    """
    if p not in ("fro", "nuc"):
        raise RuntimeError(f"{NAME} got an invalid norm type: {p}")
    checks.square(f"{NAME}(ord={p})", self)
    if not self.numel():
        return _zeros(self)
    of_inverse = _norm_of_inverse(
        self, lambda t: ops.linalg_matrix_norm_str_ord(t, p, [-2, -1], False, None)
    )
    number = ops.mul_Tensor(
        ops.linalg_matrix_norm_str_ord(self, p, [-2, -1], False, None), of_inverse
    )
    return number if p == "nuc" else _without_nan(number)


def _norm_of_inverse(A: Tensor, norm: Callable[..., Any]) -> Any:
    """The norm of the inverse of A, infinite where there is none."""
    inverse, info = ops.linalg_inv_ex(A, False)
    # `inverse` of a singular matrix holds garbage, perhaps NaN: 0 there, so that no norm fails
    singular = ops.gt_Scalar(info, 0)
    inverse = ops.masked_fill_Scalar(inverse, ops.unsqueeze(ops.unsqueeze(singular, -1), -1), 0)
    return ops.masked_fill_Scalar(norm(inverse), singular, float("inf"))


def _without_nan(number: Any) -> Any:
    """`number` with infinity for NaN, which is 0 times infinity, from the zero matrix."""
    return ops.nan_to_num(number, float("inf"), float("inf"), float("-inf"))


def _zeros(A: Tensor) -> Any:
    """The condition numbers of matrices without elements: 0 for each, in a real dtype."""
    return ops.new_zeros(A, list(A.shape[:-2]), A.dtype.to_real(), None, None, None)
