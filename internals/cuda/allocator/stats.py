"""Counting memory (`c10/core/CachingDeviceAllocator.h`: Stat, DeviceStats).

Every quantity is counted three times: for the small pool, for the large pool, and for both ("all"), because the peak of a sum
is not the sum of the peaks. Each count has four values: `current`, its `peak`, and the sums of all increases (`allocated`) and
decreases (`freed`) so far.

What happens at every allocation is counted by `PoolStats.hand_out` and `take_back`, in plain integers; the rest by `Stat`.
A block is *active* from the moment it is handed out until it can be handed out again, which is later than it is given back if
another stream still uses it: those blocks are `pending`.

How the real one differs: every quantity is a `Stat` of four numbers. Here `freed` and the `active` counts are computed when
somebody asks, since an addition costs as much as the whole C++ function.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

POOLS = ("all", "small_pool", "large_pool")


class Stat:
    """One quantity that goes up and down."""

    __slots__ = ("current", "peak", "allocated", "freed")

    def __init__(self) -> None:
        self.current = self.peak = self.allocated = self.freed = 0

    def increase(self, amount: int) -> None:
        self.current += amount
        self.allocated += amount
        if self.current > self.peak:
            self.peak = self.current

    def decrease(self, amount: int) -> None:
        self.current -= amount
        self.freed += amount

    def reset_accumulated(self) -> None:
        self.allocated = self.freed = 0

    def reset_peak(self) -> None:
        self.peak = self.current

    def as_dict(self) -> dict[str, int]:
        return {"current": self.current, "peak": self.peak, "allocated": self.allocated, "freed": self.freed}


class PoolStats:
    """The counts of one pool, or of both together."""

    __slots__ = (
        "blocks", "bytes", "requested",  # now; requested counts pending blocks too
        "peak_blocks", "peak_bytes", "peak_requested", "peak_active", "peak_active_bytes",
        "total_blocks", "total_bytes", "total_requested",  # handed out so far
        "pending", "pending_bytes",  # given back, not yet free
        "split", "split_bytes", "peak_split", "peak_split_bytes", "total_split", "total_split_bytes",  # free parts of segments
        "base",  # what was current of each when the totals were last reset
        "segment", "reserved",
    )  # fmt: skip

    def __init__(self) -> None:
        self.blocks = self.bytes = self.requested = 0
        self.peak_blocks = self.peak_bytes = self.peak_requested = self.peak_active = self.peak_active_bytes = 0
        self.total_blocks = self.total_bytes = self.total_requested = 0
        self.pending = self.pending_bytes = 0
        self.split = self.split_bytes = self.peak_split = self.peak_split_bytes = self.total_split = (
            self.total_split_bytes
        ) = 0
        self.base: tuple[int, ...] = (0,) * 7
        self.segment, self.reserved = Stat(), Stat()

    def hand_out(self, size: int, requested: int) -> None:
        self.blocks += 1
        self.bytes += size
        self.requested += requested
        self.total_blocks += 1
        self.total_bytes += size
        self.total_requested += requested
        if self.blocks > self.peak_blocks:
            self.peak_blocks = self.blocks
        if self.bytes > self.peak_bytes:
            self.peak_bytes = self.bytes
        if self.requested > self.peak_requested:
            self.peak_requested = self.requested
        if self.pending:  # else as many are active as are handed out, and so are the peaks
            self.peak_active = max(self.peak_active, self.blocks + self.pending)
            self.peak_active_bytes = max(self.peak_active_bytes, self.bytes + self.pending_bytes)

    def take_back(self, size: int, requested: int) -> None:
        """A block was given back and is free at once."""
        self.blocks -= 1
        self.bytes -= size
        self.requested -= requested

    def take_back_pending(self, size: int) -> None:
        """A block was given back, but streams still use it."""
        self.blocks -= 1
        self.bytes -= size
        self.pending += 1
        self.pending_bytes += size

    def complete(self, size: int, requested: int) -> None:
        """A pending block became free."""
        self.pending -= 1
        self.pending_bytes -= size
        self.requested -= requested

    def change_split(self, blocks: int, nbytes: int) -> None:
        """So many more free blocks are parts of segments, with so many more bytes in them."""
        self.split += blocks
        self.split_bytes += nbytes
        if blocks > 0:
            self.total_split += blocks
            if self.split > self.peak_split:
                self.peak_split = self.split
        if nbytes > 0:
            self.total_split_bytes += nbytes
            if self.split_bytes > self.peak_split_bytes:
                self.peak_split_bytes = self.split_bytes

    def current(self) -> tuple[int, ...]:
        active, active_bytes = self.blocks + self.pending, self.bytes + self.pending_bytes
        return self.blocks, self.bytes, self.requested, active, active_bytes, self.split, self.split_bytes

    def reset_accumulated(self) -> None:
        self.total_blocks = self.total_bytes = self.total_requested = self.total_split = self.total_split_bytes = 0
        self.base = self.current()
        self.segment.reset_accumulated()
        self.reserved.reset_accumulated()

    def reset_peak(self) -> None:
        (
            self.peak_blocks, self.peak_bytes, self.peak_requested, self.peak_active, self.peak_active_bytes,
            self.peak_split, self.peak_split_bytes,
        ) = self.current()  # fmt: skip
        self.segment.reset_peak()
        self.reserved.reset_peak()

    def as_dicts(self) -> dict[str, dict[str, int]]:
        names = (
            "allocation", "allocated_bytes", "requested_bytes", "active", "active_bytes", "inactive_split",
            "inactive_split_bytes",
        )  # fmt: skip
        peaks = (
            self.peak_blocks, self.peak_bytes, self.peak_requested, max(self.peak_active, self.peak_blocks),
            max(self.peak_active_bytes, self.peak_bytes), self.peak_split, self.peak_split_bytes,
        )  # fmt: skip
        totals = (
            self.total_blocks, self.total_bytes, self.total_requested, self.total_blocks, self.total_bytes,
            self.total_split, self.total_split_bytes,
        )  # fmt: skip
        result = {"segment": self.segment.as_dict(), "reserved_bytes": self.reserved.as_dict()}
        for name, current, peak, total, base in zip(names, self.current(), peaks, totals, self.base):
            result[name] = {"current": current, "peak": peak, "allocated": total, "freed": total - (current - base)}
        return result


class DeviceStats:
    """All counts of one device."""

    __slots__ = (
        "all", "small_pool", "large_pool", "oversize_allocations", "oversize_segments",
        "num_alloc_retries", "num_ooms", "num_sync_all_streams", "num_device_alloc", "num_device_free",
    )  # fmt: skip

    def __init__(self) -> None:
        self.all, self.small_pool, self.large_pool = PoolStats(), PoolStats(), PoolStats()
        self.oversize_allocations, self.oversize_segments = Stat(), Stat()
        self._reset_counters()

    def reset_accumulated(self) -> None:
        for part in (self.all, self.small_pool, self.large_pool, self.oversize_allocations, self.oversize_segments):
            part.reset_accumulated()
        self._reset_counters()

    def reset_peak(self) -> None:
        for part in (self.all, self.small_pool, self.large_pool, self.oversize_allocations, self.oversize_segments):
            part.reset_peak()

    def _reset_counters(self) -> None:
        self.num_alloc_retries = self.num_ooms = self.num_sync_all_streams = self.num_device_alloc = (
            self.num_device_free
        ) = 0

    def nested(self, max_split_size: int) -> dict[str, Any]:
        """As `torch.cuda.memory_stats_as_nested_dict`. No limit is -1: the largest unsigned number, read as a signed one."""
        result: dict[str, Any] = {
            "num_alloc_retries": self.num_alloc_retries,
            "num_ooms": self.num_ooms,
            "max_split_size": max_split_size if max_split_size < 1 << 63 else -1,
            "num_sync_all_streams": self.num_sync_all_streams,
            "num_device_alloc": self.num_device_alloc,
            "num_device_free": self.num_device_free,
            "num_oom_rejections": 0,
        }
        for pool in POOLS:
            for name, values in getattr(self, pool).as_dicts().items():
                result.setdefault(name, {})[pool] = values
        result["oversize_allocations"] = self.oversize_allocations.as_dict()
        result["oversize_segments"] = self.oversize_segments.as_dict()
        return result


def flatten(nested: dict[str, Any]) -> dict[str, Any]:
    """Keys joined by dots, in order: `{"segment": {"all": {"peak": 1}}}` becomes `{"segment.all.peak": 1}`."""
    return dict(sorted(_leaves("", nested)))


def _leaves(prefix: str, value: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, dict):
        yield prefix, value
        return
    for key, inner in value.items():
        yield from _leaves(f"{prefix}.{key}" if prefix else key, inner)
