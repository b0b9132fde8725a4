"""Counting GPUs without CUDA (`_device_count_nvml` of `torch/cuda/__init__.py`).

`cuInit` cannot be undone, and a process that has called it must not fork: its child could not use
CUDA any more. So those who only want to know whether there is a GPU ask NVIDIA's management
library. It knows the machine, not the process: which GPUs `CUDA_VISIBLE_DEVICES` leaves, and in
which order, has to be worked out here, as CUDA does it.

How the real one differs: `is_available` asks like this only with PYTORCH_NVML_BASED_CUDA_CHECK=1,
`device_count` always; here both do, unless that variable is 0.
"""

from __future__ import annotations

import ctypes
import os
import re

LIBRARY = "nvml.dll" if os.name == "nt" else "libnvidia-ml.so.1"


def device_count() -> int | None:
    """How many GPUs CUDA would show this process; None where only CUDA can tell."""
    asked = os.environ.get("CUDA_VISIBLE_DEVICES")
    if (
        os.environ.get("PYTORCH_NVML_BASED_CUDA_CHECK") == "0"
        or asked is not None
        and asked.startswith("MIG-")
    ):
        return None
    if asked is not None and not (visible := named(asked)):
        return 0
    try:
        uuids = _uuids()
    except (OSError, AttributeError):  # no such library, or one without these functions
        return None
    if uuids is None or asked is None:
        return None if uuids is None else len(uuids)
    count = 0
    chosen: set[str] = set()
    for name in visible:  # up to the first that is not there, or is meant twice
        found = (
            uuids[int(name) : int(name) + 1]
            if name.isdigit()
            else [u for u in uuids if u.startswith(name)]
        )
        if len(found) != 1:
            break
        if found[0] in chosen:
            return 0
        chosen.add(found[0])
        count += 1
    return count


def named(asked: str) -> list[str]:
    """What `CUDA_VISIBLE_DEVICES` names, up to a name of another kind than the first: indices, or
    beginnings of UUIDs.
    """
    pattern = r"GPU-\S*" if asked.startswith("GPU-") else r"\+?(\d+)"
    found = []
    for name in asked.split(","):
        match = re.match(pattern, name.strip())
        if match is None:
            break
        found.append(match[0] if name.startswith("GPU-") else str(int(match[1])))
    return found if len(set(found)) == len(found) else []


def _uuids() -> list[str] | None:
    """Those of all GPUs of the machine, in NVML's order; None if it does not answer. Raises OSError
    without the library.
    """
    library = ctypes.CDLL(LIBRARY)
    count, handle, uuid = ctypes.c_int(0), ctypes.c_void_p(), ctypes.create_string_buffer(96)
    if library.nvmlInit_v2() or library.nvmlDeviceGetCount_v2(ctypes.byref(count)):
        return None
    found = []
    for index in range(count.value):
        if library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle)):
            return None
        if library.nvmlDeviceGetUUID(handle, uuid, len(uuid)):
            return None
        found.append(uuid.value.decode(errors="replace"))
    return found
