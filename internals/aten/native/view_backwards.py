"""The gradients of views that show a part of a tensor (`aten/src/ATen/native/TensorShape.cpp`:
`select_backward`, ...).

Elements that a view does not show do not influence it: their gradient is zero. So each function
here fills a tensor of the *input's* shape with zeros, takes the same view of it, and writes the
gradient there. The windows of `unfold` overlap: there the gradients are added.

Each function is the adjoint of a view, so its own derivative is that view again (see
`derivatives/`).

How the real one differs: it composes them of `zeros` and `copy_`; here each is one operator, which
saves dispatching.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals._generated import ops
from internals.aten.on_device import on_device
from internals.core.device import CPU
from internals.core.tensor_impl import Tensor, array, empty_contiguous

from . import views
from .gradient_checks import check_sizes


def select_backward(grad_output: Tensor, input_sizes: Sequence[int], dim: int, index: int) -> Any:
    """Zeros of `input_sizes` with the gradient at position `index` of `dim`."""
    result = _zeros(grad_output, input_sizes)
    _write(views.select(result, dim, index), grad_output)
    return result


def slice_backward(
    grad_output: Tensor, input_sizes: Sequence[int], dim: int, start: int, end: int, step: int
) -> Any:
    """Zeros of `input_sizes` with the gradient at every `step`-th position of `dim` from `start` up
    to `end`.
    """
    result = _zeros(grad_output, input_sizes)
    _write(views.slice(result, dim, start, end, step), grad_output)
    return result


def diagonal_backward(
    grad_output: Tensor, input_sizes: Sequence[int], offset: int, dim1: int, dim2: int
) -> Any:
    """Zeros of `input_sizes` with the gradient on a diagonal of `dim1` and `dim2`."""
    result = _zeros(grad_output, input_sizes)
    _write(views.diagonal(result, offset, dim1, dim2), grad_output)
    return result


def unfold_backward(
    grad_in: Tensor, input_sizes: Sequence[int], dim: int, size: int, step: int
) -> Any:
    """Zeros of `input_sizes` with the gradients of all windows added at the positions that the
    windows show.

    The i-th elements of all windows lie `step` apart: they never overlap, so one addition does for
    all of them.
    """
    result = _zeros(grad_in, input_sizes)
    view = views.unfold(result, dim, size, step)
    check_sizes("unfold_backward", "grad_in", grad_in, view.shape)
    if grad_in.device is not CPU:
        return on_device("moving.unfold_backward", result, grad_in, dim, size, step)
    windows = array(view)
    grads = array(grad_in)
    for i in range(size):  # the view is (..., windows, ..., size)
        windows[..., i] += grads[..., i]
    return result


def _zeros(like: Tensor, sizes: Sequence[int]) -> Any:
    """A contiguous tensor of zeros with the dtype and device of `like`."""
    result = empty_contiguous(sizes, like.dtype, like.device)
    if like.device is not CPU:
        return ops.zero_(result)
    array(result).fill(0)
    return result


def _write(view: Tensor, grad: Tensor) -> None:
    """Copy `grad` into a view; `copy_` broadcasts and handles other devices."""
    if view.device is CPU and view.shape == grad.shape:
        array(view)[...] = array(grad)
    else:
        ops.copy_(view, grad, False)
