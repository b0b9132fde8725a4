"""Indexing along one dimension: `gather`, `scatter`, `index_select`, `index_add` (`native/cuda/ScatterGatherKernel.cu`).

`index_select` and `index_add` are the same kernels as `gather` and `scatter_add`: their index has one element for a whole slice,
so that its stride is 0 in all other dimensions. Shapes and dtypes are checked by the functions of the CPU. Indices are not: they
lie on the device, and the kernel itself finds out that one is out of range.

Where an index occurs twice, it is left to chance which element `scatter` leaves there, and in which order floats add up.

How the real one differs: `index_add` and `index_put_` with `accumulate` sort indices when deterministic results are asked for.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from internals._generated import ops
from internals.aten.native.scatter_gather import (
    REDUCE_WARNING,
    check_gather,
    check_index_add,
    check_index_select,
    check_scatter,
    sizes_of,
)
from internals.aten.native.views import expand
from internals.aten.set_output import set_output
from internals.core import dtype as dt
from internals.core.scalar import checked
from internals.core.tensor_impl import TensorImpl, empty_contiguous

from ..device_array import flat
from ..fallback import on_cpu
from ..kernels import gather as kernels
from ..launch import launch_1d
from .accumulating import add_atomically, compute_type


def gather(self: TensorImpl, dim: int, index: TensorImpl, sparse_grad: bool = False, out: Any = None) -> Any:
    """An element of `self` for every element of `index`, which says where along `dim` it stands. Has the shape of `index`."""
    d = check_gather(self, dim, index)
    out = set_output(index.shape, self.dtype, out, device=self.device)
    _gather(out, self, d, index, sizes_of(index), _strides(index))
    return out


def index_select(self: TensorImpl, dim: int, index: TensorImpl, out: Any = None) -> Any:
    """The slices of `self` at the positions `index` (0-d or 1-d) along `dim`."""
    d = check_index_select(self, dim, index, out)
    sizes = list(sizes_of(self))
    sizes[d] = index.numel()
    out = set_output(sizes if self.dim() else (), self.dtype, out, device=self.device)
    _gather(out, self, d, index, sizes, _only_along(d, sizes, _strides(index)[0]))
    return out


def scatter_src(self: TensorImpl, dim: int, index: TensorImpl, src: TensorImpl, out: Any = None) -> Any:
    """A copy of `self` where the elements of `src` are written to the positions `index` along `dim`."""
    return _scatter(self, dim, index, src, out)


def scatter_value(self: TensorImpl, dim: int, index: TensorImpl, value: Any, out: Any = None) -> Any:
    """A copy of `self` where a number is written to the positions `index` along `dim`."""
    return _scatter(self, dim, index, value, out)


def scatter_reduce(self: TensorImpl, dim: int, index: TensorImpl, src: TensorImpl, reduce: str, out: Any = None) -> Any:
    """`scatter` that adds to ("add") or multiplies ("multiply") what is there."""
    warnings.warn(REDUCE_WARNING, UserWarning, stacklevel=5)
    return _scatter(self, dim, index, src, out, reduce)


def scatter_value_reduce(
    self: TensorImpl, dim: int, index: TensorImpl, value: Any, reduce: str, out: Any = None
) -> Any:
    """`scatter` of a number that is added to or multiplied with what is there."""
    return _scatter(self, dim, index, value, out, reduce)


def scatter_add(self: TensorImpl, dim: int, index: TensorImpl, src: TensorImpl, out: Any = None) -> Any:
    """A copy of `self` where the elements of `src` are added at the positions `index` along `dim`; repeats add up."""
    return _scatter(self, dim, index, src, out, "add")


def index_add(
    self: TensorImpl, dim: int, index: TensorImpl, source: TensorImpl, alpha: Any = 1, out: Any = None
) -> Any:
    """A copy of `self` with `alpha` times the slices of `source` added at the positions `index` along `dim`."""
    d = check_index_add(self, dim, index, source)
    if self.is_complex():
        return on_cpu(ops.index_add_op, self, dim, index, source, alpha, out=out)
    target = _copy_of(self, out)
    sizes = sizes_of(source)
    factor = compute_type(self.dtype)(checked(alpha, self.dtype))
    _add(target, d, index, sizes, _only_along(d, sizes, _strides(index)[0]), source, factor)
    return target


def _scatter(self: TensorImpl, dim: int, index: TensorImpl, src: Any, out: Any, reduce: str = "") -> Any:
    d = check_scatter(self, dim, index, src, reduce)
    if reduce and self.is_complex():
        op = ops.scatter_reduce_op if isinstance(src, TensorImpl) else ops.scatter_value_reduce_op
        return on_cpu(op, self, dim, index, src, reduce, out=out)
    if not isinstance(src, TensorImpl):
        number = empty_contiguous((), self.dtype, self.device)
        src = expand(ops.fill__Scalar(number, src), index.shape)
    target = _copy_of(self, out)
    sizes, strides = sizes_of(index), _strides(index)
    if reduce == "add":
        _add(target, d, index, sizes, strides, src, compute_type(self.dtype)(1))
    elif reduce == "multiply":
        _multiply(target, d, index, src)
    elif index.numel():
        n = index.numel()
        along = (_without(d, target), _strides(src), strides, sizes_of(target)[d], _strides(target)[d])
        launch_1d(kernels.scatter, n, flat(target), flat(src), flat(index), n, tuple(sizes), *along)
    return target


def _gather(out: Any, source: Any, d: int, index: Any, sizes: Sequence[int], index_strides: tuple[int, ...]) -> None:
    n = out.numel()
    along = (_strides(out), _without(d, source), index_strides, sizes_of(source)[d], _strides(source)[d])
    launch_1d(kernels.gather, n, flat(out), flat(source), flat(index), n, tuple(sizes), *along)


def _add(
    target: Any, d: int, index: Any, sizes: Sequence[int], index_strides: tuple[int, ...], source: Any, factor: Any
) -> None:
    n = int(np.prod(sizes))
    if not n:
        return

    def add(wide: Any, T: Any) -> None:
        along = (_without(d, wide), _strides(source), index_strides, sizes_of(wide)[d], _strides(wide)[d])
        kernel = kernels.scatter_add.bind(T=T)
        launch_1d(kernel, n, flat(wide), flat(source), flat(index), n, tuple(sizes), *along, factor)

    add_atomically(target, add)


def _multiply(target: Any, d: int, index: Any, source: Any) -> None:
    sizes = list(sizes_of(index))
    length, sizes[d] = sizes[d], 1
    n = int(np.prod(sizes))
    if not length:
        return
    kernel = kernels.multiply_lines.bind(T=target.dtype.np.type, C=compute_type(target.dtype))
    strides = (_strides(target), _strides(source), _strides(index))
    steps = tuple(s[d] for s in strides)
    arrays = (flat(target), flat(source), flat(index))
    launch_1d(kernel, n, *arrays, n, tuple(sizes), *strides, sizes_of(target)[d], steps, length)


def _copy_of(self: Any, out: Any) -> Any:
    """A tensor to write into that holds the values of `self`: new, or `out`, which may be `self` itself."""
    target = set_output(self.shape, self.dtype, out, out is self, self.device)
    if target is not self and target.numel():
        ops.copy_(target, self, False)
    return target


def _strides(t: Any) -> tuple[int, ...]:
    return tuple(t.stride()) or (1,)


def _without(d: int, t: Any) -> tuple[int, ...]:
    """The strides of `t`, and 0 for dimension `d`, which the index goes along."""
    return tuple(0 if k == d else s for k, s in enumerate(_strides(t)))


def _only_along(d: int, sizes: Sequence[int], stride: int) -> tuple[int, ...]:
    """The strides of an index that is the same in all dimensions but `d`."""
    return tuple(stride if k == d else 0 for k in range(len(sizes)))


def instances() -> list[tuple[Any, tuple[Any, ...]]]:
    """Kernels as they are launched, with the types of their arguments, for `ptx.compile_all`."""
    two = (int, int)
    found: list[tuple[Any, tuple[Any, ...]]] = []
    for kind in dt.ALL:
        arrays = (f"{kind.name}[:]", f"{kind.name}[:]", "int64[:]")
        compute = compute_type(kind)
        found.append((kernels.gather, (*arrays, int, two, two, two, two, int, int)))
        found.append((kernels.scatter, (*arrays, int, two, two, two, two, int, int)))
        if kind.is_complex:
            continue
        multiply = kernels.multiply_lines.bind(T=kind.np.type, C=compute)
        found.append((multiply, (*arrays, int, two, two, two, two, int, (int, int, int), int)))
        wide = (f"{np.dtype(compute).name}[:]", *arrays[1:])
        found.append((kernels.scatter_add.bind(T=compute), (*wide, int, two, two, two, two, int, int, compute)))
    return found
