"""Which device runtime is in use, and which device and stream are current
(`c10/cuda/impl/CUDAGuardImpl.h`, `CUDAStream.cpp`).

Nothing is initialised before it is needed: importing costs nothing, and the first call of
`driver()` decides. What it decides can be said before in two ways, by `INTERNALS_CUDA` in the
environment or by `use_simulator()` in the program:

    INTERNALS_CUDA=gpu                   the real GPU, and an error if there is none
    INTERNALS_CUDA=simulator             one simulated device; simulator:2 for two
    INTERNALS_CUDA=numba-simulator       the same, with kernels run by numba's own simulator
    INTERNALS_CUDA=none                  no CUDA
    unset                                the real GPU if there is one

A process that has used CUDA may fork, but its child cannot use CUDA: the driver's state is the
parent's.

The current device and the current stream of each device belong to the thread: a new thread starts
on device 0, on default streams.

How the real one differs: PyTorch is compiled for CUDA or not, and has no simulator; the current
device is kept by the CUDA runtime.
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
    """Of this thread."""

    device = 0
    streams: dict[int, int] | None = None


_lock = threading.RLock()
_driver: Driver | None = None
_asked: Choice | None = None  # what use_simulator() asked for
_local = _Current()
_on_change: list[Callable[[], None]] = []
_cuda_asked = False  # CUDA's own library was initialised, if only to count devices
_in_bad_fork = False  # this is the child of a process that had initialised CUDA


def driver() -> Driver:
    """The device runtime, initialised on first use. Raises AssertionError where there is none,
    RuntimeError after a fork.
    """
    return _driver or _initialize()


def initialized() -> bool:
    """Whether something has used CUDA already."""
    return _driver is not None


def use_simulator(devices: int = 1, memory: int = GIBIBYTE, numba: bool = False) -> None:
    """Let `cuda` be `devices` simulated devices with `memory` bytes each; `numba`: kernels run on
    numba's own simulator.

    To be called before anything uses CUDA. Asking again for what is in use does nothing. Raises
    RuntimeError if something else is.
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
    """What CUDA is, or would be, in this process: the kind, how many simulated devices, and how
    much memory they have.
    """
    return _asked if _asked is not None else parse(os.environ.get(VARIABLE, ""))


def parse(text: str) -> Choice:
    """The meaning of `INTERNALS_CUDA`. Raises ValueError for what has none."""
    kind, colon, number = text.strip().lower().partition(":")
    if not kind:
        return "auto", 0, 0
    simulated = kind.endswith("simulator")
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
    """How many devices there are, asked without initialising anything."""
    if _driver is not None:
        return _driver.device_count()
    kind, devices, _ = choice()
    return devices or (0 if kind == "none" else _gpus().devices)


def gpu_available() -> bool:
    """Whether `cuda` is a real GPU."""
    if _driver is not None:
        return not _driver.simulated
    return choice()[0] in ("auto", "gpu") and _gpus().devices > 0


# The current device and stream, of this thread


def current_device() -> int:
    return _local.device


def set_device(index: int) -> None:
    """Make device `index` the current one. Raises CudaError for one that is not there."""
    check_index(index)
    _local.device = index


def current_stream(device: int | None = None) -> int:
    """The handle of the stream that work of this thread goes to."""
    streams = _local.streams
    return streams.get(current_device() if device is None else device, 0) if streams else 0


def side_streams_of_thread() -> dict[int, int]:
    """The current streams that are not default ones, by device."""
    return dict(_local.streams or {})


def set_stream(device: int, stream: int) -> None:
    """Make `stream` the current one of `device`. The current device stays."""
    streams: dict[int, int] = _local.__dict__.setdefault("streams", {})
    if stream:
        side_streams.in_use = True
        streams[device] = stream
    else:
        streams.pop(device, None)


def index_of(device: device) -> int:
    """The index that a `device` of type cuda means: its own, or the current one. Raises CudaError
    if there is no such GPU.
    """
    index = device.index
    if index is None:
        return current_device()
    check_index(index)
    return int(index)


def check_index(index: int) -> None:
    if not 0 <= index < driver().device_count():
        raise CudaError(explain("invalid device ordinal", "cudaErrorInvalidDevice"))


def explain(error: str, name: str, detail: str = "") -> str:
    """The text PyTorch gives to a CUDA error (`c10/cuda/CUDAException.cpp`), and what more is known
    here.
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
    """Have `callback()` called when another driver takes over: what belongs to the old one must not
    be handed out any more.
    """
    _on_change.append(callback)


@contextmanager
def installed(replacement: Driver | None) -> Iterator[Driver | None]:
    """Within: `replacement` is the device runtime (None: not initialised). For tests, which need a
    fresh one or two devices.

    Tensors made within keep their memory: they must not be used afterwards, but may die.
    """
    before, current = _driver, dict(_local.__dict__)
    _exchange(replacement, {})
    try:
        yield replacement
    finally:
        _exchange(before, current)


def _exchange(new: Driver | None, current: dict[str, Any]) -> None:
    """Let `new` take over, with the current device and streams of this thread."""
    global _driver
    with _lock:
        _driver = new
        _local.__dict__.clear()
        _local.__dict__.update(current)
        for callback in _on_change:
            callback()


def _initialize() -> Driver:
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
    """Have children of this process refuse CUDA from now on: it is about to be initialised."""
    global _cuda_asked
    _cuda_asked = True


def _forked() -> None:
    """In a child process, which has the parent's objects but none of its threads, and no context of
    the GPU's driver.
    """
    global _driver, _in_bad_fork, _lock
    _in_bad_fork = _in_bad_fork or _cuda_asked or _driver is not None
    _driver, _lock = None, threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def _no_cuda(reason: str) -> AssertionError:
    """PyTorch's error, with a note on what can be done about it: tracebacks end with it,
    `str(error)` is PyTorch's.
    """
    error = AssertionError(NO_CUDA)
    error.add_note(REMEDY.format(reason=reason))
    return error


def _make(wanted: Choice) -> Driver:
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
