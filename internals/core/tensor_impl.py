"""`TensorImpl`: a storage, an offset into it, and a geometry (`c10/core/TensorImpl.h`).

This is all a tensor is. The methods here answer questions about the geometry; everything that
computes is an operator and reaches the tensor through the dispatcher. CPU kernels work on
`array(t)`, a numpy header over the tensor's own memory, which is made once and kept.

The Python class users see (`internals.Tensor`) is registered here at start-up by the floor above,
and `make` builds its instances, so that this floor never imports upwards.

How the real one differs: a `TensorImpl` is a C++ object and the Python object a wrapper around it
(`THPVariable`); here they are one. It has no numpy header; its kernels take the raw pointer.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from . import dtype as dt
from .cpu_allocator import Block, caching_allocator
from .device import CPU, device
from .dispatch_key import ADINPLACEORVIEW, AUTOGRAD_MASK, INFERENCE, RECORDS
from .dtype import dtype
from .geometry import (
    Geometry,
    bytes_spanned,
    contiguous_geometry,
    geometry,
    is_channels_last_contiguous,
    requiring_grad,
    with_keys,
    wrap_dim,
)
from .grad_mode import is_inference_mode_enabled
from .hot import hot
from .size import Size
from .storage import Storage
from .tracer import tracer

if TYPE_CHECKING:
    from internals._tensor import Tensor as Tensor
    from internals.core.formats import memory_format

_T = TypeVar("_T", bound="TensorImpl")
_new: Any = object.__new__
# the keys of autograd's bookkeeping, which a tensor made in inference mode does not have
_BOOKS = AUTOGRAD_MASK | ADINPLACEORVIEW | RECORDS
_entry = tuple.__getitem__  # faster than that of `Size`, which makes slices sizes again
_stats = caching_allocator.stats


class VersionCounter:
    """How often the elements were written to. Views of one storage share their counter."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0


class AutogradMeta:
    """The data that autograd keeps about a tensor (`torch/csrc/autograd/variable.h`). It is made
    when first needed: most tensors have none.

    `edge` says where in the graph the tensor came from: its `grad_fn` and which of that node's
    outputs it is; None for a leaf. `accumulator` is the `AccumulateGrad` of a leaf, once a graph
    needs it; `hooks` are the functions that the user wants to run on its gradient.
    """

    __slots__ = ("edge", "grad", "accumulator", "hooks", "retains_grad")

    base: Any = None

    def __init__(self) -> None:
        self.edge: tuple[Any, int] | None = None
        self.grad: Any = None
        self.accumulator: Any = None
        self.hooks: Any = None
        self.retains_grad = False


class DifferentiableViewMeta(AutogradMeta):
    """The same for a view: `base` owns the memory, and the history of the view is that of the base.

    `attr_version` is the version at which `edge` was right; `creation_meta` says why the view may
    not be written to where gradients are recorded ("" when it may): "no_grad" and "inference" for
    one made under such a mode, "multi_output" for one of several, "custom_function" for one that a
    `Function` returned.
    """

    __slots__ = ("base", "attr_version", "creation_meta")

    def __init__(self, base: TensorImpl, attr_version: int, creation_meta: str) -> None:
        self.edge = self.grad = self.accumulator = self.hooks = None
        self.retains_grad = False
        self.base, self.attr_version, self.creation_meta = base, attr_version, creation_meta


class TensorImpl:
    """Storage + storage_offset + geometry: element (i, j, ...) is element number
    `storage_offset + i * strides[0] + j * strides[1] + ...` of the storage.
    """

    __slots__ = (
        "_storage",
        "_geometry",
        "_offset",
        "_array",
        "_version_counter",
        "_autograd_meta",
        "__weakref__",
    )

    _arithmetic_keeps_class = True  # whether the sum of two of these is one of these

    _storage: Storage
    _geometry: Geometry
    _offset: int
    _array: Any
    _version_counter: VersionCounter | None
    _autograd_meta: AutogradMeta | None

    @property
    def shape(self) -> Size:
        if hot.off and tracer.state is not None:
            return tracer.state.shape_of(self)
        return self._geometry.sizes

    @property
    def dtype(self) -> dtype:
        return self._geometry.dtype

    @property
    def device(self) -> device:
        return self._geometry.device

    @property
    def ndim(self) -> int:
        return len(self._geometry.sizes)

    @property
    def itemsize(self) -> int:
        return self._geometry.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self._geometry.nbytes

    def size(self, dim: int | None = None) -> Any:
        """All sizes, or the one of dimension `dim`. Raises IndexError for a dimension it does not
        have.
        """
        if hot.off and tracer.state is not None:
            return tracer.state.size_of(self, dim)
        sizes = self._geometry.sizes
        return sizes if dim is None else _entry(sizes, _dim(dim, sizes))

    def stride(self, dim: int | None = None) -> Any:
        """All strides in elements, or the one of dimension `dim`. Raises IndexError for a dimension
        it does not have.
        """
        g = self._geometry
        return g.strides if dim is None else g.strides[_dim(dim, g.sizes)]

    def storage_offset(self) -> int:
        """How many elements into its storage the tensor begins."""
        return self._offset

    def dim(self) -> int:
        return len(self._geometry.sizes)

    ndimension = dim

    def numel(self) -> int:
        if hot.off and tracer.state is not None:
            return tracer.state.numel_of(self)
        return self._geometry.numel

    nelement = numel

    def element_size(self) -> int:
        """Bytes per element."""
        return self._geometry.dtype.itemsize

    def data_ptr(self) -> int:
        """The address of the first element; 0 when there are none."""
        pointer = self._storage._data.pointer
        return pointer + self._offset * self._geometry.dtype.itemsize if pointer else 0

    def untyped_storage(self) -> Storage:
        return self._storage

    def is_contiguous(self, memory_format: memory_format | None = None) -> bool:
        """Whether the elements lie in memory in index order, or in the order `memory_format` asks
        for.
        """
        g = self._geometry
        name = getattr(memory_format, "name", "contiguous_format")
        if name == "contiguous_format":
            return g.is_contiguous
        ndim = {"channels_last": 4, "channels_last_3d": 5}.get(name)
        if ndim is None:
            raise RuntimeError(f"is_contiguous: unsupported memory format {memory_format!r}")
        return len(g.sizes) == ndim and is_channels_last_contiguous(g.sizes, g.strides)

    def is_floating_point(self) -> bool:
        return self._geometry.dtype.is_floating_point

    def is_complex(self) -> bool:
        return self._geometry.dtype.is_complex

    def is_signed(self) -> bool:
        return self._geometry.dtype.is_signed

    @property
    def requires_grad(self) -> bool:
        """Whether autograd records operations on the tensor. It may be set for leaves only."""
        return self._geometry.keys & RECORDS != 0

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if value and self._autograd_meta is not None and self._autograd_meta.edge is not None:
            raise RuntimeError("you can only change requires_grad flags of leaf variables.")
        if value and self._geometry.dtype.category < dt.FLOATING:
            raise RuntimeError(
                "only Tensors of floating point and complex dtype can require gradients"
            )
        self.requires_grad_(value)

    def requires_grad_(self: _T, requires_grad: bool = True) -> _T:
        """Mark the tensor as one whose gradient is wanted.

        Raises RuntimeError for integral and bool tensors, and for switching it off on a tensor that
        was computed from others.
        """
        g = self._geometry
        # not a leaf: it requires a gradient already, and its history cannot be switched off
        if self._autograd_meta is not None and self._autograd_meta.edge is not None:
            if not requires_grad:
                raise RuntimeError(
                    "you can only change requires_grad flags of leaf variables. If you want to use "
                    "a computed variable in a subgraph that doesn't require differentiation use "
                    "var_no_grad = var.detach()."
                )
            return self
        if not requires_grad:
            self._geometry = g.without_grad
            return self
        if g.dtype.category < dt.FLOATING:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if self.is_inference() and not is_inference_mode_enabled():
            raise RuntimeError(
                "Setting requires_grad=True on inference tensor outside InferenceMode is not "
                "allowed."
            )
        self._geometry = requiring_grad(g)
        autograd_meta(self)
        return self

    def is_inference(self) -> bool:
        """Whether the tensor was made in inference mode: it counts no versions and autograd does
        not know it.
        """
        return not self._geometry.keys & ADINPLACEORVIEW

    @property
    def _version(self) -> int:
        """How many times the elements were written in place, through this tensor or any view of the
        same storage.

        Raises RuntimeError for an inference tensor, which does not count.
        """
        if self.is_inference():
            raise RuntimeError("Inference tensors do not track version counter.")
        return 0 if self._version_counter is None else self._version_counter.value

    @property
    def _base(self) -> Any:
        """The tensor this one is a view of, or None."""
        return None if self._autograd_meta is None else self._autograd_meta.base

    def _is_view(self) -> bool:
        return self._base is not None

    def forget_array(self) -> None:
        """Drop the numpy header: the memory or the geometry under it changed."""
        self._array = None


_tensor_class: type = TensorImpl
if not TYPE_CHECKING:
    Tensor = TensorImpl  # for annotations, where the class that users see lies on a floor above

Array: TypeAlias = np.ndarray[Any, Any]
"""The elements of a tensor as numpy sees them."""


def array(t: TensorImpl) -> Any:
    """The numpy array over the tensor's own memory, with its sizes and strides. Writing to it
    writes to the tensor.

    It does not keep the memory alive; kernels use it while they hold the tensor. Raises
    RuntimeError for a tensor without CPU memory.
    """
    a = t._array
    if a is None:
        g = t._geometry
        if g.device is not CPU:
            raise RuntimeError(
                f"the CPU cannot look into a tensor on '{g.device}'; move it with .to('cpu') first"
            )
        check_backed(t._storage, g, t._offset)  # the storage may have been made shorter
        n = g.dtype.itemsize
        if g.nbytes == 0:
            a = np.empty(g.sizes, g.dtype.np)
        elif g.is_contiguous:
            a = np.ndarray(g.sizes, g.dtype.np, t._storage.memory(), t._offset * n)
        else:
            a = np.ndarray(
                g.sizes, g.dtype.np, t._storage.memory(), t._offset * n, [s * n for s in g.strides]
            )
        t._array = a
    return a


def snapshot(t: TensorImpl) -> Any:
    """A copy of `array(t)`, for values that are checked first and used afterwards, such as indices:
    another thread may write to `t` in between, and an unchecked index would reach foreign memory.

    numpy itself needs such a copy too: it checks all indices, masks, counts and sort keys before it
    uses them.
    """
    return array(t).copy("K")


def host_array(t: TensorImpl) -> Any:
    """The elements of a tensor on any device, to be read only: `array(t)`, or a copy of those on a
    GPU. No operator is called.
    """
    if t.device.type != "cuda":
        return array(t)
    g, n = t._geometry, t._geometry.dtype.itemsize
    if not g.numel:
        return np.empty(g.sizes, g.dtype.np)
    return np.ndarray(
        g.sizes, g.dtype.np, bytes(t._storage), t._offset * n, [s * n for s in g.strides]
    )


def make(
    storage: Storage, geometry: Geometry, storage_offset: int = 0, array: Array | None = None
) -> Any:
    """A new tensor on `storage`, without a check that the geometry fits into it. The geometry of a
    view follows from that of a tensor and fits; use `make_checked` for one from elsewhere.
    """
    t: Any = _new(_tensor_class)
    t._storage, t._geometry, t._offset, t._array = storage, geometry, storage_offset, array
    t._version_counter = t._autograd_meta = None
    return t


def make_checked(storage: Storage, geometry: Geometry, storage_offset: int = 0) -> Any:
    """As `make`, but raises RuntimeError unless all elements of the tensor lie in the storage."""
    check_backed(storage, geometry, storage_offset)
    return make(storage, geometry, storage_offset)


def check_backed(storage: Storage, g: Geometry, storage_offset: int) -> None:
    """Raises RuntimeError unless every element of a tensor of geometry `g` lies in the storage."""
    if storage_offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {storage_offset}")
    if (needed := bytes_spanned(g, storage_offset)) > storage._nbytes:
        raise RuntimeError(
            f"setStorage: sizes {list(g.sizes)}, strides {list(g.strides)}, storage offset "
            f"{storage_offset}, and itemsize {g.dtype.itemsize} requiring a storage size of "
            f"{needed} are out of bounds for storage of size {storage._nbytes}"
        )


def backed_ptr(t: TensorImpl) -> int:
    """The address of the first element, for machine code, which checks nothing itself.

    Raises RuntimeError unless every element lies in the tensor's storage.
    """
    storage, g = t._storage, t._geometry
    if (t._offset + g.span) * g.dtype.itemsize > storage._nbytes:
        check_backed(storage, g, t._offset)
    return t.data_ptr()


def empty(g: Geometry) -> Any:
    """A new tensor of geometry `g` on memory of its own, uninitialised. Raises RuntimeError when
    there is not enough memory.

    Where `g` is plain, the block comes straight from the allocator's free list for this size, and
    the tensor is put together without the calls that the general case needs.
    """
    if g.plain and not hot.off:  # codegen writes the body of this into the fast lane
        kind = _tensor_class
        free = g.free_list
        if free:
            block = free.pop()
            block.active = True
            block.uses += 1
            _stats.bytes = n = _stats.bytes + block.size
            if n > _stats.peak_bytes:
                _stats.peak_bytes = n
        else:
            block = caching_allocator.allocate(g.nbytes)  # type: ignore[assignment]
        storage = _new(Storage)
        storage._data, storage._nbytes, storage.allocator, storage._resizable = (
            block,
            g.nbytes,
            caching_allocator,
            True,
        )
        out = _new(kind)
        out._storage, out._geometry, out._offset = storage, g, 0
        out._array = block.array if block.geometry is g else ready_array(block, g)
        out._version_counter = out._autograd_meta = None
        return out
    return newly_made(make(Storage.allocate(bytes_spanned(g), g.device), g))


def empty_pinned(g: Geometry) -> Any:
    """A new tensor of geometry `g` in pinned memory: memory of the host that a GPU copies from and
    to by itself.
    """
    return newly_made(make(Storage.allocate(bytes_spanned(g), CPU, pinned=True), g))


def newly_made(t: TensorImpl) -> Any:
    """`t`, which is the first tensor on its storage: in inference mode it becomes an inference
    tensor. (A view of a normal tensor stays normal there.)
    """
    if is_inference_mode_enabled():
        t._geometry = with_keys(t._geometry, t._geometry.keys & ~_BOOKS | INFERENCE)
    return t


def with_grad(t: TensorImpl, requires_grad: bool) -> Any:
    """`t`, which has just been made, requiring a gradient if `requires_grad`. Raises RuntimeError
    for integers and bools, which have none.
    """
    if requires_grad and t._geometry.dtype.category < dt.FLOATING:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return t.requires_grad_() if requires_grad else t


def empty_contiguous(sizes: Sequence[int], dtype: dtype, device: device = CPU) -> Any:
    """A new row-major tensor, uninitialised."""
    return empty(contiguous_geometry(sizes, dtype, device))


def ready_array(block: Block, g: Geometry) -> Any:
    """The numpy header over `block` for a contiguous tensor of geometry `g`. The block keeps the
    last one made: in a loop, the next tensor on it usually has the same geometry.
    """
    memory = block._memory
    if memory is None:
        memory = block._memory = (ctypes.c_ubyte * block.size).from_address(block.pointer)
    block.array, block.geometry, block.requested = (
        np.ndarray(g.sizes, g.dtype.np, memory),
        g,
        g.nbytes,
    )
    return block.array


def from_array(a: Array) -> Any:
    """A tensor on new memory with a copy of a numpy array, whose dtype must be one of PyTorch's."""
    t = empty(contiguous_geometry(a.shape, dt.BY_NUMPY[a.dtype]))
    array(t)[...] = a
    return t


def alias(
    base: TensorImpl, sizes: Sequence[int], strides: Sequence[int], storage_offset: int
) -> Any:
    """A view: a new tensor on the storage of `base`, with its dtype, device and dispatch keys.
    Strides and offset are in elements.
    """
    g = base._geometry
    return make(base._storage, geometry(sizes, strides, g.dtype, g.device, g.keys), storage_offset)


def version_counter(t: TensorImpl) -> VersionCounter:
    """The counter of `t`, made when first asked for."""
    counter = t._version_counter
    if counter is None:
        counter = t._version_counter = VersionCounter()
    return counter


def autograd_meta(t: TensorImpl) -> AutogradMeta:
    """The `AutogradMeta` of `t`, made when first asked for."""
    meta = t._autograd_meta
    if meta is None:
        meta = t._autograd_meta = AutogradMeta()
    return meta


def set_tensor_class(cls: type) -> None:
    """Makes all new tensors instances of `cls`. Called once by the floor that defines the user's
    `Tensor` (`THPVariable_initModule` in PyTorch).
    """
    global _tensor_class
    _tensor_class = cls


def tensor_class() -> type:
    return _tensor_class


def _dim(dim: int, sizes: Size) -> int:
    """`wrap_dim`, but a tensor without dimensions has no dimension 0 to ask for."""
    if not sizes:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return wrap_dim(dim, len(sizes))
