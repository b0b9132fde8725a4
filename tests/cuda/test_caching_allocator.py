"""The caching allocator, case by case: numbers worked out by hand from
`c10/cuda/CUDACachingAllocator.cpp`.
"""

from __future__ import annotations

from typing import Any

import pytest

import internals
from internals.core.allocator import DataPtr
from internals.cuda.allocator import TODAY, V1_0_1, CachingAllocator, FakeSegments, OutOfMemoryError
from internals.cuda.allocator.config import parse
from internals.cuda.allocator.errors import format_size
from internals.cuda.allocator.stats import flatten

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
BASE = 0x7_0000_0000_00


def make(
    capacity: int = GIB, config: Any = TODAY, **options: Any
) -> tuple[CachingAllocator, FakeSegments]:
    segments = FakeSegments(capacity, **options)
    return CachingAllocator(segments, config=config), segments


def stats(a: CachingAllocator) -> dict[str, int]:
    return flatten(a.memory_stats())


def layout(a: CachingAllocator) -> list[list[tuple[int, str]]]:
    """Size and state of the blocks of every segment."""
    return [
        [(b["size"], b["state"].removeprefix("active_")) for b in s["blocks"]] for s in a.snapshot()
    ]


# Getting and giving back


def test_the_first_small_tensor_takes_two_mebibytes() -> None:
    a, segments = make()
    block = a.malloc(1000, 0)
    assert (block.pointer, block.size, block.requested) == (BASE, 1024, 1000)
    assert segments.live == {BASE: 2 * MIB}
    assert layout(a) == [[(1024, "allocated"), (2 * MIB - 1024, "inactive")]]


def test_a_large_tensor_takes_twenty_or_what_it_needs() -> None:
    a, segments = make()
    a.malloc(MIB + 1, 0)
    assert layout(a) == [[(MIB + 512, "allocated"), (19 * MIB - 512, "inactive")]]
    a.malloc(19 * MIB - 512, 0)  # exactly what remains
    a.malloc(11 * MIB, 0)  # 12 MiB are asked for, and the rest of 1 MiB is too little to be cut off
    assert layout(a)[1] == [(12 * MIB, "allocated")]
    assert list(segments.live.values()) == [20 * MIB, 12 * MIB]


def test_what_comes_back_is_handed_out_again() -> None:
    a, _ = make()
    p = a.allocate(1000)
    address = p.pointer
    p.clear()
    assert a.allocate(700).pointer == address
    assert stats(a)["num_device_alloc"] == 1


def test_best_fit_then_lowest_address() -> None:
    a, _ = make()
    sizes = [4096, 512, 2048, 512, 2048, 512, 1024, 512]
    blocks = [a.malloc(n, 0) for n in sizes]
    addresses = [b.pointer for b in blocks]
    for i in (0, 2, 4, 6):
        a.free(blocks[i])
    assert a.malloc(1500, 0).pointer == addresses[2]
    assert a.malloc(1500, 0).pointer == addresses[4]
    assert a.malloc(900, 0).pointer == addresses[6]
    assert a.malloc(1100, 0).pointer == addresses[0]


def test_neighbours_are_merged() -> None:
    a, _ = make()
    x, y, z = (a.malloc(512, 0) for _ in range(3))
    a.free(x)
    a.free(z)
    assert layout(a) == [[(512, "inactive"), (512, "allocated"), (2 * MIB - 1024, "inactive")]]
    a.free(y)
    assert layout(a) == [[(2 * MIB, "inactive")]]


def test_pools_and_streams_are_apart() -> None:
    a, segments = make()
    a.free(a.malloc(20 * MIB, 0))
    a.malloc(512, 0)
    assert len(segments.live) == 2, "a small request does not break a large block"
    a.malloc(2 * MIB, 7)
    assert len(segments.live) == 3, "a stream does not take what belongs to another"
    a.malloc(512, 7)
    assert len(segments.live) == 4


def test_zero_bytes_and_absurd_ones() -> None:
    a, segments = make()
    nothing = a.allocate(0)
    assert (nothing.pointer, nothing.device, segments.live) == (0, internals.device("cuda:0"), {})
    nothing.clear()
    with pytest.raises(RuntimeError, match="negative"):
        a.allocate(-1)
    with pytest.raises(
        OutOfMemoryError, match="CUDA out of memory. Tried to allocate more than 1EB memory."
    ):
        a.allocate(1 << 60)


def test_giving_back_twice_is_an_error() -> None:
    a, _ = make()
    block = a.malloc(512, 0)
    a.free(block)
    with pytest.raises(RuntimeError, match="invalid device pointer"):
        a.free(block)
    with pytest.raises(RuntimeError, match="invalid device pointer: 0x10"):
        a.raw_delete(16)
    assert a.raw_alloc(0, 0) == 0
    a.raw_delete(a.raw_alloc(10, 0))
    p = a.allocate(512)
    p.clear()
    p.clear()  # a DataPtr owns its memory once
    assert stats(a)["allocation.all.freed"] == 3


# By the rules of 1.0.1


def test_rules_of_1_0_1() -> None:
    a, segments = make(config=V1_0_1)
    a.malloc(1000, 0)
    assert segments.live == {BASE: MIB}, "small buffers had 1 MiB"
    x = a.malloc(MIB + 1, 0)
    assert x.size == MIB + 128 * KIB, (
        "and above 1 MiB sizes were multiples of 128 KiB, each with its own cudaMalloc"
    )
    assert list(segments.live.values()) == [MIB, MIB + 128 * KIB]
    a.free(x)
    y = a.malloc(4 * MIB, 0)
    a.free(y)
    assert a.malloc(3 * MIB, 0).size == 4 * MIB, "exactly 1 MiB more is not cut off"


def test_one_queue_of_events_in_1_0_1() -> None:
    for config, reused in ((TODAY, True), (V1_0_1, False)):
        a, segments = make(config=config)
        slow, fast = a.allocate(2 * MIB), a.allocate(4 * MIB)
        a.record_stream(slow, 1)
        a.record_stream(fast, 2)
        address = fast.pointer
        slow.clear()
        fast.clear()
        segments.finish(stream=2)
        assert (a.allocate(4 * MIB).pointer == address) is reused, (
            "a slow stream held up all others"
        )


# Streams


def test_a_block_waits_for_the_streams_that_use_it() -> None:
    a, segments = make()
    p = a.allocate(512)
    a.record_stream(p, 1)
    a.record_stream(p, 2)
    a.record_stream(p, 0)  # its own
    address = p.pointer
    p.clear()
    assert [e.stream for e in segments.events] == [(0, 1), (0, 2)]
    assert layout(a)[0][0] == (512, "pending_free")
    assert (stats(a)["allocation.all.current"], stats(a)["active.all.current"]) == (0, 1)
    segments.finish(1)
    assert a.allocate(512).pointer != address
    segments.finish(2)
    assert a.allocate(512).pointer == address


def test_a_stream_of_another_device_may_have_the_same_handle() -> None:
    a, segments = make()
    p = a.allocate(512)
    a.record_stream(p, 0, device=1)
    p.clear()
    assert [e.stream for e in segments.events] == [(1, 0)]


def test_a_queue_is_left_at_the_first_mark_not_passed() -> None:
    a, segments = make()
    p, q = a.allocate(512), a.allocate(1024)
    for data in (p, q):
        a.record_stream(data, 1)
    p.clear()
    q.clear()
    segments.events[1].ready = True  # cannot be, on a stream; so it is not even asked
    a.allocate(2048)
    assert [state for _, state in layout(a)[0]][:2] == ["pending_free", "pending_free"]
    segments.events[0].ready = True
    a.allocate(4096)
    assert layout(a)[0][0] == (1536, "inactive")


def test_memory_from_elsewhere_has_no_streams() -> None:
    a, segments = make()
    b, _ = make()
    foreign = b.allocate(512)
    a.record_stream(foreign, 3)
    a.record_stream(DataPtr(0, None, print), 3)
    foreign.clear()
    assert not segments.events and layout(b) == [[(2 * MIB, "inactive")]]


# When memory is short


def test_cached_segments_go_back_before_it_is_an_error() -> None:
    a, segments = make(40 * MIB)
    a.free(a.malloc(30 * MIB, 0))
    block = a.malloc(32 * MIB, 0)
    assert block.size == 32 * MIB and segments.in_use == 32 * MIB
    assert (
        stats(a)["num_alloc_retries"],
        stats(a)["num_ooms"],
        stats(a)["num_sync_all_streams"],
    ) == (1, 0, 1)


def test_pending_blocks_are_waited_for_before_it_is_an_error() -> None:
    a, segments = make(40 * MIB)
    p = a.allocate(30 * MIB)
    a.record_stream(p, 1)
    p.clear()
    assert a.malloc(32 * MIB, 0).size == 32 * MIB and segments.in_use == 32 * MIB


def test_a_segment_with_one_live_byte_cannot_go_back() -> None:
    a, segments = make(40 * MIB)
    blocks = [a.malloc(2 * MIB, 0) for _ in range(10)]
    for block in blocks[:5] + blocks[6:]:
        a.free(block)
    a.empty_cache()
    assert segments.in_use == 20 * MIB
    with pytest.raises(OutOfMemoryError):
        a.malloc(21 * MIB, 0)
    a.free(blocks[5])
    a.empty_cache()
    assert segments.in_use == 0 and stats(a)["segment.all.freed"] == 1


ADVICE = (
    " If reserved but unallocated memory is large try setting "
    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid "
    "fragmentation.  See documentation for Memory Management  "
    "(https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-conf)"
)


def test_the_text_of_the_error() -> None:
    a, _ = make(64 * MIB)
    a.malloc(2 * MIB, 0)
    with pytest.raises(OutOfMemoryError) as error:
        a.malloc(63 * MIB + 5, 0)
    assert str(error.value) == (
        "CUDA out of memory. Tried to allocate 64.00 MiB. GPU 0 has a total capacity of 64.00 MiB "
        "of which 44.00 MiB is free. "
        "Of the allocated memory 2.00 MiB is allocated by PyTorch, and 18.00 MiB is reserved by "
        "PyTorch but unallocated." + ADVICE
    )
    assert stats(a)["num_ooms"] == 1
    a.set_memory_fraction(0.5)
    with pytest.raises(
        OutOfMemoryError,
        match="of which 44.00 MiB is free. 32.00 MiB allowed; Of the allocated memory",
    ):
        a.malloc(40 * MIB, 0)
    assert a.memory_fraction() == 0.5


def test_the_text_of_the_error_in_1_0_1() -> None:
    a, _ = make(GIB, V1_0_1)
    a.malloc(1000, 0)
    with pytest.raises(OutOfMemoryError) as error:
        a.malloc(GIB, 0)
    assert str(error.value) == (
        "CUDA out of memory. Tried to allocate 1024.00 MiB (GPU 0; 1024.00 MiB total capacity; "
        "1024 bytes already allocated; "
        "1023.00 MiB free; 1023.00 KiB cached)"
    )


def test_it_is_a_runtime_error_of_the_package() -> None:
    assert issubclass(
        OutOfMemoryError, RuntimeError
    ) and f"{OutOfMemoryError.__module__}.{OutOfMemoryError.__name__}" == (
        "internals.OutOfMemoryError"
    )
    assert internals.OutOfMemoryError is OutOfMemoryError is internals.cuda.OutOfMemoryError


@pytest.mark.parametrize(
    "nbytes,text",
    [
        (1023, "1023 bytes"),
        (1024, "1024 bytes"),
        (1025, "1.00 KiB"),
        (MIB, "1024.00 KiB"),
        (GIB + 1, "1.00 GiB"),
    ],
)
def test_format_size(nbytes: int, text: str) -> None:
    assert format_size(nbytes) == text


# Options


def test_blocks_over_the_limit_are_not_split() -> None:
    a, segments = make(config=parse("max_split_size_mb:20"))
    a.free(a.malloc(60 * MIB, 0))
    assert a.malloc(15 * MIB, 0).size == 16 * MIB, (
        "a request below the limit leaves blocks over it alone"
    )
    assert a.malloc(30 * MIB, 0).size == 30 * MIB, (
        "and one above takes them only if they are not much larger"
    )
    assert a.malloc(41 * MIB, 0).size == 60 * MIB, (
        "less than 20 MiB larger is all right, and nothing is cut off"
    )
    assert (stats(a)["oversize_allocations.current"], stats(a)["oversize_segments.current"]) == (
        2,
        2,
    )
    assert stats(a)["max_split_size"] == 20 * MIB
    assert list(segments.live.values()) == [60 * MIB, 16 * MIB, 30 * MIB]


def test_what_is_over_the_limit_goes_back_first() -> None:
    a, segments = make(200 * MIB, parse("max_split_size_mb:20"))
    kept = a.malloc(18 * MIB, 0)
    a.free(kept)
    for size in (30, 40, 100):
        a.malloc(size * MIB, 0)
    for block in list(a.allocated.values()):
        a.free(block)
    # not in 100: 35 MiB more. One is enough: the smallest that is large enough, which is the 100
    a.malloc(65 * MIB, 0)
    assert sorted(segments.live.values()) == [18 * MIB, 30 * MIB, 40 * MIB, 66 * MIB]
    assert stats(a)["num_alloc_retries"] == 0
    a.malloc(100 * MIB, 0)  # none is: 40 and 30 together are not enough either, so everything goes
    assert (
        sorted(segments.live.values()) == [66 * MIB, 100 * MIB]
        and stats(a)["num_alloc_retries"] == 1
    )


def test_garbage_collection_takes_the_oldest() -> None:
    a, segments = make(200 * MIB, parse("garbage_collection_threshold:0.5"))
    a.set_memory_fraction(0.9)
    old, middle, new = (a.malloc(n * MIB, 0) for n in (22, 24, 26))
    a.free(old)
    for _ in range(5):  # searches of the pool are its clock
        a.free(a.malloc(30 * MIB, 1))
    a.free(middle)
    a.malloc(10 * MIB, 2)
    assert 22 * MIB not in segments.live.values() and 24 * MIB in segments.live.values()
    assert stats(a)["num_alloc_retries"] == 0
    a.free(new)


def test_equally_old_blocks_all_go() -> None:
    a, segments = make(100 * MIB, parse("garbage_collection_threshold:0.1"))
    a.set_memory_fraction(0.9)
    for block in [a.malloc(n * MIB, 0) for n in (22, 24)]:
        a.free(block)
    a.malloc(12 * MIB, 1)
    assert list(segments.live.values()) == [12 * MIB]


def test_without_a_cache() -> None:
    a, segments = make()
    a.enabled = False
    p = a.allocate(1000)
    assert segments.live == {p.pointer: 1000}
    a.enabled = True
    p.clear()
    assert not segments.live and stats(a)["allocation.all.allocated"] == 0


def test_repr() -> None:
    a, _ = make()
    assert repr(a) == "CUDACachingAllocator(device='cuda:0')"
    block = a.malloc(1, 0)
    assert repr(block) == "Block(0x70000000000, size=512, stream=0, allocated)"
