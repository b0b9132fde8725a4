"""How the lower floors reach a backend that may not be there
(`aten/src/ATen/detail/CUDAHooksInterface.h`, `c10/core/impl/DeviceGuardImplInterface.h`).

The core knows that there is a device called "cuda", and nothing of how it works. What it needs from
the backend, it asks of an object with the methods of `BackendHooks`, which is imported when it is
first asked for: a program that stays on the CPU never loads the backend.

How the real one differs: libtorch_cuda.so registers its hooks and its device guard in static
initialisers; without that library the hooks' default methods raise, which is where "Torch not
compiled with CUDA enabled" comes from."""

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
        """Whether the device is a program; asked without initialising it."""
        return False

    def resolve(self, index: int | None) -> device:
        """The device with this index, or the current one for None. Raises if there is no such
        device.
        """
        raise NotImplementedError

    def allocator(self, device: device) -> Allocator:
        """Who hands out the device's memory."""
        raise NotImplementedError

    def read(self, storage: Storage) -> bytes:
        """The bytes of a storage on the device, once everything queued before has been done."""
        raise NotImplementedError

    def copy_bytes(
        self, target: Storage, source: Storage, nbytes: int, non_blocking: bool = False
    ) -> None:
        """The first `nbytes` bytes of one storage into another; one of them at least is on the
        device.
        """
        raise NotImplementedError

    def run_loop(self, iterator: Any, decisions: Any, loop: Any) -> None:
        """Fill the output of a `TensorIterator` on the device with what numpy's `loop` would
        give.
        """
        raise NotImplementedError

    def device_count(self) -> int:
        """How many such devices there are; asked without initialising anything."""
        return 0

    def generator(self) -> type[Generator]:
        """The class of the device's generators of random numbers."""
        raise NotImplementedError

    def pinned_allocator(self) -> Allocator:
        """Host memory that the device can reach by itself."""
        raise NotImplementedError

    def record_stream(self, storage: Storage, index: int, stream: int) -> None:
        """Stream `stream` of device `index` uses the memory of `storage`: not to be handed out
        again before it is done.
        """
        raise NotImplementedError

    def current_streams(self) -> dict[int, int]:
        """The streams of this thread that are not default ones, by index of the device."""
        return {}

    def set_streams(self, streams: dict[int, int]) -> None:
        """Make these the current ones, and the default stream on all other devices."""

    def wait_stream(self, index: int, waiting: int, other: int) -> None:
        """Make work queued on stream `waiting` from now on run after what is queued on `other`
        already.
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
