"""LAPACK for every matrix of a batch, and the memory layout of the results
(`aten/src/ATen/native/BatchLinearAlgebraKernel.cpp`).

LAPACK works on one matrix at a time, and on matrices that lie in memory column by column. So do the
results, and a user can see it: the strides of `cholesky(A)` are (1, n). LAPACK has every routine
four times, once for each dtype; scipy makes them callable from Python.

How the real one differs: the loops are C++, and LAPACK writes into the memory of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from internals.aten.deferred import linalg
from internals.core.dtype import dtype
from internals.core.geometry import contiguous_strides, geometry
from internals.core.grad_mode import is_grad_enabled
from internals.core.tensor_impl import Array, Tensor, TensorImpl, array, empty, empty_contiguous


def each(function: Callable[..., Any], inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
    """Fill the `outputs` with `function(*inputs)` of every matrix; all are tensors or arrays.

    The batch is all but the last two dimensions of the first input, and leads the sizes of all the
    others. For matrices without elements nothing is called: LAPACK does not accept them.
    """
    sources, targets = (
        [array(t) if isinstance(t, TensorImpl) else t for t in ts] for ts in (inputs, outputs)
    )
    if not all(a.size for a in sources):
        return
    for index in np.ndindex(sources[0].shape[:-2]):
        results = function(*[a[index] for a in sources])
        for target, result in zip(targets, results if isinstance(results, tuple) else (results,)):
            target[index] = result


def routine(name: str, dtype: dtype) -> Any:
    """The LAPACK routine for a dtype: `potrf` is spotrf for float32, zpotrf for complex128."""
    return linalg.get_lapack_funcs((name,), dtype=dtype.np)[0]


def zeros(sizes: Sequence[int], dtype: dtype) -> Any:
    """A contiguous tensor of zeros."""
    result = empty_contiguous(sizes, dtype)
    array(result)[...] = 0
    return result


def column_major(sizes: Sequence[int], dtype: dtype) -> Any:
    """A tensor of zeros whose matrices, the last two dimensions, lie column by column."""
    # strides of contiguous (*batch, columns, rows), the last two exchanged: (..., 1, rows)
    *batch, rows, columns = sizes
    strides = contiguous_strides((*batch, columns, rows))
    result = empty(geometry(sizes, (*strides[:-2], strides[-1], strides[-2]), dtype))
    array(result)[...] = 0
    return result


def broadcast_batch(t: Tensor | Array, batch: Sequence[int], core: int = 2) -> Any:
    """A tensor's array, or an array, with all but its last `core` dimensions broadcast to
    `batch`.
    """
    a = array(t) if isinstance(t, TensorImpl) else t
    return np.broadcast_to(a, (*batch, *a.shape[a.ndim - core :]))


def wants_gradient(t: Tensor) -> bool:
    """Whether a gradient may be asked for: then eigenvectors, say, are computed for it as well."""
    return is_grad_enabled() and bool(t.requires_grad)
