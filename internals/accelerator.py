"""`internals.accelerator`: the device there is besides the CPU, whatever its kind (`torch/accelerator/__init__.py`).

How the real one differs: it finds CUDA, MPS, XPU and others.
"""

from __future__ import annotations

from typing import Any

from internals import cuda


def is_available() -> bool:
    """Whether there is an accelerator tensors can live on."""
    return cuda.is_available()


def device_count() -> int:
    return cuda.device_count()


def current_accelerator(check_available: bool = False) -> Any:
    """The `device` of the accelerator, without an index; None if there is none."""
    from internals.core.device import device

    return device("cuda") if is_available() else None
