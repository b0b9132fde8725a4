"""The caching allocator at awkward moments: entered by a finalizer, over a device that refuses,
after its memory is gone.
"""

from __future__ import annotations

import gc
import threading
from typing import Any

import pytest

from internals.cuda.allocator import CachingAllocator, FakeSegments
from internals.cuda.allocator.blocks import Block
from internals.cuda.driver import CudaError
from tests.cuda.allocator_support import MIB, check_invariants


def make() -> tuple[CachingAllocator, FakeSegments]:
    segments = FakeSegments()
    return CachingAllocator(segments), segments


def test_a_tensor_may_die_inside_the_allocator() -> None:
    """The garbage collector runs when containers are made, so a cycle may die in the middle of
    malloc.
    """
    a, segments = make()
    dying = a.allocate(512)
    original = segments.malloc

    def malloc(nbytes: int) -> int:
        dying.clear()
        return original(nbytes)

    segments.malloc = malloc  # type: ignore[method-assign]
    a.malloc(2 * MIB, 0)
    assert len(a.allocated) == 2, "not yet: the allocator is busy"
    assert a.memory_stats()["allocation"]["all"]["current"] == 1, (
        "but whoever looks next sees it done"
    )
    check_invariants(a, segments)


def test_entering_the_allocator_from_inside_is_refused() -> None:
    a, segments = make()
    seen: list[str] = []

    def enters(original: Any) -> Any:
        def call(n: int) -> Any:
            for inside in (lambda: a.malloc(1, 0), a.snapshot):
                with pytest.raises(RuntimeError, match="entered while it was working") as error:
                    inside()
                seen.append(str(error.value))
            return original(n)

        return call

    segments.malloc, segments.free = enters(segments.malloc), enters(segments.free)  # type: ignore[method-assign]
    a.free(a.malloc(1, 0))
    assert len(seen) == 2
    a.empty_cache()
    assert len(seen) == 4
    check_invariants(a, segments)
    other = threading.Thread(target=a.snapshot, daemon=True)
    other.start()
    other.join(30)
    assert not other.is_alive(), "who was refused kept the lock"


def test_a_device_that_refuses_changes_nothing() -> None:
    """What failed on the device earlier is told when its memory is freed, or a mark is recorded."""
    a, segments = make()
    a.free(a.malloc(2 * MIB, 0))
    p = a.allocate(512)
    a.record_stream(p, 1)

    def refuse(*arguments: object) -> Any:
        raise CudaError("CUDA error: device-side assert triggered")

    free, record = segments.free, a.pending.record
    segments.free, a.pending.record = refuse, refuse  # type: ignore[method-assign]
    for call in (a.empty_cache, lambda: a.free(p.context)):
        with pytest.raises(CudaError):
            call()
        check_invariants(a, segments)
    segments.free, a.pending.record = free, record  # type: ignore[method-assign]
    p.clear()
    a.empty_cache()
    check_invariants(a, segments)
    assert not segments.live


def test_blocks_do_not_outlive_their_segments() -> None:
    a, _ = make()
    x = [a.malloc(512, 0) for _ in range(100)]
    for block in x:
        a.free(block)
    a.empty_cache()
    del x, block
    gc.collect()
    assert not any(type(o) is Block and o.pool in (a.small, a.large) for o in gc.get_objects())
