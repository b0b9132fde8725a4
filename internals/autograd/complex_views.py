"""Views between complex and real: `view_as_real`, `x.real`, `view_as_complex` and views of those,
when memory is written to (`view_fn` in `torch/csrc/autograd/variable.h`).

A view that was made by strides alone can be made again by strides: that is how the gradient of its
part is cut out of the gradient of the base (`CopySlices`), and how it finds its history when the
base was written to. Strides cannot turn complex numbers into real ones; but both are pairs of real
numbers in memory, and of those strides can pick any.

How the real one differs: a view that strides cannot describe carries a function that makes it again
from its base.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from internals._generated import ops
from internals.core.dtype import dtype
from internals.core.geometry import Geometry
from internals.core.grad_mode import set_grad_mode

from .node import Edge

if TYPE_CHECKING:
    from internals._tensor import Tensor


def are_kin(a: dtype, b: dtype) -> bool:
    """Whether one can be seen as the other: both are made of the same real numbers."""
    return a is b or a.to_real() is b.to_real()


def numbers(t: Tensor) -> Any:
    """The real numbers of `t`: itself, or the pairs of a complex tensor."""
    return ops.view_as_real(t) if t.is_complex() else t


def of_kind(pairs: Tensor, kind: dtype) -> Any:
    """`numbers` the other way round: real numbers as a tensor of dtype `kind`."""
    return ops.view_as_complex(pairs) if kind.is_complex else pairs


def part(base: Tensor, base_offset: int, view: Geometry, view_offset: int) -> Any:
    """The real numbers of a view of `base`. The offsets are those in the storage, `base_offset`
    where `base` begins now.
    """
    sizes: tuple[int, ...] = view.sizes
    strides, offset = view.strides, view_offset
    if view.dtype.is_complex:
        sizes, strides, offset = (*sizes, 2), (*[2 * s for s in strides], 1), 2 * offset
    start = 2 * base_offset if base.is_complex() else base_offset
    return ops.as_strided(numbers(base), sizes, strides, offset - start)


def edge_through(base: Tensor, view: Tensor) -> Edge:
    """The way from `view` back to `base`, a tensor of the other kind: recorded while the view is
    made once more.
    """
    was = set_grad_mode(True)
    try:
        g = view._geometry
        again = (
            ops.view_as_complex(base) if g.dtype.is_complex and _is_pairs(base) else numbers(base)
        )
        if g.dtype.is_complex and not again.is_complex():
            again = ops.view_as_complex(part(base, 0, g, view._offset))
        elif (again.shape, again.stride(), again.storage_offset()) != (
            g.sizes,
            g.strides,
            view._offset,
        ):
            again = ops.as_strided(again, g.sizes, g.strides, view._offset)
        edge: Edge = again._autograd_meta.edge
        return edge
    finally:
        set_grad_mode(was)


def _is_pairs(t: Tensor) -> bool:
    """Whether `view_as_complex` can take all of `t`."""
    even = not any(s % 2 for s in t.stride()[:-1]) and not t.storage_offset() % 2
    return t.shape[-1:] == (2,) and t.stride()[-1] == 1 and even
