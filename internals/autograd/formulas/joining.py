"""Gradients of what puts tensors together or moves their elements
(`torch/csrc/autograd/FunctionsManual.cpp`).

`cat` and `stack` get the gradient of the whole and give each input its part, a view. `repeat` gets
a gradient for every copy and adds them up. `roll` rolls back.

How the real one differs: `stack` selects its parts one by one, here one `unbind` gives them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from internals._generated import ops

if TYPE_CHECKING:
    from internals._tensor import Tensor


def cat_tensors_backward(grad: Tensor, sizes: Sequence[Sequence[int]], dim: int) -> list[Any]:
    """The slices of `grad` along `dim`. A 1-d input without elements was skipped, whatever the
    others looked like.
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
    return list(ops.unbind_int(grad, dim))


def repeat_backward(grad: Tensor, repeats: Sequence[int], sizes: Sequence[int]) -> Any:
    """Every dimension of size r·n is split into r copies of n; the copies are added, and so are
    dimensions that are new.
    """
    if 0 in repeats:
        return grad.new_zeros(sizes)
    new = len(repeats) - len(sizes)
    split: list[int] = list(grad.shape[:new])
    copies = list(range(new))
    for r, n in zip(repeats[new:], sizes):
        if r != 1:
            copies.append(len(split))
            split.append(r)
        split.append(n)
    return grad.reshape(split).sum(copies) if copies else grad


def roll_backward(grad: Tensor, shifts: Sequence[int], dims: Sequence[int]) -> Any:
    return grad.roll([-s for s in reversed(shifts)], list(reversed(dims)))
