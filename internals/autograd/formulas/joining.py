"""Gradients of operators that join tensors or move their elements
(`torch/csrc/autograd/FunctionsManual.cpp`).

For `cat` and `stack`, the gradient of an input is its part of the whole gradient, a view. For
`repeat` it is the sum over all copies. For `roll` the gradient is rolled back.

How the real one differs: `stack` selects its parts one by one, here one `unbind` gives them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals._generated import ops
from internals.core.tensor_impl import Tensor


def cat_tensors_backward(grad: Tensor, sizes: Sequence[Sequence[int]], dim: int) -> list[Any]:
    """The slices of `grad` along `dim`, one for each input; `sizes` has the shapes of the inputs.

    `cat` skips inputs of shape (0,), whatever the number of dimensions of the others; so does this.
    """
    gradients, start = [], 0
    for shape in sizes:
        if len(shape) == 1 and shape[0] == 0:
            gradients.append(grad.new_zeros((0,)))
            continue
        end = start + shape[dim]
        gradients.append(ops.slice_Tensor(grad, dim, start, end, 1))
        start = end
    return gradients


def stack_tensors_backward(grad: Tensor, dim: int) -> list[Any]:
    """The parts of `grad` along `dim`, which is gone from them."""
    return list(ops.unbind_int(grad, dim))


def repeat_backward(grad: Tensor, repeats: Sequence[int], sizes: Sequence[int]) -> Any:
    """The sum over all copies: each dimension of size r * n is split into (r, n), and the sum goes
    over all r, and over the leading dimensions that the input does not have.
    """
    if 0 in repeats:
        return grad.new_zeros(sizes)
    new = len(repeats) - len(sizes)
    split: list[int] = list(grad.shape[:new])
    copies = list(range(new))  # the dimensions of `split` to be summed
    for r, n in zip(repeats[new:], sizes):
        if r != 1:
            copies.append(len(split))
            split.append(r)
        split.append(n)
    return grad.reshape(split).sum(copies) if copies else grad


def roll_backward(grad: Tensor, shifts: Sequence[int], dims: Sequence[int]) -> Any:
    """`grad`, rolled by the opposite shifts, the last one first."""
    return grad.roll([-s for s in reversed(shifts)], list(reversed(dims)))
