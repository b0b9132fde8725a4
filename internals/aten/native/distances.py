"""Distances between rows: `cdist`, `pdist`, `dist` (`aten/src/ATen/native/Distance.cpp`,
`cpu/DistanceOpsKernel.cpp`).

The distance of two rows is the p-norm of their difference. For many rows Euclidean distances are
computed with a matrix product, as |x - y|² = |x|² - 2x·y + |y|²: much faster, but large squares
that nearly cancel lose digits. All others are computed by scipy, pair by pair, in double precision.

How the real one differs: it has a vectorised loop over the pairs for each p, in the dtype of the
input.
"""

from __future__ import annotations

from math import inf, prod
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.broadcasting import broadcast_shapes
from internals.aten.deferred import distance
from internals.aten.dtype_checks import check_same_dtype, not_implemented
from internals.core import dtype as dt
from internals.core.dtype import FLOATING, SCALAR_TYPE_NAME
from internals.core.float_errors import quietly
from internals.core.scalar import Scalar
from internals.core.tensor_impl import Array, Tensor, array, from_array

from .gradient_checks import check_sizes
from .norms import norm_Scalar
from .pointwise import sub

MANY = 25  # with more rows than this, Euclidean distances come from a matrix product
_METRICS = {1.0: "cityblock", 2.0: "euclidean", inf: "chebyshev"}


def cdist(x1: Tensor, x2: Tensor, p: float = 2, compute_mode: int | None = None) -> Any:
    """The p-norm distances of all rows of `x1` (*, P, M) from all rows of `x2` (*, R, M), as (*, P,
    R); * broadcasts.

    `compute_mode` says whether Euclidean distances come from a matrix product: 0 (or None), if
    there are more than 25 rows; 1, always; 2, never. Raises RuntimeError for integers, for negative
    `p`, and where rows have different lengths.
    """
    _check(x1, x2)
    mode = compute_mode or 0
    many = x1.shape[-2] > MANY or x2.shape[-2] > MANY
    if not x1.numel() or not x2.numel() or not (p == 2 and (mode == 1 or (mode == 0 and many))):
        return ops._cdist_forward(x1, x2, p, compute_mode)
    _check_floating(x1, x2, p, mode)
    batch = broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    flat = [
        ops.expand(x, [*batch, *x.shape[-2:]], False).reshape([prod(batch), *x.shape[-2:]])
        for x in (x1, x2)
    ]
    first, second = (x1, x2) if prod(batch) == 1 and x1.dim() == x2.dim() == 2 else flat
    return ops._euclidean_dist(first, second).view([*batch, x1.shape[-2], x2.shape[-2]])


def _euclidean_dist(x1: Tensor, x2: Tensor) -> Any:
    """Euclidean distances from a matrix product. Raises RuntimeError for complex numbers, vectors,
    and rows of different lengths.
    """
    if x1.is_complex() or x2.is_complex():
        raise RuntimeError("clamp is not supported for complex types")
    for x in (x1, x2):
        if x.dim() < 2:
            raise RuntimeError(
                f"tensor.mT is only supported on matrices or batches of matrices. Got {x.dim()}-D "
                "tensor."
            )
    _check(x1, x2)
    a, b = array(x1), array(x2)
    # (*, P, 1) + (*, 1, R); rounding may make a difference negative, hence the maximum
    squares = np.square(a).sum(-1)[..., :, None] + np.square(b).sum(-1)[..., None, :]
    return from_array(np.sqrt(np.maximum(squares - 2 * (a @ np.swapaxes(b, -1, -2)), 0)))


def _cdist_forward(x1: Tensor, x2: Tensor, p: float, compute_mode: int | None) -> Any:
    """Distances pair by pair, (*, P, R). Raises RuntimeError as `cdist`, NotImplementedError for
    half precision.
    """
    _check(x1, x2)
    _check_floating(x1, x2, p, compute_mode or 0)
    first, second = _batches(x1, x2)
    sizes = (*first.shape[:-1], second.shape[-2])
    if not prod(sizes) or not x1.shape[-1]:
        return from_array(np.zeros(sizes, x1.dtype.np))
    if x1.dtype not in (dt.float32, dt.float64):
        raise not_implemented("cdist", x1.dtype)
    check_same_dtype(x1, x2)
    result = np.empty(sizes, x1.dtype.np)
    for i in np.ndindex(sizes[:-2]):
        result[i] = quietly(_distances, first[i], second[i], p)
    return from_array(result)


def _cdist_backward(grad: Tensor, x1: Tensor, x2: Tensor, p: float, cdist: Tensor) -> Any:
    """The gradient of `x1`, (*, P, M), with the batch of the result. `cdist` are the distances."""
    _check(x1, x2)
    for t in (x2, grad, cdist):
        check_same_dtype(x1, t)
    if x1.dtype not in (dt.float32, dt.float64):
        raise not_implemented("cdist_backward", x1.dtype)
    first, second = _batches(x1, x2)
    for what, t in (("grad", grad), ("cdist", cdist)):
        check_sizes("_cdist_backward", what, t, (*first.shape[:-1], second.shape[-2]))
    result = np.zeros(first.shape, x1.dtype.np)
    if not result.size or not x2.shape[-2]:
        return from_array(result)
    g, d = array(grad), array(cdist)
    # one row of x1 at a time: its differences (R, M) from all rows of x2
    for i in np.ndindex(first.shape[:-1]):
        result[i] = quietly(_row_gradient, first[i] - second[i[:-1]], g[i], d[i], p)
    return from_array(result)


def pdist(self: Tensor, p: float = 2) -> Any:
    """The p-norm distances of each row of a matrix from all rows after it, N(N-1)/2 numbers. Raises
    RuntimeError as `cdist`.
    """
    _check_matrix(self)
    if self.dtype.category != FLOATING:
        raise RuntimeError("pdist only supports floating-point dtypes")
    if not p >= 0:
        raise RuntimeError("pdist only supports non-negative p values")
    return ops._pdist_forward(self.contiguous(), p)


def _check_matrix(t: Tensor) -> None:
    """Raises RuntimeError unless there are two dimensions."""
    if t.dim() != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {t.dim()}D")


def _pdist_forward(self: Tensor, p: float = 2) -> Any:
    """The distances above the diagonal of `cdist(self, self)`, row by row, as a vector."""
    _check_matrix(self)
    n, m = self.shape
    if n <= 1 or not m:
        return from_array(np.zeros(n * (n - 1) // 2, self.dtype.np))
    if self.dtype not in (dt.float32, dt.float64):
        raise not_implemented("pdist", self.dtype)
    a = array(self)
    return from_array(quietly(_distances, a, a, p)[np.triu_indices(n, 1)].astype(self.dtype.np))


def _pdist_backward(grad: Tensor, self: Tensor, p: float, pdist: Tensor) -> Any:
    """The gradient (N, M) of the rows. `pdist` holds the N(N-1)/2 distances."""
    _check_matrix(self)
    if self.shape[0] > 1 and self.dtype not in (dt.float32, dt.float64):
        raise not_implemented("pdist_backward", self.dtype)
    for what, t in (("grad", grad), ("pdist", pdist)):
        check_same_dtype(self, t)
        check_sizes("_pdist_backward", what, t, (self.shape[0] * (self.shape[0] - 1) // 2,))
    a, n = array(self), self.shape[0]
    g, d = np.zeros((2, n, n), self.dtype.np)
    # both as symmetric (N, N) matrices: each pair contributes to the gradients of both its rows
    above = np.triu_indices(n, 1)
    g[above], d[above] = array(grad), array(pdist)
    g, d = g + g.T, d + d.T
    result = np.zeros(a.shape, a.dtype)
    for i in range(n if a.size else 0):
        result[i] = quietly(_row_gradient, a[i] - a, g[i], d[i], p)
    return from_array(result)


def dist(self: Tensor, other: Tensor, p: Scalar = 2) -> Any:
    """The p-norm of the difference of all elements, as a 0-d tensor. Raises RuntimeError for
    integers.
    """
    difference = sub(self, other, 1)
    if difference.dtype.category < FLOATING:
        name = SCALAR_TYPE_NAME[difference.dtype]
        raise RuntimeError(
            f"norm(): input dtype should be either floating point or complex. Got {name} instead."
        )
    return norm_Scalar(difference, p)


def _distances(a: Array, b: Array, p: float) -> Any:
    """All distances (P, R) of the rows of two matrices. For p = 0, the number of elements that
    differ.
    """
    if p == 0:
        return np.stack([np.minimum(np.ceil(np.abs(row - b)), 1).sum(-1) for row in a])
    metric = _METRICS.get(p)
    return distance.cdist(a, b, metric) if metric else distance.cdist(a, b, "minkowski", p=p)


def _row_gradient(difference: Array, grad: Array, distances: Array, p: float) -> Any:
    """The gradient (M,) of a row, from its differences (R, M) and distances (R,) from R other rows;
    0 at distance 0.
    """
    if p == 0:
        return 0
    g, d = grad[:, None], distances[:, None]
    size, sign = np.abs(difference), np.sign(difference)
    if p == 1:
        return (sign * g).sum(0)
    if p == inf:
        return (sign * g * (size == d)).sum(0)
    # the derivative of d = (sum of size^p)^(1/p) is sign * (size / d)^(p - 1)
    zero = (d == 0) | (size == 0)
    return np.where(zero, 0, sign * g * (size / d) ** (p - 1)).sum(0)


def _batches(x1: Tensor, x2: Tensor) -> tuple[Any, Any]:
    """Both as arrays, with the dimensions before the matrices broadcast."""
    batch = broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    return np.broadcast_to(array(x1), (*batch, *x1.shape[-2:])), np.broadcast_to(
        array(x2), (*batch, *x2.shape[-2:])
    )


def _check(x1: Tensor, x2: Tensor) -> None:
    """Raises RuntimeError for vectors, and for rows of different lengths."""
    for name, x in (("X1", x1), ("X2", x2)):
        if x.dim() < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x.dim()}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}"
        )


def _check_floating(x1: Tensor, x2: Tensor, p: float, mode: int) -> None:
    """Raises RuntimeError for dtypes that are not floating, a negative `p`, and an unknown mode."""
    for name, x in (("X1", x1), ("X2", x2)):
        if x.dtype.category != FLOATING:
            raise RuntimeError(
                f"cdist only supports floating-point dtypes, {name} got: "
                f"{SCALAR_TYPE_NAME[x.dtype]}"
            )
    if not p >= 0:
        raise RuntimeError("cdist only supports non-negative p values")
    if mode not in (0, 1, 2):
        raise RuntimeError(f"possible modes: 0, 1, 2, but was: {mode}")
