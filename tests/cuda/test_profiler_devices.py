"""The work of devices in a profile: which call queued it, and where it is in the trace."""

from __future__ import annotations

from typing import Any

import pytest

import internals
from internals.cuda import backend
from internals.profiler import (
    DeviceType,
    ProfilerActivity,
    profile,
    record_function,
    supported_activities,
)


def taken(**options: Any) -> Any:
    x = internals.ones(8, 8, device="cuda")
    with (
        profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], **options) as prof,
        record_function("outer"),
    ):
        y = (x @ x).relu()
        y.cpu()
    return prof


def test_work_is_tied_to_the_call_that_queued_it() -> None:
    prof = taken()
    calls = {e.name: e for e in prof.events() if e.device_type is DeviceType.CPU}
    work = [e for e in prof.events() if e.device_type is DeviceType.CUDA]
    assert len(work) == sum(len(e.kernels) for e in calls.values()) >= 3
    assert len(calls["aten::mm"].kernels) == 1 and len(calls["aten::relu"].kernels) == 1
    assert not calls["aten::matmul"].kernels
    assert calls["aten::matmul"].device_time_total == calls["aten::mm"].self_device_time_total > 0
    assert calls["outer"].device_time_total == pytest.approx(
        sum(e.self_device_time_total for e in work)
    )
    assert all(
        e.cpu_time_total == 0 and e.self_device_time_total == e.time_range.elapsed_us()
        for e in work
    )


def test_the_table_has_the_devices_columns() -> None:
    prof = taken(profile_memory=True)
    table = prof.key_averages().table(sort_by="self_cuda_time_total")
    headings = [cell.strip() for cell in table.splitlines()[1].split("  ") if cell.strip()]
    assert headings == [
        "Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "Self CUDA",
        "Self CUDA %", "CUDA total", "CUDA time avg", "CPU Mem", "Self CPU Mem", "CUDA Mem",
        "Self CUDA Mem", "# of Calls",
    ]  # fmt: skip
    assert "Self CUDA time total: " in table.splitlines()[-1]
    product = next(a for a in prof.key_averages() if a.key == "aten::mm")
    assert product.self_device_memory_usage == 512 and product.self_cpu_memory_usage == 0


def test_bytes_on_devices_add_up() -> None:
    x = internals.ones(100, device="cuda")
    before = internals.cuda.memory_allocated()
    with profile(profile_memory=True) as prof:
        y = x * 2
        z = y + x
        del y
    assert (
        sum(e.self_device_memory_usage for e in prof.events())
        == internals.cuda.memory_allocated() - before
        > 0
    )
    assert z.device.type == "cuda"


def test_the_trace_has_a_row_for_each_stream() -> None:
    prof = taken()
    events = prof.chrome_trace()["traceEvents"]
    kernels = [e for e in events if e.get("cat") == "kernel"]
    calls = [e for e in events if e.get("cat") == "cuda_runtime"]
    assert len(kernels) >= 2 and {e["pid"] for e in kernels}.isdisjoint({e["pid"] for e in calls})
    assert all(e["ts"] >= 0 for e in events)
    assert prof.chrome_trace()["simulated"] is backend.driver().simulated
    ends = [e["ph"] for e in events if e.get("cat") == "ac2g"]
    assert ends.count("s") == ends.count("f") >= 3


def test_devices_alone() -> None:
    x = internals.ones(4, device="cuda")
    with profile(activities=[ProfilerActivity.CUDA]) as prof:
        x + x
    assert prof.events() and all(e.device_type is DeviceType.CUDA for e in prof.events())
    with profile(activities=[ProfilerActivity.CPU]) as host:
        x + x
    assert {e.device_type for e in host.events()} == {DeviceType.CPU}
    assert supported_activities() == {ProfilerActivity.CPU, ProfilerActivity.CUDA}


def test_where_there_is_no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Any:
        raise AssertionError("Torch not compiled with CUDA enabled")

    monkeypatch.setattr(backend, "driver", missing)
    with pytest.warns(UserWarning, match="CUDA is not available, disabling CUDA profiling"):
        prof = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
    assert prof.activities == {ProfilerActivity.CPU}
    with (
        pytest.warns(UserWarning),
        pytest.raises(AssertionError, match="No valid profiler activities found"),
    ):
        profile(activities=[ProfilerActivity.CUDA])


def test_a_failing_start_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as broken, pytest.raises(OSError, match="no recording"):
        broken.setattr(
            backend.driver(),
            "start_recording",
            lambda recorder: (_ for _ in ()).throw(OSError("no recording")),
        )
        profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]).start()
    assert [e.name for e in taken().events()][0] == "outer"
