"""What ran when."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Activity:
    """One thing that a device, or the host, did. Times in nanoseconds."""

    name: str
    kind: str  # "kernel", "h2d", "d2h", "d2d", "memset", "event" or "host"
    device: int
    stream: int
    start_ns: int
    end_ns: int
    nbytes: int = 0
    grid: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    enqueued_ns: int = 0
