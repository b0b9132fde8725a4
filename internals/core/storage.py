"""`Storage`: the memory of tensors, a number of bytes (`c10/core/StorageImpl.h`).

A storage has a `DataPtr`, a length in bytes, the allocator that the memory came from, and whether
it may be resized. It does not know what its bytes mean: sizes, strides and dtype belong to the
tensors on it, of which there may be many. When the last of them is freed, so is the storage: its
`DataPtr` is cleared, and the memory goes back to the allocator.

How the real one differs: `StorageImpl` has a reference count of its own (`intrusive_ptr`); here it
is Python's, so `sys.getrefcount(storage)` *is* the storage's use count. `__del__` puts small blocks
of the caching allocator straight into their free list.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from . import cpu_allocator
from .allocator import LARGEST, Allocator, DataPtr, check_nbytes, drop_reference, int64
from .backend_hooks import hooks
from .cpu_allocator import Block, caching_allocator
from .device import CPU, META, device, resolve
from .hot import hot

if TYPE_CHECKING:
    from internals.core.device import DeviceLike

_stats = caching_allocator.stats


class Storage:
    """Untyped bytes, made by `Storage.allocate(nbytes)` or from an existing `DataPtr`.

    `storage[i]` reads a byte, `bytes(storage)` copies all of them. `allocator` is None for memory
    that another object owns.
    """

    __slots__ = ("_data", "_nbytes", "allocator", "_resizable", "__weakref__")

    _data: DataPtr
    _nbytes: int
    allocator: Allocator | None
    _resizable: bool

    def __init__(
        self,
        data: DataPtr,
        nbytes: int,
        allocator: Allocator | None = None,
        resizable: bool = False,
    ) -> None:
        self._data, self._nbytes, self.allocator, self._resizable = (
            data,
            nbytes,
            allocator,
            resizable,
        )

    @classmethod
    def allocate(cls, nbytes: int, device: device = CPU, pinned: bool = False) -> Storage:
        """A storage of `nbytes` uninitialised bytes on `device`, or, if `pinned`, of host memory
        that a GPU can reach by itself. Raises RuntimeError when there is not enough memory.
        """
        if not 0 <= nbytes <= LARGEST:
            check_nbytes(nbytes)
        if device is META:
            return cls(DataPtr(0, None, cpu_allocator.system_free, META), nbytes, None, True)
        if pinned:
            allocator: Allocator = hooks("cuda").pinned_allocator()
        else:
            allocator = (
                cpu_allocator.get_cpu_allocator()
                if device is CPU
                else hooks(device.type).allocator(device)
            )
        return cls(allocator.allocate(nbytes), nbytes, allocator, True)

    def __del__(self) -> None:
        try:
            data = self._data
        except AttributeError:  # construction failed
            return
        free = data.recycle
        if free is None or hot.off or not data.active:  # type: ignore[attr-defined]
            data.clear()
        else:  # as `CachingAllocator.release`, for a small block, when no history is recorded
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
        """Whether `resize_` may replace the memory: not if another object owns it, nor after
        `.numpy()` or DLPack has passed it on.
        """
        return self._resizable

    @property
    def device(self) -> device:
        return self._data.device

    @property
    def is_cuda(self) -> bool:
        return self.device.type == "cuda"

    def get_device(self) -> int:
        """The index of the device; -1 for the CPU."""
        return -1 if self.device.index is None else self.device.index

    @property
    def data_ptr_object(self) -> DataPtr:
        return self._data

    def memory(self) -> Any:
        """A writable buffer over the bytes, for numpy's arrays. It does not keep the storage alive.
        Raises RuntimeError for memory that is not on the CPU.
        """
        data = self._data
        memory = data._memory
        if memory is None or len(memory) < self._nbytes:
            if data.device is not CPU:
                raise RuntimeError(f"a storage on '{data.device}' has no bytes the CPU can read")
            size = data.size if type(data) is Block else self._nbytes
            memory = data._memory = (
                (ctypes.c_ubyte * size).from_address(data.pointer) if data.pointer else bytearray()
            )
        return memory

    def resize_(self, nbytes: int) -> Storage:
        """Moves the bytes to new memory of this size, as many as fit, and frees the old memory.
        Raises RuntimeError if the storage is not resizable.
        """
        if not self._resizable:
            raise RuntimeError("Trying to resize storage that is not resizable")
        fresh = Storage.allocate(int64(nbytes), self.device)
        kept = min(nbytes, self._nbytes)
        if kept and self._data.pointer:
            copy_bytes(fresh, self, kept)
        if not self._resizable:  # another thread has passed the memory on meanwhile
            raise RuntimeError("Trying to resize storage that is not resizable")
        self._data, fresh._data = fresh._data, self._data
        self.allocator, fresh.allocator = fresh.allocator, self.allocator
        self._nbytes, fresh._nbytes = nbytes, self._nbytes
        if fresh._nbytes:
            # The numpy headers of the tensors on this storage point to the old memory. (If that had
            # no bytes, nothing reads it.)
            for owner in gc.get_referrers(self):
                if hasattr(type(owner), "forget_array"):
                    owner.forget_array()
        return self

    def copy_(self, source: Storage, non_blocking: bool = False) -> Storage:
        """Copies the bytes of another storage, which may be on another device. Raises RuntimeError
        unless it has the same size.
        """
        if source.nbytes() != self._nbytes:
            raise RuntimeError(
                f"size mismatch, expected {self._nbytes} bytes, got {source.nbytes()} bytes instead"
            )
        copy_bytes(self, source, self._nbytes, non_blocking)
        return self

    def fill_(self, value: int) -> Storage:
        """Sets every byte to `value`, from 0 to 255."""
        return self.copy_(bytes_of(bytes([value]) * self._nbytes))

    def clone(self) -> Storage:
        return Storage.allocate(self._nbytes, self.device).copy_(self)

    def to(self, *, device: DeviceLike | None, non_blocking: bool = False) -> Storage:
        """A copy on another device; the storage itself if it is on that device."""
        where = resolve(device)
        return (
            self
            if where is self.device
            else Storage.allocate(self._nbytes, where).copy_(self, non_blocking)
        )

    def cpu(self) -> Storage:
        return self.to(device=CPU)

    def cuda(self, device: Any = None, non_blocking: bool = False) -> Storage:
        return self.to(device="cuda" if device is None else device, non_blocking=non_blocking)

    def is_pinned(self, device: DeviceLike | None = "cuda") -> bool:
        """Whether a GPU can reach this memory of the host by itself."""
        return self.device is CPU and hooks("cuda").is_pinned(self._data.pointer)

    def pin_memory(self, device: DeviceLike = "cuda") -> Storage:
        """A copy in page-locked memory; the storage itself if it is pinned already. Raises
        TypeError for memory of a GPU.
        """
        if self.device is not CPU:
            raise TypeError(
                "cannot pin 'internals.storage.UntypedStorage' only CPU memory can be pinned"
            )
        return (
            self
            if self.is_pinned()
            else Storage.allocate(self._nbytes, CPU, pinned=True).copy_(self)
        )

    def is_shared(self) -> bool:
        """Whether other processes may use the memory: True for that of a GPU, as in PyTorch."""
        return self.is_cuda

    def __getitem__(self, i: int | slice) -> Any:
        """A byte; or, for a slice, a storage on the same memory, which stays valid even if this
        storage is resized.
        """
        if isinstance(i, slice):
            return self.lend()._slice(i)
        return self._on_host().memory()[self._index(i)]

    def __setitem__(self, i: int, value: int) -> None:
        keeper = self.lend()
        at = i if isinstance(i, slice) else slice(k := keeper._index(i), k + 1)
        keeper._slice(at).fill_(value)

    def lend(self) -> Storage:
        """The storage that others have to refer to so that the memory is not freed while they use
        it: this one, if it cannot be resized.

        If it can, the memory is handed to a new storage, the keeper, and this one refers to
        the keeper until it is resized:

            before: storage -> memory
            after:  storage -> keeper -> memory
        """
        if not self._resizable:
            return self
        keeper = Storage(DataPtr(0, None, drop_reference), 0, self.allocator)
        lent = DataPtr(0, keeper, drop_reference, self.device)
        data = self._data  # from here on nothing is called, so no other thread can interfere
        if data.deleter is drop_reference:
            # A resizable storage gets its memory from an allocator, with another deleter, so this
            # is a `lent` of an earlier call, whose context is the keeper.
            return data.context
        # The swap: the keeper gets the memory, this storage the reference to the keeper.
        keeper._data, keeper._nbytes, lent.pointer, self._data = (
            data,
            self._nbytes,
            data.pointer,
            lent,
        )
        return keeper

    def owner(self) -> Storage:
        """The storage that got the memory from an allocator or from outside: this one, or the one
        that its memory belongs to since `lend`.
        """
        found = self
        while isinstance(found._data.context, Storage):
            found = found._data.context
        return found

    def _slice(self, i: slice) -> Storage:
        """A storage on some of the bytes, which keeps this one alive."""
        start, stop, step = i.indices(self._nbytes)
        if step != 1:
            raise RuntimeError(
                f"Trying to slice with a step of {step}, but only a step of 1 is supported"
            )
        data = DataPtr(self._data.pointer + start, self, drop_reference, self.device)
        return Storage(data, max(start, stop) - start)

    def _index(self, i: int) -> int:
        """A possibly negative index as one from 0. Raises IndexError for one out of range."""
        if not -self._nbytes <= i < self._nbytes:
            raise IndexError(f"index {i} out of range for storage of size {self._nbytes}")
        return i % self._nbytes

    def _on_host(self) -> Storage:
        return self.cpu() if self.is_cuda else self

    def __iter__(self) -> Iterator[int]:
        return iter(bytes(self))

    def __bytes__(self) -> bytes:
        if self.is_cuda:
            return hooks(self.device.type).read(self)
        return ctypes.string_at(self._data.pointer, self._nbytes) if self._data.pointer else b""

    def tolist(self) -> list[int]:
        return list(bytes(self))

    def __repr__(self) -> str:
        shown = " ..." if self.device is META else "\n".join(f" {b}" for b in bytes(self))
        return (
            f"{shown}\n[internals.storage.UntypedStorage(device={self.device}) of size "
            f"{self._nbytes}]"
        )


def copy_bytes(target: Storage, source: Storage, nbytes: int, non_blocking: bool = False) -> None:
    """Copies the first `nbytes` bytes of `source` to `target`, on any devices. Raises
    NotImplementedError for `meta`, which has no bytes.
    """
    if META in (target.device, source.device):
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    if not nbytes:
        return
    if target.device is source.device is CPU:
        ctypes.memmove(target._data.pointer, source._data.pointer, nbytes)
    else:
        hooks("cuda").copy_bytes(target, source, nbytes, non_blocking)


def bytes_of(content: bytes) -> Storage:
    """A storage on the memory of a bytes object, which must not be written to."""
    address = ctypes.cast(ctypes.c_char_p(content), ctypes.c_void_p).value or 0
    return Storage(DataPtr(address, content, drop_reference), len(content))
