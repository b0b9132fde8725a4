"""The table that `key_averages().table()` prints (`_build_table` in
`torch/autograd/profiler_util.py`).

A column has a heading, a width, and a function from an event to its text; there are only columns
for what was recorded.

How the real one differs: it has a column for the number of the node in a distributed run, and no
`times=False`, which omits the columns that differ from run to run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import floor, log10
from typing import Any, NamedTuple

from .events import DeviceType
from .formatting import format_memory, format_share, format_time

WIDTH = 12
FLOPS = ("FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs")


class Column(NamedTuple):
    """One column: `say` gives the text of its cell for an event, `align` is ">" or "<"."""

    heading: str
    width: int
    say: Callable[[Any], str]
    align: str = ">"


def build_table(
    events: Sequence[Any],
    sort_by: str | None,
    header: str | None,
    row_limit: int,
    source_width: int | None,
    name_width: int | None,
    shapes_width: int | None,
    with_flops: bool,
    profile_memory: bool,
    top_level_events_only: bool,
    time_unit: str | None,
    times: bool,
) -> str:
    """See `EventList.table`."""
    if not events:
        return ""
    if sort_by is not None:
        key = sort_by.replace("cuda", "device")  # "cuda" is the older name of these attributes
        events = sorted(events, key=lambda event: getattr(event, key), reverse=True)
    columns = name_columns(events, name_width)
    if times:
        columns += time_columns(events, time_unit)
    if profile_memory:
        columns += memory_columns(events)
    columns.append(Column("# of Calls", WIDTH, lambda e: str(e.count)))
    if any(e.input_shapes for e in events):
        widest = _at_most(max(len(str(e.input_shapes)) for e in events) + 4, shapes_width)
        columns.append(Column("Input Shapes", widest, lambda e: str(e.input_shapes)[:widest]))
    source = None
    if any(e.stack for e in events):
        source = _at_most(max(len(frame) for e in events for frame in e.stack) + 4, source_width)
        columns.append(
            Column(
                "Source Location",
                source,
                lambda e: _end_of(e.stack[0], source) if e.stack else "",
                "<",
            )
        )
    if with_flops:
        columns += flops_columns(events)

    def line(cells: Sequence[str]) -> str:
        return "".join(f"{cell:{c.align}{c.width}}  " for cell, c in zip(cells, columns))

    rule = "".join("-" * c.width + "  " for c in columns)
    length = len(rule) - 2
    lines = [] if header is None else ["=" * length, header]
    if top_level_events_only:
        lines += ["=" * length, "This report only display top-level ops statistics"]
    lines += [rule, line([c.heading for c in columns]), rule]
    shown = [e for e in events if not top_level_events_only or e.cpu_parent is None]
    for e in shown if row_limit < 0 else shown[:row_limit]:
        lines.append(line([c.say(e) for c in columns]))
        if source is not None:
            # the first frame is in the event's own line; the others and an empty line follow
            for frame in (*e.stack[1:], ""):
                lines.append(
                    line(
                        [
                            _end_of(frame, source) if c.heading == "Source Location" else ""
                            for c in columns
                        ]
                    )
                )
    return "\n".join([*lines, rule, *totals(events, time_unit, times)]) + "\n"


def name_columns(events: Sequence[Any], limit: int | None) -> list[Column]:
    """The name, and the overload if any event has one; long names are cut to `limit`."""
    width = _at_most(max(len(e.key) for e in events) + 4, limit)

    def short(name: str) -> str:
        return name if limit is None or len(name) < limit - 3 else name[: limit - 3] + "..."

    columns = [Column("Name", width, lambda e: short(e.key))]
    if any(e.overload_name for e in events):
        columns.append(Column("Overload Name", width, lambda e: short(e.overload_name)))
    return columns


def time_columns(events: Sequence[Any], unit: str | None) -> list[Column]:
    """Times on the CPU, with shares of the total, and on the device if there were any."""
    whole = sum(e.self_cpu_time_total for e in events)
    columns = [
        Column("Self CPU %", WIDTH, lambda e: format_share(e.self_cpu_time_total, whole)),
        Column("Self CPU", WIDTH, lambda e: format_time(e.self_cpu_time_total, unit)),
        Column("CPU total %", WIDTH, lambda e: format_share(e.cpu_time_total, whole)),
        Column("CPU total", WIDTH, lambda e: format_time(e.cpu_time_total, unit)),
        Column("CPU time avg", WIDTH, lambda e: format_time(e.cpu_time, unit)),
    ]
    if any(e.self_device_time_total > 0 for e in events):
        device, busy = device_name(events), device_total(events)
        columns += [
            Column(f"Self {device}", WIDTH, lambda e: format_time(e.self_device_time_total, unit)),
            Column(
                f"Self {device} %", WIDTH, lambda e: format_share(e.self_device_time_total, busy)
            ),
            Column(f"{device} total", WIDTH, lambda e: format_time(e.device_time_total, unit)),
            Column(f"{device} time avg", WIDTH, lambda e: format_time(e.device_time, unit)),
        ]
    return columns


def memory_columns(events: Sequence[Any]) -> list[Column]:
    """Bytes allocated minus freed, on the CPU and, if there were any, on the device."""
    columns = [
        Column("CPU Mem", WIDTH, lambda e: format_memory(e.cpu_memory_usage)),
        Column("Self CPU Mem", WIDTH, lambda e: format_memory(e.self_cpu_memory_usage)),
    ]
    if any(e.self_device_memory_usage > 0 for e in events):
        device = device_name(events)
        columns += [
            Column(f"{device} Mem", WIDTH, lambda e: format_memory(e.device_memory_usage)),
            Column(
                f"Self {device} Mem", WIDTH, lambda e: format_memory(e.self_device_memory_usage)
            ),
        ]
    return columns


def flops_columns(events: Sequence[Any]) -> list[Column]:
    """Operations, in the unit for the smallest number; no column if none are known."""
    known = [e.flops for e in events if e.flops > 0]
    if not known:
        return []
    power = floor(max(0.0, min(log10(min(known)) / 3, len(FLOPS) - 1.0)))
    return [
        Column(
            f"Total {FLOPS[power]}",
            WIDTH,
            lambda e: f"{e.flops / 1000**power:8.3f}" if e.flops > 0 else "--",
        )
    ]


def totals(events: Sequence[Any], unit: str | None, times: bool) -> list[str]:
    """The lines below the table."""
    if not times:
        return [f"Calls in total: {sum(e.count for e in events)}"]
    lines = [
        f"Self CPU time total: {format_time(sum(e.self_cpu_time_total for e in events), unit)}"
    ]
    if any(e.self_device_time_total > 0 for e in events):
        lines.append(
            f"Self {device_name(events)} time total: {format_time(device_total(events), unit)}"
        )
    return lines


def device_total(events: Sequence[Any]) -> float:
    """The total time of device work. Only the events of devices count: those of the calls that
    queued the work have the same time once more.
    """
    return sum(e.self_device_time_total for e in events if e.device_type is not DeviceType.CPU)


def device_name(events: Sequence[Any]) -> str:
    return (events[0].use_device or "cuda").upper()


def _at_most(width: int, limit: int | None) -> int:
    return width if limit is None else min(width, limit)


def _end_of(path: str, width: int) -> str:
    """The last `width` characters, as the end of a path says more than its beginning."""
    return path if len(path) <= width else "..." + path[len(path) - width + 3 :]
