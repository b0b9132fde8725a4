"""`renorm`, which limits the norm of each slice (`aten/src/ATen/native/Normalization.cpp`).

A slice is all elements with the same index in one dimension, as a row of a matrix for dimension 0.
An embedding with `max_norm` uses it on its rows.

How the real one differs: it computes the factors by a kernel of their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals.aten.set_output import set_output
from internals.core.float_errors import quietly
from internals.core.geometry import wrap_dim
from internals.core.scalar import Scalar
from internals.core.tensor_impl import Array, Tensor, array

from .norms import linalg_vector_norm


def renorm(self: Tensor, p: Scalar, dim: int, maxnorm: Scalar, out: Tensor | None = None) -> Any:
    """A copy of `self`, or `out`, where each slice of index i in `dim` whose p-norm is above
    `maxnorm` is scaled down to that norm.

    Raises RuntimeError unless p > 0 and maxnorm >= 0, for integers, and for fewer than two
    dimensions.
    """
    if isinstance(p, complex):
        raise RuntimeError("renorm: p must be real-valued")
    if not p > 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if isinstance(maxnorm, complex):
        raise RuntimeError("renorm: maxnorm must be real-valued")
    if not maxnorm >= 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    if self.dim() < 2:
        raise RuntimeError(
            f"renorm: input needs at least 2 dimensions, got {self.dim()} dimensions"
        )
    d = wrap_dim(dim, self.dim())
    # one norm for each slice, with size 1 in all other dimensions: it broadcasts
    norms = linalg_vector_norm(self, p, [i for i in range(self.dim()) if i != d], True)
    target = set_output(self.shape, self.dtype, out, out is self)
    array(target)[...] = quietly(_scaled, array(self), array(norms), float(maxnorm))
    return target


def _scaled(a: Array, norms: Array, maxnorm: float) -> Any:
    """The elements times the factor of their slice, in double; 1e-7 is PyTorch's."""
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    norms = norms.astype(np.float64)
    return a.astype(wide) * np.where(norms > maxnorm, maxnorm / (norms + 1e-7), 1)
