"""One recorded call, with its place in the tree of calls (`FunctionEvent` in
`torch/autograd/profiler_util.py`).

An event's *total* time includes the events within it. Its *self* time is the total without those of
its direct children, so the self times of all events add up to the time of the outermost ones. The
same holds for memory, and for device time.

How the real one differs: it derives the tree from the times, as spans come from several sources and
threads.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

from internals.core.recording import Scope

from .flops import flops_of
from .formatting import format_time
from .recorder import Span

MEMORY = "[memory]"


class DeviceType(Enum):
    """The kind of device on which an event happened."""

    CPU = 0
    CUDA = 1

    def __repr__(self) -> str:
        return f"DeviceType.{self.name}"

    __str__ = __repr__


class Interval(NamedTuple):
    """The time from `start` to `end`, in microseconds since the profile began."""

    start: float
    end: float

    def elapsed_us(self) -> float:
        return self.end - self.start


class Kernel(NamedTuple):
    """Work of a device that a call has queued; `duration` in microseconds."""

    name: str
    device: int
    duration: float


class Times:
    """The measures that single events and their averages have in common, and their texts."""

    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    device_time_total: float
    self_device_time_total: float

    @property
    def cpu_time(self) -> float:
        """Microseconds per call."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def device_time(self) -> float:
        return self.device_time_total / self.count if self.count else 0.0

    @property
    def cpu_time_str(self) -> str:
        return format_time(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        return format_time(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        return format_time(self.self_cpu_time_total)

    @property
    def device_time_str(self) -> str:
        return format_time(self.device_time)

    @property
    def device_time_total_str(self) -> str:
        return format_time(self.device_time_total)

    @property
    def self_device_time_total_str(self) -> str:
        return format_time(self.self_device_time_total)


class FunctionEvent(Times):
    """One call. Times are in microseconds; memory is in bytes, allocated minus freed.

    `bytes_allocated` and `bytes_freed` are those of this event itself. `cpu_parent` and
    `cpu_children` are the enclosing event and those directly within. `kernels` is the device work
    that was queued here. Steps share one `name`, while their `trace_name` has the number.
    """

    def __init__(self, id: int, name: str, start: float, end: float, thread: int = 1) -> None:
        self.id, self.thread, self.time_range = id, thread, Interval(start, end)
        self.trace_name, self.name = (
            name,
            "ProfilerStep*" if name.startswith("ProfilerStep#") else name,
        )
        self.overload_name = ""
        self.scope: int = Scope.FUNCTION
        self.sequence_nr = self.node_id = -1
        self.device_type, self.device_index, self.device_resource_id = DeviceType.CPU, 0, thread
        self.use_device: str | None = None
        self.cpu_parent: FunctionEvent | None = None
        self.cpu_children: list[FunctionEvent] = []
        self.input_shapes: list[Any] = []
        self.input_dtypes: list[str] = []
        self.concrete_inputs: list[str] = []
        self.stack: list[str] = []
        self.kernels: list[Kernel] = []
        self.flops = 0
        self.bytes_allocated = self.bytes_freed = self.self_device_memory_usage = 0
        self.count = 1
        self.is_async = self.is_remote = self.is_legacy = False

    @property
    def key(self) -> str:
        """The key under which events are averaged: the name."""
        return self.name

    @property
    def is_user_annotation(self) -> bool:
        return self.scope == Scope.USER_SCOPE

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        return self.time_range.elapsed_us() if self.device_type is DeviceType.CPU else 0.0

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def device_time_total(self) -> float:  # type: ignore[override]
        if self.device_type is not DeviceType.CPU:
            return self.time_range.elapsed_us()
        return self.self_device_time_total + sum(
            child.device_time_total for child in self.cpu_children
        )

    @property
    def self_device_time_total(self) -> float:  # type: ignore[override]
        if self.device_type is not DeviceType.CPU:
            return self.time_range.elapsed_us()
        return sum(kernel.duration for kernel in self.kernels)

    @property
    def self_cpu_memory_usage(self) -> int:
        return self.bytes_allocated - self.bytes_freed

    @property
    def cpu_memory_usage(self) -> int:
        return self.self_cpu_memory_usage + sum(
            child.cpu_memory_usage for child in self.cpu_children
        )

    @property
    def device_memory_usage(self) -> int:
        return self.self_device_memory_usage + sum(
            child.device_memory_usage for child in self.cpu_children
        )

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} device_type={self.device_type} "
            f"cpu_time={self.cpu_time_str} start_us={self.time_range.start:.3f} "
            f"end_us={self.time_range.end:.3f} "
            f"cpu_children={[child.id for child in self.cpu_children]} thread={self.thread} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} "
            f"seq_nr={self.sequence_nr}>"
        )


def events_of(
    spans: list[Span], zero: int, with_flops: bool, shapes: bool, use_device: str | None
) -> list[FunctionEvent]:
    """An event for each span, in the same order, linked as a tree.

    `zero` is the beginning of the profile in nanoseconds, from which times are counted.
    """
    events: list[FunctionEvent] = []
    found: dict[int, FunctionEvent] = {}  # by id() of the span; a parent comes before its children
    for number, span in enumerate(spans, 1):
        event = FunctionEvent(
            number, span.name, (span.start - zero) / 1000, (span.end - zero) / 1000
        )
        event.overload_name, event.scope, event.sequence_nr = (
            span.overload,
            span.scope,
            span.sequence_nr,
        )
        event.use_device, event.stack = use_device, list(span.stack)
        event.bytes_allocated, event.bytes_freed = span.allocated, span.freed
        event.self_device_memory_usage = span.device_bytes
        if span.inputs is not None and shapes:
            event.input_shapes = [i.sizes for i in span.inputs]
            event.input_dtypes = [i.dtype for i in span.inputs]
            event.concrete_inputs = [i.text for i in span.inputs]
        if with_flops:
            event.flops = flops_of(span.name, span.inputs or [])
        if span.parent is not None:
            event.cpu_parent = found[id(span.parent)]
            event.cpu_parent.cpu_children.append(event)
        found[id(span)] = event
        events.append(event)
    return events
