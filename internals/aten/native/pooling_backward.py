"""The gradients of the poolings (`aten/src/ATen/native/{DilatedMaxPool,AveragePool}{2d,3d}.cpp`,
`AdaptiveAverage*.cpp`).

A maximum hands its gradient to the one element it was taken from, an average to all its window's
elements in equal parts. Where windows overlap, the parts add up.

How the real one differs: it loops over the windows, plane by plane, in threads. Where dilation
leaves a window no element inside the image, max pooling's index points behind the image, and
PyTorch writes there; here that gradient is dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from math import prod
from typing import Any

import numpy as np

from internals.aten.dtype_checks import check_dtype, check_is, check_same_dtype, not_implemented
from internals.aten.on_device import on_device
from internals.core import dtype as dt
from internals.core.dtype import SCALAR_TYPE_NAME
from internals.core.tensor_impl import Array, Tensor, empty_contiguous, snapshot
from internals.machine_code.settings import use_compiled

from .gradient_checks import check_grad_output
from .memory_format import empty_as
from .pooling import (
    COMPILED,
    avg_pool_arguments,
    batched,
    beyond,
    check_nonempty,
    compiled_for,
    divisors_of,
    fill,
    max_pool_arguments,
    wide,
    window_sizes,
)
from .windows import fold_offsets


def max_pool2d_with_indices_backward(
    grad_output: Tensor,
    self: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
    indices: Tensor,
) -> Any:
    """Zeros like `self`, plus each gradient at the position in the H·W plane where its maximum was,
    which `indices` holds.
    """
    kernel, stride, padding, dilation, size = max_pool_arguments(
        2, self, kernel_size, stride, padding, dilation, ceil_mode, "_backward"
    )
    check_pool_gradient(grad_output, self, size, indices)
    plane = self.shape[-2] * self.shape[-1]
    result = empty_as(self, self.shape)
    if not self._geometry.stored:
        how = kernel, stride, padding, dilation
        return on_device("pooling.max_pool2d_backward", result, grad_output, indices, *how)
    if (
        use_compiled(self.numel(), COMPILED)
        and _agree(grad_output, self)
        and indices.shape == grad_output.shape
    ):
        kernels = compiled_for(grad_output, indices, result) if indices.dtype is dt.int64 else None
        pooled = prod(grad_output.shape[-2:])
        if kernels and kernels.run(
            kernels.max_pool_backward, grad_output, indices, result, plane, pooled
        ):
            return result
    # a step longer than the window: no element is the maximum of two windows
    disjoint = all(s > d * (k - 1) for s, d, k in zip(stride, dilation, kernel))
    return _scatter(result, grad_output, indices, 2, disjoint)


def max_pool3d_with_indices_backward(
    grad_output: Tensor,
    self: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
    indices: Tensor,
) -> Any:
    """Zeros like `self`, plus each gradient at the position in the D·H·W volume where its maximum
    was, which `indices` holds.
    """
    *_, size = max_pool_arguments(
        3, self, kernel_size, stride, padding, dilation, ceil_mode, "_backward"
    )
    check_pool_gradient(grad_output, self, size, indices)
    return scatter_to_positions(grad_output, indices, self.shape, 3)


def avg_pool2d_backward(
    grad_output: Tensor,
    self: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Any:
    """Each gradient, divided by its window's divisor, added to all elements of the window."""
    kernel, stride, padding, size = avg_pool_arguments(
        2, self, kernel_size, stride, padding, ceil_mode, divisor_override
    )
    check_pool_gradient(grad_output, self, size)
    if self.dtype.category != dt.FLOATING and self.dtype is not dt.int64:
        raise not_implemented("avg_pool2d_backward", self.dtype)
    result = empty_as(self, self.shape)
    if not self._geometry.stored:
        how = kernel, stride, padding, (1, 1), divisor_override, count_include_pad
        return on_device("pooling.avg_pool2d_backward", result, grad_output, *how)
    if use_compiled(self.numel(), COMPILED) and _agree(grad_output, self):
        kernels = compiled_for(grad_output, result)
        divisors = divisors_of(
            self, size, kernel, stride, padding, count_include_pad, divisor_override
        )
        if kernels and kernels.run(
            kernels.avg_pool_backward, grad_output, divisors, result, self.shape[-2:], tuple(size),
            kernels.window_of(kernel, stride, padding, (1, 1)),
        ):  # fmt: skip
            return result
    g = wide(grad_output)
    image = self.shape[-2:]
    divisor = divisor_override or window_sizes(
        size, image, kernel, stride, padding, count_include_pad
    )
    g = g / np.asarray(divisor, g.dtype)
    for axis in (-2, -1):  # kernel height + width additions this way, instead of their product
        g = _spread(g, axis, image[axis], kernel[axis], stride[axis], padding[axis])
    return fill(result, g)


def avg_pool3d_backward(
    grad_output: Tensor,
    self: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Any:
    """Each gradient, divided by its window's divisor, added to all elements of the window."""
    kernel, stride, padding, size = avg_pool_arguments(
        3, self, kernel_size, stride, padding, ceil_mode, divisor_override, "_backward"
    )
    check_pool_gradient(grad_output, self, size)
    g, volume = batched(grad_output, 3), self.shape[-3:]
    divisor = divisor_override or window_sizes(
        size, volume, kernel, stride, padding, count_include_pad
    )
    part = g / np.asarray(divisor, g.dtype)
    # with ceil_mode a window may reach beyond the padded volume; that part is cut off below
    reach = [n + m for n, m in zip(volume, beyond(size, volume, kernel, stride, padding, [1] * 3))]
    dx = fold_offsets(repeat(part), kernel, part.shape, reach, stride, padding, [1] * 3)
    return fill(
        empty_contiguous(self.shape, self.dtype), dx[..., : volume[0], : volume[1], : volume[2]]
    )


def _adaptive_avg_pool2d_backward(grad_output: Tensor, self: Tensor) -> Any:
    """Each gradient, divided by its window's size, added to all elements of the window; the windows
    are those of `_adaptive_avg_pool2d`.
    """
    check_adaptive_gradient("adaptive_avg_pool2d_backward", 2, grad_output, self, "grad_output")
    result = empty_as(self, self.shape)
    if not self._geometry.stored:
        return on_device("pooling.avg_pool2d_backward", result, grad_output)
    if use_compiled(self.numel(), COMPILED) and _agree(grad_output, self):
        kernels = compiled_for(grad_output, result)
        sizes = *self.shape[-2:], *grad_output.shape[-2:]
        if kernels and kernels.run(kernels.adaptive_pool_backward, grad_output, result, *sizes):
            return result
    return _spread_evenly(result, grad_output, 2)


def _adaptive_avg_pool3d_backward(grad_output: Tensor, self: Tensor) -> Any:
    """The same for the windows of `_adaptive_avg_pool3d`."""
    check_adaptive_gradient("adaptive_avg_pool3d_backward", 3, grad_output, self, "gradOutput_")
    return _spread_evenly(empty_contiguous(self.shape, self.dtype), grad_output, 3)


def _spread_evenly(result: Tensor, grad_output: Tensor, dims: int) -> Any:
    """Fill `result` with the gradient of adaptive pooling, one of the last `dims` axes after the
    other; the bounds are those of `window_means`.
    """
    g = wide(grad_output)
    for axis in range(-dims, 0):
        n, m = result.shape[axis], g.shape[axis]
        source = np.moveaxis(g, axis, 0)
        target = np.zeros((n, *source.shape[1:]), g.dtype)
        for i in range(m):
            start, end = i * n // m, -(-(i + 1) * n // m)
            target[start:end] += source[i] / g.dtype.type(end - start)
        g = np.moveaxis(target, 0, axis)
    return fill(result, g)


def scatter_to_positions(
    grad_output: Tensor, indices: Tensor, sizes: Sequence[int], dims: int
) -> Any:
    """Zeros of `sizes`, plus each gradient at its index, which counts the elements of the last
    `dims` dimensions. Raises RuntimeError unless `indices` is int64 and the sizes fit.
    """
    for t, what in ((grad_output, "grad_output"), (indices, "indices")):
        if t.shape != grad_output.shape or t.shape[:-dims] != sizes[:-dims]:
            expected = [*sizes[:-dims], *grad_output.shape[-dims:]]
            raise RuntimeError(
                f"expected sizes {expected} for `{what}` but got sizes {list(t.shape)}"
            )
    check_is(dt.int64, indices)
    return _scatter(empty_contiguous(sizes, grad_output.dtype), grad_output, indices, dims)


def _scatter(
    result: Tensor, grad_output: Tensor, indices: Tensor, dims: int, disjoint: bool = False
) -> Any:
    """Fill `result` as `scatter_to_positions` says. Where windows are `disjoint`, no two of them
    share
    an element, and plain assignment does; otherwise equal positions add up.
    """
    planes, size = prod(result.shape[:-dims]), prod(result.shape[-dims:])
    shape = planes, prod(grad_output.shape[-dims:])
    g, positions = wide(grad_output).reshape(shape), snapshot(indices).reshape(shape)
    # (planes, windows); an index is outside where all of a window lies in the padding
    inside = (positions >= 0) & (positions < size)
    # positions in all planes, one behind the other
    positions = positions + (np.arange(planes) * size)[:, None]
    if not inside.all():
        g, positions = g[inside], positions[inside]
    dx = np.zeros(planes * size, g.dtype)
    if disjoint:
        dx[positions.reshape(-1)] = g.reshape(-1)
    else:
        np.add.at(dx, positions.reshape(-1), g.reshape(-1))
    return fill(result, dx.reshape(result.shape))


def check_pool_gradient(
    grad_output: Tensor, self: Tensor, size: Sequence[int], indices: Tensor | None = None
) -> None:
    """Raises RuntimeError unless `grad_output`, and `indices` if given, have the sizes that pooling
    `self` to images of `size` gives, and their dtypes fit.
    """
    check_same_dtype(self, grad_output)
    result_sizes = [*self.shape[: -len(size)], *size]
    check_grad_output(grad_output, result_sizes)
    if indices is not None:
        check_grad_output(indices, result_sizes)  # they have the sizes of the result, too
        check_is(dt.int64, indices)


def check_adaptive_gradient(
    name: str, dims: int, grad_output: Tensor, self: Tensor, what: str
) -> None:
    """Raises RuntimeError unless `grad_output` may be that of an adaptive pooling of `self`,
    NotImplementedError unless the dtype is a floating one.
    """
    check_nonempty(name, grad_output, grad_output.dim() - 1, "grad_output")
    if self.dim() not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"{name}(): Expected {dims + 1}D or {dims + 2}D tensor, but got {list(self.shape)}"
        )
    if grad_output.dim() != self.dim():
        raise RuntimeError(
            f"{name}_out_cpu_template: Expected dimensions {self.dim()} for `{what}` but got "
            f"dimensions {grad_output.dim()}"
        )
    if grad_output.dtype is not self.dtype:
        raise RuntimeError(
            f"expected dtype {SCALAR_TYPE_NAME[self.dtype]} for `grad_output` but got dtype "
            f"{SCALAR_TYPE_NAME[grad_output.dtype]}"
        )
    check_planes(name, dims, grad_output, self)
    check_dtype(name, self.dtype, dt.FLOATING)


def check_planes(name: str, dims: int, grad_output: Tensor, self: Tensor) -> None:
    """Raises RuntimeError unless there is a plane of gradients for each plane of the image: PyTorch
    does not check it.
    """
    if self.dim() not in (dims + 1, dims + 2) or grad_output.shape[:-dims] != self.shape[:-dims]:
        expected = [*self.shape[:-dims], *grad_output.shape[-dims:]]
        raise RuntimeError(
            f"{name}(): expected grad_output to have sizes {expected}, but got "
            f"{list(grad_output.shape)}"
        )


def _spread(g: Array, axis: int, n: int, kernel: int, stride: int, padding: int) -> Any:
    """`axis` of `g` resized to `n`: element i is added to the `kernel` positions that start at
    i * stride - padding, as far as they are in 0 .. n - 1.
    """
    m = g.shape[axis]
    reach = max(n + 2 * padding, (m - 1) * stride + kernel)
    dx = np.zeros((*g.shape[:axis], reach, *g.shape[axis:][1:]), g.dtype)
    target, source = np.moveaxis(dx, axis, 0), np.moveaxis(g, axis, 0)
    for offset in range(kernel):  # the elements at one offset of all windows: one strided slice
        target[offset : offset + (m - 1) * stride + 1 : stride] += source
    return np.moveaxis(target[padding : padding + n], 0, axis)


def _agree(grad_output: Tensor, self: Tensor) -> bool:
    """Whether there is a plane of gradients for each plane of the image, of one dtype: machine code
    does not check it.
    """
    return grad_output.dtype is self.dtype and grad_output.shape[:-2] == self.shape[:-2]
