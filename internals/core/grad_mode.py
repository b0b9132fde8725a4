"""The grad mode and the inference mode of each thread (`c10/core/GradMode.h`, `InferenceMode.h`).

The grad mode decides whether operators are recorded for backward. Each thread has its own; but
reading a thread-local takes longer than adding four floats. So `grad_mode.off` counts the threads
that have switched it off: while it is 0, no thread needs to read its own.

How the real one differs: a C++ thread-local is read by one instruction; it also has the flag of
forward-mode differentiation.
"""

from __future__ import annotations

import threading


class _ThreadMode(threading.local):
    enabled: bool = True
    inference: bool = False


class GradMode:
    """`off` is the number of threads in which recording is switched off now."""

    __slots__ = ("off",)

    def __init__(self) -> None:
        self.off = 0


grad_mode = GradMode()
_mode = _ThreadMode()
_lock = threading.Lock()


def is_grad_enabled() -> bool:
    """Whether this thread records operators for backward."""
    return not grad_mode.off or _mode.enabled


def set_grad_mode(enabled: bool) -> bool:
    """Switches recording on or off in this thread. Returns whether it was on."""
    was = _mode.enabled
    if was is not enabled:
        _mode.enabled = enabled
        with _lock:
            grad_mode.off += -1 if enabled else 1
    return was


def is_inference_mode_enabled() -> bool:
    """Whether tensors made in this thread are inference tensors, which autograd never records."""
    return _mode.inference


def set_inference_mode(enabled: bool) -> bool:
    """Switches inference mode on or off in this thread. Returns whether it was on."""
    was, _mode.inference = _mode.inference, enabled
    return was
