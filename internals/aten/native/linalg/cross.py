"""The cross product (`aten/src/ATen/native/Cross.cpp`).

The cross product of two vectors of three elements is a vector at a right angle to both: x₂y₃ -
x₃y₂, x₃y₁ - x₁y₃, x₁y₂ - x₂y₁.

How the real one differs: one loop over memory; here a few passes of numpy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.broadcasting import broadcast_shapes
from internals.aten.dtype_checks import check_dtype, check_same_dtype
from internals.aten.set_output import set_output
from internals.core import dtype as dt
from internals.core.geometry import wrap_dim
from internals.core.tensor_impl import Tensor, array
from internals.core.warn import warn_once


def linalg_cross(self: Tensor, other: Tensor, dim: int = -1, out: Tensor | None = None) -> Any:
    """The cross products of the vectors along `dim`, the other dimensions broadcast.

    Raises RuntimeError unless both have as many dimensions, one dtype and size 3 in `dim`,
    NotImplementedError for bools.
    """
    if self.dim() != other.dim():
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    axis = wrap_dim(dim, self.dim())
    n, m = (t.shape[axis] if t.dim() else 1 for t in (self, other))
    if (n, m) != (3, 3):
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {n} and {m}"
        )
    sizes = broadcast_shapes(self.shape, other.shape)
    result = set_output(sizes, self.dtype, out)
    check_dtype("cross", self.dtype, dt.INTEGRAL, dt.FLOATING, dt.COMPLEX)
    check_same_dtype(self, other)
    # (3, ...): x[0], x[1] and x[2] are then the components, each with the broadcast sizes
    x, y = (np.moveaxis(np.broadcast_to(array(t), sizes), axis, 0) for t in (self, other))
    with np.errstate(all="ignore"):
        # negative indices go around: component 0 is x[1] * y[2] - x[2] * y[1]
        components = [x[i - 2] * y[i - 1] - x[i - 1] * y[i - 2] for i in range(3)]
    array(result)[...] = np.stack(components, axis)
    return result


def cross(self: Tensor, other: Tensor, dim: int | None = None) -> Any:
    """`linalg.cross` along `dim`, or (deprecated) along the first dimension of size 3. Raises
    RuntimeError if there is none.
    """
    if dim is None:
        warn_once(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass "
            "the dim explicitly or simply use torch.linalg.cross.\nThe default value of dim will "
            "change to agree with that of linalg.cross in a future release."
        )
        if 3 not in self.shape:
            raise RuntimeError("no dimension of size 3 in input")
        dim = list(self.shape).index(3)
    return ops.linalg_cross(self, other, dim)
