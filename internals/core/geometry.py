"""A tensor's description of its bytes: sizes, strides, dtype, device, dispatch keys
(`c10/core/TensorImpl.h`).

A `Geometry` is immutable and *interned*: all tensors with the same sizes, strides, dtype, device
and keys share one object. So "same shape, same layout, same dtype, nothing special about either" is
a single identity test, and making an output "like its input" is a single assignment. The functions
below are the arithmetic of strides: which are contiguous, and when an old set of strides can
express a new shape (`view`).

Python's integers do not wrap around, those of kernels and allocators do. So every number of
elements, stride and span is checked here, once for each geometry, before an address is computed
with it.

How the real one differs: every `TensorImpl` carries its own sizes and strides (`SizesAndStrides`),
numel and contiguity flags, recomputed when they change; nothing is shared between tensors. Its
checks are where a storage is made or set (`aten/src/ATen/EmptyTensor.cpp`), in arithmetic that
reports an overflow.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from . import dtype as dt
from .allocator import LARGEST
from .cpu_allocator import Block, caching_allocator
from .device import CPU, device
from .dispatch_key import (
    ADINPLACEORVIEW,
    INFERENCE,
    RECORDS,
    DispatchKey,
    autograd_key,
    backend_key,
)
from .dtype import COMPLEX, FLOATING, dtype, float16
from .size import Size


class Geometry:
    """Sizes, strides (in elements), dtype, device and dispatch keys, with what follows from them.

    - `numel`: the number of elements. `stored`: how many of them the CPU can reach, all or none.
    - `span`: how many elements lie from the first to the last, gaps included.
    - `nbytes`: the bytes of a contiguous copy.
    - `plain`: a contiguous CPU tensor with at least one element, of which nothing is recorded.
    - `fast`: plain, and of a floating or complex dtype: the case that the fast lane is for.
    - `takes_floats`: the fast lane can compute with a Python float beside such a tensor.
    - `free_list`: the allocator's free list that serves plain tensors.
    - `like`: dtype → the contiguous geometry with the same sizes (see the function `like`).
    - `without_grad`: the same without the bit `RECORDS`; a kernel gives it to its result.
    - `with_grad`: the same with that bit, or None until `requiring_grad` is called.
    - `fast_recorded`: `fast` but for that bit.
    - `alone`: the tuple of this geometry only, which a node with one output keeps as its metadata.
    """

    __slots__ = ("sizes", "strides", "dtype", "device", "keys", "numel", "stored", "span", "nbytes",
                 "is_contiguous", "plain", "fast", "takes_floats", "free_list", "like",
                 "without_grad", "with_grad",
                 "fast_recorded", "alone")  # fmt: skip

    sizes: Size
    strides: tuple[int, ...]
    dtype: dtype
    device: device
    keys: int
    numel: int
    stored: int
    span: int
    nbytes: int
    is_contiguous: bool
    plain: bool
    fast: bool
    takes_floats: bool
    free_list: list[Block]
    like: dict[dt.dtype, Geometry]
    without_grad: Geometry
    with_grad: Geometry | None
    fast_recorded: bool
    alone: tuple[Geometry]

    def __repr__(self) -> str:
        sizes, strides = list(self.sizes), list(self.strides)
        return (
            f"Geometry(sizes={sizes}, strides={strides}, dtype={self.dtype.name}, "
            f"device='{self.device}')"
        )


_interned: dict[tuple[Any, ...], Geometry] = {}
_contiguous: dict[tuple[Any, ...], Geometry] = {}
INTERN_LIMIT = 1 << 14


def geometry(
    sizes: Sequence[int],
    strides: Sequence[int],
    dtype: dtype,
    device: device = CPU,
    keys: int | None = None,
) -> Geometry:
    """The one `Geometry` with these properties. `keys` defaults to the backend's keys.

    Raises RuntimeError for negative sizes and strides, and when a number that follows from them
    does not fit into an int64.
    """
    if keys is None:
        keys = default_keys(device)
    key = (sizes := tuple(sizes), strides := tuple(strides), dtype, device, keys)
    found = _interned.get(key)
    if found is None:
        if len(_interned) >= INTERN_LIMIT:
            # Two equal geometries may now be different objects. That costs time, never correctness:
            # identity is only a short cut.
            _interned.clear()
            _contiguous.clear()
        made = _make(sizes, strides, dtype, device, keys)
        found = _interned.setdefault(key, made)  # another thread may have been quicker
    return found


def contiguous_geometry(sizes: Sequence[int], dtype: dtype, device: device = CPU) -> Geometry:
    """The geometry of a fresh row-major tensor. Raises RuntimeError when it has more bytes than fit
    into an int64.
    """
    key = (sizes := tuple(sizes), dtype, device)
    found = _contiguous.get(key)
    if found is None:
        if prod(sizes) * dtype.itemsize > LARGEST:
            raise RuntimeError(f"Storage size calculation overflowed with sizes={list(sizes)}")
        found = _contiguous[key] = geometry(sizes, contiguous_strides(sizes), dtype, device)
    return found


def like(g: Geometry, dtype: dtype) -> Geometry:
    """The contiguous geometry with the sizes and device of `g` and another dtype."""
    found = g.like.get(dtype)
    if found is None:
        found = g.like[dtype] = contiguous_geometry(g.sizes, dtype, g.device)
    return found


def with_keys(g: Geometry, keys: int) -> Geometry:
    """The same geometry with other dispatch keys."""
    return geometry(g.sizes, g.strides, g.dtype, g.device, keys)


def requiring_grad(g: Geometry) -> Geometry:
    """The same geometry on a tensor that requires a gradient."""
    found = g.with_grad
    if found is None:
        found = g.with_grad = with_keys(g, g.keys | RECORDS)
    return found


AUTOCAST = {
    DispatchKey.CPU: 1 << DispatchKey.AutocastCPU,
    DispatchKey.CUDA: 1 << DispatchKey.AutocastCUDA,
}


def default_keys(device: device) -> int:
    """The bits of a fresh tensor's keys: its backend, the two layers of autograd, and Autocast,
    which there is for the CPU and CUDA only.
    """
    backend = backend_key(device.type)
    return 1 << backend | ADINPLACEORVIEW | 1 << autograd_key(backend) | AUTOCAST.get(backend, 0)


def contiguous_strides(sizes: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides: the last is 1, each earlier one the next times the next size (sizes of 0
    count as 1).

    `contiguous_strides((2, 3, 4))` is `(12, 4, 1)`.
    """
    strides, step = [0] * len(sizes), 1
    for d in range(len(sizes) - 1, -1, -1):
        strides[d] = step
        step *= max(sizes[d], 1)
    return tuple(strides)


def channels_last_strides(sizes: Sequence[int]) -> tuple[int, ...]:
    """The strides of (N, C, H, W) or (N, C, D, H, W) sizes stored with the channel innermost.

    `channels_last_strides((2, 3, 4, 5))` is `(60, 1, 15, 3)`.
    """
    order = [0, *range(2, len(sizes)), 1]
    packed = contiguous_strides([sizes[d] for d in order])
    strides = [0] * len(sizes)
    for d, s in zip(order, packed):
        strides[d] = s
    return tuple(strides)


def numel_of(sizes: Sequence[int]) -> int:
    """The number of elements. Raises RuntimeError when a size is negative, or when the product of
    the sizes other than 0 does not fit into an int64.
    """
    if prod(n or 1 for n in sizes) > LARGEST or min(sizes, default=0) < 0:
        raise RuntimeError("numel: integer multiplication overflow")
    return prod(sizes)


def span_of(sizes: Sequence[int], strides: Sequence[int]) -> int:
    """How many elements of the storage lie from the first to the last, both included, gaps too; 0
    for a tensor without elements.

    `span_of((2, 3), (4, 1))` is 7: the last element is `1 * 4 + 2 * 1` after the first.
    """
    return 0 if 0 in sizes else 1 + sum((n - 1) * s for n, s in zip(sizes, strides))


def bytes_spanned(g: Geometry, storage_offset: int = 0) -> int:
    """How many bytes a storage needs for a tensor of geometry `g` at this offset. Raises
    RuntimeError when they do not fit into an int64.
    """
    needed = (storage_offset + g.span) * g.dtype.itemsize if g.span else 0
    if needed > LARGEST:
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(g.sizes)} and "
            f"strides={list(g.strides)}"
        )
    return needed


def is_contiguous(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether walking the indices in order walks the memory in order. Dimensions of size 1 may have
    any stride.
    """
    step = 1  # the stride that the next dimension, from the right, has to have
    for size, stride in zip(reversed(sizes), reversed(strides)):
        if size == 0:
            return True
        if size != 1:
            if stride != step:
                return 0 in sizes  # a size of 0 further left: there are no elements to walk
            step *= size
    return True


def is_channels_last_contiguous(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """Contiguity in the order N, H, W, C (or N, D, H, W, C)."""
    order = [0, *range(2, len(sizes)), 1]
    return is_contiguous([sizes[d] for d in order], [strides[d] for d in order])


def is_channels_last_strides(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether the strides *suggest* the order N, H, W, C. Gaps are allowed; where NCHW fits as
    well, the answer is no.

    It decides the memory format of a result (`is_channels_last_strides_2d_s4` in
    `c10/core/MemoryFormat.h`).
    """
    if len(sizes) not in (4, 5) or strides[1] == 0:
        return False
    least = 0  # the smallest stride the next dimension may have without overlapping the last one
    # from the innermost dimension outwards: C, W, H, (D,) N
    for d in (1, *range(len(sizes) - 1, 1, -1), 0):
        # At N, `least` is still C's stride if C, H and W are 1: then the strides say nothing.
        if sizes[d] == 0 or strides[d] < least or (d == 0 and least == strides[1]):
            return False
        least = strides[d] * max(sizes[d], 1)
    return True


def view_strides(
    sizes: Sequence[int], strides: Sequence[int], new: Sequence[int]
) -> tuple[int, ...] | None:
    """The strides that let `new` sizes see the same elements in the same order, or None if no
    strides can.

    The old dimensions are gathered, from the right, into chunks that could be merged into one
    dimension; the new dimensions have to fill each chunk exactly (`computeStride` in
    `aten/src/ATen/TensorUtils.cpp`). Both sizes have the same product.

    `view_strides((2, 3, 4), (24, 4, 1), (2, 12))` is `(24, 1)`: the chunks are 2 and 3 * 4.
    """
    if not sizes:
        return (1,) * len(new)  # one element: all new sizes are 1
    if 0 in sizes:
        return tuple(strides) if tuple(sizes) == tuple(new) else contiguous_strides(new)
    result = [0] * len(new)
    view_d = len(new) - 1
    # the stride and the size of the current chunk, and how much of it new dimensions have filled
    base, chunk, filled = strides[-1], 1, 1
    for d in range(len(sizes) - 1, -1, -1):
        chunk *= sizes[d]
        # the chunk ends where the next dimension to the left does not step over just this chunk
        if d == 0 or (sizes[d - 1] != 1 and strides[d - 1] != chunk * base):
            while view_d >= 0 and (filled < chunk or new[view_d] == 1):
                result[view_d] = filled * base
                filled *= new[view_d]
                view_d -= 1
            if filled != chunk:
                return None  # a new dimension would reach across two chunks
            if d > 0:
                base, chunk, filled = strides[d - 1], 1, 1
    return tuple(result) if view_d == -1 else None


def infer_size(shape: Sequence[int], numel: int) -> tuple[int, ...]:
    """`shape` with its -1, if it has one, replaced so that it holds `numel` elements. Raises
    RuntimeError when no number fits, or any does.
    """
    shape = tuple(shape)
    for i, s in enumerate(shape):
        if s < -1:
            raise RuntimeError(f"invalid shape dimension {s} at index {i} of shape {list(shape)}")
    if shape.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    known = prod(s for s in shape if s != -1)
    if -1 in shape:
        if known == 0 and numel == 0:
            raise RuntimeError(
                f"cannot reshape tensor of 0 elements into shape {list(shape)} because the "
                "unspecified dimension size -1 can be any value and is ambiguous"
            )
        if known and numel % known == 0:
            return tuple(numel // known if s == -1 else s for s in shape)
    elif known == numel:
        return shape  # no -1: the sizes have to fit as they are
    raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")


def wrap_dim(dim: int, ndim: int) -> int:
    """A possibly negative dimension as one from 0 to ndim-1 (a 0-d tensor counts as 1-d). Raises
    IndexError for one out of range.
    """
    n = max(ndim, 1)
    if not -n <= dim < n:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})"
        )
    return dim + n if dim < 0 else dim


def wrap_dims(dims: Sequence[int] | int | None, ndim: int) -> tuple[int, ...]:
    """A reduction's `dim` argument as a tuple of dimensions; None and () mean all. Raises
    RuntimeError for repeats.
    """
    if dims is None:
        return tuple(range(ndim))
    if isinstance(dims, int):
        return (wrap_dim(dims, ndim),)
    wrapped = tuple(wrap_dim(d, ndim) for d in dims) or tuple(range(ndim))
    for d in wrapped:
        if wrapped.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return wrapped


def _make(
    sizes: tuple[int, ...], strides: tuple[int, ...], dtype: dtype, device: device, keys: int
) -> Geometry:
    """A new `Geometry`, with all that follows from these five; raises what `geometry` raises."""
    g = object.__new__(Geometry)
    g.sizes, g.strides, g.dtype, g.device, g.keys = Size(sizes), strides, dtype, device, keys
    if max(strides, default=0) > LARGEST:
        raise RuntimeError(
            f"Stride calculation overflowed: {list(strides)}, for sizes={list(sizes)}"
        )
    g.numel = numel_of(sizes)
    g.stored = g.numel if device is CPU else 0
    if min(strides, default=0) < 0:
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(sizes)} and "
            f"strides={list(strides)}"
        )
    if not g.numel and prod(n or 1 for n in sizes) * dtype.itemsize > LARGEST:
        # numpy multiplies the sizes other than 0 too, and refuses such an empty array
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(sizes)}")
    g.span = span_of(sizes, strides)
    g.nbytes = g.numel * dtype.itemsize
    g.is_contiguous = is_contiguous(sizes, strides)
    # The fast lane gives a result the geometry of its input; PyTorch's results have no unusual
    # strides in dimensions of size 1.
    usual = g.is_contiguous and strides == contiguous_strides(sizes)
    g.plain = usual and device is CPU and 0 < g.nbytes <= LARGEST and keys == default_keys(CPU)
    g.fast = g.plain and dtype.category >= FLOATING
    # beside half, kernels compute with a number in single precision
    g.takes_floats = dtype.category != COMPLEX and dtype is not float16
    g.free_list = caching_allocator.free_list(g.nbytes) if g.plain else []
    g.like = {}
    g.alone = (g,)
    if keys & RECORDS:  # requires a gradient: the geometry without is made with it
        g.without_grad, g.with_grad = with_keys(g, keys & ~RECORDS), g
        g.fast_recorded = g.without_grad.fast and keys & INFERENCE == 0
    else:
        g.without_grad, g.with_grad, g.fast_recorded = g, None, False
    return g
