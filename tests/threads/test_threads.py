"""Several threads allocate, count, draw, compile and record at once: none disturbs another.

Threads change places as often as Python can be made to, so that what may go wrong does so within a
second.
"""

from __future__ import annotations

import dis
from collections import deque
from typing import Any

import numpy as np
import pytest

import internals as torch
from internals import machine_code
from internals._generated import fast_lane_recorded
from internals.core import geometry, tensor_impl
from internals.core.cpu_allocator import CachingAllocator, Stats, caching_allocator
from internals.core.hot import Hot, hot
from internals.core.storage import Storage
from internals.jit.fuser import fused_kernel
from tests.threads.support import THREADS, at_once

# Memory


def test_a_block_belongs_to_one_thread_and_nothing_is_miscounted() -> None:
    allocator = CachingAllocator()
    owners: dict[int, int] = {}

    def work(me: int) -> None:
        mine: list[Any] = []
        for i in range(1500):
            block = allocator.allocate(64 * (1 + (7 * i + me) % 40))
            assert owners.setdefault(block.pointer, me) == me
            mine.append(block)
            if len(mine) > 5:
                give_back(mine.pop(0))
        for block in mine:
            give_back(block)

    def give_back(block: Any) -> None:
        del owners[block.pointer]
        block.clear()

    def look() -> None:
        for _ in range(100):
            assert allocator.memory_stats()["segment.all.allocated"] >= 0
            assert all(row["state"] in ("active", "cached") for row in allocator.snapshot())
            allocator.empty_cache()
            with allocator.record_history():
                allocator.reset_peak_memory_stats()

    at_once(*[lambda k=k: work(k) for k in range(THREADS)], look)
    stats = allocator.memory_stats()
    assert stats["allocated_bytes.all.current"] == stats["allocation.all.current"] == 0
    assert stats["allocation.all.allocated"] == THREADS * 1500
    assert stats["reserved_bytes.all.current"] == sum(b.size for b in allocator.blocks.values())
    allocator.empty_cache()
    assert allocator.stats.reserved == 0 and not allocator.blocks


def switches(name: str) -> bool:
    """Whether CPython may let another thread run at an instruction of this name."""
    return name.startswith(("CALL", "PRECALL", "RESUME", "YIELD", "SEND")) or "BACKWARD" in name


@pytest.mark.parametrize(
    "function",
    [
        CachingAllocator.allocate, CachingAllocator.release, CachingAllocator._grow,
        CachingAllocator._give_back, Storage.__del__, tensor_impl.empty, torch.Tensor.__add__,
        fast_lane_recorded.add, Hot.detour.__wrapped__,  # type: ignore[attr-defined]
    ],
    ids=lambda f: f.__qualname__,
)  # fmt: skip
def test_counters_change_and_blocks_are_taken_where_no_other_thread_gets_in(function: Any) -> None:
    code = list(dis.get_instructions(function))
    counters, found = {*Stats.__slots__, "off"}, 0
    for i, instruction in enumerate(code):
        before = code[:i]
        if instruction.opname == "STORE_ATTR" and instruction.argval in counters:
            read = max(
                (k for k, b in enumerate(before) if b.argval == instruction.argval), default=None
            )
        elif instruction.argval == "pop" and function is not CachingAllocator.allocate:
            # which does not look first
            read = max(k for k, b in enumerate(before) if b.opname.startswith("POP_JUMP"))
        else:
            continue
        assert read is not None
        assert not any(switches(b.opname) for b in before[read:]), instruction
        found += 1
    assert found


def test_recordings_may_end_in_another_order_than_they_began() -> None:
    allocator = CachingAllocator()
    first, second = allocator.record_history(), allocator.record_history()
    first.__enter__()
    events = second.__enter__()
    first.__exit__(None, None, None)
    allocator.allocate(100).clear()
    assert [e["action"] for e in events] == ["alloc", "cache_return"]
    second.__exit__(None, None, None)
    assert allocator.history is None and not hot.off
    allocator.allocate(100).clear()
    assert len(events) == 2


def test_equal_geometries_stay_one_object() -> None:
    for n in range(50):
        sizes = 77_000 + n, 3
        made = at_once(
            *[lambda: geometry.contiguous_geometry(sizes, torch.float32) for _ in range(THREADS)]  # noqa: B023
        )
        assert len(set(map(id, made))) == 1


# Random numbers


def test_no_number_is_drawn_twice() -> None:
    for seed in range(5):
        g = torch.Generator().manual_seed(seed)
        words = torch.randint(0, 1 << 31, (4000,), generator=g).tolist()
        g.manual_seed(seed)  # from here on the engine has to be made anew
        drawn = at_once(*[
            lambda: [torch.randint(0, 1 << 31, (10,), generator=g).tolist() for _ in range(100)]  # noqa: B023
            for _ in range(THREADS)
        ])  # fmt: skip
        assert sorted(w for part in drawn for ten in part for w in ten) == sorted(words)


def test_the_second_of_a_pair_of_normal_numbers_is_given_once() -> None:
    g = torch.Generator().manual_seed(0)
    drawn = at_once(*[
        lambda: [
            x for _ in range(300)
            for x in torch.randn(3, dtype=torch.float64, generator=g).tolist()
        ]
        for _ in range(THREADS)
    ])  # fmt: skip
    every = [x for part in drawn for x in part]
    assert len(set(every)) == len(every) == THREADS * 900


# Modes


def test_grad_mode_is_a_threads_own() -> None:
    w = torch.ones(3, requires_grad=True)

    def record() -> None:
        for _ in range(500):
            assert (
                (w + w).requires_grad
                and torch.is_grad_enabled()
                and not torch.is_inference_mode_enabled()
            )

    def do_not() -> None:
        for _ in range(250):
            with torch.no_grad():
                assert not (w + w).requires_grad
            with torch.inference_mode():
                assert (w + w).is_inference()

    at_once(record, do_not, record, do_not)


def test_threads_bind_the_parameters_of_new_kernels() -> None:
    """A kernel compiled without its `fastmath` would add up in another order."""
    for _ in range(30):
        T = machine_code.template("T")

        @machine_code.inline(fastmath=("reassoc",))
        def twice(x: Any) -> Any:
            return T(2) * x  # noqa: B023

        @machine_code.kernel
        def double_all(begin: int, end: int, x: Any, out: Any) -> None:
            for i in range(begin, end):
                out[i] = twice(x[i])

        bound = at_once(*[lambda: double_all.bind(T=np.float32) for _ in range(THREADS)])
        assert len(set(map(id, bound))) == 1
        assert (
            at_once(*[lambda: twice.bind(T=np.float64).fastmath for _ in range(THREADS)])
            == [("reassoc",)] * THREADS
        )


def test_threads_may_note_their_kernels_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fused_kernel, "_last", deque(maxlen=8))

    def note() -> None:
        for _ in range(500):
            kernel: Any = object()
            fused_kernel.remember([kernel])

    at_once(*[note for _ in range(THREADS)])
    assert len(fused_kernel.last_kernels()) == 8


def test_profiling_one_thread_does_not_disturb_another() -> None:
    x, expected = torch.ones(4, 4), torch.ones(4, 4) * 4

    def profile() -> None:
        for _ in range(5):
            with torch.profiler.profile(profile_memory=True):
                torch.mm(x, x).add(1)

    def work() -> None:
        for _ in range(200):
            assert torch.equal(torch.mm(x, x), expected)

    at_once(profile, work, work)
    assert caching_allocator.history is None and not hot.off


# Memory that is lent


def test_storage_is_lent_where_no_other_thread_gets_in() -> None:
    code = list(dis.get_instructions(Storage.lend))
    last = max(i for i, c in enumerate(code) if switches(c.opname))
    loads = [
        i for i, c in enumerate(code) if c.opname.startswith("LOAD_ATTR") and c.argval == "_data"
    ]
    stores = [i for i, c in enumerate(code) if c.opname == "STORE_ATTR" and c.argval == "_data"]
    assert min(loads) > last and len(stores) == 2 and min(stores) > last


def test_slices_of_a_storage_that_is_resized_keep_what_they_saw() -> None:
    t = torch.full((64,), 3, dtype=torch.uint8)
    storage = t.untyped_storage()

    def resize() -> None:
        for i in range(300):
            storage.resize_(64 + i % 2 * 64)

    def look() -> None:
        for _ in range(300):
            part = storage[8:64]
            neighbours = [torch.full((64,), 7, dtype=torch.uint8) for _ in range(3)]
            assert bytes(part) == b"\3" * 56 and neighbours[0][0].item() == 7

    before = caching_allocator.stats.bytes
    at_once(resize, look, look)
    storage.resize_(64)
    assert caching_allocator.stats.bytes == before
