"""The table of `torch.cuda.memory_summary()` (`torch/cuda/memory.py`).

The row of a quantity over all pools chooses the unit of each column. The rows of the single pools
below it use the same unit, so that you can compare them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from internals.core.device import device

from .device import device_index

WIDTH = 75
RULE, DOUBLE_RULE = "-" * WIDTH, "=" * WIDTH
COLUMNS = ("current", "peak", "allocated", "freed")

Format = Callable[[int, int], str]


def memory_summary(device: device | None = None, abbreviated: bool = False) -> str:
    """A device's memory statistics as a table. `abbreviated` leaves out the rows of the single
    pools.
    """
    from .memory import memory_stats

    index = device_index(device, optional=True)
    stats = memory_stats(index)
    lines = [
        DOUBLE_RULE,
        f" {'':16} PyTorch CUDA memory summary, device ID {index:<17d} ",
        RULE,
        f"  {'':9} CUDA OOMs: {stats['num_ooms']:<12d} | {'':6} cudaMalloc retries: "
        f"{stats['num_alloc_retries']:<8d}  ",
        DOUBLE_RULE,
        "        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  ",
    ]
    # a row for both pools, which sets the units, then one for each pool
    for key, title, form in METRICS:
        lines.append(RULE)
        units = _values(stats, f"{key}.all")
        lines.append(_row(title, units, units, form))
        if not abbreviated:
            lines.append(
                _row("      from large pool", _values(stats, f"{key}.large_pool"), units, form)
            )
            lines.append(
                _row("      from small pool", _values(stats, f"{key}.small_pool"), units, form)
            )
    for key, title in (
        ("oversize_allocations", "Oversize allocations"),
        ("oversize_segments", "Oversize GPU segments"),
    ):
        values = _values(stats, key)
        lines += [RULE, _row(title, values, values, _format_count)]
    lines.append(DOUBLE_RULE)
    return "|" + "|\n|".join(lines) + "|\n"


def _values(stats: dict[str, Any], key: str) -> list[int]:
    """The values of a row, one for each of `COLUMNS`."""
    return [stats[f"{key}.{column}"] for column in COLUMNS]


def _row(title: str, values: list[int], units: list[int], form: Format) -> str:
    """A row of the table, in which the unit of each value is the one that suits its `units`."""
    return (
        f" {title:<21} | "
        + " | ".join(form(value, unit) for value, unit in zip(values, units))
        + " "
    )


def _format_size(nbytes: int, measure: float) -> str:
    """`nbytes` in the unit in which `measure` has at most six digits: below 768 Ki."""
    unit = "B  "
    for larger in ("KiB", "MiB", "GiB", "TiB", "PiB"):
        if measure < 768 * 1024:
            break
        unit, nbytes, measure = larger, nbytes // 1024, measure / 1024
    return f"{nbytes:6d} {unit}"


def _format_count(count: int, measure: float) -> str:
    """`count` in units, thousands or millions, so that `measure` is below 750,000 if possible."""
    unit = " "
    for larger in ("K", "M"):
        if measure < 750 * 1000:
            break
        unit, count, measure = larger, count // 1000, measure / 1000
    return f"{count:7d} {unit} "


METRICS: list[tuple[str, str, Format]] = [
    ("allocated_bytes", "Allocated memory", _format_size),
    ("active_bytes", "Active memory", _format_size),
    ("requested_bytes", "Requested memory", _format_size),
    ("reserved_bytes", "GPU reserved memory", _format_size),
    ("inactive_split_bytes", "Non-releasable memory", _format_size),
    ("allocation", "Allocations", _format_count),
    ("active", "Active allocs", _format_count),
    ("segment", "GPU reserved segments", _format_count),
    ("inactive_split", "Non-releasable allocs", _format_count),
]
