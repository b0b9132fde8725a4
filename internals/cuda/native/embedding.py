"""Embedding: rows of a table, looked up by index (`aten/src/ATen/native/cuda/Embedding.cu`).

The look-up is a `gather` along the rows. Its gradient adds rows with atomics: for a table of
float16 in float32, see `accumulating.py`.

How the real one differs: see `kernels/embedding.py`.
"""

from __future__ import annotations

from typing import Any

from internals.core import dtype as dt
from internals.core.formats import contiguous_format
from internals.core.tensor_impl import Tensor, empty_contiguous

from ..device_array import flat
from ..fallback import NoKernel
from ..kernels import embedding as kernels, gather as gathering
from ..launch import launch_1d
from .accumulating import add_atomically
from .copy import clone, zero_
from .opmath import opmath_type


def embedding(out: Tensor, weight: Tensor, indices: Tensor) -> None:
    """out (*indices.shape, width) = the rows of weight (rows, width) that `indices` name."""
    rows, width = weight.shape
    index = _in_a_row(indices)
    n, sizes = out.numel(), (indices.numel(), width)
    step, column = weight.stride()
    # (look-up, column): of `out`; of `weight`, whose rows the index chooses; of `index`, which is
    # the same for all columns
    strides = ((width, 1), (0, column), (1, 0))
    launch_1d(
        gathering.gather, n, flat(out), flat(weight), flat(index), n, sizes, *strides, rows, step
    )


def dense_backward(
    result: Tensor, grad_output: Tensor, indices: Tensor, padding_idx: int, scale_grad_by_freq: bool
) -> None:
    """result (rows, width) = for each row of the table, the sum of the gradients of its look-ups,
    or their mean if `scale_grad_by_freq`.
    """
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
    """Scales the rows of `self` that `indices` names down to the norm `max_norm`, if theirs is
    larger, in place.
    """
    if self.dtype.category != dt.FLOATING or not norm_type > 0:
        # orders up to 0 are not norms: left to the CPU
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
    """`t`, or a contiguous copy: the kernels count elements in index order."""
    return t if t.is_contiguous() else clone(t, contiguous_format)
