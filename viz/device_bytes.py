"""The bytes behind an address, of the host or of a GPU.

A GPU's address means nothing to the CPU. The simulator can look behind it without moving its clock,
so a picture shows what is there now, and not yet what is queued. A real GPU is asked for a copy,
which waits for everything queued before.
"""

from __future__ import annotations

import ctypes
from typing import Any


def bytes_at(device: Any, pointer: int, nbytes: int) -> bytes:
    """`nbytes` bytes at `pointer`, an address of `device` (a `torch.device` of type cpu or
    cuda).
    """
    if nbytes == 0:
        return b""
    if device.type == "cpu":
        return ctypes.string_at(pointer, nbytes)
    from internals.cuda import backend

    driver: Any = backend.driver()
    index = backend.index_of(device)
    if driver.simulated:
        return bytes(driver.memory_of(index).view(pointer, nbytes))
    target = ctypes.create_string_buffer(nbytes)
    stream = backend.current_stream(index)
    driver.copy(index, stream, ctypes.addressof(target), pointer, nbytes, "d2h")
    driver.synchronize_stream(index, stream)
    return target.raw


def in_words(device: Any) -> str:
    """ "cuda:0, simulated"; "" for the CPU, which goes without saying."""
    if device.type == "cpu":
        return ""
    from internals.cuda import backend

    return (
        f"{device}, simulated"
        if device.type == "cuda" and backend.driver().simulated
        else str(device)
    )
