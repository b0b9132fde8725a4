"""The device runtime in use, and the current device and stream (`c10/cuda/impl/CUDAGuardImpl.h`,
`CUDAStream.cpp`).

Importing initialises nothing: the first call of `driver()` chooses the runtime. You can choose it
before that, by `INTERNALS_CUDA` in the environment or by `use_simulator()` in the program:

    INTERNALS_CUDA=gpu                   the real GPU, and an error if there is none
    INTERNALS_CUDA=simulator             one simulated device; simulator:2 for two
    INTERNALS_CUDA=numba-simulator       the same, with kernels run by numba's own simulator
    INTERNALS_CUDA=none                  no CUDA
    unset                                the real GPU if there is one

A process that has used CUDA may fork, but its child cannot use CUDA: the driver's state belongs to
the parent.

Each thread has its own current device, and its own current stream of each device. A new thread
starts on device 0, on default streams.

How the real one differs: PyTorch is compiled with CUDA or without, and has no simulator. The CUDA
runtime keeps the current device.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from internals.core.corrected import corrected
from internals.core.side_streams import side_streams

from .driver import CudaError, Driver

if TYPE_CHECKING:
    from internals.core.device import device

VARIABLE = "INTERNALS_CUDA"
KINDS = ("gpu", "simulator", "numba-simulator", "none")
GIBIBYTE = 1 << 30

NO_CUDA = "Torch not compiled with CUDA enabled"
REMEDY = (
    "No NVIDIA GPU can be used here ({reason}). To see CUDA work without one, set "
    "INTERNALS_CUDA=simulator in the environment, or call internals.cuda.use_simulator() first"
)

FORKED = (
    "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must "
    "use the 'spawn' start method"
)

Choice = tuple[str, int, int]  # kind, number of devices, bytes of memory of each


class _Current(threading.local):
    """The current device and streams of one thread. `streams` has only those that are not default
    ones, by device.
    """

    device = 0
    streams: dict[int, int] | None = None


_lock = threading.RLock()
_driver: Driver | None = None
_asked: Choice | None = None  # the choice of use_simulator(), or the one that was initialised
_local = _Current()
_on_change: list[Callable[[], None]] = []
_cuda_asked = False  # whether cuInit was called in this process, if only to count devices
_in_bad_fork = False  # whether this is the child of a process that had initialised CUDA


def driver() -> Driver:
    """The device runtime, initialised on first use. Raises AssertionError if there is none,
    RuntimeError in the child of a process that used CUDA.
    """
    return _driver or _initialize()


def initialized() -> bool:
    """Whether something has used CUDA already."""
    return _driver is not None


def use_simulator(devices: int = 1, memory: int = GIBIBYTE, numba: bool = False) -> None:
    """Let `cuda` be `devices` simulated devices with `memory` bytes each; `numba`: kernels run on
    numba's own simulator.

    Call it before anything uses CUDA. Asking again for the same does nothing. Raises RuntimeError
    if another runtime is in use, ValueError for no devices or too little memory.
    """
    global _asked
    if devices < 1 or memory < 1 << 21:
        raise ValueError(
            f"use_simulator: at least 1 device with 2 MiB of memory, got devices={devices}, "
            f"memory={memory}"
        )
    choice = ("numba-simulator" if numba else "simulator", devices, memory)
    with _lock:
        if _driver is not None and choice != _asked:
            raise RuntimeError(
                corrected(
                    f"CUDA is in use already, as {_describe(_asked)}: say what it is before "
                    "anything uses it",
                    f"t.cuda(); use_simulator({devices})",
                    f"use_simulator({devices}); t.cuda()",
                )
            )
        _asked = choice


def choice() -> Choice:
    """The runtime in use, or the one that would be: its kind, the number of simulated devices, and
    the bytes of each. The kind is "auto" if nothing was chosen.
    """
    return _asked if _asked is not None else parse(os.environ.get(VARIABLE, ""))


def parse(text: str) -> Choice:
    """The choice that a value of `INTERNALS_CUDA` stands for. Raises ValueError for an unknown
    one.
    """
    kind, colon, number = text.strip().lower().partition(":")
    if not kind:
        return "auto", 0, 0
    simulated = kind.endswith("simulator")  # "simulator" or "numba-simulator"
    if kind not in KINDS or (
        colon and not (simulated and number.isdecimal() and 1 <= int(number) <= 16)
    ):
        raise ValueError(
            f"{VARIABLE}={text!r} has no meaning: it is one of {', '.join(KINDS)}, or unset for "
            "the GPU if there is one; "
            "simulator:2 gives two simulated devices (16 at most)"
        )
    return (kind, int(number or 1), GIBIBYTE) if simulated else (kind, 0, 0)


def device_count() -> int:
    """The number of devices. Initialises nothing, so that the process can still fork."""
    if _driver is not None:
        return _driver.device_count()
    kind, devices, _ = choice()
    return devices or (0 if kind == "none" else _gpus().devices)


def gpu_available() -> bool:
    """Whether `cuda` is a real GPU."""
    if _driver is not None:
        return not _driver.simulated
    return choice()[0] in ("auto", "gpu") and _gpus().devices > 0


# The current device and stream of this thread


def current_device() -> int:
    """The index of this thread's current device; 0 if it set none."""
    return _local.device


def set_device(index: int) -> None:
    """Make device `index` the current one. Raises CudaError if there is no such device."""
    check_index(index)
    _local.device = index


def current_stream(device: int | None = None) -> int:
    """The handle of this thread's current stream on `device` (None: on the current device)."""
    streams = _local.streams
    return streams.get(current_device() if device is None else device, 0) if streams else 0


def side_streams_of_thread() -> dict[int, int]:
    """The handles of this thread's current streams that are not default ones, by device."""
    return dict(_local.streams or {})


def set_stream(device: int, stream: int) -> None:
    """Make `stream` the current one of `device`. Does not change the current device."""
    # `_local.streams` is None in a class attribute until this thread gets a dict of its own
    streams: dict[int, int] = _local.__dict__.setdefault("streams", {})
    if stream:
        side_streams.in_use = True
        streams[device] = stream
    else:
        streams.pop(device, None)


def index_of(device: device) -> int:
    """The index of a `device` of type cuda: its own, or that of the current one. Raises CudaError
    if there is no such GPU.
    """
    index = device.index
    if index is None:
        return current_device()
    check_index(index)
    return int(index)


def check_index(index: int) -> None:
    """Raises CudaError if there is no device `index`."""
    if not 0 <= index < driver().device_count():
        raise CudaError(explain("invalid device ordinal", "cudaErrorInvalidDevice"))


def explain(error: str, name: str, detail: str = "") -> str:
    """PyTorch's text for a CUDA error (`c10/cuda/CUDAException.cpp`). `detail`, if given, replaces
    its advice to look up `name`.
    """
    text = f"CUDA error: {error}\n"
    if detail:
        return text + detail
    return text + (
        f"Search for `{name}' in "
        "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html for more "
        "information."
    )


# Changing the runtime


def on_change(callback: Callable[[], None]) -> None:
    """Have `callback()` called when another driver takes over, to drop everything that belongs to
    the old one.
    """
    _on_change.append(callback)


@contextmanager
def installed(replacement: Driver | None) -> Iterator[Driver | None]:
    """Make `replacement` the device runtime inside the block (None: not initialised). For tests,
    which need a fresh one, or two devices.

    Tensors made inside must not be used afterwards, but they keep their memory and may be deleted.
    """
    before, current = _driver, dict(_local.__dict__)
    _exchange(replacement, {})
    try:
        yield replacement
    finally:
        _exchange(before, current)


def _exchange(new: Driver | None, current: dict[str, Any]) -> None:
    """Install the driver `new`; `current` becomes this thread's state (`_Current`)."""
    global _driver
    with _lock:
        _driver = new
        _local.__dict__.clear()
        _local.__dict__.update(current)
        for callback in _on_change:
            callback()


def _initialize() -> Driver:
    """The driver, made by the first thread that comes here. Raises what `driver` raises."""
    global _driver, _asked
    if _in_bad_fork:
        raise RuntimeError(FORKED)
    with _lock:
        if _driver is None:
            wanted = choice()
            _driver = _make(wanted)
            _asked = wanted
        return _driver


def forks_are_bad() -> None:
    """Let children of this process refuse to use CUDA, as it is about to be initialised here."""
    global _cuda_asked
    _cuda_asked = True


def _forked() -> None:
    """Runs in a child after a fork. The child has the parent's objects, but none of its threads and
    no context of the GPU's driver; the lock may be one that a lost thread holds forever.
    """
    global _driver, _in_bad_fork, _lock
    _in_bad_fork = _in_bad_fork or _cuda_asked or _driver is not None
    _driver, _lock = None, threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def _no_cuda(reason: str) -> AssertionError:
    """PyTorch's error for a missing GPU. The remedy is added as a note: a traceback ends with it,
    while `str(error)` stays PyTorch's.
    """
    error = AssertionError(NO_CUDA)
    error.add_note(REMEDY.format(reason=reason))
    return error


def _make(wanted: Choice) -> Driver:
    """A new driver of the kind `wanted`. Raises AssertionError if there is no GPU for it."""
    kind, devices, memory = wanted
    if kind.endswith("simulator"):
        from .simulator.driver import SimulatedDriver

        return SimulatedDriver(devices, memory, numba=kind == "numba-simulator")
    if kind == "none":
        raise _no_cuda(f"{VARIABLE}=none")
    found = _gpus()
    if not found.devices:
        raise _no_cuda(found.reason)
    from .gpu_driver import GpuDriver

    return GpuDriver()


def _gpus() -> Any:
    from .gpu_driver import availability

    return availability()


def _describe(wanted: Choice | None) -> str:
    kind, devices, memory = wanted or ("auto", 0, 0)
    return f"a {kind} of {devices} devices with {memory} bytes each" if devices else "a real GPU"
