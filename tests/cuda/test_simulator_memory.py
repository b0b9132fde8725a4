"""Addresses of a simulated device: where ranges go, what may be looked at, and when there is
nothing left.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, strategies as st

from internals.cuda.driver import CudaError, DeviceOutOfMemory, IllegalMemoryAccess
from internals.cuda.simulator.driver import SimulatedDriver
from internals.cuda.simulator.memory import (
    BASE,
    DEVICE_STRIDE,
    LARGE,
    SMALL,
    AddressSpace,
    PinnedMemory,
)

MIB = 1 << 20


def test_addresses_are_the_same_in_every_run() -> None:
    memory = AddressSpace(0, 64 * MIB)
    assert [memory.allocate(n) for n in (1, 513, 2 * MIB, 100)] == [
        BASE, BASE + SMALL, BASE + LARGE, BASE + 3 * SMALL,
    ]  # fmt: skip
    assert AddressSpace(1, MIB).allocate(1) == BASE + DEVICE_STRIDE


def test_the_first_gap_that_is_long_enough_is_taken() -> None:
    memory = AddressSpace(0, 64 * MIB)
    a, b, c = (memory.allocate(4 * MIB) for _ in range(3))
    memory.release(a)
    memory.release(c)
    assert memory.allocate(2 * MIB) == a
    assert memory.allocate(4 * MIB) == c
    assert memory.allocate(2 * MIB) == a + 2 * MIB
    assert [address for address, _ in memory.segments()] == [a, a + 2 * MIB, b, c]


def test_a_device_can_be_fragmented() -> None:
    memory = AddressSpace(0, 16 * MIB)
    pieces = [memory.allocate(4 * MIB) for _ in range(4)]
    memory.release(pieces[0])
    memory.release(pieces[2])
    assert memory.free_bytes == 8 * MIB
    with pytest.raises(
        DeviceOutOfMemory, match=f"out of memory\n{8 * MIB} bytes asked for, {8 * MIB} free in all"
    ):
        memory.allocate(8 * MIB)
    memory.release(pieces[1])
    assert memory.allocate(8 * MIB) == pieces[0]


def test_views_share_bytes_and_stay_within_their_range() -> None:
    memory = AddressSpace(0, MIB)
    pointer = memory.allocate(100)
    memory.view(pointer + 10, 5)[:] = 7
    assert memory.view(pointer, 100).tolist() == [0] * 10 + [7] * 5 + [0] * 85
    assert memory.extent(pointer + 40) == 60
    assert memory.view(0, 0).size == 0
    for start, nbytes in ((pointer, 101), (pointer + 100, 1), (pointer - 1, 1), (0, 1)):
        with pytest.raises(
            IllegalMemoryAccess, match="^CUDA error: an illegal memory access was encountered\n"
        ):
            memory.view(start, nbytes)
    memory.release(pointer)
    with pytest.raises(IllegalMemoryAccess):
        memory.view(pointer, 1)


def test_what_was_not_handed_out_is_not_taken_back() -> None:
    driver = SimulatedDriver()
    pointer = driver.malloc(0, 100)
    with pytest.raises(
        CudaError,
        match=f"^CUDA error: invalid argument\nno memory was handed out at {pointer + 512:#x}",
    ):
        driver.free(0, pointer + 512)
    driver.free(0, pointer)
    with pytest.raises(CudaError, match="invalid argument"):
        driver.free(0, pointer)
    with pytest.raises(CudaError, match="invalid argument"):
        driver.host_free(1234)


def test_memory_info_counts_what_is_in_use() -> None:
    driver = SimulatedDriver(memory=4 * MIB)
    assert driver.memory_info(0) == (4 * MIB, 4 * MIB)
    pointer = driver.malloc(0, 1000)
    assert driver.memory_info(0) == (4 * MIB - 1024, 4 * MIB)
    with pytest.raises(DeviceOutOfMemory):
        driver.malloc(0, 5 * MIB)
    driver.free(0, pointer)
    assert driver.memory_info(0) == (4 * MIB, 4 * MIB)


def test_pinned_memory_is_the_hosts_own_and_is_known() -> None:
    pinned = PinnedMemory()
    pointer = pinned.allocate(100)
    assert pointer % 64 == 0
    assert [p in pinned for p in (pointer - 1, pointer, pointer + 99, pointer + 100)] == [
        False,
        True,
        True,
        False,
    ]
    pinned.release(pointer)
    assert pointer not in pinned


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 9 * MIB)), max_size=60))
def test_ranges_never_overlap_and_sums_add_up(steps: list[tuple[bool, int]]) -> None:
    memory = AddressSpace(0, 64 * MIB)
    held: dict[int, int] = {}
    for allocate, n in steps:
        if allocate:
            try:
                address = memory.allocate(n)
            except DeviceOutOfMemory:
                continue
            assert address % (LARGE if n >= LARGE else SMALL) == 0
            held[address] = n
        elif held:
            address = sorted(held)[n % len(held)]
            memory.release(address)
            del held[address]
        assert memory.segments() == sorted(held.items())
        ends = [a + n for a, n in sorted(held.items())]
        assert all(end <= start for end, start in zip(ends, sorted(held)[1:]))
        assert not ends or ends[-1] <= memory.base + memory.capacity
        assert memory.used == sum(-(-n // SMALL) * SMALL for n in held.values())


@pytest.mark.parametrize("pointer", [0, 5, BASE + 100, BASE + DEVICE_STRIDE])
def test_copies_check_their_device_pointers_at_once(pointer: int) -> None:
    driver = SimulatedDriver()
    host = np.zeros(8, np.uint8)
    driver.malloc(0, 100)
    with pytest.raises(CudaError, match=re.escape("CUDA error: invalid argument")):
        driver.copy(0, 0, pointer, host.ctypes.data, 8, "h2d")
    with pytest.raises(CudaError, match="invalid argument"):
        driver.copy(0, 0, host.ctypes.data, pointer, 8, "d2h")
    with pytest.raises(CudaError, match="invalid argument"):
        driver.memset(0, 0, pointer, 0, 8)
