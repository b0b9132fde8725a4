"""Counting memory (`c10/core/CachingDeviceAllocator.h`: Stat, DeviceStats).

Every quantity is counted for the small pool, for the large pool, and for both ("all"). Each count
has four values: `current`, its `peak`, and the sums of all increases (`allocated`) and decreases
(`freed`) so far.

`PoolStats` counts in plain integers what changes at every allocation; `Stat` counts the rest. A
block is *active* from the moment it is handed out until it can be handed out again. If another
stream still uses it when it is given back, it is `pending` in between. A free block that is only a
part of its segment is `split`: it cannot go back to the device.

How the real one differs: every quantity is three `Stat`s of four numbers, all kept up to date. One
addition in Python costs as much as that whole function in C++. So here `freed`, the active blocks
and the values of "all" are computed only when you ask for them. The peaks of "all" are kept, since
the peak of a sum is not the sum of the peaks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


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
        return {
            "current": self.current,
            "peak": self.peak,
            "allocated": self.allocated,
            "freed": self.freed,
        }


class Peaks:
    """The highest value so far of each quantity in `COUNTS`."""

    __slots__ = ("blocks", "bytes", "requested", "active", "active_bytes", "split", "split_bytes")

    def __init__(self) -> None:
        self.set((0,) * 7)

    def set(self, values: tuple[int, ...]) -> None:
        """Set all seven peaks, in the order of `COUNTS`."""
        (
            self.blocks,
            self.bytes,
            self.requested,
            self.active,
            self.active_bytes,
            self.split,
            self.split_bytes,
        ) = values

    def get(self) -> tuple[int, ...]:
        """All seven peaks, in the order of `COUNTS`."""
        # while nothing is pending, the active blocks are those handed out: that peak covers both.
        # `_note_active` keeps a peak of its own only for times with pending blocks
        active, active_bytes = max(self.active, self.blocks), max(self.active_bytes, self.bytes)
        return (
            self.blocks,
            self.bytes,
            self.requested,
            active,
            active_bytes,
            self.split,
            self.split_bytes,
        )


class PoolStats:
    """The counts of one pool. `other` are those of the other pool, `both` the peaks of the sums of
    the two.
    """

    __slots__ = (
        "blocks", "bytes", "requested",  # now; requested counts pending blocks too
        "pending", "pending_bytes",  # given back, not yet free
        "split", "split_bytes",  # free, but only a part of a segment
        # sums of increases since the last reset
        "total_blocks", "total_bytes", "total_requested", "total_split", "total_split_bytes",
        "base",  # `current()` at the last reset of the totals
        "peak", "both", "other", "segment", "reserved",
    )  # fmt: skip

    other: PoolStats

    def __init__(self, both: Peaks) -> None:
        self.blocks = self.bytes = self.requested = self.pending = self.pending_bytes = (
            self.split
        ) = self.split_bytes = 0
        self.total_blocks = self.total_bytes = self.total_requested = self.total_split = (
            self.total_split_bytes
        ) = 0
        self.base: tuple[int, ...] = (0,) * 7
        self.peak, self.both = Peaks(), both
        self.segment, self.reserved = Stat(), Stat()

    def hand_out(self, size: int, requested: int) -> None:
        """A block was handed out."""
        self.blocks = blocks = self.blocks + 1
        self.bytes = nbytes = self.bytes + size
        self.requested = asked = self.requested + requested
        self.total_blocks += 1
        self.total_bytes += size
        self.total_requested += requested
        # comparisons rather than max(): this runs for every tensor, and a call costs more
        peak, both, other = self.peak, self.both, self.other
        if blocks > peak.blocks:
            peak.blocks = blocks
        if nbytes > peak.bytes:
            peak.bytes = nbytes
        if asked > peak.requested:
            peak.requested = asked
        if blocks + other.blocks > both.blocks:
            both.blocks = blocks + other.blocks
        if nbytes + other.bytes > both.bytes:
            both.bytes = nbytes + other.bytes
        if asked + other.requested > both.requested:
            both.requested = asked + other.requested
        if self.pending or other.pending:
            self._note_active()

    def _note_active(self) -> None:
        """Update the peaks of active blocks, where they differ from the blocks handed out."""
        _, _, _, active, nbytes, _, _ = self.current()
        _, _, _, others, other_bytes, _, _ = self.other.current()
        self.peak.active, self.peak.active_bytes = (
            max(self.peak.active, active),
            max(self.peak.active_bytes, nbytes),
        )
        self.both.active = max(self.both.active, active + others)
        self.both.active_bytes = max(self.both.active_bytes, nbytes + other_bytes)

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
        """Add `blocks` and `nbytes`, which may be negative, to the free parts of segments."""
        self.split += blocks
        self.split_bytes += nbytes
        if blocks > 0:
            self.total_split += blocks
            self.peak.split = max(self.peak.split, self.split)
            self.both.split = max(self.both.split, self.split + self.other.split)
        if nbytes > 0:
            self.total_split_bytes += nbytes
            here, everywhere = self.split_bytes, self.split_bytes + self.other.split_bytes
            if here > self.peak.split_bytes:
                self.peak.split_bytes = here
            if everywhere > self.both.split_bytes:
                self.both.split_bytes = everywhere

    def current(self) -> tuple[int, ...]:
        """The current values, in the order of `COUNTS`."""
        active, active_bytes = self.blocks + self.pending, self.bytes + self.pending_bytes
        return (
            self.blocks,
            self.bytes,
            self.requested,
            active,
            active_bytes,
            self.split,
            self.split_bytes,
        )

    def totals(self) -> tuple[int, ...]:
        """The sums of increases since the last reset, in the order of `COUNTS`. A block becomes
        active when it is handed out, so those two have the same sums.
        """
        blocks, nbytes = self.total_blocks, self.total_bytes
        return (
            blocks,
            nbytes,
            self.total_requested,
            blocks,
            nbytes,
            self.total_split,
            self.total_split_bytes,
        )

    def reset_totals(self) -> None:
        self.total_blocks = self.total_bytes = self.total_requested = self.total_split = (
            self.total_split_bytes
        ) = 0
        self.base = self.current()


COUNTS = (
    "allocation", "allocated_bytes", "requested_bytes", "active", "active_bytes", "inactive_split",
    "inactive_split_bytes",
)  # fmt: skip


class DeviceStats:
    """All counts of one device. `segment` and `reserved` count the segments of both pools together,
    and their bytes.
    """

    __slots__ = (
        "small_pool", "large_pool", "both", "segment", "reserved", "oversize_allocations",
        "oversize_segments", "num_alloc_retries", "num_ooms", "num_sync_all_streams",
        "num_device_alloc", "num_device_free",
    )  # fmt: skip

    def __init__(self) -> None:
        self.both = Peaks()
        self.small_pool, self.large_pool = PoolStats(self.both), PoolStats(self.both)
        self.small_pool.other, self.large_pool.other = self.large_pool, self.small_pool
        self.segment, self.reserved, self.oversize_allocations, self.oversize_segments = (
            Stat(),
            Stat(),
            Stat(),
            Stat(),
        )
        self._reset_counters()

    def allocated_bytes(self) -> int:
        return self.small_pool.bytes + self.large_pool.bytes

    def add_segment(self, pool: PoolStats, nbytes: int) -> None:
        """Count a new segment, for its pool and for both together."""
        self.num_device_alloc += 1
        for stat in (self.segment, pool.segment):
            stat.increase(1)
        for stat in (self.reserved, pool.reserved):
            stat.increase(nbytes)

    def remove_segment(self, pool: PoolStats, nbytes: int) -> None:
        """Count a segment that went back to the device."""
        self.num_device_free += 1
        for stat in (self.segment, pool.segment):
            stat.decrease(1)
        for stat in (self.reserved, pool.reserved):
            stat.decrease(nbytes)

    def reset_accumulated(self) -> None:
        self.small_pool.reset_totals()
        self.large_pool.reset_totals()
        for stat in self._stats():
            stat.reset_accumulated()
        self._reset_counters()

    def reset_peak(self) -> None:
        """Set every peak to the current value."""
        small, large = self.small_pool.current(), self.large_pool.current()
        self.small_pool.peak.set(small)
        self.large_pool.peak.set(large)
        self.both.set(_sum(small, large))
        for stat in self._stats():
            stat.reset_peak()

    def _stats(self) -> list[Stat]:
        """Everything that is counted by a `Stat`."""
        small, large = self.small_pool, self.large_pool
        segments = [
            self.segment,
            self.reserved,
            small.segment,
            small.reserved,
            large.segment,
            large.reserved,
        ]
        return [*segments, self.oversize_allocations, self.oversize_segments]

    def _reset_counters(self) -> None:
        self.num_alloc_retries = self.num_ooms = self.num_sync_all_streams = (
            self.num_device_alloc
        ) = self.num_device_free = 0

    def nested(self, max_split_size: int) -> dict[str, Any]:
        """All counts as nested dicts, those of `torch.cuda.memory_stats_as_nested_dict`. No limit,
        the largest unsigned number, becomes -1: it would read so as a signed one.
        """
        result: dict[str, Any] = {
            "num_alloc_retries": self.num_alloc_retries,
            "num_ooms": self.num_ooms,
            "max_split_size": max_split_size if max_split_size < 1 << 63 else -1,
            "num_sync_all_streams": self.num_sync_all_streams,
            "num_device_alloc": self.num_device_alloc,
            "num_device_free": self.num_device_free,
            "num_oom_rejections": 0,
            "oversize_allocations": self.oversize_allocations.as_dict(),
            "oversize_segments": self.oversize_segments.as_dict(),
        }
        small, large = self.small_pool, self.large_pool
        # the name of a row, its segment counts, then tuples in the order of COUNTS: current values,
        # peaks, sums of increases, and the values at the last reset
        rows = (
            ("all", self, _sum(small.current(), large.current()), self.both, _sum(
                small.totals(), large.totals(),
            ),
             _sum(small.base, large.base)),
            ("small_pool", small, small.current(), small.peak, small.totals(), small.base),
            ("large_pool", large, large.current(), large.peak, large.totals(), large.base),
        )  # fmt: skip
        for pool, part, current, peaks, totals, base in rows:
            result.setdefault("segment", {})[pool] = part.segment.as_dict()
            result.setdefault("reserved_bytes", {})[pool] = part.reserved.as_dict()
            for name, now, peak, total, before in zip(COUNTS, current, peaks.get(), totals, base):
                freed = total - (now - before)  # since the reset: before + total - freed = now
                result.setdefault(name, {})[pool] = {
                    "current": now,
                    "peak": peak,
                    "allocated": total,
                    "freed": freed,
                }
        return result


def _sum(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(x + y for x, y in zip(a, b))


def flatten(nested: dict[str, Any]) -> dict[str, Any]:
    """The nested dicts as one dict whose keys are joined by dots and sorted: `{"segment": {"all":
    {"peak": 1}}}` becomes `{"segment.all.peak": 1}`.
    """
    return dict(sorted(_leaves("", nested)))


def _leaves(prefix: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Every value that is not a dict, with its path of keys."""
    if not isinstance(value, dict):
        yield prefix, value
        return
    for key, inner in value.items():
        yield from _leaves(f"{prefix}.{key}" if prefix else key, inner)
