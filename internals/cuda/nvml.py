"""Counts GPUs without initialising CUDA (`_device_count_nvml` of `torch/cuda/__init__.py`).

`cuInit` cannot be undone, and a process that has called it must not fork: its child could not use
CUDA. NVIDIA's management library, NVML, counts GPUs without it. But NVML knows the machine, not the
process: which GPUs `CUDA_VISIBLE_DEVICES` leaves visible has to be worked out here, by CUDA's
rules.

How the real one differs: `device_count` always asks NVML, `is_available` only with
PYTORCH_NVML_BASED_CUDA_CHECK=1; here both do, unless that variable is 0.
"""

from __future__ import annotations

import ctypes
import os
import re

LIBRARY = "nvml.dll" if os.name == "nt" else "libnvidia-ml.so.1"


def device_count() -> int | None:
    """The number of GPUs that CUDA would show this process; None if only CUDA can tell."""
    setting = os.environ.get("CUDA_VISIBLE_DEVICES")
    if (
        os.environ.get("PYTORCH_NVML_BASED_CUDA_CHECK") == "0"
        or setting is not None
        and setting.startswith("MIG-")
    ):
        return None
    if setting is not None and not (visible := named(setting)):
        return 0
    try:
        uuids = _uuids()
    except (OSError, AttributeError):  # no such library, or one without these functions
        return None
    if uuids is None or setting is None:
        return None if uuids is None else len(uuids)
    count = 0
    chosen: set[str] = set()
    # CUDA's rules: the first GPU that does not exist ends the list, one named twice empties it
    for name in visible:
        found = (
            uuids[int(name) : int(name) + 1]
            if name.isdigit()
            else [u for u in uuids if u.startswith(name)]
        )
        if len(found) != 1:  # none, or the beginning of several UUIDs
            break
        if found[0] in chosen:
            return 0
        chosen.add(found[0])
        count += 1
    return count


def named(setting: str) -> list[str]:
    """The names in a value of `CUDA_VISIBLE_DEVICES`: indices, or beginnings of UUIDs, as the first
    one is. A name of another kind ends the list; one that occurs twice empties it.
    """
    pattern = r"GPU-\S*" if setting.startswith("GPU-") else r"\+?(\d+)"
    found = []
    for name in setting.split(","):
        match = re.match(pattern, name.strip())
        if match is None:
            break
        found.append(match[0] if name.startswith("GPU-") else str(int(match[1])))
    return found if len(set(found)) == len(found) else []


def _uuids() -> list[str] | None:
    """The UUIDs of all GPUs of the machine, in NVML's order; None if a call fails. Raises OSError
    without the library, AttributeError if it lacks a function.
    """
    library = ctypes.CDLL(LIBRARY)  # its functions return 0 for success
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
