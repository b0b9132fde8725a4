"""The largest, or smallest, element so far, and where it was (`aten/src/ATen/native/ReduceOps.cpp`:
`cummax`, `cummin`).

Of equal elements the last one counts. NaN beats everything: from the first NaN on the values are
NaN, and the indices name the latest one.

The index of the record at i is that of the last element that was at least as large as all before
it. So mark the records, write their places where they are, 0 elsewhere, and take the running
maximum of that.

How the real one differs: one loop carries value and index along.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from internals.aten.dtype_checks import not_implemented
from internals.aten.set_output import set_output
from internals.core import dtype as dt, return_types
from internals.core.dtype import COMPLEX
from internals.core.geometry import wrap_dim
from internals.core.tensor_impl import array

if TYPE_CHECKING:
    from internals._tensor import Tensor


def cummax(self: Tensor, dim: int, out: Sequence[Tensor] | None = None) -> Any:
    """The largest elements so far along `dim`, and their indices. Without elements, `dim` may be
    any number.
    """
    return (return_types.cummax if out is None else return_types.cummax_out)(
        *_run("cummax", np.maximum, self, dim, out)
    )


def cummin(self: Tensor, dim: int, out: Sequence[Tensor] | None = None) -> Any:
    """The smallest elements so far along `dim`, and their indices."""
    return (return_types.cummin if out is None else return_types.cummin_out)(
        *_run("cummin", np.minimum, self, dim, out)
    )


def _run(name: str, loop: Any, self: Any, dim: int, out: Any) -> tuple[Any, Any]:
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
    places = np.arange(self.shape[d]).reshape([-1 if i == d else 1 for i in range(a.ndim)])
    array(indices)[...] = np.maximum.accumulate(np.where(is_record, places, 0), d)
    array(values)[...] = best
    return values, indices
