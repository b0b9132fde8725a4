"""Records which stack of calls allocated which memory, and writes it to a file
(`torch/cuda/memory.py`, `torch/csrc/cuda/memory_snapshot.cpp`).

    torch.cuda.memory._record_memory_history()
    ...                                            # the program
    torch.cuda.memory._dump_snapshot("snapshot.pickle")

The file has PyTorch's format: drop it on pytorch.org/memory_viz, or run `python -m
torch.cuda._memory_viz trace_plot snapshot.pickle`.

How the real one differs: it can add the annotations of `record_function`, the line of a compiled
graph that an allocation came from, and private pools.
"""

from __future__ import annotations

import os
import pickle
import sys
import tempfile
from typing import Any

from internals.core.device import device

from . import backend
from .allocator import history, snapshot
from .allocator.devices import allocator_for, config, existing


def _record_memory_history(
    enabled: str | bool | None = "all",
    context: str | None = "all",
    stacks: str = "all",
    max_entries: int = sys.maxsize,
    device: device | None = None,
    clear_history: bool = False,
    compile_context: bool = False,
    global_record_annotations: bool = False,
    skip_actions: list[str] | None = None,
) -> None:
    """Record what the allocators of all devices do, from now on.

    `enabled`: "state" keeps the stack that allocated each live block, "all" also a history of all
    actions; None stops, and drops the history. `context` chooses which stacks are kept: None,
    "state" (of live blocks), "alloc" (also of allocations in the history), "all" (also of frees).
    `stacks`: "python" leaves out frames that are C++ in PyTorch. The history has at most
    `max_entries` entries, none with an action in `skip_actions`. `device`, `compile_context` and
    `global_record_annotations` are accepted for compatibility only. Raises RuntimeError for another
    value.
    """
    if isinstance(enabled, bool):
        return _record_memory_history_legacy(enabled, context is not None)
    if enabled is not None:
        _check(enabled, ("state", "all"), "expected state to be 'state', 'all', or None")
        _check(
            context,
            (None, "state", "alloc", "all"),
            "expected context to be 'state', 'alloc', 'all', or None",
        )
        _check(stacks, ("python", "all"), "expected stacks to be 'python', or 'all'")
    for action in skip_actions or ():
        _check(action, history.ACTIONS, f"Unknown TraceEntry action: {action}")
    for index in range(backend.driver().device_count()):
        allocator_for(index).record_history(
            enabled is not None,
            history.CONTEXTS[context if enabled else None],
            stacks == "python",
            max_entries if enabled == "all" else 0,
            clear_history,
            skip_actions or (),
        )


def _record_memory_history_legacy(
    enabled: bool,
    record_context: bool = True,
    trace_alloc_max_entries: int = 1,
    trace_alloc_record_context: bool = False,
) -> None:
    """The meaning of a bool until 2.0: it keeps the stacks of live blocks, and a history of
    `trace_alloc_max_entries` entries.
    """
    level = (
        history.ALLOC
        if trace_alloc_record_context
        else history.STATE
        if record_context
        else history.NEVER
    )
    for index in range(backend.driver().device_count()):
        allocator_for(index).record_history(enabled, level, max_entries=trace_alloc_max_entries)


def memory_snapshot() -> list[dict[str, Any]]:
    """The segments of all devices with their blocks (`allocator/snapshot.py`). Empty before CUDA is
    initialised.
    """
    return [segment for allocator in existing().values() for segment in allocator.snapshot()]


def _snapshot(device: device | None = None) -> dict[str, Any]:
    """The state of all allocators as a dict of `segments`, `device_traces` (a list of entries for
    each device), `allocator_settings` and `external_annotations`.
    """
    traces: list[list[dict[str, Any]]] = []
    segments: list[dict[str, Any]] = []
    for index in range(backend.driver().device_count()):
        allocator = allocator_for(index)
        traces.append(allocator.trace())
        segments += allocator.snapshot()
    return {
        "segments": segments,
        "device_traces": traces,
        "allocator_settings": snapshot.settings(config()),
        "external_annotations": [],
    }


def _dump_snapshot(filename: str | os.PathLike[str] = "dump_snapshot.pickle") -> None:
    """Write `_snapshot()` to a file, as a pickle."""
    # into a temporary file first: a snapshot that fails must not destroy an older one
    path = os.path.abspath(filename)
    with tempfile.NamedTemporaryFile(dir=os.path.dirname(path), delete=False) as file:
        try:
            pickle.dump(_snapshot(), file)
        except BaseException:
            os.unlink(file.name)
            raise
    os.replace(file.name, path)


def _allocation_traceback(data_ptr: int) -> list[dict[str, Any]] | None:
    """The stack that allocated the block at an address; None if no block in use starts there, or
    stacks were not kept.
    """
    for allocator in existing().values():
        block = allocator.allocated.get(data_ptr)
        if block is not None and block.frames is not None:
            return history.format_frames(
                block.frames, bool(allocator.history and allocator.history.python_only)
            )
    return None


def _set_memory_metadata(metadata: str) -> None:
    """Put the text `metadata` into all entries from now on; "" for none."""
    history.metadata = metadata


def _get_memory_metadata() -> str:
    return history.metadata


def _check(value: Any, valid: tuple[Any, ...], message: str) -> None:
    """Raises a RuntimeError with `message` unless `value` is one of the valid ones."""
    if value not in valid:
        raise RuntimeError(message)
