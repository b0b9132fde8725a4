"""Gradients of writing and reducing at an index, and of diagonal blocks
(`torch/csrc/autograd/FunctionsManual.cpp`).

Overwritten elements have the gradient 0, written values that of the place they were written to; see
`formulas.indexing`. New here is that several values may be reduced into one place. A sum passes the
gradient on to each; a mean divides it by their number; all that are equal to an extremum share its
gradient; for a product it is multiplied by the product of the *other* factors, which cannot be
computed by a division where a factor is 0.

How the real one differs: it raises for second derivatives of products with several zeros, and
refuses complex numbers for the reductions and for some of the operators that write to views.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from internals._generated import ops
from internals._generated.functions import ones_like, where, zeros_like
from internals.aten.native.diagonals import block_sizes
from internals.core.formats import contiguous_format
from internals.core.geometry import contiguous_strides
from internals.core.tensor_impl import Tensor

from .complex import conj


def scatter_reduce_backward(
    grad: Tensor,
    self: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor,
    reduce: str,
    include_self: bool,
    result: Tensor,
) -> tuple[Any, Any]:
    """The gradients of `self` and `src`."""
    to_self, to_src = _reduce_backward(
        grad, self, src, reduce, include_self, result,
        read=lambda t: t.gather(dim, index),
        add=lambda t, values: t.scatter_add(dim, index, values),
        reduced=lambda t,
        values: t.scatter_reduce(dim, index, values, reduce, include_self=include_self),
    )  # fmt: skip
    return to_self if include_self else to_self.scatter(dim, index, 0), to_src


def index_reduce_backward(
    grad: Tensor,
    self: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor,
    reduce: str,
    include_self: bool,
    result: Tensor,
) -> tuple[Any, Any]:
    """The gradients of `self` and `source`."""
    to_self, to_source = _reduce_backward(
        grad, self, source, reduce, include_self, result,
        read=lambda t: t.index_select(dim, index),
        add=lambda t, values: t.index_add(dim, index, values),
        reduced=lambda t,
        values: t.index_reduce(dim, index, values, reduce, include_self=include_self),
    )  # fmt: skip
    return to_self if include_self else to_self.index_fill(dim, index.long(), 0), to_source


def _reduce_backward(
    grad: Tensor, self: Tensor, src: Tensor, reduce: str, include_self: bool, result: Tensor,
    read: Callable[[Any], Any], add: Callable[[Any, Any], Any], reduced: Callable[[Any, Any], Any],
) -> tuple[Any, Any]:  # fmt: skip
    """The gradients of `self` and `src` before `include_self` is looked at.

    `read(t)` gives the elements of `t` at the places of `src`, in the shape of `src`; `add(t,
    values)` adds values of that shape at these places; `reduced(t, values)` is the reduction
    itself.
    """
    if reduce == "sum":
        return grad, read(grad)
    if reduce == "mean":
        count = add(ones_like(grad) if include_self else zeros_like(grad), ones_like(src))
        count = count.masked_fill(count == 0, 1)  # a place that no value was written to
        return grad / count, read(grad) / read(count)
    if reduce == "prod":
        return _prod_backward(grad, self, src, result, read, add, reduced)
    # amax, amin: count at each place the values that are equal to the result
    is_self, is_src = self == result, src == read(result)
    share = grad / add(is_self.to(grad.dtype), is_src.to(grad.dtype))
    return is_self * share, is_src * read(share)


def _prod_backward(
    grad: Tensor, self: Tensor, src: Tensor, result: Tensor,
    read: Callable[[Any], Any], add: Callable[[Any, Any], Any], reduced: Callable[[Any, Any], Any],
) -> tuple[Any, Any]:  # fmt: skip
    """The gradient times the product of the other factors: the result divided by the factor, or,
    where the factor is 0, the product with a 1 in its place.
    """
    self_not_0 = self.masked_fill(self == 0, 1)
    to_self = grad * conj(reduced(self_not_0, src)) / conj(self_not_0)
    is_0 = src == 0
    # if a place has two zeros in `src`, the product of the others is 0 for both of them
    only_0 = is_0 & (read(add(zeros_like(self), is_0.to(self.dtype))) == 1)
    without_it = reduced(self, src.masked_fill(only_0, 1))
    src_not_0 = src.masked_fill(is_0, 1)
    return to_self, where(
        only_0, read(grad * conj(without_it)), read(grad * conj(result)) / conj(src_not_0)
    )


def index_copy_source_backward(grad: Tensor, dim: int, index: Tensor, sizes: Sequence[int]) -> Any:
    """The gradient of the written slices: those of `grad` at `index`, in the sizes of the source,
    which may be 0-d where the slice has one element.
    """
    return grad.index_select(dim, index).reshape(sizes)


def index_fill_value_backward(grad: Tensor, dim: int, index: Tensor) -> Any:
    """The sum of `grad` over all filled slices. A slice that `index` names twice counts once, since
    it has the value once.
    """
    n = grad.shape[dim] if grad.dim() else 1
    filled = index.new_zeros((n,)).index_fill(0, index, 1)
    if not grad.dim():
        return grad * filled[0]
    return grad.index_select(dim, ops.reshape(ops.nonzero(filled), [-1])).sum()


def put_self_backward(grad: Tensor, index: Any, accumulate: bool) -> Any:
    """The gradient of the tensor that was written to: `grad` with zeros at `index`; or all of
    `grad` if the values were added (`accumulate`).
    """
    return grad if accumulate else grad.put(index, grad.new_zeros(index.shape), False)


def take_backward(grad: Tensor, sizes: Sequence[int], index: Tensor) -> Any:
    """Zeros of these sizes with `grad` added at `index`, numbers in row-major order."""
    return grad.new_zeros(sizes).put_(index, grad, True)


def as_strided_scatter_backward(
    grad: Any, sizes: Sequence[int], strides: Sequence[int], offset: int, src_sizes: Sequence[int],
    size: Sequence[int], stride: Sequence[int], storage_offset: int | None,
) -> tuple[Any, Any]:  # fmt: skip
    """The gradients of `self`, which is `grad` with zeros where `src` was written, and of `src`,
    which is `grad` at these places. `offset` is the storage offset of `self`.

    Raises RuntimeError if `self` was not contiguous: strides that fit its memory do not fit that of
    the gradient, whose elements lie in another order.
    """
    if list(strides) != list(contiguous_strides(sizes)):
        raise RuntimeError(
            "as_strided_scatter: the gradient of a tensor that is not contiguous is not implemented"
        )
    memory, first = (
        grad.clone(memory_format=contiguous_format),
        0 if storage_offset is None else storage_offset - offset,
    )
    to_self = memory.as_strided_scatter(grad.new_zeros(src_sizes), size, stride, first)
    return to_self, memory.as_strided(size, stride, first)


def narrow_copy_backward(
    grad: Tensor, sizes: Sequence[int], dim: int, start: int, length: int
) -> Any:
    """Zeros of these sizes with `grad` at `start ... start + length` of `dim`; a negative `start`
    counts from the end.
    """
    first = start + sizes[dim] if start < 0 else start
    return ops.slice_backward(grad, sizes, dim, first, first + length, 1)


def block_diag_backward(grad: Tensor, sizes: Sequence[Sequence[int]]) -> list[Any]:
    """The diagonal blocks of `grad`, in the shapes of the inputs: a 1-d input was one row."""
    gradients, row, column = [], 0, 0
    for shape in sizes:
        height, width = block_sizes(shape)
        block = ops.slice_Tensor(
            ops.slice_Tensor(grad, 0, row, row + height, 1), 1, column, column + width, 1
        )
        gradients.append(block.reshape(shape))
        row, column = row + height, column + width
    return gradients
