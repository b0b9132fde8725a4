"""Hooks: the way in which the core reaches a backend that may not be there
(`aten/src/ATen/detail/CUDAHooksInterface.h`, `c10/core/impl/DeviceGuardImplInterface.h`).

The core knows that there is a device called "cuda", but not how it works. It reaches the backend
through an object with the methods of `BackendHooks`, whose module is imported when it is first
used: a program that stays on the CPU never loads the backend.

How the real one differs: libtorch_cuda.so registers its hooks and its device guard in static
initialisers; without that library the hooks' default methods raise, which is where "Torch not
compiled with CUDA enabled" comes from.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .allocator import Allocator
    from .device import device
    from .generator import Generator
    from .storage import Storage


class BackendHooks:
    """The services that the core asks of a backend."""

    @property
    def simulated(self) -> bool:
        """Whether the device is simulated by a program. Does not initialise it."""
        return False

    def resolve(self, index: int | None) -> device:
        """The device with this index, or the current one for None. Raises if there is no such
        device.
        """
        raise NotImplementedError

    def allocator(self, device: device) -> Allocator:
        """The allocator of the device's memory."""
        raise NotImplementedError

    def read(self, storage: Storage) -> bytes:
        """A copy of the bytes of a storage on the device. Waits for all work queued before."""
        raise NotImplementedError

    def copy_bytes(
        self, target: Storage, source: Storage, nbytes: int, non_blocking: bool = False
    ) -> None:
        """Copies the first `nbytes` bytes of `source` to `target`, at least one of which is on the
        device.
        """
        raise NotImplementedError

    def run_loop(self, iterator: Any, decisions: Any, loop: Any) -> None:
        """Fills the output of a `TensorIterator` on the device with the results of `loop`, a loop
        that on the CPU numpy runs.
        """
        raise NotImplementedError

    def device_count(self) -> int:
        """The number of such devices. Does not initialise them."""
        return 0

    def generator(self) -> type[Generator]:
        """The class of the device's generators of random numbers."""
        raise NotImplementedError

    def pinned_allocator(self) -> Allocator:
        """The allocator of pinned memory: host memory that the device can reach by itself."""
        raise NotImplementedError

    def record_stream(self, storage: Storage, index: int, stream: int) -> None:
        """Marks the memory of `storage` as used by stream `stream` of device `index`: when freed,
        it is not reused before the work that is queued there is done.
        """
        raise NotImplementedError

    def current_streams(self) -> dict[int, int]:
        """The current streams of this thread, by index of the device; default ones are omitted."""
        return {}

    def set_streams(self, streams: dict[int, int]) -> None:
        """Makes `streams` the current ones, and the default stream on all other devices."""

    def wait_stream(self, index: int, waiting: int, other: int) -> None:
        """Makes work that is queued on stream `waiting` from now on run after the work that is
        already queued on stream `other`.
        """
        raise NotImplementedError

    def is_pinned(self, pointer: int) -> bool:
        """Whether the device can reach this host memory by itself."""
        return False


_hooks: dict[str, BackendHooks | str] = {"cuda": "internals.cuda.hooks:hooks"}


def hooks(device_type: str) -> BackendHooks:
    """The hooks of the backend for `device_type`."""
    found = _hooks[device_type]
    if isinstance(found, str):
        module, _, name = found.partition(":")
        found = _hooks[device_type] = getattr(importlib.import_module(module), name)
        assert isinstance(found, BackendHooks)
    return found
