"""Moving elements around: flip, roll, repeat, triangles, the gradient of `unfold` (`native/cuda/TensorTransformations.cu`, ...).

How the real one differs: `tril` and `triu` have a form in place that touches only what becomes zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from internals._generated import ops
from internals.aten.layout import strides_like
from internals.aten.native.shape import check_flip, check_roll, check_triangle, repeated_sizes
from internals.aten.set_output import set_output
from internals.core import dtype as dt
from internals.core.formats import contiguous_format
from internals.core.geometry import contiguous_strides, geometry, wrap_dim
from internals.core.tensor_impl import TensorImpl, alias, empty, empty_contiguous

from ..device_array import flat
from ..fallback import on_cpu
from ..kernels import moving as kernels
from ..launch import launch_1d
from .copy import clone, copy_
from .opmath import opmath_type


def flip(self: TensorImpl, dims: Sequence[int]) -> Any:
    """A copy with the order of some dimensions reversed. Raises RuntimeError for a repeated dimension."""
    wrapped = check_flip(self, dims)
    g = self._geometry
    out = empty(geometry(g.sizes, strides_like(self), g.dtype, g.device))
    if not g.sizes:
        return copy_(out, self)
    backwards = tuple(-s if d in wrapped else s for d, s in enumerate(g.strides))
    start = sum((g.sizes[d] - 1) * g.strides[d] for d in wrapped)
    n = g.numel
    launch_1d(kernels.copy_from, n, flat(out), flat(self), n, tuple(g.sizes), tuple(out.stride()), backwards, start)
    return out


def roll(self: TensorImpl, shifts: Sequence[int], dims: Sequence[int] = ()) -> Any:
    """A copy shifted along `dims`; what leaves at one end enters at the other. Without `dims` the flattened elements roll."""
    wrapped = check_roll(self, shifts, dims)
    out = empty_contiguous(self.shape, self.dtype, self.device)
    n = out.numel()
    if not n:
        return out
    source: Any = self
    sizes, strides = tuple(self.shape), tuple(self.stride())
    if not dims:  # the elements in index order, as one dimension
        source = self if self.is_contiguous() else clone(self, contiguous_format)
        sizes, strides, wrapped = (n,), (1,), (0,)
    by_dim = [0] * len(sizes)
    for d, shift in zip(wrapped, shifts):
        by_dim[d] += shift
    turned = tuple(shift % size for shift, size in zip(by_dim, sizes))
    launch_1d(kernels.roll, n, flat(out), flat(source), n, sizes, strides, turned)
    return out


def repeat(self: TensorImpl, repeats: Sequence[int]) -> Any:
    """Copies of the tensor side by side: the result, seen with two dimensions for each, gets `self` expanded."""
    padded, sizes = repeated_sizes(self, repeats)
    out = empty_contiguous(sizes, self.dtype, self.device)
    if out.numel():
        split = [x for n, r in zip(padded, repeats) for x in (r, n)]
        own = (0,) * (len(repeats) - self.dim()) + tuple(self.stride())
        twice = [x for s in own for x in (0, s)]
        copy_(alias(out, split, contiguous_strides(split), 0), alias(self, split, twice, self.storage_offset()))
    return out


def tril(self: TensorImpl, diagonal: int = 0, out: Any = None) -> Any:
    """The lower triangle of a matrix or a batch of them; zeros above the `diagonal`-th diagonal."""
    return _triangle("tril", True, self, diagonal, out)


def triu(self: TensorImpl, diagonal: int = 0, out: Any = None) -> Any:
    """The upper triangle of a matrix or a batch of them; zeros below the `diagonal`-th diagonal."""
    return _triangle("triu", False, self, diagonal, out)


def unfold_backward(grad_in: TensorImpl, input_sizes: Sequence[int], dim: int, size: int, step: int) -> Any:
    """The gradients of all windows, added at the places the windows showed."""
    if grad_in.is_complex():
        return on_cpu(ops.unfold_backward_op, grad_in, input_sizes, dim, size, step)
    result = empty_contiguous(input_sizes, grad_in.dtype, grad_in.device)
    n = result.numel()
    d = wrap_dim(dim, len(input_sizes))
    *strides, within = grad_in.stride()
    windows = grad_in.shape[d] if strides else 1
    along = strides[d] if strides else 0
    kernel = kernels.unfold_backward.bind(T=opmath_type(grad_in.dtype))
    sizes, strides_ = tuple(input_sizes) or (1,), tuple(strides) or (0,)
    step = min(step, sizes[d])  # for a single window, any that leads beyond
    launch_1d(kernel, n, flat(result), flat(grad_in), n, sizes, strides_, d, windows, size, step, along, within)
    return result


def _triangle(name: str, lower: bool, self: TensorImpl, diagonal: int, out: Any) -> Any:
    check_triangle(name, self)
    out = set_output(self.shape, self.dtype, out, out is self, self.device)
    n = out.numel()
    kernel = kernels.triangle.bind(T=self.dtype.np.type)
    strides = (tuple(out.stride()), tuple(self.stride()))
    launch_1d(kernel, n, flat(out), flat(self), n, tuple(self.shape), *strides, diagonal, lower)
    return out


def instances() -> list[tuple[Any, tuple[Any, ...]]]:
    """Kernels as they are launched, with the types of their arguments, for `ptx.compile_all`."""
    two = (int, int)
    found: list[tuple[Any, tuple[Any, ...]]] = []
    for kind in dt.ALL:
        array, number = f"{kind.name}[:]", kind.np.type
        found.append((kernels.copy_from, (array, array, int, two, two, two, int)))
        found.append((kernels.roll, (array, array, int, two, two, two)))
        found.append((kernels.triangle.bind(T=number), (array, array, int, two, two, two, int, bool)))
        if not kind.is_complex:
            kernel = kernels.unfold_backward.bind(T=opmath_type(kind))
            found.append((kernel, (array, array, int, two, two, *(int,) * 6)))
    return found
