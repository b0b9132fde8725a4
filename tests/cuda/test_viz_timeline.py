"""`viz.timeline`: rows, overlaps and arrows are those of the recording, live or from a trace in a
file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import internals as torch
import viz
from internals.cuda.activity import record_activity
from internals.cuda.simulator.driver import SimulatedDriver
from tests.viz.support import assert_good, same_in_two_processes
from viz.rooms.timeline import Timeline, common, micro, total, union


def overlapping() -> None:
    """Copies on a stream of their own, each awaited by the sum of what it brought."""
    data = torch.ones(100, 1000).pin_memory()
    side = torch.cuda.Stream()
    for _ in range(2):
        with torch.cuda.stream(side):
            part = data.to("cuda", non_blocking=True)
        torch.cuda.current_stream().wait_stream(side)
        part.sum()


def event(name: str, category: str, start: float, length: float, **args: Any) -> dict[str, Any]:
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": 0,
        "tid": args.get("stream", 0),
        "ts": start,
        "dur": length,
        "args": args,
    }


def trace() -> dict[str, Any]:
    """What torch.profiler writes, as far as it matters."""
    return {
        "traceEvents": [
            {"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "python"}},
            event("aten::add", "cpu_op", 0, 50),
            event("cudaMemcpyAsync", "cuda_runtime", 0, 5, correlation=1),
            event(
                "Memcpy HtoD (Pinned -> Device)",
                "gpu_memcpy",
                10,
                20,
                device=0,
                stream=7,
                correlation=1,
                bytes=4096,
            ),
            event("cudaLaunchKernel", "cuda_runtime", 6, 2, correlation=2),
            event(
                "void add<float>",
                "kernel",
                20,
                20,
                device=0,
                stream=20,
                correlation=2,
                grid=[4, 1, 1],
                block=[128, 1, 1],
            ),
            event(
                "Memset (Device)", "gpu_memset", 45, 1, device=1, stream=7, correlation=3, bytes=16
            ),
        ]
    }


def test_a_trace_of_torch_profiler() -> None:
    picture = viz.timeline(trace())
    assert picture.rows == ["host", "cuda:0 stream 7", "cuda:0 stream 20", "cuda:1 stream 7"]
    assert [(b.kind, b.start, b.end) for b in picture.bars if b.kind != "host"] == [
        ("h2d", 10, 30), ("kernel", 20, 40), ("memset", 45, 46),
    ]  # fmt: skip
    assert (picture.overlap, picture.start, picture.end) == (10, 0, 46)
    assert [(picture.bars[a].name, picture.bars[b].kind, kind) for a, b, kind in picture.links] == [
        ("cudaMemcpyAsync", "h2d", "call"), ("cudaLaunchKernel", "kernel", "call"),
    ]  # fmt: skip
    assert picture.facts() == [
        "1 kernel and 1 copy in 46 µs",
        "devices at work for 31 µs, 67% of the time",
        "copies and kernels at the same time for 10 µs",
    ]
    assert "grid 4, block 128" in picture.text() and "modelled" not in picture.text()
    assert_good(picture)
    assert viz.timeline(trace(), host=False).rows[0] == "cuda:0 stream 7"


def test_a_recording_of_the_simulator(simulator: SimulatedDriver) -> None:
    torch.ones(1, device="cuda").sum()  # what is done once is done
    picture = viz.timeline(overlapping)
    assert picture.rows == ["host", "cuda:0 default stream", "cuda:0 stream 1"]
    copies = [b for b in picture.bars if b.kind == "h2d"]
    kernels = [b for b in picture.bars if b.kind == "kernel"]
    assert (
        len(copies) == 2
        and {b.row for b in copies} == {"cuda:0 stream 1"}
        and {b.row for b in kernels} == {"cuda:0 default stream"}
    )
    assert picture.overlap > 0 and "times are modelled (simulated device)" in picture.text()
    arrows = [(picture.bars[a], picture.bars[b]) for a, b, kind in picture.links if kind == "event"]
    assert len(arrows) == 2  # each sum waits for its own copy
    for event_bar, waiting in arrows:
        assert (event_bar.kind, waiting.kind) == (
            "event",
            "kernel",
        ) and event_bar.end <= waiting.start
    assert [a.start for a, _ in arrows] == [c.end for c in copies]
    assert_good(picture)
    without = viz.timeline(overlapping, host=False)
    assert len(without.rows) == 2 and {kind for _, _, kind in without.links} == {"event"}
    assert_good(without)


def test_a_synchronous_copy_makes_the_host_wait(simulator: SimulatedDriver) -> None:
    x = torch.ones(1000)
    picture = viz.timeline(lambda: x.to("cuda"))
    call = next(b for b in picture.bars if b.name == "cudaMemcpyAsync")
    copy = next(b for b in picture.bars if b.kind == "h2d")
    assert call.start <= copy.start and call.end >= copy.end
    assert "copies and kernels" not in picture.text()
    assert_good(picture)


def test_other_work_of_the_host_is_shown_from_its_beginning(simulator: SimulatedDriver) -> None:
    host = torch.ones(1000).pin_memory()

    def decode_and_send() -> None:
        simulator.query_stream(0, 0)  # a call before all that: left out
        simulator.host_works(50_000, "decode")
        host.to("cuda", non_blocking=True)

    picture = viz.timeline(decode_and_send)
    assert (picture.bars[0].name, picture.bars[0].length, picture.hidden) == ("decode", 50, 1)
    assert picture.text().splitlines()[3].strip().startswith("host                   ***********")
    assert [words for _, words, _ in picture.looks()] == [
        "copy to the device", "call of the driver", "other work of the host",
    ]  # fmt: skip
    assert_good(picture)


def test_saved_as_a_chrome_trace_and_read_again(simulator: SimulatedDriver, tmp_path: Path) -> None:
    with record_activity() as recording:
        overlapping()
    picture = viz.timeline(recording)
    written = picture.save(tmp_path / "trace.json")
    assert json.loads(written.read_text()) == recording.chrome_trace()
    assert (
        viz.timeline(written).text() == picture.text()
        and viz.timeline(str(written)).svg() == picture.svg()
    )
    assert picture.save(tmp_path / "picture.svg").read_text().startswith("<svg")
    (tmp_path / "other.json").write_text("[1]")
    with pytest.raises(
        ValueError, match="other.json is no Chrome trace: it has no list 'traceEvents'"
    ):
        viz.timeline(tmp_path / "other.json")
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(ValueError, match="bad.json is no Chrome trace"):
        viz.timeline(tmp_path / "bad.json")
    with pytest.raises(TypeError, match="not int"):
        viz.timeline(3)


def test_nothing_and_very_much() -> None:
    nothing = viz.timeline({"traceEvents": []})
    assert nothing.text() == "timeline: nothing was done"
    assert_good(nothing)
    many = [
        event(f"kernel{n}", "kernel", 10 * n, 9, device=0, stream=0, correlation=n)
        for n in range(500)
    ]
    picture = viz.timeline({"traceEvents": many})
    assert isinstance(picture, Timeline) and "only of the first 80 things" in picture.text()
    assert_good(picture)


def test_stretches() -> None:
    assert union([(3, 4), (0, 1), (0.5, 2), (2, 2.5)]) == [(0, 2.5), (3, 4)]
    assert common([(0, 2), (3, 5)], [(1, 4)]) == [(1, 2), (3, 4)]
    assert total([(0, 2), (3, 4.5)]) == 3.5
    assert [micro(t) for t in (0, 2.5, 999, 1250)] == ["0 µs", "2.5 µs", "999 µs", "1.25 ms"]


def test_the_same_in_every_process() -> None:
    program = (
        "import internals as torch, viz\n"
        "torch.cuda.use_simulator()\n"
        "def step():\n"
        "    x = torch.ones(500, device='cuda', requires_grad=True)\n"
        "    (x * x).sum().backward()\n"
        "p = viz.timeline(step); print(p); print(p.html())\n"
    )
    assert "modelled" in same_in_two_processes(program)
