"""A record of what was allocated when, and by which stack of calls
(`torch/csrc/cuda/memory_snapshot.cpp`; `torch.cuda.memory._record_memory_history`).

While it is switched on, the allocator keeps the Python stack with each block (the *context*) and
writes an entry for everything it does. An entry costs a few microseconds: the stack is kept as code
objects and line numbers, and becomes text only when you ask for it.

`stacks="python"` leaves out the folders of this package that are C++ in PyTorch, so the traceback
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

# Which stacks are kept: none; those of live blocks; also those of entries; also those of `free`.
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
_NATIVE_FOLDERS = ("_generated", "aten", "autograd", "core", "cuda")
# the modules directly in the package that are Python in PyTorch
_PYTHON_MODULES = ("functional.py",)

metadata = ""  # goes into every entry: see torch.cuda.memory._set_memory_metadata


class History:
    """The entries so far, at most `max_entries`: then the oldest are dropped. `context` says which
    stacks are kept, `skipped` which actions get no entry.
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
        """The stack that called the allocator, innermost frame first; None if stacks of this level
        are not kept.
        """
        if self.level < level:
            return None
        frame = sys._getframe(1)
        # the allocator's own frames are left out
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
        """Append an entry. For "oom" `address` is the number of free bytes, for "snapshot" 0."""
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
    """Frames as dicts of `filename`, `line` and `name`; `python_only` leaves out those that are C++
    in PyTorch.
    """
    return [
        {"filename": code.co_filename, "line": line, "name": code.co_name}
        for code, line in frames or ()
        if not (python_only and _is_native(code.co_filename))
    ]


def _is_native(filename: str) -> bool:
    """Whether the counterpart of this file in PyTorch is C++."""
    if not filename.startswith(_PACKAGE):
        return False
    folder, separator, _ = filename[len(_PACKAGE) :].partition(os.sep)
    return folder in _NATIVE_FOLDERS if separator else folder not in _PYTHON_MODULES
