"""The largest, or smallest, element so far, and where it was (`aten/src/ATen/native/ReduceOps.cpp`:
`cummax`, `cummin`).

Of equal elements the last one counts. NaN beats everything: from the first NaN on the values are
NaN, and the indices name the latest one.

A record is an element that is at least as large as all before it (or as small). The index at i is
that of the last record up to i. So records are marked with their own index, other elements with 0,
and the running maximum of these marks is the result:

    elements  3 1 3 2 5
    marks     0 0 2 0 4
    indices   0 0 2 2 4

How the real one differs: one loop carries value and index along.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from internals.aten.dtype_checks import not_implemented
from internals.aten.set_output import set_output
from internals.core import dtype as dt, return_types
from internals.core.dtype import COMPLEX
from internals.core.geometry import wrap_dim
from internals.core.tensor_impl import Tensor, array


def cummax(self: Tensor, dim: int, out: Sequence[Tensor] | None = None) -> Any:
    """(values, indices): the largest elements so far along `dim`, and their positions. Where there
    are no elements, `dim` is not checked.
    """
    return (return_types.cummax if out is None else return_types.cummax_out)(
        *_run("cummax", np.maximum, self, dim, out)
    )


def cummin(self: Tensor, dim: int, out: Sequence[Tensor] | None = None) -> Any:
    """(values, indices): the smallest elements so far along `dim`, and their positions."""
    return (return_types.cummin if out is None else return_types.cummin_out)(
        *_run("cummin", np.minimum, self, dim, out)
    )


def _run(name: str, loop: Any, self: Any, dim: int, out: Any) -> tuple[Any, Any]:
    """(values, indices) for np.maximum or np.minimum as `loop`. Raises NotImplementedError for
    complex numbers.
    """
    out_values, out_indices = out or (None, None)
    values = set_output(self.shape, self.dtype, out_values, device=self.device)
    indices = set_output(self.shape, dt.int64, out_indices, device=self.device)
    if not self.numel():
        return values, indices
    if not self.dim():
        if dim not in (0, -1):
            raise IndexError(f"{name}(): Expected reduction dim -1 or 0 for scalar but got {dim}")
        if self._geometry.stored:
            array(values)[...], array(indices)[...] = array(self), 0
        return values, indices
    d = wrap_dim(dim, self.dim())
    if self.dtype.category == COMPLEX:
        raise not_implemented(f"{name}_cpu", self.dtype)
    if not self._geometry.stored:
        return values, indices
    a = array(self)
    best = loop.accumulate(a, d)
    is_record = a == best
    if a.dtype.kind == "f":
        is_record |= np.isnan(a)
    # (1, ..., n, ..., 1): broadcasts along the other dimensions
    positions = np.arange(self.shape[d]).reshape([-1 if i == d else 1 for i in range(a.ndim)])
    array(indices)[...] = np.maximum.accumulate(np.where(is_record, positions, 0), d)
    array(values)[...] = best
    return values, indices
