"""The functions through which the core reaches this backend, without importing it
(`aten/src/ATen/cuda/detail/CUDAHooks.cpp`, `c10/cuda/impl/CUDAGuardImpl.h`).

When a tensor is made on a GPU, `Storage.allocate` asks for the memory by

    hooks(device.type).allocator(device)    # of core.backend_hooks: imports this module if needed

How the real one differs: the hooks also answer for cuDNN, cuBLAS and NVRTC.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from internals.core.allocator import Allocator
from internals.core.backend_hooks import BackendHooks
from internals.core.device import device
from internals.core.generator import Generator
from internals.core.storage import Storage

from . import backend
from .allocator.caching_allocator import CachingAllocator
from .allocator.devices import allocator_for, pinned_allocator

if TYPE_CHECKING:
    from internals.aten.decisions import Decisions
    from internals.aten.tensor_iterator import TensorIterator


class CUDAHooks(BackendHooks):
    """The hooks of `BackendHooks` for CUDA devices, real or simulated."""

    @property
    def simulated(self) -> bool:
        """Whether `cuda` is, or would be, a simulated device. Does not initialise it."""
        return (
            backend.driver().simulated
            if backend.initialized()
            else backend.choice()[0].endswith("simulator")
        )

    def resolve(self, index: int | None) -> device:
        """The device `cuda:index` (None: the current one). Raises CudaError if there is none."""
        backend.driver()
        if index is None:
            index = backend.current_device()
        else:
            backend.check_index(index)
        return device("cuda", index)

    def allocator(self, device: device) -> Allocator:
        """The caching allocator of a device's memory."""
        return allocator_for(device.index or 0)

    def read(self, storage: Storage) -> bytes:
        """The bytes of a storage, copied to the host."""
        index, nbytes = storage.device.index or 0, storage.nbytes()
        if not nbytes:
            return b""
        buffer = ctypes.create_string_buffer(nbytes)
        stream = backend.current_stream(index)
        backend.driver().copy(
            index, stream, ctypes.addressof(buffer), storage.data_ptr(), nbytes, "d2h"
        )
        backend.driver().synchronize_stream(index, stream)
        return buffer.raw

    def copy_bytes(
        self, target: Storage, source: Storage, nbytes: int, non_blocking: bool = False
    ) -> None:
        """Copies bytes between storages, of which at least one is on a GPU, on the current
        stream.
        """
        from .native.copy import copy_run

        copy_run(target, target.data_ptr(), source, source.data_ptr(), nbytes, non_blocking)

    def run_loop(
        self, iterator: TensorIterator, decisions: Decisions, loop: Callable[..., Any]
    ) -> None:
        """Launches the elementwise kernel that does what `loop` does with numpy."""
        from .native.elementwise import run_loop

        # the next call finds the function itself in this object: an import takes a microsecond
        vars(self)["run_loop"] = run_loop
        run_loop(iterator, decisions, loop)

    def device_count(self) -> int:
        """The number of GPUs, real or simulated."""
        return backend.device_count()

    def generator(self) -> type[Generator]:
        """The class of the GPU's generators of random numbers."""
        from .random import CUDAGenerator

        return CUDAGenerator

    def record_stream(self, storage: Storage, index: int, stream: int) -> None:
        """Marks memory as used by a stream: once freed, it waits for that stream's work before it
        is used again. Memory that the caching allocator did not give out needs no mark.
        """
        owner = storage.owner()
        if isinstance(owner.allocator, CachingAllocator):
            owner.allocator.record_stream(owner.data_ptr_object, stream, index)

    def current_streams(self) -> dict[int, int]:
        """This thread's current stream of each device where it is not the default one."""
        return backend.side_streams_of_thread()

    def set_streams(self, streams: dict[int, int]) -> None:
        """Makes `streams` this thread's current ones, and the default stream on other devices."""
        # devices that have a side stream now and are not in `streams` go back to their default one
        for index in {*backend.side_streams_of_thread(), *streams}:
            backend.set_stream(index, streams.get(index, 0))

    def wait_stream(self, index: int, waiting: int, other: int) -> None:
        """Lets stream `waiting` wait for the work that is queued on `other` now, by an event."""
        driver = backend.driver()
        driver.stream_wait_event(index, waiting, driver.record_event(index, other))

    def is_pinned(self, pointer: int) -> bool:
        """Whether the memory at an address of the host is page-locked."""
        return backend.initialized() and backend.driver().is_pinned(pointer)

    def pinned_allocator(self) -> Allocator:
        """The allocator of page-locked memory of the host."""
        return pinned_allocator()


hooks = CUDAHooks()
