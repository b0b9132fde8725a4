"""`internals.cuda`: what programs ask before they decide where to run (`torch/cuda/__init__.py`).

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

is the first line of most training scripts. There is no CUDA backend in this build, so the answer is no, and what needs a device
says so; seeding is allowed, as there is nothing to seed.

How the real one differs: it has one; streams, events, graphs, memory statistics and properties of devices.
"""

from __future__ import annotations

from typing import Any, NoReturn

_NO_CUDA = "Torch not compiled with CUDA enabled"


def is_available() -> bool:
    """Whether tensors can live on a GPU."""
    return False


def is_initialized() -> bool:
    return False


def device_count() -> int:
    """How many GPUs tensors can live on."""
    return 0


def manual_seed(seed: int) -> None:
    """Seed the generator of the current GPU. Without one, nothing happens."""


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all GPUs. Without any, nothing happens."""


def empty_cache() -> None:
    """Give cached memory back. There is none."""


def memory_allocated(device: Any = None) -> int:
    return 0


def max_memory_allocated(device: Any = None) -> int:
    return 0


def current_device() -> NoReturn:
    raise AssertionError(_NO_CUDA)


def get_device_name(device: Any = None) -> NoReturn:
    raise AssertionError(_NO_CUDA)


def synchronize(device: Any = None) -> NoReturn:
    raise AssertionError(_NO_CUDA)
