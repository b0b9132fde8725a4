"""Rearranging elements: flip, roll, repeat, tril and triu, the gradient of `unfold`
(`aten/src/ATen/native/cuda/TensorTransformations.cu`, `TriangularOps.cu`,
`UnfoldBackwardKernel.cu`).

How the real one differs: `tril` and `triu` have an in-place form that touches only what becomes
zero.
"""

from __future__ import annotations

from collections.abc import Sequence

from internals.core.formats import contiguous_format
from internals.core.geometry import contiguous_strides, wrap_dim
from internals.core.tensor_impl import Tensor, alias

from ..device_array import flat
from ..fallback import NoKernel
from ..kernels import moving as kernels
from ..launch import launch_1d
from .copy import clone, copy_
from .opmath import opmath_type


def flip(out: Tensor, self: Tensor, dims: Sequence[int]) -> None:
    """out = `self` with the order of the elements reversed along `dims`."""
    g = self._geometry
    if not g.sizes:
        copy_(out, self)
        return
    # begin at the last element along `dims`, and go backwards by negative strides
    backwards = tuple(-s if d in dims else s for d, s in enumerate(g.strides))
    start, n = sum((g.sizes[d] - 1) * g.strides[d] for d in dims), g.numel
    launch_1d(
        kernels.copy_from,
        n,
        flat(out),
        flat(self),
        n,
        tuple(g.sizes),
        tuple(out.stride()),
        backwards,
        start,
    )


def roll(out: Tensor, self: Tensor, shifts: Sequence[int], dims: Sequence[int]) -> None:
    """out = `self` with its elements moved on by `shifts` along `dims`, from the end back to the
    start.
    """
    source, n = self, out.numel()
    sizes, strides = tuple(self.shape), tuple(self.stride())
    if not dims:  # the elements in index order, as one dimension
        source = self if self.is_contiguous() else clone(self, contiguous_format)
        sizes, strides, dims = (n,), (1,), (0,)
    by_dim = [0] * len(sizes)
    for d, shift in zip(dims, shifts):  # the same dimension may be named more than once
        by_dim[d] += shift
    # Python's remainder is not negative: a shift back is one forward
    positive = tuple(shift % size for shift, size in zip(by_dim, sizes))
    launch_1d(kernels.roll, n, flat(out), flat(source), n, sizes, strides, positive)


def repeat(out: Tensor, self: Tensor, padded: Sequence[int], repeats: Sequence[int]) -> None:
    """Writes `self` `repeats` times along each dimension. `padded` is its shape with ones in front,
    so that there is one size for each repeat.

    Each dimension of the result is seen as two, (repeat, size): then the source is `self` expanded,
    with stride 0 along the repeats.
    """
    split = [x for n, r in zip(padded, repeats) for x in (r, n)]
    own = (0,) * (len(repeats) - self.dim()) + tuple(self.stride())
    twice = [x for s in own for x in (0, s)]
    copy_(
        alias(out, split, contiguous_strides(split), 0),
        alias(self, split, twice, self.storage_offset()),
    )


def triangle(out: Tensor, self: Tensor, diagonal: int, lower: bool) -> None:
    """`tril` (if `lower`) or `triu`."""
    n = out.numel()
    kernel = kernels.triangle.bind(T=self.dtype.np.type)
    strides = (tuple(out.stride()), tuple(self.stride()))
    launch_1d(kernel, n, flat(out), flat(self), n, tuple(self.shape), *strides, diagonal, lower)


def unfold_backward(result: Tensor, grad_in: Tensor, dim: int, size: int, step: int) -> None:
    """The gradient of `unfold`: each window's gradient is added where the window was read.
    `grad_in` has the shape of the windows, (..., windows, ..., size), with `windows` at `dim`.
    """
    if grad_in.is_complex():
        raise NoKernel
    n = result.numel()
    d = wrap_dim(dim, result.dim())
    *strides, within = grad_in.stride()
    windows = grad_in.shape[d] if strides else 1
    along = strides[d] if strides else 0
    kernel = kernels.unfold_backward.bind(T=opmath_type(grad_in.dtype))
    sizes, strides_ = tuple(result.shape) or (1,), tuple(strides) or (0,)
    step = min(step, sizes[d])  # a larger one means a single window, as this one does
    launch_1d(
        kernel,
        n,
        flat(result),
        flat(grad_in),
        n,
        sizes,
        strides_,
        d,
        windows,
        size,
        step,
        along,
        within,
    )
