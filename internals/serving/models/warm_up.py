"""How long a model may run before it serves, and how much memory it may take.

When a model is loaded it is run on zeros. A program that never comes to an end would hold up every
model behind it, as there is one thread that loads, and one that doubles a string forty times would
take the server's memory. So that thread is watched: Python tells it of each line of a compiled
script (`sys.settrace`, which is for one thread alone), and where the budget is spent, the line
raises an error. Nothing else is interrupted, so whatever holds a lock or counts something is left
in order.

A single operator cannot be stopped. Others go on meanwhile, since operators on large tensors let go
of the GIL; how much memory they get in one piece is limited.

Requests are not watched.

How the real one differs: Triton warms up with what `model_warmup` says, for as long as it takes.
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
OPERATORS = str(Path(operators.__file__).parent)  # in Python; some recurse
EVERY = 0.01  # seconds between two looks at the memory


class WarmUp:
    """What is left of the budget of one model: `run(function, *args)` calls a function that may use
    it up.
    """

    def __init__(self) -> None:
        self.deadline = time.monotonic() + SECONDS
        self.most = _memory_in_use() + NBYTES
        self.next_look = 0.0

    def run(self, function: Callable[..., T], *args: Any) -> T:
        """Raises ModelFailed when the budget is spent, or the script's own error that tells so."""
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
    """Bytes of memory that the process has; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) << 12
    except OSError:
        return 0
