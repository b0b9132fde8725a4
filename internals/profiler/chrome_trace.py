"""A profile in the format of chrome://tracing, which https://ui.perfetto.dev opens too
(`torch/profiler`, Kineto's JSON output).

Each span is a complete event ("ph": "X") in the row of its thread; a viewer draws an event below
the one that encloses it in time. Arrows lead from an operator to the node that computes its
gradient, and from a call to the device work that it queued. Devices have their own rows, made by
`internals.cuda.activity`. Times are in microseconds.

How the real one differs: it also has host and process names, and strides of the inputs.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from internals.core.recording import Scope

from .events import MEMORY, DeviceType, FunctionEvent

CATEGORIES = {Scope.USER_SCOPE: "user_annotation", Scope.MODULE: "python_function"}


def chrome_trace(result: Any) -> dict[str, Any]:
    """The trace of an `internals.profiler.session.Result`, as a dict for `json.dumps`."""
    process = os.getpid()
    host = [e for e in result.events if e.device_type is DeviceType.CPU and e.name != MEMORY]
    events: list[dict[str, Any]] = [  # "ph": "M" is metadata: names for process and thread
        {
            "ph": "M",
            "name": "process_name",
            "ts": 0,
            "pid": process,
            "tid": 0,
            "args": {"name": "python"},
        },
        {
            "ph": "M",
            "name": "thread_name",
            "ts": 0,
            "pid": process,
            "tid": result.thread,
            "args": {"name": "recorded thread"},
        },
    ]
    for e in host:
        events.append(_complete(e, process, result.thread))
    events.extend(_backward_arrows(host, process, result.thread))
    events.extend(_memory_changes(result, process))
    events.extend(_device_rows(result))
    trace: dict[str, Any] = {
        "schemaVersion": 1,
        "deviceProperties": [] if result.activity is None else result.activity.devices,
        "displayTimeUnit": "ms",
        "record_shapes": int(result.record_shapes),
        "profile_memory": int(result.profile_memory),
        "with_stack": int(result.with_stack),
        "with_flops": int(result.with_flops),
        "traceEvents": events,
    }
    if result.activity is not None:
        trace["simulated"] = result.activity.simulated
    return trace | result.metadata


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a file atomically: afterwards it is complete, or unchanged. Raises OSError."""
    target = Path(path)
    with tempfile.NamedTemporaryFile(
        "w", dir=target.parent, prefix=target.name, suffix=".part", delete=False, encoding="utf-8"
    ) as file:
        try:
            file.write(text)
            file.close()
            os.replace(file.name, target)
        except BaseException:
            file.close()
            Path(file.name).unlink(missing_ok=True)
            raise


def export(result: Any, path: str | os.PathLike[str]) -> None:
    """Write the trace to a file."""
    write_text(path, json.dumps(chrome_trace(result)))


def _complete(e: FunctionEvent, process: int, thread: int) -> dict[str, Any]:
    """A complete event, with a start ("ts"), a duration ("dur") and details ("args")."""
    args: dict[str, Any] = {"External id": e.id}
    if e.sequence_nr >= 0:
        args["Sequence number"] = e.sequence_nr
    if e.overload_name:
        args["Overload"] = e.overload_name
    if e.input_dtypes:
        args |= {
            "Input Dims": e.input_shapes,
            "Input type": e.input_dtypes,
            "Concrete Inputs": e.concrete_inputs,
        }
    if e.bytes_allocated or e.bytes_freed:
        args |= {"Bytes allocated": e.bytes_allocated, "Bytes freed": e.bytes_freed}
    if e.flops:
        args["FLOPs"] = e.flops
    if e.stack:
        args["Call stack"] = ";".join(reversed(e.stack))
    start, end = e.time_range
    return {
        "ph": "X", "cat": CATEGORIES.get(Scope(e.scope), "cpu_op"), "name": e.trace_name,
        "pid": process, "tid": thread, "ts": start, "dur": round(end - start, 3), "args": args,
    }  # fmt: skip


def _backward_arrows(
    events: list[FunctionEvent], process: int, thread: int
) -> Iterator[dict[str, Any]]:
    """An arrow from the innermost call that made a node to the node's evaluation in backward.

    An arrow is a pair of events with the same id: "s" where it starts, "f" where it ends.
    """
    # by sequence number; inner calls come later and replace outer ones
    forward_calls: dict[int, FunctionEvent] = {}
    for e in events:
        if e.scope == Scope.BACKWARD_FUNCTION:
            forward = forward_calls.get(e.sequence_nr)
            if forward is not None:
                where = {
                    "id": e.sequence_nr,
                    "pid": process,
                    "tid": thread,
                    "cat": "fwdbwd",
                    "name": "fwdbwd",
                }
                yield {"ph": "s", "ts": forward.time_range.start, **where}
                yield {"ph": "f", "bp": "e", "ts": e.time_range.start, **where}
        elif e.sequence_nr >= 0 and e.name.startswith("aten::"):
            forward_calls[e.sequence_nr] = e


def _memory_changes(result: Any, process: int) -> Iterator[dict[str, Any]]:
    """Each change of the bytes in use, as an instant event ("i") with PyTorch's names."""
    for c in result.memory_changes:
        yield {
            "ph": "i", "s": "t", "cat": "cpu_instant_event", "name": MEMORY, "pid": process,
            "tid": result.thread,
            "ts": (c.time - result.zero) / 1000,
            "args": {
                "Bytes": c.bytes, "Total Allocated": c.total, "Device Type": int(c.device >= 0),
                "Device Id": c.device, "Addr": c.address,
            },
        }  # fmt: skip


def _device_rows(result: Any) -> Iterator[dict[str, Any]]:
    """The rows of the devices and of calls of the driver, with times converted to the clock of the
    profile: theirs started at 0 with the recording of devices.
    """
    if result.activity is None or not len(result.activity):
        return
    for event in result.activity.chrome_trace()["traceEvents"]:
        yield {**event, "ts": event["ts"] + result.activity_offset} if event["ph"] != "M" else event
