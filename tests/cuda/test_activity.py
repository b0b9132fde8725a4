"""Recordings: what ran when, on which stream, and the file for chrome://tracing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import internals
from internals.cuda import backend, record_activity
from internals.cuda.device_array import DeviceArray
from internals.cuda.driver import CudaError
from internals.cuda.language import cuda, kernel
from internals.cuda.simulator.driver import SimulatedDriver

N = 1 << 20


@kernel
def fill(out: Any, value: Any) -> None:
    out[cuda.grid(1)] = value


@kernel
def fail(out: Any) -> None:
    assert out[0] == 99


def program(driver: SimulatedDriver) -> Any:
    """A page-locked copy on one stream beside a kernel on another."""
    pointer, other, host = driver.malloc(0, N), driver.malloc(0, N), driver.host_alloc(N)
    side = driver.create_stream(0)
    with record_activity() as recording:
        driver.copy(0, side, pointer, host, N, "h2d")
        driver.launch(
            0, 0, fill, (2, 1, 1), (32, 1, 1), (DeviceArray(other, (N,), (1,), internals.uint8), 7)
        )
        driver.record_event(0, side)
        driver.stream_wait_event(0, 0, driver.record_event(0, side))
        driver.memset(0, 0, other, 0, N)
    return recording


def test_work_and_calls_with_their_times(simulator: SimulatedDriver) -> None:
    recording = program(simulator)
    model = simulator.model
    copy, kernel, memset = recording.of_kind("h2d", "kernel", "memset")
    assert (copy.name, copy.nbytes, copy.duration_ns) == (
        "Memcpy HtoD (Pinned)",
        N,
        model.host_copy(N, True),
    )
    assert (kernel.name, kernel.grid, kernel.block) == ("fill", (2, 1, 1), (32, 1, 1))
    assert copy.stream != 0 == kernel.stream == memset.stream
    assert (
        copy.start_ns < kernel.start_ns < kernel.end_ns < copy.end_ns == memset.start_ns
    )  # beside it; the memset waited
    calls = recording.of_kind("host")
    assert [c.name for c in calls[:3]] == ["cudaMemcpyAsync", "cudaLaunchKernel", "cudaEventRecord"]
    assert calls[0].start_ns == 0 and all(a.end_ns <= b.start_ns for a, b in zip(calls, calls[1:]))
    assert [next(c.name for c in calls if c.correlation == w.correlation) for w in (
        copy, kernel, memset,
    )] == [
        "cudaMemcpyAsync", "cudaLaunchKernel", "cudaMemsetAsync",
    ]  # fmt: skip
    assert len(recording.of_kind("event")) == 2
    assert (
        repr(recording)
        == "<Recording: 1 kernel, 1 h2d, 1 memset, 2 event, 8 host; simulated, times are modelled>"
    )


def test_only_what_is_queued_within_is_recorded(simulator: SimulatedDriver) -> None:
    pointer = simulator.malloc(0, N)
    simulator.memset(0, 0, pointer, 1, N)
    with record_activity() as recording:
        simulator.memset(0, 0, pointer, 2, 64)
    simulator.memset(0, 0, pointer, 3, N)
    assert [a.nbytes for a in recording.of_kind("memset")] == [64]
    simulator.synchronize(0)
    assert len(recording.of_kind("memset")) == 1


def test_recordings_are_the_same_in_every_run() -> None:
    def run() -> list[Any]:
        driver = SimulatedDriver()
        with backend.installed(driver):
            return list(program(driver))

    assert run() == run()


def test_a_wait_is_a_long_call(simulator: SimulatedDriver) -> None:
    pointer, host = simulator.malloc(0, N), np.zeros(N, np.uint8)
    with record_activity() as recording:
        simulator.copy(0, 0, host.ctypes.data, pointer, N, "d2h")
    call = next(a for a in recording.of_kind("host") if a.name == "cudaMemcpyAsync")
    copy = recording.of_kind("d2h")[0]
    assert (
        copy.name == "Memcpy DtoH (Pageable)"
        and call.start_ns < copy.start_ns
        and call.end_ns == copy.end_ns
    )


def test_the_chrome_trace(simulator: SimulatedDriver, tmp_path: Path) -> None:
    recording = program(simulator)
    path = tmp_path / "trace.json"
    path.write_text("old")
    recording.export_chrome_trace(path)
    assert [p.name for p in tmp_path.iterdir()] == ["trace.json"]
    trace = json.loads(path.read_text())
    assert trace["simulated"] and trace["deviceProperties"][1]["name"] == "Simulated GPU"
    events = trace["traceEvents"]
    kernel = next(e for e in events if e.get("cat") == "kernel")
    assert (
        kernel["ph"] == "X"
        and kernel["name"] == "fill"
        and kernel["pid"] == 0
        and kernel["tid"] == 0
    )
    assert kernel["args"] == {
        "device": 0,
        "stream": 0,
        "correlation": 3,
        "grid": [2, 1, 1],
        "block": [32, 1, 1],
    } | {"correlation": kernel["args"]["correlation"]}
    copy = next(e for e in events if e.get("cat") == "gpu_memcpy")
    assert (
        copy["tid"] == 1
        and copy["args"]["bytes"] == N
        and copy["dur"] == simulator.model.host_copy(N, True) / 1000
    )
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert (
        names[0, 0] == "stream 0" and names[0, 1] == "stream 1" and "CUDA calls" in names.values()
    )
    assert any(
        e["args"]["name"] == "GPU 0 (simulated)" for e in events if e["name"] == "process_name"
    )
    arrows = {ph: {e["id"] for e in events if e["ph"] == ph} for ph in "sf"}
    assert arrows["f"] and arrows["f"] <= arrows["s"]  # every piece of work has a call it came from


def test_a_trace_that_cannot_be_written_leaves_nothing(
    simulator: SimulatedDriver, tmp_path: Path
) -> None:
    recording = program(simulator)
    with pytest.raises(FileNotFoundError):
        recording.export_chrome_trace(tmp_path / "nowhere" / "trace.json")
    with pytest.raises(IsADirectoryError):
        recording.export_chrome_trace(tmp_path)
    assert list(tmp_path.iterdir()) == []
    recording.devices.append({"id": object()})
    with pytest.raises(TypeError):
        recording.export_chrome_trace(tmp_path / "trace.json")
    assert list(tmp_path.iterdir()) == []


def test_kinds_that_do_not_exist(simulator: SimulatedDriver) -> None:
    with pytest.raises(ValueError, match="got 'kernels'"):
        program(simulator).of_kind("kernels")


def test_failures_come_out_at_the_end(simulator: SimulatedDriver) -> None:
    array = DeviceArray(simulator.malloc(0, 8), (8,), (1,), internals.uint8)
    with pytest.raises(CudaError, match="device-side assert triggered"), record_activity():
        simulator.launch(0, 0, fail, (1, 1, 1), (1, 1, 1), (array,))
    with record_activity() as recording:  # and the next recording is not disturbed
        simulator.memset(0, 0, array.pointer, 0, 8)
    assert len(recording.of_kind("memset")) == 1


def test_an_empty_recording() -> None:
    with record_activity() as recording:
        pass
    assert recording.of_kind("kernel", "memset", "h2d", "d2h", "d2d") == []
