"""Views between complex and real: `view_as_real`, `x.real`, `view_as_complex` and views of those,
when memory is written to (`view_fn` in `torch/csrc/autograd/variable.h`).

A view that was made by strides alone can be made again by strides: so `CopySlices` cuts its part
out of the gradient of the base, and so it finds its history when the base was written to. Strides
cannot turn complex numbers into real ones. But in memory a complex number is a pair of real
numbers, and among the real numbers strides can select any view, complex or real.

How the real one differs: a view that strides cannot describe carries a function that makes it again
from its base.
"""

from __future__ import annotations

from typing import Any

from internals._generated import ops
from internals.core.dtype import dtype
from internals.core.geometry import Geometry
from internals.core.grad_mode import set_grad_mode
from internals.core.tensor_impl import Tensor

from .node import Edge


def share_parts(a: dtype, b: dtype) -> bool:
    """Whether a tensor of one dtype can be viewed as the other: the same, or complex and its real
    part's dtype.
    """
    return a is b or a.to_real() is b.to_real()


def numbers(t: Tensor) -> Any:
    """The real numbers of `t`: `t` itself, or (..., 2) for a complex tensor of shape (...)."""
    return ops.view_as_real(t) if t.is_complex() else t


def of_kind(pairs: Tensor, kind: dtype) -> Any:
    """The inverse of `numbers`: real numbers, or (..., 2) pairs, as a tensor of dtype `kind`."""
    return ops.view_as_complex(pairs) if kind.is_complex else pairs


def part(base: Tensor, base_offset: int, view: Geometry, view_offset: int) -> Any:
    """The real numbers of a view of `base`, (..., 2) if the view is complex.

    Offsets are from the beginning of the storage, each in elements of its own dtype; `base_offset`
    is the one that `base` had. `base` may be a copy with an offset of 0, such as its gradient.
    """
    sizes: tuple[int, ...] = view.sizes
    strides, offset = view.strides, view_offset
    if view.dtype.is_complex:
        # from complex numbers to real ones: twice as many, and the two parts side by side
        sizes, strides, offset = (*sizes, 2), (*[2 * s for s in strides], 1), 2 * offset
    start = 2 * base_offset if base.is_complex() else base_offset
    return ops.as_strided(numbers(base), sizes, strides, offset - start)


def edge_through(base: Tensor, view: Tensor) -> Edge:
    """The edge from `view` back to `base`, one of which is complex and the other real. The view is
    made once more with gradients recorded, and the edge is the history of that copy.
    """
    was = set_grad_mode(True)
    try:
        g = view._geometry
        # first to the other dtype, as a whole; then, by strides, to the part that the view shows
        remade = (
            ops.view_as_complex(base)
            if g.dtype.is_complex and _is_real_view(base)
            else numbers(base)
        )
        if g.dtype.is_complex and not remade.is_complex():
            remade = ops.view_as_complex(part(base, 0, g, view._offset))
        elif (remade.shape, remade.stride(), remade.storage_offset()) != (
            g.sizes,
            g.strides,
            view._offset,
        ):
            remade = ops.as_strided(remade, g.sizes, g.strides, view._offset)
        edge: Edge = remade._autograd_meta.edge
        return edge
    finally:
        set_grad_mode(was)


def _is_real_view(t: Tensor) -> bool:
    """Whether `view_as_complex` can take `t` as it is: (..., 2), with the two parts of each number
    side by side and pairs that begin at an even place.
    """
    even = not any(s % 2 for s in t.stride()[:-1]) and not t.storage_offset() % 2
    return t.shape[-1:] == (2,) and t.stride()[-1] == 1 and even
