"""placeholder"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import importlib.util
import os
from typing import NamedTuple


class Availability(NamedTuple):
    count: int
    reason: str


@functools.cache
def availability() -> Availability:
    """How many GPUs the driver has, and if there are none, why not. Nothing is loaded for it but the driver itself."""
    library = "nvcuda.dll" if os.name == "nt" else ctypes.util.find_library("cuda") or "libcuda.so.1"
    try:
        libcuda = ctypes.CDLL(library)
    except OSError:
        return Availability(0, "there is no NVIDIA driver on this system")
    count = ctypes.c_int(0)
    status = libcuda.cuInit(0) or libcuda.cuDeviceGetCount(ctypes.byref(count))
    if status:
        return Availability(0, f"the NVIDIA driver does not start: error {status} of cuInit")
    if not count.value:
        return Availability(0, "the NVIDIA driver has no device")
    if importlib.util.find_spec("numba_cuda") is None:
        return Availability(0, "there is a GPU, but not the package that compiles for it: pip install 'numba-cuda[cu13]'")
    return Availability(count.value, "")
