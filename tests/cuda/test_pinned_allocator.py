"""The allocator of page-locked host memory: sizes, reuse, and waiting for copies."""

from __future__ import annotations

import random
import threading

import pytest

import internals as torch
from internals.core.allocator import DataPtr
from internals.cuda import backend
from internals.cuda.allocator import TODAY, V1_0_1, FakeSegments, PinnedAllocator, pinned_allocator
from internals.cuda.allocator.config import AllocatorConfig, parse
from internals.cuda.allocator.stats import flatten
from tests.cuda.allocator_support import Book

KIB, MIB = 1 << 10, 1 << 20


def make(config: AllocatorConfig = TODAY) -> tuple[PinnedAllocator, FakeSegments]:
    segments = FakeSegments()
    return PinnedAllocator(segments, config), segments


def stats(a: PinnedAllocator) -> dict[str, int]:
    return flatten(a.memory_stats())


@pytest.mark.parametrize(
    "nbytes,size",
    [(1, 1), (2, 2), (3, 4), (1000, 1024), (1024, 1024), (1025, 2048), (5 * MIB, 8 * MIB)],
)
def test_sizes_are_powers_of_two(nbytes: int, size: int) -> None:
    a, segments = make()
    p = a.allocate(nbytes)
    assert list(segments.live.values()) == [size] and p.device == torch.device("cpu")


def test_a_free_block_of_the_same_size_is_taken_the_last_first() -> None:
    a, segments = make()
    p, q, r = a.allocate(1000), a.allocate(900), a.allocate(5000)
    first, second, larger = p.pointer, q.pointer, r.pointer
    for data in (r, p, q):
        data.clear()
    assert [a.allocate(700).pointer for _ in range(2)] == [second, first]
    assert a.allocate(700).pointer not in (first, second, larger), "a larger one is not taken"
    assert stats(a)["num_host_alloc"] == 4 == len(segments.live)


def test_by_the_rules_of_1_0_1_the_smallest_that_is_large_enough() -> None:
    a, segments = make(V1_0_1)
    data = [a.allocate(n) for n in (5000, 1000, 3000)]
    assert sorted(segments.live.values()) == [1000, 3000, 5000]
    large, small, middle = (p.pointer for p in data)
    for p in data:
        p.clear()
    assert a.allocate(1001).pointer == middle
    assert a.allocate(1).pointer == small
    assert a.allocate(1).pointer == large, "however large"
    assert a.allocate(1).pointer not in (large, small, middle)


def test_a_block_waits_for_copies() -> None:
    a, segments = make()
    p = a.allocate(100)
    address = p.pointer
    assert a.record_event(p, 0, 7) and a.record_event(address, 1, 7)
    p.clear()
    assert [event.stream for event in segments.events] == [(0, 7), (1, 7)]
    assert (stats(a)["active_requests.current"], stats(a)["active_bytes.current"]) == (1, 128)
    q = a.allocate(100)
    assert q.pointer != address
    segments.finish(7, device=0)
    assert a.allocate(100).pointer != address
    segments.finish(7, device=1)
    assert a.allocate(100).pointer == address


def test_what_is_not_from_here_is_not_recorded() -> None:
    a, segments = make()
    b, _ = make()
    assert not a.record_event(b.allocate(10), 0, 0)
    assert not a.record_event(12345, 0, 0)
    p = a.allocate(10)
    block = p.context
    p.clear()
    assert not a.record_event(DataPtr(block.pointer, block, a.free), 0, 0), "given back already"
    with pytest.raises(RuntimeError, match="double free"):
        a.free(block)


def test_empty_cache_leaves_what_is_in_use() -> None:
    a, segments = make()
    kept, dropped, waits = a.allocate(10), a.allocate(100), a.allocate(1000)
    a.record_event(waits, 0, 1)
    dropped.clear()
    waits.clear()
    a.empty_cache()
    assert sorted(segments.live.values()) == [16, 1024]
    segments.finish()
    a.empty_cache()
    assert segments.live == {kept.pointer: 16}
    found = stats(a)
    assert (found["num_host_alloc"], found["num_host_free"], found["allocated_bytes.peak"]) == (
        3,
        2,
        1168,
    )


def test_thresholds() -> None:
    a, segments = make(parse("pinned_max_round_threshold_mb:1,pinned_max_cached_size_mb:4"))
    a.allocate(MIB - 1).clear()
    p = a.allocate(MIB + 1)
    assert sorted(segments.live.values()) == [MIB, MIB + 1], (
        "above the first, sizes stay what they are"
    )
    p.clear()
    a.allocate(5 * MIB).clear()
    assert sorted(segments.live.values()) == [MIB, MIB + 1], "above the second, blocks are not kept"
    assert stats(a)["active_requests.current"] == 0


def test_nothing_and_less() -> None:
    a, segments = make()
    assert a.allocate(0).pointer == 0 and not segments.live
    with pytest.raises(RuntimeError, match="negative"):
        a.allocate(-1)


def test_peaks_and_totals_are_those_of_what_was_current() -> None:
    a, _ = make()
    book, live, dice = (
        Book(lambda: {k: v for k, v in stats(a).items() if "time" not in k}),
        [],
        random.Random(0),
    )
    for _ in range(300):
        kind = dice.random()
        if kind < 0.05:
            a.reset_peak_stats()
            book.reset_peak()
        elif kind < 0.1:
            a.reset_accumulated_stats()
            book.reset_accumulated()
        elif kind < 0.6 or not live:
            live.append(a.allocate(dice.choice((1, 100, 5_000, MIB))))
        else:
            live.pop(dice.randrange(len(live))).clear()
        book.check()


def test_keys_and_resets() -> None:
    a, _ = make()
    p = a.allocate(10)
    a.allocate(20).clear()
    four = ("current", "peak", "allocated", "freed")
    names = ("active_requests", "active_bytes", "allocations", "allocated_bytes")
    keys = {f"{name}.{v}" for name in names for v in four} | {"num_host_alloc", "num_host_free"}
    keys |= {
        f"host_{what}_time.{v}"
        for what in ("alloc", "free")
        for v in ("total", "max", "min", "count", "avg")
    }
    found = stats(a)
    assert set(found) == keys and found["host_alloc_time.count"] == 2
    assert [found[f"active_bytes.{v}"] for v in four] == [16, 48, 48, 32]
    a.reset_peak_stats()
    a.reset_accumulated_stats()
    found = stats(a)
    assert [found[f"active_bytes.{v}"] for v in four] == [16, 16, 0, 0]
    assert (
        found["num_host_alloc"]
        == 0
        == found["host_alloc_time.count"]
        == found["host_alloc_time.max"]
    )
    p.clear()


@pytest.mark.parametrize("config", [TODAY, V1_0_1], ids=["today", "1.0.1"])
@pytest.mark.parametrize("seed", range(5))
def test_random_programs(config: AllocatorConfig, seed: int) -> None:
    """No two owners overlap, nobody gets memory that a copy still touches, and all counts are
    right.
    """
    rng = random.Random(seed)
    a, segments = make(config)
    live: list[DataPtr] = []
    waiting: dict[int, list[object]] = {}
    for _ in range(1500):
        dice = rng.random()
        if dice < 0.5:
            nbytes = rng.choice((rng.randint(1, 300), rng.randint(1, 1 << 14)))
            p = a.allocate(nbytes)
            waiting = {
                q: events for q, events in waiting.items() if not all(e.ready for e in events)
            }  # type: ignore[attr-defined]
            assert segments.live[p.pointer] >= nbytes and p.pointer not in waiting
            assert p.pointer not in {q.pointer for q in live}
            live.append(p)
        elif dice < 0.9 and live:
            p = live.pop(rng.randrange(len(live)))
            if rng.random() < 0.3:
                a.record_event(p, 0, rng.randrange(3))
            address, before = p.pointer, len(segments.events)
            p.clear()
            if segments.events[before:]:
                waiting[address] = list(segments.events[before:])
        elif dice < 0.99:
            segments.finish(rng.randrange(3))
        else:
            a.empty_cache()
        found = a.memory_stats()
        assert found["allocations"]["current"] == len(segments.live) == len(a.blocks)
        assert found["allocated_bytes"]["current"] == segments.in_use
        assert found["active_requests"]["current"] == len(live) + len(a.pending.blocks())
    for p in live:
        p.clear()
    segments.finish()
    a.empty_cache()
    assert not segments.live


def test_threads() -> None:
    a, segments = make()
    errors: list[BaseException] = []

    def work(seed: int) -> None:
        rng = random.Random(seed)
        try:
            for _ in range(300):
                p, q = a.allocate(rng.randint(1, 100)), a.allocate(rng.randint(1, 100))
                p.clear()
                q.clear()
        except BaseException as error:  # handed to the main thread
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and stats(a)["active_requests.current"] == 0


def test_on_the_device_in_use() -> None:
    a = pinned_allocator()
    assert a is pinned_allocator()
    p = a.allocate(4096)
    assert backend.driver().is_pinned(p.pointer)
    assert a.record_event(p, 0, 0)
    address = p.pointer
    p.clear()
    backend.driver().synchronize(0)
    assert a.allocate(4096).pointer == address
    assert torch.cuda.host_memory_stats()["active_bytes.current"] >= 0
