"""Limits the time and the memory of a model while it is warmed up.

When a model is loaded, it is run on zeros. A program that never ends would block all models after
it, as there is only one loader thread, and a program that doubles a string forty times would take
all memory of the server. So that thread is traced: Python calls a function for each line of a
compiled script (`sys.settrace`, which is for one thread only), and if the budget is spent, this
function raises an error in that line. Other code is not interrupted, so locks and counters stay
consistent.

A single operator cannot be stopped. But other threads go on meanwhile, since operators on large
tensors release the GIL, and the size of a single allocation is limited.

Requests are not limited.

How the real one differs: Triton warms up with the samples of `model_warmup`, without a limit.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

from internals.core.cpu_allocator import limited_blocks
from internals.jit import operators

from ..errors import ModelFailed

T = TypeVar("T")
SECONDS, NBYTES = 60.0, 2 << 30
OPERATORS = str(Path(operators.__file__).parent)  # those written in Python, of which some recurse
EVERY = 0.01  # seconds between two checks of the memory


class WarmUp:
    """The budget of one model, from now on: `run(function, *args)` calls a function within it."""

    def __init__(self) -> None:
        self.deadline = time.monotonic() + SECONDS
        self.most = _memory_in_use() + NBYTES
        self.next_look = 0.0

    def run(self, function: Callable[..., T], *args: Any) -> T:
        """The result of `function(*args)`. Raises ModelFailed if the budget is spent, or an error
        of the script that contains this one.
        """
        self.check()
        outer = sys.gettrace()
        sys.settrace(self._called)
        try:
            with limited_blocks(NBYTES, "a model that is warmed up"):
                return function(*args)
        finally:
            sys.settrace(outer)

    def check(self) -> None:
        """Raises ModelFailed if the budget is spent."""
        now = time.monotonic()
        if now > self.deadline:
            raise ModelFailed(f"it was stopped after {SECONDS:g} seconds")
        if now > self.next_look:
            self.next_look = now + EVERY
            if _memory_in_use() > self.most:
                raise ModelFailed(f"it was stopped when it had taken {NBYTES >> 20} MiB")

    def _called(self, frame: FrameType, event: str, arg: Any) -> Any:
        """Python calls this for each function call; it returns the function to call for each line,
        or None.
        """
        file = frame.f_code.co_filename
        if file.startswith("<emitted "):
            return self._at_line
        if file.startswith(OPERATORS):
            self.check()
        return None

    def _at_line(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            self.check()
        return self._at_line


def _memory_in_use() -> int:
    """The bytes of memory that the process uses (resident pages of 4096 bytes); 0 if unknown."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) << 12
    except OSError:
        return 0
