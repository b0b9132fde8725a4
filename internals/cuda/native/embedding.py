"""Embedding: rows of a table, looked up by index (`aten/src/ATen/native/cuda/Embedding.cu`).

Looking up is `index_select`. Its gradient adds rows with atomics: in float32 where the table is of
float16.

How the real one differs: see `kernels/embedding.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from internals.core import dtype as dt
from internals.core.formats import contiguous_format
from internals.core.tensor_impl import empty_contiguous

from ..device_array import flat
from ..fallback import NoKernel
from ..kernels import embedding as kernels, gather as gathering
from ..launch import launch_1d
from .accumulating import add_atomically
from .copy import clone, zero_
from .opmath import opmath_type

if TYPE_CHECKING:
    from internals._tensor import Tensor


def embedding(out: Tensor, weight: Tensor, indices: Tensor) -> None:
    rows, width = weight.shape
    index = _in_a_row(indices)
    n, sizes = out.numel(), (indices.numel(), width)
    step, column = weight.stride()
    strides = ((width, 1), (0, column), (1, 0))
    launch_1d(
        gathering.gather, n, flat(out), flat(weight), flat(index), n, sizes, *strides, rows, step
    )


def dense_backward(
    result: Tensor, grad_output: Tensor, indices: Tensor, padding_idx: int, scale_grad_by_freq: bool
) -> None:
    """For each row of the table, the sum of the gradients of the places it was copied to."""
    (num_weights, width), count = result.shape, indices.numel()
    index, grad = _in_a_row(indices), _in_a_row(grad_output)
    zero_(result)

    def add(table: Tensor, T: type) -> None:
        n = count * width
        arrays = (flat(table), flat(grad), flat(index))
        launch_1d(kernels.add_rows.bind(T=T), n, *arrays, n, width, num_weights, padding_idx)
        if scale_grad_by_freq and n:
            counts = zero_(empty_contiguous((num_weights,), dt.int32, table.device))
            launch_1d(kernels.count_rows, count, flat(counts), flat(index), count, num_weights)
            m = num_weights * width
            launch_1d(kernels.divide_rows.bind(T=T), m, flat(table), flat(counts), m, width)

    add_atomically(result, add)


def renorm_(self: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> None:
    """Shorten the rows of `self` that `indices` names."""
    if self.dtype.category != dt.FLOATING or not norm_type > 0:
        # what is no norm, the CPU may count
        raise NoKernel
    rows, width = self.shape
    marks = zero_(empty_contiguous((rows,), dt.uint8, self.device))
    index, n = _in_a_row(indices), indices.numel()
    launch_1d(kernels.mark_rows, n, flat(marks), flat(index), n, rows)
    C = opmath_type(self.dtype)
    kernel = kernels.shorten_rows.bind(T=self.dtype.np.type, C=C)
    launch_1d(
        kernel,
        rows,
        flat(self),
        flat(marks),
        rows,
        width,
        *self.stride(),
        C(max_norm),
        C(norm_type),
    )


def _in_a_row(t: Tensor) -> Any:
    return t if t.is_contiguous() else clone(t, contiguous_format)
