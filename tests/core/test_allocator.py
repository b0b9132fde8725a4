"""Memory is real: aligned, freed exactly once, when the last owner goes, whatever the order of
events.
"""

from __future__ import annotations

import ctypes
import random
import sys
import threading

import numpy as np
import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

import internals as torch
from internals.core.allocator import DataPtr, delete_nothing
from internals.core.cpu_allocator import (
    ALIGNMENT,
    MAX_CACHED,
    SMALL,
    CachingAllocator,
    SystemAllocator,
    caching_allocator,
    get_cpu_allocator,
    round_size,
    use_cpu_allocator,
)
from internals.core.dtype import float32
from internals.core.storage import Storage
from internals.core.tensor_impl import array, empty_contiguous
from tests.cuda.allocator_support import Book
from tests.support import full

FULL = full()


class CountingAllocator(SystemAllocator):
    """Hands out real memory and fails the test when a pointer comes back twice or never."""

    def __init__(self) -> None:
        self.live: set[int] = set()
        self.given = 0

    def allocate(self, nbytes: int) -> DataPtr:
        inner = super().allocate(nbytes)
        if not inner.pointer:
            return inner
        self.live.add(inner.pointer)
        self.given += 1
        return DataPtr(inner.pointer, inner, self.take_back)

    def take_back(self, inner: DataPtr) -> None:
        assert inner.pointer in self.live, "double free"
        self.live.remove(inner.pointer)
        inner.clear()


class AllocatorMachine(RuleBasedStateMachine):
    """Random allocations, writes, frees and cache flushes; a model knows what every live block must
    contain.
    """

    blocks = Bundle("blocks")

    @initialize()
    def start(self) -> None:
        self.system = CountingAllocator()
        self.allocator = CachingAllocator(self.system)
        self.live: dict[int, tuple[DataPtr, int, int]] = {}
        self.counter = 0
        self.allocated = self.freed = self.peak = 0

    @rule(target=blocks, nbytes=st.one_of(st.integers(1, 5000), st.integers(1, 3 << 20)))
    def allocate(self, nbytes: int) -> int:
        p = self.allocator.allocate(nbytes)
        self.counter += 1
        mark = self.counter % 251
        ctypes.memset(p.pointer, mark, nbytes)
        self.live[self.counter] = (p, nbytes, mark)
        self.allocated += round_size(nbytes)
        self.peak = max(self.peak, self.allocated - self.freed)
        return self.counter

    @rule(name=consumes(blocks))
    def free(self, name: int) -> None:
        p, nbytes, mark = self.live.pop(name)
        assert ctypes.string_at(p.pointer, nbytes) == bytes([mark]) * nbytes, (
            "somebody else wrote into this block"
        )
        p.clear()
        self.freed += round_size(nbytes)

    @rule()
    def empty_cache(self) -> None:
        self.allocator.empty_cache()
        assert len(self.system.live) == len(self.live)

    @invariant()
    def blocks_are_disjoint_and_counted(self) -> None:
        held = self.allocator.snapshot()
        for a, b in zip(held, held[1:]):
            assert a["address"] + a["size"] <= b["address"]
        active = [b for b in held if b["state"] == "active"]
        assert {b["address"] for b in active} == {p.pointer for p, _, _ in self.live.values()}
        assert all(b["address"] % ALIGNMENT == 0 and b["requested"] <= b["size"] for b in held)
        stats = self.allocator.memory_stats()
        assert (
            stats["allocated_bytes.all.current"]
            == sum(b["size"] for b in active)
            == self.allocated - self.freed
        )
        assert stats["allocated_bytes.all.allocated"] == self.allocated
        assert stats["allocated_bytes.all.freed"] == self.freed
        assert stats["allocated_bytes.all.peak"] == self.peak
        assert stats["reserved_bytes.all.current"] == sum(b["size"] for b in held)
        assert stats["segment.all.current"] == len(held) == len(self.system.live)
        assert stats["allocation.all.current"] == len(active)

    def teardown(self) -> None:
        if hasattr(self, "live"):
            for p, _, _ in self.live.values():
                p.clear()
            self.allocator.empty_cache()
            assert not self.system.live, "memory leaked"


AllocatorMachine.TestCase.settings = settings(
    max_examples=1000 if FULL else 40, stateful_step_count=60 if FULL else 30, deadline=None
)
TestAllocatorMachine = AllocatorMachine.TestCase


class TensorMachine(RuleBasedStateMachine):
    """Random tensors, views, exports and deletions over an allocator that counts: nothing leaks,
    nothing dies early.
    """

    @initialize()
    def start(self) -> None:
        self.system = CountingAllocator()
        self.scope = use_cpu_allocator(self.system)
        self.scope.__enter__()
        # a tensor or an array, its first value, its storage's address
        self.owners: list[tuple[object, int, int]] = []
        self.counter = 0

    @rule(n=st.integers(1, 400))
    def make(self, n: int) -> None:
        self.counter += 1
        t = empty_contiguous((n,), float32)
        array(t)[...] = self.counter
        self.owners.append((t, self.counter, t.untyped_storage().data_ptr()))

    @rule(data=st.data())
    def view(self, data: st.DataObject) -> None:
        tensors = [o for o in self.owners if isinstance(o[0], torch.Tensor)]
        if tensors:
            # hypothesis must not hold them
            t, value, address = tensors[data.draw(st.integers(0, len(tensors) - 1))]
            self.owners.append((t.view(-1, 1).t(), value, address))  # type: ignore[attr-defined]

    @rule(data=st.data())
    def export(self, data: st.DataObject) -> None:
        tensors = [o for o in self.owners if isinstance(o[0], torch.Tensor)]
        if tensors:
            # hypothesis must not hold them
            t, value, address = tensors[data.draw(st.integers(0, len(tensors) - 1))]
            self.owners.append((t.numpy(), value, address))  # type: ignore[attr-defined]

    @rule(data=st.data())
    def drop(self, data: st.DataObject) -> None:
        if self.owners:
            del self.owners[data.draw(st.integers(0, len(self.owners) - 1))]

    @invariant()
    def exactly_the_owned_storages_live(self) -> None:
        assert self.system.live == {address for _, _, address in self.owners}
        for owner, value, _ in self.owners:
            elements = owner if isinstance(owner, np.ndarray) else array(owner)  # type: ignore[arg-type]
            assert (elements == value).all()

    def teardown(self) -> None:
        if hasattr(self, "owners"):
            self.scope.__exit__(None, None, None)
            self.owners.clear()
            assert not self.system.live, "memory leaked"


TensorMachine.TestCase.settings = settings(
    max_examples=500 if FULL else 30, stateful_step_count=50 if FULL else 25, deadline=None
)
TestTensorMachine = TensorMachine.TestCase


@pytest.mark.parametrize(
    ("nbytes", "expected"),
    [
        (1, 64),
        (64, 64),
        (65, 128),
        (1024, 1024),
        (1025, 1280),
        (1280, 1280),
        (1281, 1536),
        (2048, 2048),
        (2049, 2560),
    ],
)
def test_size_classes(nbytes: int, expected: int) -> None:
    assert round_size(nbytes) == expected


def test_size_classes_waste_at_most_a_quarter() -> None:
    for nbytes in [
        *range(1025, 5000),
        *(random.Random(0).randrange(1025, 1 << 40) for _ in range(2000)),
    ]:
        assert nbytes <= round_size(nbytes) <= 1.25 * nbytes + 1
        assert round_size(round_size(nbytes)) == round_size(nbytes)


def test_alignment_of_every_size() -> None:
    pointers = [SystemAllocator().allocate(n) for n in (1, 7, 64, 1000, 5121, 1 << 21)]
    assert all(p.pointer % ALIGNMENT == 0 for p in pointers)
    for p in pointers:
        p.clear()


def test_zero_bytes_is_the_null_pointer() -> None:
    p = CachingAllocator().allocate(0)
    assert p.pointer == 0
    p.clear()


def test_negative_and_impossible_sizes_raise() -> None:
    with pytest.raises(RuntimeError, match="negative"):
        SystemAllocator().allocate(-1)
    with pytest.raises(RuntimeError, match=r"you tried to allocate \d+ bytes. Error code 12"):
        CachingAllocator().allocate(1 << 62)


def test_a_block_is_reused_without_asking_the_system() -> None:
    system = CountingAllocator()
    allocator = CachingAllocator(system)
    first = allocator.allocate(100)
    address = first.pointer
    first.clear()
    assert allocator.allocate(120).pointer == address
    assert system.given == 1


def test_double_free_raises() -> None:
    allocator = CachingAllocator()
    p = allocator.allocate(100)
    p.clear()
    with pytest.raises(RuntimeError, match="double free"):
        p.clear()


def test_clear_calls_the_deleter_once() -> None:
    calls: list[object] = []
    p = DataPtr(0, "context", calls.append)
    p.clear()
    p.clear()
    assert calls == ["context"]
    assert p.deleter is delete_nothing


def test_large_blocks_are_given_back_once_the_cache_is_full() -> None:
    system = CountingAllocator()
    allocator = CachingAllocator(system)
    huge = MAX_CACHED // 2 + SMALL
    # untouched pages: no real memory is used
    pointers = [allocator.allocate(huge) for _ in range(3)]
    for p in pointers:
        p.clear()
    assert allocator.stats.reserved - allocator.stats.bytes <= MAX_CACHED + round_size(huge)
    assert len(system.live) < 3


def test_out_of_memory_empties_the_cache_and_tries_again() -> None:
    class Tight(CountingAllocator):
        def allocate(self, nbytes: int) -> DataPtr:
            if self.live:
                raise RuntimeError("no memory left")
            return super().allocate(nbytes)

    allocator = CachingAllocator(Tight())
    allocator.allocate(100).clear()
    assert allocator.allocate(5000).pointer


def test_storage_frees_when_the_last_tensor_goes() -> None:
    system = CountingAllocator()
    with use_cpu_allocator(system):
        t = empty_contiguous((8,), float32)
        view = t.view(2, 4)
        storage = t.untyped_storage()
        assert sys.getrefcount(storage) - 2 == 2  # less this name and the argument
        del t, storage
        assert len(system.live) == 1
        del view
        assert not system.live


def test_allocator_in_use_is_the_one_asked_for() -> None:
    other = CachingAllocator()
    assert get_cpu_allocator() is caching_allocator
    with use_cpu_allocator(other):
        t = empty_contiguous((3,), float32)
        assert t.untyped_storage().allocator is other
        assert other.stats.bytes == 64
    assert get_cpu_allocator() is caching_allocator
    del t
    assert other.stats.bytes == 0


def test_the_short_way_and_the_long_way_count_alike() -> None:
    """`empty` and `Storage.__del__` repeat what the allocator does, inline; both must leave the
    same books.
    """
    t = empty_contiguous((4,), float32)
    del t
    before = torch.cpu.memory_stats()
    for _ in range(3):
        t = empty_contiguous((4,), float32)
        del t
    short = torch.cpu.memory_stats()
    with torch.cpu.record_memory_history():
        for _ in range(3):
            t = empty_contiguous((4,), float32)
            del t
    long = torch.cpu.memory_stats()
    moved = {k: (short[k] - before[k], long[k] - short[k]) for k in before}
    assert all(a == b for a, b in moved.values()), moved
    assert moved["allocation.all.allocated"][0] == 3


@pytest.mark.parametrize("seed", range(2))
def test_peaks_and_totals_are_those_of_what_was_current(seed: int) -> None:
    """Of every count, from any reset of the peaks on."""
    a, stream = CachingAllocator(), random.Random(seed)
    book, live = Book(a.memory_stats), []
    for _ in range(400):
        dice = stream.random()
        if dice < 0.05:
            a.reset_peak_memory_stats()
            book.reset_peak()
        elif dice < 0.1:
            a.empty_cache()
        elif dice < 0.6 or not live:
            live.append(a.allocate(stream.choice((1, 100, 5_000, SMALL + 1, 1 << 22))))
        else:
            live.pop(stream.randrange(len(live))).clear()
        book.check()


def test_history_tells_hits_from_new_memory() -> None:
    torch.cpu.empty_cache()
    n = 70_000  # a size class nobody else in the process uses
    with torch.cpu.record_memory_history() as events:
        a = Storage.allocate(n)
        address = a.data_ptr()
        del a
        b = Storage.allocate(n)
        del b
        torch.cpu.empty_cache()
    mine = [e["action"] for e in events if e["address"] == address]
    assert mine == ["alloc", "cache_return", "cache_hit", "cache_return", "segment_free"]


def test_resize_moves_every_tensor_of_the_storage() -> None:
    t = empty_contiguous((2,), float32)
    array(t)[...] = [1, 2]
    view = t.view(2, 1)
    array(view)
    t.untyped_storage().resize_(1 << 12)
    assert view.data_ptr() == t.data_ptr()
    assert array(view).ctypes.data == t.data_ptr() == t.untyped_storage().data_ptr()
    assert array(view).ravel().tolist() == [1, 2]


def test_many_threads_share_the_free_lists() -> None:
    """The short way takes no lock: between a look at a free list and its pop nobody else may get
    in.
    """
    before = torch.cpu.memory_stats()
    wrong: list[float] = []

    def work(value: float) -> None:
        a = empty_contiguous((5,), float32)
        array(a)[...] = value
        for _ in range(3000):
            b = a + a
            if array(b)[0] != 2 * value:
                wrong.append(value)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(float(i),)) for i in range(1, 7)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(interval)
    after = torch.cpu.memory_stats()
    assert not wrong
    assert after["allocated_bytes.all.current"] == before["allocated_bytes.all.current"]
    assert after["allocation.all.allocated"] - before["allocation.all.allocated"] == 6 * 3001
