"""Embedding: rows of a table, looked up by index (`aten/src/ATen/native/cuda/Embedding.cu`).

Looking up is `index_select`. Its gradient adds rows with atomics: in float32 where the table is of float16.

How the real one differs: see `kernels/embedding.py`.
"""

from __future__ import annotations

from typing import Any

from internals._generated import ops
from internals.aten.native.embedding import check_indices, check_matrix, check_table
from internals.core import dtype as dt
from internals.core.formats import contiguous_format
from internals.core.tensor_impl import TensorImpl, empty_contiguous

from ..device_array import flat
from ..fallback import on_cpu
from ..kernels import embedding as kernels
from ..kernels import gather as gathering
from ..launch import launch_1d
from .accumulating import add_atomically
from .copy import clone, zero_
from .opmath import opmath_type


def embedding(
    weight: TensorImpl,
    indices: TensorImpl,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """weight[indices], shape (*indices.shape, dim). `padding_idx` and the flags only matter to the derivative.

    Raises RuntimeError for a table that is not a matrix; an index out of range fails an assertion on the device.
    """
    check_table(weight)
    check_indices("embedding", indices)
    rows, width = weight.shape
    index = _in_a_row(indices)
    out = empty_contiguous((*indices.shape, width), weight.dtype, weight.device)
    n, sizes = out.numel(), (indices.numel(), width)
    step, column = weight.stride()
    strides = ((width, 1), (0, column), (1, 0))
    launch_1d(gathering.gather, n, flat(out), flat(weight), flat(index), n, sizes, *strides, rows, step)
    return out


def embedding_dense_backward(
    grad_output: TensorImpl, indices: TensorImpl, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Any:
    """The gradient of the table (num_weights, dim): for each row, the sum of the gradients of the places it was copied to.

    The row `padding_idx` gets none (unless that is negative); with `scale_grad_by_freq` the sums become averages.
    """
    check_indices("embedding_backward", indices, 2)
    width, count = grad_output.shape[-1], indices.numel()
    index, grad = _in_a_row(indices), _in_a_row(grad_output)
    result = zero_(empty_contiguous((num_weights, width), grad_output.dtype, grad_output.device))

    def add(table: Any, T: Any) -> None:
        n = count * width
        arrays = (flat(table), flat(grad), flat(index))
        launch_1d(kernels.add_rows.bind(T=T), n, *arrays, n, width, num_weights, padding_idx)
        if scale_grad_by_freq and n:
            counts = zero_(empty_contiguous((num_weights,), dt.int32, table.device))
            launch_1d(kernels.count_rows, count, flat(counts), flat(index), count, num_weights)
            m = num_weights * width
            launch_1d(kernels.divide_rows.bind(T=T), m, flat(table), flat(counts), m, width)

    add_atomically(result, add)
    return result


def embedding_renorm_(self: TensorImpl, indices: TensorImpl, max_norm: float, norm_type: float) -> TensorImpl:
    """Scale those rows of `self` that `indices` names and whose `norm_type`-norm is beyond `max_norm` down to it, in place."""
    check_matrix(self)
    check_indices("embedding_renorm_", indices)
    if self.dtype.category != dt.FLOATING or not norm_type > 0:  # what is no norm, the CPU may count
        result: TensorImpl = on_cpu(ops.embedding_renorm__op, self, indices, max_norm, norm_type)
        return result
    rows, width = self.shape
    marks = zero_(empty_contiguous((rows,), dt.uint8, self.device))
    index, n = _in_a_row(indices), indices.numel()
    launch_1d(kernels.mark_rows, n, flat(marks), flat(index), n, rows)
    C = opmath_type(self.dtype)
    kernel = kernels.shorten_rows.bind(T=self.dtype.np.type, C=C)
    launch_1d(kernel, rows, flat(self), flat(marks), rows, width, *self.stride(), C(max_norm), C(norm_type))
    return self


def _in_a_row(t: Any) -> Any:
    return t if t.is_contiguous() else clone(t, contiguous_format)


def instances() -> list[tuple[Any, tuple[Any, ...]]]:
    """Kernels as they are launched, with the types of their arguments, for `ptx.compile_all`."""
    found: list[tuple[Any, tuple[Any, ...]]] = []
    for kind in (dt.float32, dt.float64):
        table, T = f"{kind.name}[:]", kind.np.type
        for grad in {table, "float16[:]" if kind is dt.float32 else table}:
            found.append((kernels.add_rows.bind(T=T), (table, grad, "int64[:]", int, int, int, int)))
        found.append((kernels.divide_rows.bind(T=T), (table, "int32[:]", int, int)))
    for kind in (dt.float16, dt.float32, dt.float64):
        C = opmath_type(kind)
        kernel = kernels.shorten_rows.bind(T=kind.np.type, C=C)
        found.append((kernel, (f"{kind.name}[:]", "uint8[:]", int, int, int, int, C, C)))
    found.append((kernels.mark_rows, ("uint8[:]", "int64[:]", int, int)))
    return [*found, *[(kernels.count_rows, ("int32[:]", f"{i}[:]", int, int)) for i in ("int32", "int64")]]
