"""Finds the operations that make the host wait (`c10/cuda/CUDAFunctions.cpp`,
`warn_or_error_on_sync`).

`x.item()`, `nonzero`, `print(x)` and every copy that is not `non_blocking` wait until the device
has done all work queued before. Such a line in a training loop keeps the host from running ahead.
With `set_sync_debug_mode("warn")` each of them warns, with "error" it raises. The modes do not
apply to `synchronize()` of a device, a stream or an event, which waits on purpose.
"""

from __future__ import annotations

import warnings

from . import backend

MODES = {"default": 0, "warn": 1, "error": 2}

_mode = 0


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """Set the reaction to an operation that makes the host wait: none ("default" or 0), a warning
    ("warn" or 1), or RuntimeError ("error" or 2).

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
    """The mode as a number: 0, 1 or 2, as in `set_sync_debug_mode`."""
    backend.driver()
    return _mode


def about_to_wait() -> None:
    """Called by every operation that is about to wait. Warns in mode "warn", and raises
    RuntimeError in mode "error".
    """
    if _mode == MODES["error"]:
        raise RuntimeError("called a synchronizing CUDA operation")
    if _mode == MODES["warn"]:
        warnings.warn("called a synchronizing CUDA operation", stacklevel=2)
