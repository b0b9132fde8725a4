"""The bytes in a profile are those of the allocator's counters."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, strategies as st

import internals
from internals import nn
from internals.profiler import profile, record_function
from tests.support import examples


@pytest.fixture(autouse=True)
def no_garbage_is_collected() -> Iterator[None]:
    """Or else what earlier tests left behind could be given back while we count."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def in_use() -> int:
    return internals.cpu.memory_allocated()


def taken() -> tuple[int, int]:
    """Bytes handed out and given back since the program began."""
    stats = internals.cpu.memory_stats()
    return stats["allocated_bytes.all.allocated"], stats["allocated_bytes.all.freed"]


def test_a_call_is_charged_with_what_it_takes_and_its_caller_with_that_too() -> None:
    kept: list[Any] = []
    with profile(profile_memory=True) as prof, record_function("outer"):
        kept.append(internals.ones(100))
        kept.append(internals.ones(5))
    outer, first, second = (e for e in prof.events() if e.name in ("outer", "aten::ones"))
    # size classes of 400 and 20 bytes
    assert (first.cpu_memory_usage, second.cpu_memory_usage) == (448, 64)
    assert outer.cpu_memory_usage == 512 and outer.self_cpu_memory_usage == 0
    assert internals.cpu.memory_snapshot() and first.bytes_freed == 0


def test_what_is_given_back_between_calls_has_a_line_of_its_own() -> None:
    with profile(profile_memory=True) as prof:
        x = internals.ones(100)
        y = internals.ones(16)
        del x, y
    memory = next(a for a in prof.key_averages() if a.key == "[memory]")
    assert memory.count == 2 and memory.cpu_memory_usage == -512 and memory.bytes_freed == 512
    assert "[memory]" not in [e.name for e in prof.events().roots()]


@pytest.mark.parametrize("with_modules", [False, True])
def test_a_training_step_adds_up_to_the_counters(with_modules: bool) -> None:
    internals.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 3))
    optimizer = internals.optim.Adam(model.parameters())
    x, target = internals.randn(2, 1, 8, 8), internals.tensor([0, 2])
    before, gross = in_use(), taken()
    with profile(profile_memory=True, with_modules=with_modules) as prof:
        nn.functional.cross_entropy(model(x), target).backward()
        optimizer.step()
        optimizer.zero_grad()
    after, gross_after = in_use(), taken()
    events = prof.events()
    assert sum(e.self_cpu_memory_usage for e in events) == after - before > 0
    assert sum(e.bytes_allocated for e in events) == gross_after[0] - gross[0] > 0
    assert sum(e.bytes_freed for e in events) == gross_after[1] - gross[1] > 0
    outermost = [e for e in events if e.cpu_parent is None]
    assert sum(e.cpu_memory_usage for e in outermost) == after - before
    for e in events:
        inner = sum(child.cpu_memory_usage for child in e.cpu_children)
        assert e.cpu_memory_usage == e.self_cpu_memory_usage + inner


def test_blocks_that_go_straight_back_to_the_system_are_counted() -> None:
    allocator = internals.core.cpu_allocator
    before = in_use()
    with profile(profile_memory=True) as prof:
        large = internals.empty(allocator.SMALL)
        del large
        internals.cpu.empty_cache()  # gives back what nobody had
    assert sum(e.self_cpu_memory_usage for e in prof.events()) == in_use() - before == 0
    assert prof.key_averages().total_average().bytes_freed == 4 * allocator.SMALL


def test_the_allocators_own_history_goes_on() -> None:
    with internals.cpu.record_memory_history() as outer, profile(profile_memory=True) as prof:
        x = internals.ones(3)
        with internals.cpu.record_memory_history() as inner:
            y = internals.ones(300)
            del y
        z = internals.ones(7)
    assert len(outer) == 2 and len(inner) == 2 and (x + 1)[0] == (z + 1)[0]
    assert sum(e.self_cpu_memory_usage for e in prof.events()) == 128


@examples(30)
@given(st.lists(st.tuples(st.integers(0, 3000), st.booleans(), st.booleans()), max_size=12))
def test_any_program_adds_up(program: list[tuple[int, bool, bool]]) -> None:
    kept: list[Any] = []
    before = in_use()
    with profile(profile_memory=True) as prof:
        for size, keep, labelled in program:
            with record_function("part"):
                x = internals.ones(size)
                x = x + x if labelled else x
            kept.append(x) if keep else None
            if not keep and kept:
                kept.pop(0)
        x = None
    assert sum(e.self_cpu_memory_usage for e in prof.events()) == in_use() - before
