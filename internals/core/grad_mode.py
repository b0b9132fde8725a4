"""Whether operators record what they do, thread by thread (`c10/core/GradMode.h`,
`InferenceMode.h`).

The mode belongs to a thread, and asking a thread-local costs more than adding four floats. So
`grad_mode.off` counts the threads that have it switched off: while it is 0, no thread needs to ask.

How the real one differs: a C++ thread-local is one instruction away, and holds the forward-mode AD
flag as well.
"""

from __future__ import annotations

import threading


class _ThreadMode(threading.local):
    enabled: bool = True
    inference: bool = False


class GradMode:
    """`off`: in how many threads gradients are switched off at the moment."""

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
    """Switch recording on or off in this thread; returns what it was."""
    was = _mode.enabled
    if was is not enabled:
        _mode.enabled = enabled
        with _lock:
            grad_mode.off += -1 if enabled else 1
    return was


def is_inference_mode_enabled() -> bool:
    """Whether tensors made in this thread are inference tensors, which autograd will never know."""
    return _mode.inference


def set_inference_mode(enabled: bool) -> bool:
    """Enter or leave inference mode in this thread; returns what it was."""
    was, _mode.inference = _mode.inference, enabled
    return was
