"""The trace of a matrix, and its gradient (`aten/src/ATen/native/ReduceOps.cpp`: `trace_cpu`).

How the real one differs: it adds up one number after the other, and so its last bits may differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.dtype_checks import check_dtype
from internals.core import dtype as dt
from internals.core.dtype import INTEGRAL
from internals.core.tensor_impl import Tensor, array, from_array

from ..reduction_tools import total


def trace(self: Tensor) -> Any:
    """The sum of the diagonal of a matrix, as a 0-d tensor; integers are added in int64.

    Raises RuntimeError unless there are two dimensions, NotImplementedError for bools.
    """
    check_dtype("trace", self.dtype, dt.INTEGRAL, dt.FLOATING, dt.COMPLEX)
    if self.dim() != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {self.dim()}")
    diagonal = np.diagonal(array(self))
    if self.dtype.category == INTEGRAL:
        return from_array(np.asarray(np.add.reduce(diagonal, dtype=np.int64)))
    with np.errstate(all="ignore"):
        return from_array(np.asarray(total(diagonal, (0,)), self.dtype.np))


def trace_backward(grad: Tensor, sizes: Sequence[int]) -> Any:
    """The gradient of `trace`: a matrix of `sizes` with the 0-d `grad` along its diagonal.

    Raises RuntimeError unless there are two sizes.
    """
    if len(sizes) != 2:
        raise RuntimeError("expected matrix input")
    diagonal = ops.expand(grad, [min(sizes)], False)
    return ops.view(ops.diagonal_backward(diagonal, list(sizes), 0, 0, 1), list(sizes))
