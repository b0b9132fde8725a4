"""What the caching allocator counts: `torch.cuda.memory_stats`, with numbers worked out by hand
from the C++ source.
"""

from __future__ import annotations

import pytest

from internals.cuda.allocator import CachingAllocator, FakeSegments
from internals.cuda.allocator.stats import flatten
from tests.cuda.allocator_support import Book, Runner

MIB = 1 << 20
VALUES = ("current", "peak", "allocated", "freed")


def stats(a: CachingAllocator) -> dict[str, int]:
    return flatten(a.memory_stats())


def test_every_number_of_a_short_program() -> None:
    a = CachingAllocator(FakeSegments())
    x, y = a.allocate(1000), a.allocate(3 * MIB)
    a.record_stream(y, 1)
    x.clear()
    y.clear()
    found = stats(a)
    kinds = ("allocation", "active", "segment", "inactive_split")
    names = kinds + tuple(
        f"{k}_bytes" for k in ("allocated", "active", "reserved", "inactive_split", "requested")
    )
    expected = {
        f"{n}.{pool}.{v}"
        for n in names
        for pool in ("all", "small_pool", "large_pool")
        for v in VALUES
    }
    expected |= {f"oversize_{n}.{v}" for n in ("allocations", "segments") for v in VALUES}
    expected |= {
        "num_alloc_retries",
        "num_ooms",
        "num_sync_all_streams",
        "num_device_alloc",
        "num_device_free",
    }
    expected |= {"num_oom_rejections", "max_split_size"}
    assert set(found) == expected and list(found) == sorted(found)
    assert found["max_split_size"] == -1

    def four(key: str) -> tuple[int, ...]:
        return tuple(found[f"{key}.{v}"] for v in VALUES)

    assert four("allocation.all") == (0, 2, 2, 2)
    assert four("active.all") == (1, 2, 2, 1)
    assert four("active_bytes.large_pool") == (3 * MIB, 3 * MIB, 3 * MIB, 0)
    assert four("requested_bytes.all") == (3 * MIB, 3 * MIB + 1000, 3 * MIB + 1000, 1000)
    assert four("segment.all") == (2, 2, 2, 0)
    assert four("reserved_bytes.small_pool") == (2 * MIB, 2 * MIB, 2 * MIB, 0)
    # 1 part when x is cut off, none when it merges again; the 17 MiB behind y remain
    assert four("inactive_split.small_pool") == (0, 1, 1, 1)
    assert four("inactive_split_bytes.small_pool") == (
        0,
        2 * MIB - 1024,
        2 * MIB - 1024,
        2 * MIB - 1024,
    )
    assert four("inactive_split.all") == (1, 2, 2, 1)


def test_parts_of_segments_step_by_step() -> None:
    """The bytes of free parts go up and down by what changed, not by whole blocks
    (alloc_found_block, free_block).
    """
    a = CachingAllocator(FakeSegments())
    # two in the first segment of 2 MiB, one in the second
    x, y, z = (a.malloc(MIB, 0) for _ in range(3))
    key = "inactive_split_bytes.all"

    def four() -> tuple[int, ...]:
        return tuple(stats(a)[f"{key}.{v}"] for v in VALUES)

    assert four() == (MIB, MIB, 2 * MIB, MIB)  # cut, the rest taken, cut
    w = a.malloc(1000, 0)
    assert four() == (MIB - 1024, MIB, 2 * MIB, MIB + 1024)
    a.free(x)
    assert four() == (2 * MIB - 1024, 2 * MIB - 1024, 3 * MIB, MIB + 1024)
    a.free(w)  # 1024 more, merged with what was counted already
    assert four() == (2 * MIB, 2 * MIB, 3 * MIB + 1024, MIB + 1024)
    a.free(z)
    assert four() == (MIB, 2 * MIB, 3 * MIB + 1024, 2 * MIB + 1024)
    a.free(y)
    assert four() == (0, 2 * MIB, 3 * MIB + 1024, 3 * MIB + 1024)


def test_resets() -> None:
    a = CachingAllocator(FakeSegments())
    x, y = a.allocate(1000), a.allocate(2000)
    x.clear()
    a.reset_peak_stats()
    a.reset_accumulated_stats()
    found = stats(a)
    assert [found[f"allocation.all.{v}"] for v in VALUES] == [1, 1, 0, 0]
    assert [found[f"inactive_split.all.{v}"] for v in VALUES] == [2, 2, 0, 0]
    assert found["num_device_alloc"] == 0
    y.clear()
    found = stats(a)
    assert [found[f"allocated_bytes.all.{v}"] for v in VALUES] == [0, 2048, 0, 2048]
    assert [found[f"inactive_split.all.{v}"] for v in VALUES] == [0, 2, 0, 2]


@pytest.mark.parametrize("seed", range(4))
def test_peaks_and_totals_are_those_of_what_was_current(seed: int) -> None:
    """Of every count, in both pools and together, from any reset on."""
    runner = Runner(seed, capacity=1 << 40)
    a = runner.allocator
    book = Book(lambda: stats(a))
    for _ in range(400):
        dice = runner.random.random()
        if dice < 0.03:
            a.reset_peak_stats()
            book.reset_peak()
        elif dice < 0.06:
            a.reset_accumulated_stats()
            book.reset_accumulated()
        elif dice < 0.08:
            a.empty_cache()
        else:
            runner.step()
        book.check()
