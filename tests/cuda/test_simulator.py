"""The simulated driver: work is deferred, ordered by streams and events, timed by the model, and
reports its failures late.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

import internals
from internals.cuda.device_array import DeviceArray
from internals.cuda.driver import CudaError, Driver, IllegalMemoryAccess
from internals.cuda.language import cuda, kernel
from internals.cuda.simulator.driver import SimulatedDriver
from internals.cuda.simulator.model import Model
from internals.cuda.simulator.schedule import Engine

N = 1 << 20  # 43 microseconds of copying, some twenty calls
ONE = (1, 1, 1)


@kernel
def fill(out: Any, value: Any) -> None:
    out[cuda.grid(1)] = value


@kernel
def fail(out: Any) -> None:
    assert out[0] == 99, "not 99"


@kernel
def beyond(out: Any) -> None:
    out[cuda.grid(1) + 10] = 1


class Buffers:
    """A page-locked host buffer full of ones, and a device buffer full of zeros."""

    def __init__(self, driver: Driver, device: int = 0, nbytes: int = N) -> None:
        self.driver, self.nbytes = driver, nbytes
        self.pointer = driver.malloc(device, nbytes)
        self.host_pointer = driver.host_alloc(nbytes)
        self.host: Any = np.ctypeslib.as_array(
            (ctypes.c_uint8 * nbytes).from_address(self.host_pointer)
        )
        self.host[:] = 1

    @property
    def array(self) -> DeviceArray:
        return DeviceArray(self.pointer, (self.nbytes,), (1,), internals.uint8)


@pytest.fixture
def driver() -> Iterator[SimulatedDriver]:
    yield SimulatedDriver(devices=2)


def on_device(driver: SimulatedDriver, pointer: int, n: int = 4, device: int = 0) -> list[int]:
    """What is in the device's memory now, whatever is still queued."""
    found: list[int] = driver.memory_of(device).view(pointer, n).tolist()
    return found


def test_a_copy_from_pinned_memory_happens_later(driver: SimulatedDriver) -> None:
    b = Buffers(driver)
    driver.copy(0, 0, b.pointer, b.host_pointer, N, "h2d")
    assert on_device(driver, b.pointer) == [0, 0, 0, 0]
    b.host[:2] = 5  # the source is read when the copy takes place
    driver.synchronize(0)
    assert on_device(driver, b.pointer) == [5, 5, 1, 1]


def test_reading_the_destination_early_shows_stale_bytes(driver: SimulatedDriver) -> None:
    b = Buffers(driver)
    driver.memset(0, 0, b.pointer, 9, N)
    driver.copy(0, 0, b.host_pointer, b.pointer, N, "d2h")
    assert b.host[:3].tolist() == [1, 1, 1]
    driver.synchronize_stream(0, 0)
    assert b.host[:3].tolist() == [9, 9, 9]


def test_pageable_copies_wait(driver: SimulatedDriver) -> None:
    pointer = driver.malloc(0, N)
    source, target = np.full(N, 3, np.uint8), np.zeros(N, np.uint8)
    driver.copy(0, 0, pointer, source.ctypes.data, N, "h2d")
    assert on_device(driver, pointer) == [3, 3, 3, 3]
    driver.copy(0, 0, target.ctypes.data, pointer, N, "d2h")
    assert (target == 3).all()


def test_time_passes_on_the_device_while_the_host_is_busy(driver: SimulatedDriver) -> None:
    b = Buffers(driver)
    driver.copy(0, 0, b.pointer, b.host_pointer, N, "h2d")
    driver.host_works(driver.model.host_copy(N, True) - 1)
    assert on_device(driver, b.pointer) == [0, 0, 0, 0]
    driver.host_works(1)
    assert on_device(driver, b.pointer) == [1, 1, 1, 1]


def test_streams_run_in_order_and_beside_each_other(driver: SimulatedDriver) -> None:
    b = Buffers(driver)
    side = driver.create_stream(0)
    # takes longer than the kernel that is queued after it
    driver.copy(0, side, b.pointer, b.host_pointer, N, "h2d")
    driver.launch(0, 0, fill, ONE, (4, 1, 1), (b.array, 7))
    driver.synchronize_stream(0, 0)
    assert on_device(driver, b.pointer) == [7, 7, 7, 7]
    assert not driver.query_stream(0, side)
    driver.synchronize_stream(0, side)
    assert on_device(driver, b.pointer) == [1, 1, 1, 1]  # the race that an event is for


def test_an_event_orders_two_streams(driver: SimulatedDriver) -> None:
    b = Buffers(driver)
    side = driver.create_stream(0)
    driver.copy(0, side, b.pointer, b.host_pointer, N, "h2d")
    copied = driver.record_event(0, side)
    driver.stream_wait_event(0, 0, copied)
    driver.launch(0, 0, fill, ONE, (4, 1, 1), (b.array, 7))
    assert not copied.query()
    driver.synchronize_stream(0, 0)
    assert copied.query()
    assert on_device(driver, b.pointer, 5) == [7, 7, 7, 7, 1]


def test_an_event_orders_two_devices(driver: SimulatedDriver) -> None:
    first, second = Buffers(driver, 0), Buffers(driver, 1)
    driver.copy(0, 0, first.pointer, first.host_pointer, N, "h2d")
    copied = driver.record_event(0, 0)
    driver.stream_wait_event(1, 0, copied)
    driver.copy(1, 0, second.pointer, first.pointer, N, "d2d")
    driver.synchronize(1)
    assert on_device(driver, second.pointer, device=1) == [1, 1, 1, 1]


def test_created_streams_do_not_wait_for_the_default_stream(driver: SimulatedDriver) -> None:
    b = Buffers(driver, nbytes=1 << 24)
    side = driver.create_stream(0)
    driver.copy(0, 0, b.pointer, b.host_pointer, 1 << 24, "h2d")
    driver.launch(0, side, fill, ONE, (4, 1, 1), (b.array, 7))
    driver.synchronize_stream(0, side)
    assert not driver.query_stream(0, 0)


def test_freeing_waits_for_the_device(driver: SimulatedDriver) -> None:
    b = Buffers(driver)
    spare = driver.malloc(0, 10)
    driver.copy(0, driver.create_stream(0), b.pointer, b.host_pointer, N, "h2d")
    driver.free(0, spare)
    assert on_device(driver, b.pointer) == [1, 1, 1, 1]


def test_memory_reused_too_early_is_overwritten(driver: SimulatedDriver) -> None:
    """What forgetting `record_stream` does: the side stream reads what somebody else has written in
    the meantime.
    """
    b = Buffers(driver)
    target = driver.malloc(0, N)
    side = driver.create_stream(0)
    driver.memset(0, 0, b.pointer, 1, N)
    driver.stream_wait_event(0, side, driver.record_event(0, 0))
    driver.copy(0, side, target, b.host_pointer, N, "h2d")  # keeps the side stream busy
    driver.copy(0, side, target, b.pointer, N, "d2d")
    driver.memset(0, 0, b.pointer, 2, N)  # the next owner of b's memory
    driver.synchronize(0)
    assert on_device(driver, target) == [2, 2, 2, 2]


def test_small_kernels_share_the_device_and_large_ones_do_not() -> None:
    slots = Model().multi_processors

    def time_of_two(blocks: int) -> int:
        driver = SimulatedDriver()
        b = Buffers(driver)
        start = driver.now
        for stream in (driver.create_stream(0), driver.create_stream(0)):
            driver.launch(0, stream, fill, (blocks, 1, 1), ONE, (b.array, 7))
        driver.synchronize(0)
        return driver.now - start

    alone = Model().kernel_start + int(N / Model().memory_rate)
    assert time_of_two(slots) - time_of_two(slots // 2) == alone - Model().call


def test_the_more_urgent_stream_goes_first(driver: SimulatedDriver) -> None:
    b = Buffers(driver, nbytes=1 << 24)
    calm, urgent = driver.create_stream(0, 0), driver.create_stream(0, -1)
    driver.memset(0, 0, b.pointer, 1, 1 << 24)
    every = (driver.model.multi_processors, 1, 1)
    for stream, value in ((calm, 2), (urgent, 3)):  # both wait for the memset to leave the device
        driver.launch(0, stream, fill, every, ONE, (b.array, value))
    driver.synchronize(0)
    assert on_device(driver, b.pointer, 1) == [2]


def test_engines_tell_when_slots_are_free() -> None:
    engine = Engine(4)
    engine.occupy(0, 10, 3)
    assert engine.earliest(0) == 0 and engine.free(0) == 1
    engine.occupy(2, 6, 4)  # gets the one that is free
    assert engine.earliest(3) == 6 and [engine.free(t) for t in (3, 6, 10)] == [0, 1, 4]
    assert engine.earliest(7) == 7


def test_a_failed_assertion_is_raised_by_the_next_synchronisation(driver: SimulatedDriver) -> None:
    b = Buffers(driver)
    driver.launch(0, 0, fail, ONE, ONE, (b.array,))
    driver.memset(0, 0, b.pointer, 5, N)  # behind the failure: does nothing
    with pytest.raises(CudaError, match="^CUDA error: device-side assert triggered\n") as caught:
        driver.synchronize(0)
    text = str(caught.value)
    assert "kernel fail, block (0, 0, 0), thread (0, 0, 0): not 99" in text
    assert text.endswith("For debugging consider passing CUDA_LAUNCH_BLOCKING=1")
    assert on_device(driver, b.pointer, 1) == [0]
    driver.synchronize(0)  # told once; the device works again
    driver.memset(0, 0, b.pointer, 5, N)
    driver.synchronize(0)
    assert on_device(driver, b.pointer, 1) == [5]


@pytest.mark.parametrize("how", ["stream", "event", "copy", "query"])
def test_every_way_of_waiting_tells_of_failures(driver: SimulatedDriver, how: str) -> None:
    b = Buffers(driver, nbytes=16)
    driver.launch(0, 0, beyond, ONE, (16, 1, 1), (b.array,))
    event = driver.record_event(0, 0)
    target = np.zeros(16, np.uint8)
    driver.host_works(1_000_000)
    ways = {
        "stream": lambda: driver.synchronize_stream(0, 0),
        "event": event.synchronize,
        "copy": lambda: driver.copy(0, 0, target.ctypes.data, b.pointer, 16, "d2h"),
        "query": lambda: driver.query_stream(0, 0),
    }
    with pytest.raises(
        IllegalMemoryAccess, match=r"kernel beyond, block \(0, 0, 0\), thread \(6, 0, 0\)"
    ):
        ways[how]()


def test_one_devices_failure_is_not_the_others(driver: SimulatedDriver) -> None:
    first, second = Buffers(driver, 0), Buffers(driver, 1)
    driver.launch(0, 0, fail, ONE, ONE, (first.array,))
    driver.memset(1, 0, second.pointer, 5, N)
    driver.synchronize(1)
    assert on_device(driver, second.pointer, 1, device=1) == [5]
    with pytest.raises(CudaError):
        driver.synchronize(0)


def test_launch_blocking_raises_at_the_launch(
    driver: SimulatedDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    b = Buffers(driver)
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    with pytest.raises(CudaError, match="device-side assert triggered") as caught:
        driver.launch(0, 0, fail, ONE, ONE, (b.array,))
    assert "asynchronously" not in str(caught.value)


def test_a_program_error_in_a_kernel_is_a_launch_failure(driver: SimulatedDriver) -> None:
    b = Buffers(driver)
    driver.launch(0, 0, fill, ONE, ONE, (b.array,))  # an argument is missing
    with pytest.raises(
        CudaError,
        match="CUDA error: unspecified launch failure\nTypeError: kernel fill takes 2 arguments",
    ):
        driver.synchronize(0)


@pytest.mark.parametrize(
    "grid, block", [(ONE, (1025, 1, 1)), (ONE, (33, 32, 1)), ((0, 1, 1), ONE), (ONE, (1, 0, 1))]
)
def test_configurations_no_device_takes(driver: SimulatedDriver, grid: Any, block: Any) -> None:
    with pytest.raises(CudaError, match="CUDA error: invalid configuration argument\nkernel fill"):
        driver.launch(0, 0, fill, grid, block, ())


def test_a_kernel_without_a_name_is_called_as_its_function(driver: SimulatedDriver) -> None:
    def plain() -> None: ...

    with pytest.raises(CudaError, match="kernel plain, grid"):
        driver.launch(0, 0, plain, ONE, (0, 1, 1), ())


def test_streams_that_are_not_there(driver: SimulatedDriver) -> None:
    with pytest.raises(
        CudaError, match="CUDA error: invalid resource handle\ncuda:0 has no stream 0x77"
    ):
        driver.synchronize_stream(0, 0x77)
    stream = driver.create_stream(1)
    with pytest.raises(CudaError, match="invalid resource handle"):
        driver.query_stream(0, stream)
    driver.destroy_stream(1, stream)
    with pytest.raises(CudaError, match="invalid resource handle"):
        driver.query_stream(1, stream)


def test_copies_of_no_kind(driver: SimulatedDriver) -> None:
    with pytest.raises(ValueError, match="kind must be one of h2d, d2h, d2d, got 'up'"):
        driver.copy(0, 0, 0, 0, 1, "up")


def test_times_come_from_the_model_and_are_the_same_in_every_run() -> None:
    def program() -> list[int]:
        driver = SimulatedDriver()
        b = Buffers(driver)
        side = driver.create_stream(0)
        times = [driver.now]
        start = driver.record_event(0, side, timing=True)
        driver.copy(0, side, b.pointer, b.host_pointer, N, "h2d")
        end = driver.record_event(0, side, timing=True)
        driver.synchronize(0)
        copy = driver.model.host_copy(N, True)
        # The first mark is passed when its call returns; the copy is queued one call later.
        assert start.elapsed_ms(end) == (driver.model.call + copy) / 1e6
        times.append(driver.now)
        driver.launch(0, 0, fill, (4, 1, 1), (8, 1, 1), (b.array, 7))
        driver.synchronize(0)
        return [*times, driver.now]

    assert program() == program()


def test_elapsed_time_of_what_was_not_passed(driver: SimulatedDriver) -> None:
    b = Buffers(driver)
    start = driver.record_event(0, 0, timing=True)
    driver.copy(0, 0, b.pointer, b.host_pointer, N, "h2d")
    end = driver.record_event(0, 0, timing=True)
    with pytest.raises(CudaError, match="CUDA error: device not ready"):
        start.elapsed_ms(end)


def test_many_threads_may_call_at_once(driver: SimulatedDriver) -> None:
    def work(value: int) -> None:
        stream = driver.create_stream(0)
        pointer = driver.malloc(0, 512)
        for _ in range(20):
            driver.memset(0, stream, pointer, value, 512)
        driver.synchronize_stream(0, stream)
        results[value] = on_device(driver, pointer, 512)

    results: dict[int, list[int]] = {}
    threads = [threading.Thread(target=work, args=(value,)) for value in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {value: [value] * 512 for value in range(8)}


@example([(0, "record", 0), (0, "wait", 0)])  # the event has ended when the wait is queued
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from(["set", "record", "wait"]), st.integers(0, 3)),
        max_size=40,
    )
)
def test_what_is_ordered_happens_in_that_order(steps: list[tuple[int, str, int]]) -> None:
    """Random work on four streams of two devices: nothing starts before what it has to wait for has
    ended.
    """
    driver = SimulatedDriver(devices=2)
    streams = [(0, 0), (0, driver.create_stream(0)), (1, 0), (1, driver.create_stream(1))]
    memory = [driver.malloc(device, 4096) for device, _ in streams]
    newest: list[Any] = [None] * 4
    for at, what, other in steps:
        device, stream = streams[at]
        if what == "set":
            driver.memset(device, stream, memory[at], other, 4096)
        elif what == "record":
            newest[at] = driver.record_event(device, stream)
        elif newest[other] is not None:
            driver.stream_wait_event(device, stream, newest[other])
    tasks = [task for q in driver.schedule.queues.values() for task in q.tasks]
    waits = [(task, other) for task in tasks for other in task.after]
    orders = [list(q.tasks) for q in driver.schedule.queues.values()]
    for device in range(2):
        driver.synchronize(device)
    assert all(task.done for task in tasks)
    before = [*waits, *((b, a) for order in orders for a, b in zip(order, order[1:]))]
    assert all(task.start >= other.end for task, other in before)
