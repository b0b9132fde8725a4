"""Tensors on streams: when a copy takes place, what reads too early, whose memory is given away too
soon. On a fresh simulator: a real GPU decides races as it likes.
"""

from __future__ import annotations

import threading
from typing import Any

import pytest

import internals as torch
from internals.cuda.driver import CudaError
from internals.cuda.language import cuda, kernel
from internals.cuda.simulator.driver import SimulatedDriver

api = torch.cuda


@kernel
def beyond(out: Any) -> None:
    out[cuda.grid(1) + 2] = 1.0


@kernel
def fill(out: Any, value: Any) -> None:
    out[cuda.grid(1)] = value


@kernel
def plus_one(out: Any, a: Any) -> None:
    i = cuda.grid(1)
    out[i] = a[i] + 1


@pytest.fixture(autouse=True)
def fresh(simulator: SimulatedDriver) -> SimulatedDriver:
    return simulator


@pytest.mark.parametrize("pinned", [True, False])
@pytest.mark.parametrize("non_blocking", [True, False])
def test_a_copy_to_the_host_is_late_only_if_asked_and_pinned(
    pinned: bool, non_blocking: bool
) -> None:
    host = torch.zeros(4).pin_memory() if pinned else torch.zeros(4)
    x = torch.ones(4, device="cuda") * 3
    host.copy_(x, non_blocking=non_blocking)
    at_once = host.tolist()
    api.synchronize()
    assert host.tolist() == [3.0] * 4
    assert at_once == ([0.0] * 4 if pinned and non_blocking else [3.0] * 4)


@pytest.mark.parametrize("non_blocking", [True, False])
def test_a_pinned_source_must_not_be_changed_yet(non_blocking: bool) -> None:
    host = torch.zeros(4).pin_memory()
    x = host.to("cuda", non_blocking=non_blocking)
    host.fill_(9)
    assert x.tolist() == ([9.0] * 4 if non_blocking else [0.0] * 4)


def test_an_event_says_when_the_copy_is_over() -> None:
    host = torch.zeros(4).pin_memory()
    x = torch.ones(4, device="cuda")
    api._sleep(100_000)
    host.copy_(x, non_blocking=True)
    copied = api.current_stream().record_event()
    assert not copied.query() and host.tolist() == [0.0] * 4
    copied.synchronize()
    assert host.tolist() == [1.0] * 4


@pytest.mark.parametrize("waiting", [True, False])
def test_a_side_stream_reads_what_is_there(waiting: bool) -> None:
    x = torch.zeros(4, device="cuda")
    api.synchronize()
    side = api.Stream()
    api._sleep(1_000_000)
    fill[1, 4](x, 5)
    if waiting:
        side.wait_stream(api.current_stream())
    with api.stream(side):
        y = torch.empty(4, device="cuda")
        plus_one[1, 4](y, x)
    side.synchronize()
    with api.stream(side):
        assert y.tolist() == ([6.0] * 4 if waiting else [1.0] * 4)


@pytest.mark.parametrize("recorded", [True, False])
def test_memory_goes_to_the_next_tensor_unless_the_other_stream_is_recorded(recorded: bool) -> None:
    x = torch.empty(4, device="cuda")
    fill[1, 4](x, 5)
    api.synchronize()
    side = api.Stream()
    with api.stream(side):
        y = torch.empty(4, device="cuda")
        api._sleep(1_000_000)
        plus_one[1, 4](y, x)
    if recorded:
        x.record_stream(side)
    address = x.data_ptr()
    del x
    z = torch.empty(4, device="cuda")
    fill[1, 4](z, 100)
    assert (z.data_ptr() == address) != recorded
    side.synchronize()
    with api.stream(side):
        assert y.tolist() == ([6.0] * 4 if recorded else [101.0] * 4)


def test_between_devices() -> None:
    x = torch.arange(4.0, device="cuda:0")
    y = x.to("cuda:1")
    assert y.device == torch.device("cuda:1") and y.tolist() == [0.0, 1.0, 2.0, 3.0]
    with api.device(1):
        assert torch.ones(1, device="cuda").device.index == 1
        assert api.Stream().device.index == 1
    with api.device_of(y):
        assert api.current_device() == 1


def test_a_copy_between_devices_is_ordered_on_both_without_waiting() -> None:
    x, y = torch.zeros(4, device="cuda:0"), torch.zeros(4, device="cuda:1")
    with api.device(0):
        api._sleep(1_000_000)
        fill[1, 4](x, 5)
    y.copy_(x)
    assert not api.current_stream(0).query() and not api.current_stream(1).query()
    plus_one[1, 4](y, y)
    assert y.tolist() == [6.0] * 4


def test_operations_that_wait_can_be_found() -> None:
    x = torch.ones(4, device="cuda")
    pinned = torch.zeros(4).pin_memory()
    assert api.get_sync_debug_mode() == 0
    try:
        api.set_sync_debug_mode("warn")
        with pytest.warns(UserWarning, match="^called a synchronizing CUDA operation$"):
            assert x[0].item() == 1
        api.set_sync_debug_mode("error")
        for waiting in (
            x.tolist,
            lambda: x[0].item(),
            x.cpu,
            lambda: pinned.to("cuda"),
            lambda: repr(x),
        ):
            with pytest.raises(RuntimeError, match="^called a synchronizing CUDA operation$"):
                waiting()
        pinned.copy_(x, non_blocking=True)
        plus_one[1, 4](x, x)
        api.synchronize()  # on purpose
        api.current_stream().synchronize()
        assert api.get_sync_debug_mode() == 2
    finally:
        api.set_sync_debug_mode(0)
    for mode in ("loud", 3):
        with pytest.raises(RuntimeError, match="expected one of `default`, `warn`, `error`"):
            api.set_sync_debug_mode(mode)


def test_a_failing_kernel_is_told_of_by_whoever_waits() -> None:
    x = torch.zeros(4, device="cuda")
    beyond[1, 4](x)
    with pytest.raises(
        CudaError, match="CUDA error: an illegal memory access was encountered"
    ) as caught:
        x.tolist()
    assert "kernel beyond, block (0, 0, 0), thread (2, 0, 0)" in str(caught.value)
    assert x.tolist() == [0.0, 0.0, 1.0, 1.0]


def test_launch_blocking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    x = torch.zeros(4, device="cuda")
    with pytest.raises(CudaError, match="thread \\(2, 0, 0\\)"):
        beyond[1, 4](x)


def test_other_threads_work_on_the_default_stream() -> None:
    def work() -> None:
        results.append(
            (api.current_stream().cuda_stream, (torch.ones(3, device="cuda") * 2).tolist())
        )

    results: list[Any] = []
    with api.stream(api.Stream()):
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert results == [(0, [2.0] * 3)] * 4


def test_what_overlaps_is_seen_in_a_recording() -> None:
    host = torch.zeros(1 << 18).pin_memory()
    x = torch.zeros(64, device="cuda")
    target = torch.zeros(1 << 18, device="cuda")
    side = api.Stream()
    with api.record_activity() as recording:
        with api.stream(side):
            target.copy_(host, non_blocking=True)
        plus_one[2, 32](x, x)
    (copy,), (kernel,) = recording.of_kind("h2d"), recording.of_kind("kernel")
    assert copy.start_ns < kernel.start_ns < kernel.end_ns < copy.end_ns
    assert copy.stream == side.cuda_stream and kernel.stream == 0
