"""The singular value decomposition and the nuclear norm (`aten/src/ATen/native/BatchLinearAlgebra.cpp`, `LinearAlgebra.cpp`).

A matrix A of n rows and m columns is U diag(S) Vh: k = min(n, m) orthonormal columns in U, k orthonormal rows in Vh, and k
numbers S >= 0, the largest first. Their sum is the nuclear norm. It is composite: only `_linalg_svd` needs a derivative, and
that one needs U and Vh, so they are computed when a gradient will be asked for, and not otherwise.

How the real one differs: LAPACK is called in the dtype of A, not always in double; `linalg.svd` and `linalg.matrix_norm` are
public there, `nuclear_norm` only what is left of an older interface.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from internals._generated import ops
from internals.core import dtype as dt
from internals.core.dtype import COMPLEX, SCALAR_TYPE_NAME
from internals.core.geometry import wrap_dims
from internals.core.tensor_impl import array, empty_contiguous, from_array

from .reduction_tools import is_floating


def nuclear_norm(self: Any, keepdim: bool = False) -> Any:
    """The sum of the singular values of a matrix. Raises RuntimeError as `nuclear_norm.dim`."""
    return nuclear_norm_dim(self, tuple(range(self.dim())), keepdim)


def nuclear_norm_dim(self: Any, dim: Sequence[int], keepdim: bool = False) -> Any:
    """The sum of the singular values of the matrices in dimensions `dim`.

    Raises RuntimeError unless the dtype is float32, float64 or complex, and when there are not two dimensions.
    """
    _check_dtype("linalg.matrix_norm", self)
    if self.dim() < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    if len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dim))}")
    dims = wrap_dims(dim, self.dim())
    others = [d for d in range(self.dim()) if d not in dims]
    matrices = ops.permute(self, [*others, *dims])
    singular = ops._linalg_svd(matrices, False, self.requires_grad, None)[1]
    if not keepdim:
        return ops.sum_dim_IntList(singular, [-1], False, None)
    last = ops.unsqueeze(ops.sum_dim_IntList(singular, [-1], True, None), -1)
    return ops.permute(last, [[*others, *dims].index(d) for d in range(self.dim())])


def _linalg_svd(A: Any, full_matrices: bool = False, compute_uv: bool = True, driver: str | None = None) -> Any:
    """U, S and Vh of every matrix in the last two dimensions; without `compute_uv` U and Vh are empty.

    With `full_matrices` U and Vh are square. S is real. Raises RuntimeError for less than two dimensions and for dtypes
    other than float32, float64 and complex, numpy.linalg.LinAlgError when A contains NaN.
    """
    if A.dim() < 2:
        raise RuntimeError("linalg.svd: The input tensor A must have at least 2 dimensions.")
    _check_dtype("linalg.svd", A)
    real = A.dtype.to_real()
    a = array(A).astype(np.complex128 if A.dtype.category == COMPLEX else np.float64)
    if not compute_uv:
        S = np.linalg.svd(a, compute_uv=False)
        none = empty_contiguous((0,), A.dtype, A.device)
        return none, from_array(S.astype(real.np)), empty_contiguous((0,), A.dtype, A.device)
    U, S, Vh = np.linalg.svd(a, full_matrices)
    return from_array(U.astype(A.dtype.np)), from_array(S.astype(real.np)), from_array(Vh.astype(A.dtype.np))


def _check_dtype(name: str, A: Any) -> None:
    if not is_floating(A.dtype):
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {SCALAR_TYPE_NAME[A.dtype]}"
        )
    if A.dtype is dt.float16:
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {SCALAR_TYPE_NAME[A.dtype]}")
