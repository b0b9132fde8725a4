"""Finding the operations that make the host wait (`c10/cuda/CUDAFunctions.cpp`,
`warn_or_error_on_sync`).

`x.item()`, `nonzero`, `print(x)` and every copy that is not `non_blocking` wait until the device
has done all that was queued. Such a line in a training loop keeps the host from running ahead. With
`set_sync_debug_mode("warn")` each of them warns, with "error" it raises. Waiting on purpose
(`synchronize()`, of a device, a stream or an event) is not meant.

How the real one differs: not in this.
"""

from __future__ import annotations

import warnings

from . import backend

MODES = {"default": 0, "warn": 1, "error": 2}

_mode = 0


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """What happens when an operation has to wait: "default" or 0, nothing; "warn" or 1; "error" or
    2.

    Raises RuntimeError for another mode.
    """
    global _mode
    backend.driver()
    mode = MODES.get(debug_mode, -1) if isinstance(debug_mode, str) else debug_mode
    if mode not in MODES.values():
        raise RuntimeError(
            "invalid value of debug_mode, expected one of `default`, `warn`, `error`"
        )
    _mode = mode


def get_sync_debug_mode() -> int:
    """0, 1 or 2: see `set_sync_debug_mode`."""
    backend.driver()
    return _mode


def about_to_wait() -> None:
    """To be called by operations that wait. Raises RuntimeError in mode "error"."""
    if _mode == MODES["error"]:
        raise RuntimeError("called a synchronizing CUDA operation")
    if _mode == MODES["warn"]:
        warnings.warn("called a synchronizing CUDA operation", stacklevel=2)
