"""Streams and events: on the simulator and on a GPU alike, unless a test takes `simulator`."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import internals as torch
from internals.cuda import backend
from internals.cuda.driver import CudaError
from internals.cuda.simulator.driver import SimulatedDriver

cuda = torch.cuda


def test_the_default_stream_is_current_at_first() -> None:
    assert cuda.current_stream() == cuda.default_stream() == cuda.current_stream("cuda:0")
    assert cuda.default_stream().cuda_stream == 0 and cuda.current_stream().device == torch.device(
        "cuda:0"
    )


def test_the_pool_goes_round() -> None:
    streams = [cuda.Stream() for _ in range(33)]
    assert len({s.cuda_stream for s in streams}) == 32 and 0 not in {s.cuda_stream for s in streams}
    assert (
        streams[32] == streams[0]
        and hash(streams[32]) == hash(streams[0])
        and streams[1] != streams[0]
    )
    urgent = cuda.Stream(priority=-1)
    assert urgent.priority == -1 and urgent not in streams


@pytest.mark.parametrize("asked, given", [(0, 0), (5, 0), (-1, -1), (-3, -3), (-9, -3)])
def test_priorities_are_brought_into_range(asked: int, given: int) -> None:
    assert cuda.Stream(priority=asked).priority == given
    assert cuda.Stream.priority_range() == (0, -3)


def test_a_stream_is_not_what_is_no_stream() -> None:
    assert cuda.Stream() != 5 and cuda.default_stream() != 0


def test_reprs(simulator: SimulatedDriver) -> None:
    s, e = cuda.Stream(1), cuda.Event()
    assert repr(s) == "<torch.cuda.Stream device=cuda:1 cuda_stream=0x50000000 simulated>"
    assert (
        repr(cuda.default_stream()) == "<torch.cuda.Stream device=cuda:0 cuda_stream=0x0 simulated>"
    )
    assert repr(e) == "<torch.cuda.Event uninitialized>"
    e.record()
    assert repr(e) == "<torch.cuda.Event 0x60000000 simulated>"


def test_stream_contexts_nest_and_restore() -> None:
    a, b = cuda.Stream(), cuda.Stream()
    with cuda.stream(a):
        assert cuda.current_stream() == a
        with cuda.stream(b), cuda.stream(None):
            assert cuda.current_stream() == b
        assert cuda.current_stream() == a
        with pytest.raises(KeyError), b:
            assert cuda.current_stream() == b
            raise KeyError
        with a, a:
            pass
        assert cuda.current_stream() == a
    assert cuda.current_stream() == cuda.default_stream()


def test_a_stream_brings_its_device(second_device: int) -> None:
    s = cuda.Stream(second_device)
    with cuda.stream(s):
        assert cuda.current_device() == second_device and cuda.current_stream() == s
        assert cuda.current_stream(0) == cuda.default_stream(0)
    assert cuda.current_device() == 0
    assert cuda.current_stream(second_device) == cuda.default_stream(second_device)
    cuda.set_stream(s)
    assert cuda.current_device() == second_device and cuda.current_stream() == s
    cuda.set_stream(None)
    assert cuda.current_stream() == s
    cuda.set_stream(cuda.default_stream(second_device))
    cuda.set_device(0)


def test_threads_have_their_own_current_stream() -> None:
    found: list[Any] = []
    with cuda.stream(cuda.Stream()):
        thread = threading.Thread(target=lambda: found.append(cuda.current_stream()))
        thread.start()
        thread.join()
    assert found == [cuda.default_stream()]


def test_external_streams() -> None:
    handle = backend.driver().create_stream(0)
    s = cuda.ExternalStream(handle, device=0)
    assert (
        isinstance(s, cuda.Stream)
        and s.cuda_stream == handle
        and s == cuda.get_stream_from_external(handle, 0)
    )
    s.synchronize()
    assert s.query() and s.__cuda_stream__() == (0, handle)
    backend.driver().destroy_stream(0, handle)


def test_streams_of_no_device() -> None:
    with pytest.raises(CudaError, match="CUDA error: invalid device ordinal"):
        cuda.Stream(99)
    with pytest.raises(ValueError, match="Expected a cuda device, but got: cpu"):
        cuda.Stream("cpu")
    with pytest.raises(CudaError, match="invalid device ordinal"):
        cuda.current_stream(99)


def test_work_on_two_streams_needs_an_event(simulator: SimulatedDriver) -> None:
    """A side stream that reads what the current stream is still writing, without and with
    `wait_stream`.
    """

    def result(waiting: bool) -> int:
        side = cuda.Stream()
        simulator.memset(0, 0, source, 0, 1 << 20)
        simulator.synchronize(0)
        cuda._sleep(1_000_000)
        simulator.memset(0, 0, source, 7, 1 << 20)
        if waiting:
            side.wait_stream(cuda.current_stream())
        simulator.copy(0, side.cuda_stream, target, source, 1 << 20, "d2d")
        cuda.synchronize()
        return int(simulator.memory_of(0).view(target, 1)[0])

    source, target = simulator.malloc(0, 1 << 20), simulator.malloc(0, 1 << 20)
    assert (result(waiting=False), result(waiting=True)) == (0, 7)


def test_events_tell_when_they_are_passed(simulator: SimulatedDriver) -> None:
    e = cuda.Event()
    assert e.query() and e.cuda_event == 0 and e.device is None
    e.synchronize()  # nothing to wait for
    e.wait()
    cuda._sleep(1_000_000)
    e.record()
    assert (
        not e.query() and not cuda.current_stream().query() and e.device == torch.device("cuda:0")
    )
    e.synchronize()
    assert e.query() and cuda.current_stream().query()


def test_an_event_recorded_again_means_the_later_place(simulator: SimulatedDriver) -> None:
    e = cuda.Event()
    e.record()
    cuda.synchronize()
    assert e.query()
    cuda._sleep(1_000_000)
    assert cuda.current_stream().record_event(e) is e
    assert not e.query()


def test_elapsed_time(simulator: SimulatedDriver) -> None:
    start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    cuda._sleep(1_000_000)
    start.record()
    cuda._sleep(3_000_000)
    end.record()
    with pytest.raises(
        RuntimeError, match=r"^Both events must be completed before calculating elapsed time\.$"
    ):
        start.elapsed_time(end)
    end.synchronize()
    assert start.elapsed_time(end) == 3.0 and end.elapsed_time(start) == -3.0


def test_elapsed_time_of_events_that_have_none() -> None:
    timed = cuda.Event(enable_timing=True)
    timed.record()
    with pytest.raises(
        ValueError, match=r"^Both events must be created with argument 'enable_timing=True'\.$"
    ):
        timed.elapsed_time(cuda.Event())
    with pytest.raises(
        ValueError, match=r"^Both events must be recorded before calculating elapsed time\.$"
    ):
        timed.elapsed_time(cuda.Event(enable_timing=True))


def test_elapsed_time_is_not_negative() -> None:
    start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    start.record()
    end.record()
    cuda.synchronize()
    assert start.elapsed_time(end) >= 0


def test_an_event_stays_on_its_device(second_device: int) -> None:
    e = cuda.Event()
    e.record()
    with pytest.raises(
        RuntimeError, match=r"^Event device 0 does not match recording stream's device 1\.$"
    ):
        e.record(cuda.default_stream(second_device))
    cuda.default_stream(second_device).wait_event(e)  # waiting for it is allowed from anywhere
    cuda.synchronize(second_device)


def test_what_events_cannot_do() -> None:
    with pytest.raises(NotImplementedError, match="interprocess=True"):
        cuda.Event(interprocess=True)
    with pytest.raises(NotImplementedError, match="CUDA graphs"):
        cuda.Event(external=True)


def test_pageable_memory_makes_copies_wait(simulator: SimulatedDriver) -> None:
    pointer = simulator.malloc(0, 1 << 20)
    cuda._sleep(5_000_000)
    host = np.zeros(1 << 20, np.uint8)
    before = simulator.now
    simulator.copy(0, 0, host.ctypes.data, pointer, 1 << 20, "d2h")
    assert simulator.now - before > 5_000_000 and cuda.current_stream().query()
