"""The current device: choosing it, its properties, and waiting for it (`torch/cuda/__init__.py`).

    with torch.cuda.device(1):
        x = torch.zeros(3, device="cuda")        # on cuda:1

CUDA is initialised when something first needs a device: the real GPU, or the simulator if you chose
that (`backend.py`). `is_available()` is about real GPUs only. So a program that asks it where to
run takes the CPU if there is no GPU, even if there is a simulated device.

`is_available()` and `device_count()` ask NVML (`nvml.py`), so that a process can still fork
afterwards.

How the real one differs: it also asks NVML for temperatures, clocks and power.
"""

from __future__ import annotations

from typing import Any

from internals.core.device import DeviceLike, device as Device

from . import backend
from .driver import DeviceProperties


class device:
    """Makes `device` the current one inside a `with` block: an index, a string or a `torch.device`.
    None and negative indices change nothing.
    """

    def __init__(self, device: DeviceLike | None) -> None:
        self.idx = device_index(device, optional=True)
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = exchange_device(self.idx)

    def __exit__(self, *exception: object) -> None:
        self.idx = exchange_device(self.prev_idx)


class device_of(device):
    """Makes the device of a tensor or storage the current one inside a `with` block. The CPU
    changes nothing.
    """

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if obj.is_cuda else -1)


def is_available() -> bool:
    """Whether tensors can live on a real GPU. A simulated one does not count."""
    return backend.gpu_available()


def is_simulated() -> bool:
    """Whether `cuda` is, or would be, a simulated device."""
    return (
        backend.driver().simulated
        if backend.initialized()
        else backend.choice()[0].endswith("simulator")
    )


def is_initialized() -> bool:
    return backend.initialized()


def init() -> None:
    """Initialise CUDA. Never needed: everything else does so by itself. Raises AssertionError if
    there is no GPU.
    """
    backend.driver()


def device_count() -> int:
    """The number of devices, simulated ones included. Does not initialise CUDA."""
    return backend.device_count()


def current_device() -> int:
    """The index of the current device. Initialises CUDA."""
    backend.driver()
    return backend.current_device()


def set_device(device: DeviceLike) -> None:
    """Make `device` the current one; a negative index changes nothing. Raises CudaError if there
    is no such device.
    """
    index = device_index(device)
    if index >= 0:
        backend.set_device(index)


def synchronize(device: DeviceLike | None = None) -> None:
    """Wait until all work queued on the device is done. Raises CudaError if some of it failed."""
    index = device_index(device, optional=True)
    if index < 0:
        index = backend.current_device()
    backend.check_index(index)
    backend.driver().synchronize(index)


def get_device_properties(device: DeviceLike | None = None) -> DeviceProperties:
    """The properties of a device. Raises AssertionError if there is no such device."""
    driver = backend.driver()
    return driver.properties(_valid(device_index(device, optional=True), "Invalid device id"))


def get_device_name(device: DeviceLike | None = None) -> str:
    return get_device_properties(device).name


def get_device_capability(device: DeviceLike | None = None) -> tuple[int, int]:
    """The device's compute capability: the major and minor version of its instruction set."""
    properties = get_device_properties(device)
    return properties.major, properties.minor


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Always False: this package has no `bfloat16`, whatever the GPU has. A program that asks can
    take `float16` instead.
    """
    return False


def can_device_access_peer(device: DeviceLike, peer_device: int) -> bool:
    """Whether `device` can access the memory of `peer_device` directly. Raises AssertionError if
    there is no such device.
    """
    driver = backend.driver()
    index = _valid(device_index(device, optional=True), "Invalid device id")
    return driver.can_access_peer(
        index, _valid(device_index(peer_device), "Invalid peer device id")
    )


def device_index(device: DeviceLike | None, optional: bool = False) -> int:
    """The index of `device`. With `optional`, None and a cuda device without an index mean the
    current one.

    Raises ValueError for a device that is not a GPU, or without an index unless `optional`;
    TypeError for another type.
    """
    where = device
    if isinstance(where, _context):  # the context manager of this module, used as a device
        return where.idx
    if isinstance(where, str):
        where = Device(where)
    if isinstance(where, int):
        return int(where)
    if isinstance(where, Device):
        if where.type != "cuda":
            raise ValueError(f"Expected a cuda device, but got: {where}")
        if where.index is not None:
            return where.index
    elif where is not None:
        raise TypeError(
            "a device is given as an index, a string or a torch.device, not as "
            f"{type(where).__name__}"
        )
    if not optional:
        raise ValueError(
            f"Expected a torch.device with a specified index or an integer, but got:{where}"
        )
    return current_device()


def exchange_device(index: int) -> int:
    """Make `index` the current device and return the previous one. For a negative index, does
    nothing and returns -1.
    """
    if index < 0:
        return -1
    before = backend.current_device()
    backend.set_device(index)
    return before


def _valid(index: int, message: str) -> int:
    """`index`. Raises an AssertionError with `message` if there is no such device."""
    if not 0 <= index < backend.driver().device_count():
        raise AssertionError(message)
    return index


_context = device  # the class, for functions that have an argument of the same name
