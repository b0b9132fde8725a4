"""Powers of matrices and of numbers (`aten/src/ATen/native/LinearAlgebra.cpp`:
`linalg_matrix_power`, `linalg_vander`).

A¹³ is A⁸ A⁴ A: squaring repeatedly, and multiplying the squares that the binary digits of 13 name,
takes five products instead of twelve. All operators here are composite.

How the real one differs: with `out=` the last product is written there directly.
"""

from __future__ import annotations

from typing import Any

from internals._generated import ops
from internals.core import dtype as dt
from internals.core.dtype import BOOL, SCALAR_TYPE_NAME
from internals.core.formats import contiguous_format
from internals.core.tensor_impl import Tensor

from . import checks


def linalg_matrix_power(self: Tensor, n: int) -> Any:
    """The n-th power of every matrix; for n < 0 of its inverse.

    Raises RuntimeError for matrices that are not square, and, if n < 0, as `linalg_inv`.
    """
    checks.square("linalg.matrix_power", self)
    if n == 0:
        identity = ops.eye(self.shape[-1], self.dtype, None, self.device, None)
        return ops.copy_(ops.clone(self, contiguous_format), identity, False)
    if n == 1:
        return ops.clone(self, None)
    if n < 0:
        self, n = ops.linalg_inv(self), -n
    if n == 3:  # in PyTorch's order of the two products, so that rounding is the same
        return ops.matmul(ops.matmul(self, self), self)
    square, result = self, None
    while n:  # `square` is the power 1, 2, 4, 8, ... ; the lowest bit of n says whether to use it
        if n & 1:
            result = square if result is None else ops.matmul(result, square)
        n >>= 1
        if n:
            square = ops.matmul(square, square)
    return result


def linalg_vander(x: Tensor, N: int | None = None) -> Any:
    """The powers 0 to N - 1 of every element of `x`, in a new last dimension; N is the last size of
    `x` if not given.

    Raises RuntimeError for bools and half precision, and for N < 2.
    """
    if x.dtype.category == BOOL or x.dtype is dt.float16:
        raise RuntimeError(
            "linalg.vander supports floating point, complex, and integer tensors, but got "
            f"{SCALAR_TYPE_NAME[x.dtype]}"
        )
    if x.dim() == 0:
        x = ops.unsqueeze(x, -1)
    n = x.shape[-1] if N is None else N
    if n <= 1:
        raise RuntimeError("N must be greater than 1.")
    # (..., n - 1): the cumulative products of (x, x, ..., x) are its powers
    copies = ops.expand(ops.unsqueeze(x, -1), [*x.shape, n - 1], False)
    powers = ops.cumprod(copies, -1, None)
    ones = ops.new_ones(powers, [*x.shape, 1], None, None, None, None)
    return ops.cat([ones, powers], -1)
