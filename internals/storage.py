"""`TypedStorage`: a storage seen as numbers (`torch/storage.py`).

`tensor.storage()` returns one. It is a pair, the untyped storage and a dtype, from the time when
storages had dtypes; memory is owned by the untyped one.

How the real one differs: it warns at first use that typed storages are deprecated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from internals.core import dtype as dt
from internals.core.allocator import int64
from internals.core.device import DeviceLike, device
from internals.core.dtype import SCALAR_TYPE_NAME, dtype
from internals.core.geometry import contiguous_geometry
from internals.core.scalar import checked
from internals.core.storage import Storage
from internals.core.tensor_impl import make


class TypedStorage:
    """`storage[i]` is element i as a Python number; assigning to it writes memory. Raises
    IndexError out of range.
    """

    __slots__ = ("_untyped", "dtype")

    def __init__(self, untyped: Storage, dtype: dtype) -> None:
        self._untyped, self.dtype = untyped, dtype

    def untyped(self) -> Storage:
        return self._untyped

    @property
    def device(self) -> device:
        return self._untyped.device

    @property
    def is_cuda(self) -> bool:
        return self._untyped.is_cuda

    def get_device(self) -> int:
        """The index of the device; -1 for the CPU."""
        return self._untyped.get_device()

    def cpu(self) -> TypedStorage:
        """The storage in CPU memory; itself if it is there."""
        return self._on(self._untyped.cpu())

    def cuda(self, device: Any = None, non_blocking: bool = False) -> TypedStorage:
        """The storage on a GPU; itself if it is there."""
        return self._on(self._untyped.cuda(device, non_blocking))

    def is_pinned(self, device: DeviceLike | None = "cuda") -> bool:
        return self._untyped.is_pinned(device)

    def pin_memory(self, device: DeviceLike = "cuda") -> TypedStorage:
        """The storage in memory that a GPU can reach by itself."""
        return self._on(self._untyped.pin_memory(device))

    def _on(self, untyped: Storage) -> TypedStorage:
        return self if untyped is self._untyped else TypedStorage(untyped, self.dtype)

    def data_ptr(self) -> int:
        return self._untyped.data_ptr()

    def nbytes(self) -> int:
        return self._untyped.nbytes()

    def element_size(self) -> int:
        return self.dtype.itemsize

    def size(self) -> int:
        return self._untyped.nbytes() // self.dtype.itemsize

    __len__ = size

    def resizable(self) -> bool:
        return self._untyped.resizable()

    def resize_(self, size: int) -> None:
        self._untyped.resize_(size * self.dtype.itemsize)

    def type(self) -> str:
        package = "internals.cuda" if self.is_cuda else "internals"
        return f"{package}.{self.pickle_storage_type()}"

    def pickle_storage_type(self) -> str:
        return f"{SCALAR_TYPE_NAME[self.dtype]}Storage"

    def is_shared(self) -> bool:
        return self._untyped.is_shared()

    def tolist(self) -> list[Any]:
        return self.cpu()._array().tolist()

    def fill_(self, value: Any) -> TypedStorage:
        self[:] = value
        return self

    def copy_(self, source: TypedStorage, non_blocking: bool = False) -> TypedStorage:
        """The numbers of another storage, from any device, converted."""
        if source.size() != self.size():
            raise RuntimeError(
                f"size mismatch, expected {self.nbytes()} bytes, got {source.nbytes()} bytes "
                "instead"
            )
        if source.dtype is self.dtype:
            self._untyped.copy_(source._untyped, non_blocking)
        else:
            self._tensor().copy_(source._tensor(), non_blocking)
        return self

    def clone(self) -> TypedStorage:
        return TypedStorage(Storage.allocate(self.nbytes(), self.device), self.dtype).copy_(self)

    def to(self, dtype: dtype) -> TypedStorage:
        """The numbers converted into a new storage."""
        return TypedStorage(
            Storage.allocate(self.size() * dtype.itemsize, self.device), dtype
        ).copy_(self)

    def __getitem__(self, i: int | slice) -> Any:
        if isinstance(i, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return self._tensor()[self._index(i)].item()

    def __setitem__(self, i: int | slice, value: Any) -> None:
        number = np.asarray(checked(value, self.dtype)).item()
        self._tensor()[i if isinstance(i, slice) else self._index(i)] = number

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __repr__(self) -> str:
        shown = " ..." if self.device.type == "meta" else "\n".join(f" {v}" for v in self)
        shown = shown or " "
        kind = f"internals.storage.TypedStorage(dtype={self.dtype!r}, device={self.device})"
        return f"{shown}\n[{kind} of size {self.size()}]"

    def _array(self) -> Any:
        return np.ndarray((self.size(),), self.dtype.np, self._untyped.memory())

    def _tensor(self) -> Any:
        """All elements as a vector, for what has to work on every device."""
        return make(self._untyped, contiguous_geometry((self.size(),), self.dtype, self.device))

    def _index(self, i: int) -> int:
        if not -self.size() <= i < self.size():
            raise IndexError(f"index {i} out of range for storage of size {self.size()}")
        return i % self.size()


class storagetype(type):
    """The type of `FloatStorage`, ...: `FloatStorage(3)` is uninitialised, `FloatStorage([1, 2])`
    holds numbers.
    """

    dtype: dtype

    def __call__(cls, content: object = 0) -> TypedStorage:
        if isinstance(content, int):
            return TypedStorage(Storage.allocate(int64(content * cls.dtype.itemsize)), cls.dtype)
        if not isinstance(content, Sequence):
            raise TypeError(
                f"{cls.__name__}(): expected a number of elements or a sequence, not "
                f"{type(content).__name__}"
            )
        from internals.construction.tensor_new import copy_of

        return TypedStorage(copy_of(content, cls.dtype, None)._storage, cls.dtype)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, TypedStorage) and instance.dtype is cls.dtype


class _untyped(type):
    def __call__(cls, content: object = 0) -> Storage:
        if isinstance(content, int):
            return Storage.allocate(int64(content))
        if not isinstance(content, (Sequence, Storage, TypedStorage)):
            raise RuntimeError(
                "torch.UntypedStorage(): Expected a sequence type, but got "
                f"{type(content).__name__}"
            )
        for item in content:
            if not isinstance(item, int):
                raise RuntimeError(
                    "torch.UntypedStorage(): tried to construct a storage from a sequence "
                    f"({type(content).__name__}), but one of the items was of type "
                    f"{type(item).__name__} instead of int"
                )
        storage = Storage.allocate(len(content))
        np.ndarray((len(content),), np.uint8, storage.memory())[...] = [
            item & 255 for item in content
        ]
        return storage

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Storage)


class UntypedStorage(metaclass=_untyped):
    """`UntypedStorage(n)` is n uninitialised bytes, `UntypedStorage([1, 2])` those bytes; each is a
    `core.storage.Storage`.
    """


STORAGE_TYPES = {
    f"{name}Storage": storagetype(f"{name}Storage", (), {"dtype": kind, "__module__": "internals"})
    for kind, name in SCALAR_TYPE_NAME.items()
}


def storage_class(kind: dt.dtype) -> type:
    """`FloatStorage` for float32, and so on."""
    return STORAGE_TYPES[f"{SCALAR_TYPE_NAME[kind]}Storage"]
