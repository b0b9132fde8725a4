"""The caching allocator under random programs: what must hold at any moment, and the same again
beside a naive one.

`make test-full` runs a million operations.
"""

from __future__ import annotations

import random
import threading

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from internals.core.allocator import DataPtr
from internals.cuda.allocator import TODAY, V1_0_1, CachingAllocator, FakeSegments, OutOfMemoryError
from internals.cuda.allocator.config import parse
from tests.cuda.allocator_support import MIB, Runner, check_invariants
from tests.cuda.naive_allocator import NaiveAllocator, Rules
from tests.support import full

FULL = full()
OPERATIONS = 1_000_000 if FULL else 20_000
LIMITED = parse("max_split_size_mb:24")


@pytest.mark.parametrize(
    "config,share,streams",
    [
        (TODAY, 0.6, 3),
        (V1_0_1, 0.2, 2),
        (LIMITED, 0.1, 2),
        (parse("roundup_power2_divisions:4"), 0.1, 4),
    ],
    ids=["today", "1.0.1", "max_split_size", "roundup"],
)
def test_many_random_operations(config: object, share: float, streams: int) -> None:
    runner = Runner(seed=2026, config=config, streams=streams)  # type: ignore[arg-type]
    runner.run(int(OPERATIONS * share), check_every=500)
    stats = runner.allocator.stats
    assert runner.ooms == stats.num_ooms > 0, "the program should also run out of memory"
    assert (
        stats.num_alloc_retries > stats.num_ooms
        and stats.num_device_free == stats.num_device_alloc > 10
    )


@pytest.mark.parametrize("seed", range(40 if FULL else 6))
def test_garbage_collection_and_a_fraction(seed: int) -> None:
    runner = Runner(seed, parse("garbage_collection_threshold:0.6"), capacity=512 * MIB)
    runner.allocator.set_memory_fraction(0.4)
    runner.run(3000, check_every=50)
    assert runner.allocator.stats.reserved.peak <= int(0.4 * 512 * MIB)


class Both:
    """The same program on the allocator and on the naive one."""

    def __init__(self, seed: int, rules: Rules, capacity: int) -> None:
        config = (
            V1_0_1
            if rules.old
            else TODAY
            if rules.max_split > MIB << 20
            else parse(f"max_split_size_mb:{rules.max_split // MIB}")
        )
        self.random = random.Random(seed)
        self.mine, self.theirs = FakeSegments(capacity), FakeSegments(capacity)
        self.allocator, self.naive = (
            CachingAllocator(self.mine, config=config),
            NaiveAllocator(self.theirs, rules),
        )
        self.live: list[int] = []

    def step(self) -> None:
        dice, pick = self.random.random(), self.random.randrange(1 << 30)
        if dice < 0.5:
            self.malloc(Runner.size(self), pick % 3)  # type: ignore[arg-type]
        elif dice < 0.9 and self.live:
            address = self.live.pop(pick % len(self.live))
            self.allocator.raw_delete(address)
            self.naive.free(address)
        elif dice < 0.95 and self.live:
            self.record_stream(self.live[pick % len(self.live)], self.random.randrange(3))
        elif dice < 0.995:
            self.mine.finish(pick % 3)
            self.theirs.finish(pick % 3)
        else:
            self.allocator.empty_cache()
            self.naive.release_all()

    def malloc(self, nbytes: int, stream: int) -> None:
        try:
            address = self.allocator.malloc(nbytes, stream).pointer
        except OutOfMemoryError:
            address = None
        assert address == self.naive.malloc(nbytes, stream)
        if address is not None:
            self.live.append(address)

    def record_stream(self, address: int, stream: int) -> None:
        a = self.allocator
        a.record_stream(DataPtr(address, a.allocated[address], a._give_back, a.device), stream)
        self.naive.record_stream(address, stream)

    def compare(self) -> None:
        self.allocator.pending.process()
        self.naive.process_events()
        names = {
            "active_allocated": "allocated",
            "active_pending_free": "pending",
            "inactive": "inactive",
        }
        mine = [
            (
                s["address"],
                s["stream"],
                s["segment_type"] == "small",
                [
                    (
                        b["size"],
                        0 if b["state"] == "inactive" else b["requested_size"],
                        names[b["state"]],
                    )
                    for b in s["blocks"]
                ],
            )
            for s in self.allocator.snapshot()
        ]
        assert mine == self.naive.layout()


@pytest.mark.parametrize(
    "rules",
    [Rules(), Rules(old=True), Rules(max_split=24 * MIB)],
    ids=["today", "1.0.1", "max_split_size"],
)
@pytest.mark.parametrize("seed", range(30 if FULL else 3))
def test_like_a_naive_allocator(rules: Rules, seed: int) -> None:
    both = Both(seed, rules, capacity=128 * MIB)
    for i in range(1500):
        both.step()
        if i % 25 == 0:
            both.compare()
    both.compare()
    assert both.allocator.stats.num_alloc_retries > 0


SIZES = st.one_of(
    st.integers(1, 4096),
    st.integers(1, 3 * MIB),
    st.sampled_from([n * MIB + d for n in (1, 2, 10, 20) for d in (-512, -1, 0, 1, 512)]),
)


class AllocatorMachine(RuleBasedStateMachine):
    """Programs that hypothesis makes up and, when one fails, makes short."""

    @initialize(old=st.booleans(), capacity=st.integers(2, 80))
    def start(self, old: bool, capacity: int) -> None:
        self.runner = Runner(0, V1_0_1 if old else TODAY, capacity * MIB)

    @rule(nbytes=SIZES, stream=st.integers(0, 2))
    def malloc(self, nbytes: int, stream: int) -> None:
        self.runner.malloc(nbytes, stream)

    @precondition(lambda self: self.runner.live)
    @rule(which=st.integers(0, 1000))
    def free(self, which: int) -> None:
        self.runner.free(which % len(self.runner.live))

    @precondition(lambda self: self.runner.live)
    @rule(which=st.integers(0, 1000), stream=st.integers(0, 2))
    def record_stream(self, which: int, stream: int) -> None:
        self.runner.record_stream(self.runner.live[which % len(self.runner.live)], stream)

    @rule(stream=st.integers(0, 2))
    def finish(self, stream: int) -> None:
        self.runner.segments.finish(stream)

    @rule()
    def empty_cache(self) -> None:
        self.runner.allocator.empty_cache()
        self.runner.segments.finish()
        self.runner.forget_completed()

    @invariant()
    def holds(self) -> None:
        if hasattr(self, "runner"):
            check_invariants(self.runner.allocator, self.runner.segments)

    def teardown(self) -> None:
        if hasattr(self, "runner"):
            self.runner.finish()


AllocatorMachine.TestCase.settings = settings(
    max_examples=600 if FULL else 25, stateful_step_count=50 if FULL else 25, deadline=None
)
TestAllocatorMachine = AllocatorMachine.TestCase


def test_threads_share_one_allocator() -> None:
    segments = FakeSegments(64 * MIB, patience=2)
    a = CachingAllocator(segments)
    errors: list[BaseException] = []

    def work(seed: int) -> None:
        rng = random.Random(seed)
        mine: list[DataPtr] = []
        try:
            for _ in range(400):
                if mine and rng.random() < 0.5:
                    mine.pop(rng.randrange(len(mine))).clear()
                else:
                    data = a.allocate(rng.randint(1, 100_000))
                    if rng.random() < 0.2:
                        a.record_stream(data, 1 + seed)
                    mine.append(data)
            for data in mine:
                data.clear()
        except BaseException as error:  # handed to the main thread
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    check_invariants(a, segments)
    a.empty_cache()
    assert not segments.live
