"""`Storage`: a run of bytes with an owner, and nothing else (`c10/core/StorageImpl.h`).

A storage holds a `DataPtr`, its length in bytes, the allocator it came from and whether it may grow. It does not know what
its bytes mean: sizes, strides and dtype belong to the tensors that look at it, and there may be many. When the last of
them goes, the storage goes, and its `DataPtr` is cleared: that is the moment the memory returns.

How the real one differs: `StorageImpl` is counted by an `intrusive_ptr` of its own; here Python's reference count of the
`Storage` object does that job, so `sys.getrefcount(storage)` *is* the storage's use count. `Block`s from the caching
allocator take a short way home in `__del__`.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from typing import Any

from . import cpu_allocator
from .allocator import Allocator, DataPtr
from .backend_hooks import hooks
from .cpu_allocator import Block, caching_allocator
from .device import CPU, META, device
from .hot import hot

_stats = caching_allocator.stats


class Storage:
    """Untyped bytes. Make one with `Storage.allocate(nbytes)` or from an existing `DataPtr`.

    `storage[i]` reads a byte, `bytes(storage)` copies all of them. `allocator` is None for memory that was borrowed.
    """

    __slots__ = ("_data", "_nbytes", "allocator", "_resizable", "__weakref__")

    _data: DataPtr
    _nbytes: int
    allocator: Allocator | None
    _resizable: bool

    def __init__(self, data: DataPtr, nbytes: int, allocator: Allocator | None = None, resizable: bool = False) -> None:
        self._data, self._nbytes, self.allocator, self._resizable = data, nbytes, allocator, resizable

    @classmethod
    def allocate(cls, nbytes: int, device: device = CPU) -> Storage:
        """`nbytes` uninitialised bytes on `device`. Raises RuntimeError when there is no such memory."""
        if device is META:
            return cls(DataPtr(0, None, cpu_allocator.system_free, META), nbytes, None, True)
        allocator = cpu_allocator.get_cpu_allocator() if device is CPU else hooks(device.type).allocator(device)
        return cls(allocator.allocate(nbytes), nbytes, allocator, True)

    def __del__(self) -> None:
        try:
            data = self._data
        except AttributeError:  # construction failed
            return
        free = data.recycle
        if free is None or hot.off or not data.active:  # type: ignore[attr-defined]
            data.clear()
        else:  # what `CachingAllocator.release` does, for a small block that nobody watches
            data.active = False  # type: ignore[attr-defined]
            _stats.bytes -= data.size  # type: ignore[attr-defined]
            free.append(data)

    def data_ptr(self) -> int:
        """The address of the first byte; 0 when there is none."""
        return self._data.pointer

    def nbytes(self) -> int:
        return self._nbytes

    size = __len__ = nbytes

    def element_size(self) -> int:
        return 1

    def resizable(self) -> bool:
        """Whether `resize_` may replace the memory: not when it was borrowed, nor once `.numpy()` lent it out."""
        return self._resizable

    @property
    def device(self) -> device:
        return self._data.device

    @property
    def data_ptr_object(self) -> DataPtr:
        return self._data

    def memory(self) -> Any:
        """A writable buffer over the bytes, for numpy to look through. It does not keep the storage alive."""
        data = self._data
        memory = data._memory
        if memory is None or len(memory) < self._nbytes:
            if data.device is not CPU:
                raise RuntimeError(f"a storage on '{data.device}' has no bytes the CPU can read")
            size = data.size if type(data) is Block else self._nbytes
            memory = data._memory = (ctypes.c_ubyte * size).from_address(data.pointer) if data.pointer else bytearray()
        return memory

    def resize_(self, nbytes: int) -> Storage:
        """Grow or shrink: new memory, the old bytes copied, the old memory given back. Raises RuntimeError if not resizable."""
        if not self._resizable:
            raise RuntimeError("Trying to resize storage that is not resizable")
        fresh = Storage.allocate(nbytes, self.device)
        kept = min(nbytes, self._nbytes)
        if kept and self._data.pointer:
            if self.device is CPU:
                ctypes.memmove(fresh._data.pointer, self._data.pointer, kept)
            else:
                hooks(self.device.type).copy_bytes(fresh, self, kept)
        self._data, fresh._data = fresh._data, self._data
        self.allocator, fresh.allocator = fresh.allocator, self.allocator
        self._nbytes, fresh._nbytes = nbytes, self._nbytes
        if fresh._nbytes:  # nobody looks at no bytes; else every tensor on this storage must look at the new memory
            for owner in gc.get_referrers(self):
                if hasattr(type(owner), "forget_array"):
                    owner.forget_array()
        return self

    def __getitem__(self, i: int) -> int:
        if not -self._nbytes <= i < self._nbytes:
            raise IndexError(f"index {i} out of range for storage of size {self._nbytes}")
        return self.memory()[i % self._nbytes]

    def __iter__(self) -> Iterator[int]:
        return iter(bytes(self))

    def __bytes__(self) -> bytes:
        if self.device is not CPU and self.device is not META:
            return hooks(self.device.type).read(self)
        return ctypes.string_at(self._data.pointer, self._nbytes) if self._data.pointer else b""

    def tolist(self) -> list[int]:
        return list(bytes(self))

    def __repr__(self) -> str:
        shown = "\n".join(f" {b}" for b in bytes(self)) if self.device is CPU else " ..."
        return f"{shown}\n[internals.storage.UntypedStorage(device={self.device}) of size {self._nbytes}]"
