"""Views that copy: `select_copy`, `diagonal_copy`, ...
(`CompositeViewCopyKernels.cpp`, which is generated).

Every view operator has such a twin, which returns the same values in contiguous memory of their
own, for programs in which no two tensors may share memory. They are generated here, too:
`autogen: select_copy.int` below a view in native_functions makes an operator of the view's kernel
and `copied`. A twin has the derivative of its view, under a name of its own: SelectBackward0_copy.

How the real one differs: `split_copy`, `unbind_copy` and their kind also have an out=, a list of
tensors. `torch.detach_copy(x)` of an x that requires a gradient has a `grad_fn` there, a
`NotImplemented` node, so a backward pass through it fails; here it is cut off from autograd, as
`detach(x)` is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals._generated import ops
from internals.aten.adinplaceorview import write_uncounted
from internals.core.formats import contiguous_format
from internals.core.geometry import infer_size, view_strides
from internals.core.tensor_impl import Tensor, TensorImpl

from .views import slice, view


def copied(views: Any) -> Any:
    """The elements of a view in contiguous memory of their own; for several views, a tuple of
    copies.
    """
    if isinstance(views, TensorImpl):
        return write_uncounted(ops.clone_op, views, contiguous_format)
    return tuple(write_uncounted(ops.clone_op, v, contiguous_format) for v in views)


def viewed(self: Tensor, size: Sequence[int]) -> Any:
    """The kernel of `view` as `view_copy` calls it: the view, or where the strides do
    not allow it, `view` of a contiguous copy. Raises RuntimeError unless the product of the sizes
    is the number of elements.
    """
    if view_strides(self.shape, self.stride(), infer_size(size, self.numel())) is None:
        self = copied(self)
    return view(self, size)


def narrow_copy(self: Tensor, dim: int, start: int, length: int) -> Any:
    """A copy of the view that `narrow` returns. Raises RuntimeError or IndexError as that does."""
    if not self.dim():
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    n = self.size(dim)
    if not -n <= start <= n:
        raise IndexError(
            f"start out of range (expected to be in range of [{-n}, {n}], but got {start})"
        )
    first = start + n if start < 0 else start
    if length < 0 or first + length > n:
        raise RuntimeError(f"start ({first}) + length ({length}) exceeds dimension size ({n}).")
    return copied(slice(self, dim, first, first + length))
