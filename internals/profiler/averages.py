"""Lists of events, and their averages by name: the results of `events()` and `key_averages()`
(`torch/autograd/profiler_util.py`).

An `EventList` is a list of events, or of averages of events with the same key; both can be printed
as a table.

How the real one differs: it also has legacy and asynchronous events, whose times follow other
rules.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from internals.core.corrected import corrected

from .events import DeviceType, FunctionEvent, Times
from .table import build_table

METRICS = ("self_cpu_time_total", "self_cuda_time_total", "self_device_time_total")


class FunctionEventAvg(Times):
    """The sum of `count` events of one key. `cpu_time` and `device_time` are per call, everything
    else is the total.
    """

    def __init__(self, first: Any) -> None:
        self.key, self.name = first.key, first.key
        self.overload_name, self.scope, self.node_id = (
            first.overload_name,
            first.scope,
            first.node_id,
        )
        self.device_type, self.use_device = first.device_type, first.use_device
        self.input_shapes: Any = first.input_shapes
        self.stack: list[str] = first.stack
        self.is_user_annotation = first.is_user_annotation
        self.is_async = self.is_remote = self.is_legacy = False
        self.cpu_parent, self.cpu_children = first.cpu_parent, first.cpu_children
        self.count = self.flops = self.bytes_allocated = self.bytes_freed = 0
        self.cpu_time_total = self.self_cpu_time_total = self.device_time_total = (
            self.self_device_time_total
        ) = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.device_memory_usage = self.self_device_memory_usage = 0

    def add(self, other: Any) -> FunctionEventAvg:
        """Add one more event, or the events of another average."""
        for name in (
            "count", "flops", "cpu_time_total", "self_cpu_time_total", "device_time_total",
            "self_device_time_total", "bytes_allocated", "bytes_freed", "cpu_memory_usage",
            "self_cpu_memory_usage", "device_memory_usage", "self_device_memory_usage",
        ):  # fmt: skip
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str} "
            f" self_cuda_time={self.self_device_time_total_str} cuda_time={self.device_time_str} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} "
            f"cuda_memory_usage={self.device_memory_usage}>"
        )


class EventList(list[Any]):
    """A list of `FunctionEvent`, or of `FunctionEventAvg`. Its text is the table."""

    def __init__(
        self,
        events: Iterable[Any] = (),
        use_device: str | None = None,
        profile_memory: bool = False,
        with_flops: bool = False,
        with_stack: bool = False,
    ) -> None:
        super().__init__(events)
        self.use_device, self.profile_memory = use_device, profile_memory
        self.with_flops, self.with_stack = with_flops, with_stack

    def __str__(self) -> str:
        return self.table()

    @property
    def self_cpu_time_total(self) -> float:
        """The total time on the CPU, in microseconds."""
        return sum(event.self_cpu_time_total for event in self)

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int | None = 75,
        max_name_column_width: int | None = 55,
        max_shapes_column_width: int | None = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
        *,
        times: bool = True,
    ) -> str:
        """The events as text, one line each, with the columns of PyTorch.

        `sort_by` is an attribute, such as "self_cpu_time_total", "cpu_time_total", "cpu_time",
        "cpu_memory_usage", "self_cpu_memory_usage", "count", or one with "cuda" for "cpu"; the
        largest values come first. Without it the order is that of the events. `times=False`, which
        PyTorch does not have, omits the columns that differ from run to run.

        Raises AttributeError for an attribute that does not exist.
        """
        return build_table(
            self, sort_by, header, row_limit, max_src_column_width, max_name_column_width,
            max_shapes_column_width, self.with_flops, self.profile_memory, top_level_events_only,
            time_unit, times,
        )  # fmt: skip

    def key_averages(
        self,
        group_by_input_shapes: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """One average for each name; optionally also for each combination of input sizes, of the
        `group_by_stack_n` innermost frames, and for each overload.
        """
        groups: dict[tuple[Any, ...], FunctionEventAvg] = {}
        for event in self:
            key: tuple[Any, ...] = event.key, event.device_type, event.is_user_annotation
            if group_by_overload_name:
                key += (event.overload_name,)
            if group_by_input_shapes:
                key += (str(event.input_shapes),)
            key += tuple(event.stack[:group_by_stack_n])
            average = groups.get(key)
            if average is None:
                average = groups[key] = FunctionEventAvg(event)
            average.add(event)
        # properties that were not grouped by may differ within a group, so they are removed
        for average in groups.values():
            average.stack = average.stack[:group_by_stack_n]
            if not group_by_input_shapes:
                average.input_shapes = ""
            if not group_by_overload_name:
                average.overload_name = ""
        return EventList(
            groups.values(), self.use_device, self.profile_memory, self.with_flops, self.with_stack
        )

    def total_average(self) -> FunctionEventAvg:
        """The sum of all events, with the key "Total". Raises ValueError for an empty list."""
        if not self:
            raise ValueError(
                corrected(
                    "nothing was recorded, so there is no average of it",
                    "with profile() as p: pass",
                    "with profile() as p: f(x)",
                )
            )
        total = FunctionEventAvg(self[0])
        for event in self:
            total.add(event)
        total.key = total.name = "Total"
        return total

    def stacks(self, metric: str = "self_cpu_time_total") -> list[str]:
        """Lines "outermost frame;...;innermost frame value" for flame graph tools, one for each
        event with a stack.

        Raises ValueError for an unknown metric.
        """
        if metric not in METRICS:
            raise ValueError("metric should be one of: " + str(list(METRICS)))
        plain = str.maketrans(" ;\t\n", "____")
        lines = []
        for event in self:
            value = int(getattr(event, metric.replace("cuda", "device")))
            if event.stack and value > 0:
                lines.append(
                    ";".join(frame.translate(plain) for frame in reversed(event.stack))
                    + f" {value}"
                )
        return lines

    def roots(self) -> list[FunctionEvent]:
        """The outermost events of the CPU: the roots of the tree."""
        return [
            e for e in self if e.cpu_parent is None and e.device_type is DeviceType.CPU and e.id > 0
        ]
