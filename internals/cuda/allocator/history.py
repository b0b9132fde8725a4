"""Who allocated what, when (`torch/csrc/cuda/memory_snapshot.cpp`;
`torch.cuda.memory._record_memory_history`).

While it is switched on, the allocator keeps the Python stack with each block (the *context*) and
writes down each thing it does. An entry costs a few microseconds: the stack is kept as code objects
and line numbers, and becomes text only when somebody looks.

`stacks="python"` leaves out the floors of this package that are C++ in PyTorch, so the traceback
reads as it would there; "all" shows them too, as PyTorch then shows its C++ frames.

How the real one differs: the frames are gathered by `CapturedTraceback`, which also unwinds C++ and
TorchScript; entries can carry a compile context of `torch.compile`.
"""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Collection
from types import CodeType
from typing import Any

# Which stacks are kept: none; of live blocks; also of entries "alloc"; also of entries "free".
NEVER, STATE, ALLOC, ALL = range(4)
CONTEXTS = {None: NEVER, "state": STATE, "alloc": ALLOC, "all": ALL}
ACTIONS = (
    "alloc",
    "free_requested",
    "free_completed",
    "segment_alloc",
    "segment_free",
    "oom",
    "snapshot",
)

Frames = tuple[tuple[CodeType, int], ...]
# action, address, size, stream, µs, frames, metadata
Entry = tuple[str, int, int, int, int, Frames | None, str]

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_NATIVE_FLOORS = ("_generated", "aten", "autograd", "core", "cuda")
# of those directly in the package, the ones that are Python in PyTorch
_PYTHON_MODULES = ("functional.py",)

metadata = ""  # goes into every entry: see torch.cuda.memory._set_memory_metadata


class History:
    """What is written down: at most `max_entries` entries, of which the oldest go first, and stacks
    as `context` says.
    """

    __slots__ = ("entries", "level", "python_only", "skipped")

    def __init__(
        self,
        context: int = ALL,
        python_only: bool = False,
        max_entries: int = sys.maxsize,
        skipped: Collection[str] = (),
    ) -> None:
        self.entries: deque[Entry] = deque(maxlen=min(max_entries, sys.maxsize))
        self.level, self.python_only, self.skipped = context, python_only, frozenset(skipped)

    def gather(self, level: int) -> Frames | None:
        """The stack of whoever called the allocator, if stacks of this level are kept. The
        innermost frame comes first.
        """
        if self.level < level:
            return None
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
            frame = frame.f_back
        found = []
        while frame is not None:
            found.append((frame.f_code, frame.f_lineno))
            frame = frame.f_back  # type: ignore[assignment]
        return tuple(found)

    def record(
        self, action: str, address: int, size: int, stream: int, frames: Frames | None
    ) -> None:
        """Write an entry. `address` is the number of free bytes for "oom", and 0 for "snapshot"."""
        if action not in self.skipped:
            kept = frames if self.level >= ALLOC else None
            self.entries.append(
                (action, address, size, stream, time.time_ns() // 1000, kept, metadata)
            )

    def trace(self) -> list[dict[str, Any]]:
        """The entries, oldest first, in the schema of
        `torch.cuda.memory._snapshot()["device_traces"]`.
        """
        return [self._as_dict(entry) for entry in list(self.entries)]

    def _as_dict(self, entry: Entry) -> dict[str, Any]:
        action, address, size, stream, microseconds, frames, note = entry
        return {
            "action": action,
            "device_free" if action == "oom" else "addr": address,
            "size": size,
            "stream": stream,
            "time_us": microseconds,
            "compile_context": "",
            "user_metadata": note,
            "pool_id": (0, 0),
            "frames": self.format(frames),
        }

    def format(self, frames: Frames | None) -> list[dict[str, Any]]:
        """Frames as PyTorch shows them: `filename`, `line`, `name`."""
        return format_frames(frames, self.python_only)


def format_frames(frames: Frames | None, python_only: bool = False) -> list[dict[str, Any]]:
    return [
        {"filename": code.co_filename, "line": line, "name": code.co_name}
        for code, line in frames or ()
        if not (python_only and _is_native(code.co_filename))
    ]


def _is_native(filename: str) -> bool:
    """Whether what this file does is done by C++ in PyTorch."""
    if not filename.startswith(_PACKAGE):
        return False
    floor, separator, _ = filename[len(_PACKAGE) :].partition(os.sep)
    return floor in _NATIVE_FLOORS if separator else floor not in _PYTHON_MODULES
