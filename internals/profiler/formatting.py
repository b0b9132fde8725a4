"""Times, bytes and shares as short texts (`_format_time`, `_format_memory`, `_format_time_share` of
`torch/autograd/profiler_util.py`).
"""

from __future__ import annotations

UNITS = {"s": 1e6, "ms": 1e3, "us": 1.0}


def format_time(microseconds: float, unit: str | None = None) -> str:
    """ "1.500ms". In the unit that suits, unless one is given: "s", "ms" or "us"."""
    if unit is None:
        unit = next((name for name, size in UNITS.items() if microseconds >= size), "us")
    return f"{microseconds / UNITS[unit]:.3f}{unit}"


def format_memory(nbytes: int) -> str:
    """ "2.00 KB", "-64 B"."""
    for name, size in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if abs(nbytes) >= size:
            return f"{nbytes / size:.2f} {name}"
    return f"{nbytes} B"


def format_share(part: float, whole: float) -> str:
    """ "12.50%", or NaN where there is no whole."""
    return "NaN" if whole == 0 else f"{part * 100.0 / whole:.2f}%"
