"""`viz.allocator("cuda")` and its timeline: segments, blocks, fragmentation, who allocated what;
live, and of snapshots.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import internals
import viz
from internals.cuda import memory
from internals.cuda.allocator import CachingAllocator, FakeSegments
from internals.cuda.simulator.driver import SimulatedDriver
from tests.viz.support import assert_good, same_in_two_processes
from viz.frames import who
from viz.rooms.segments import short
from viz.rooms.segments_timeline import MemoryTimeline, _fitting

MIB = 1 << 20
USER = {"filename": "/home/someone/train.py", "line": 7, "name": "step"}
CPP = {
    "filename": "/pytorch/aten/src/ATen/Operators_4.cpp",
    "line": 0,
    "name": "at::_ops::addmm::call(at::Tensor const&)",
}
LAYER = {
    "filename": "/usr/lib/python3/site-packages/torch/nn/modules/linear.py",
    "line": 125,
    "name": "forward",
}


def block(
    address: int, size: int, state: str, requested: int = 0, *frames: dict[str, Any]
) -> dict[str, Any]:
    return {
        "address": address,
        "size": size,
        "requested_size": requested or size,
        "state": state,
        "frames": list(frames),
    }


def segment(
    address: int, total: int, *blocks: dict[str, Any], stream: int = 0, pool: str = "large"
) -> dict[str, Any]:
    return {
        "device": 0, "address": address, "total_size": total, "stream": stream,
        "segment_type": pool, "frames": [], "allocated_size": 0, "active_size": 0,
        "requested_size": 0, "is_expandable": False, "blocks": list(blocks),
    }  # fmt: skip


def fragmented() -> list[dict[str, Any]]:
    """Two segments: 8 MiB free in pieces of 2 MiB, and a small one of another stream with a block
    that waits.
    """
    base = 0x7F0000000000
    pieces = [
        block(
            base + n * 2 * MIB,
            2 * MIB,
            "inactive" if n % 2 else "active_allocated",
            2 * MIB - 100,
            CPP,
            LAYER,
            USER,
        )
        for n in range(8)
    ]
    waiting = block(base + 32 * MIB, 512, "active_pending_free", 4)
    rest = block(base + 32 * MIB + 512, 2 * MIB - 512, "inactive")
    return [
        segment(base + 32 * MIB, 2 * MIB, waiting, rest, stream=0xABC, pool="small"),
        segment(base, 16 * MIB, *pieces),
    ]


def test_a_fragmented_snapshot() -> None:
    picture: Any = viz.allocator(fragmented())
    assert [(s.name, s.size, s.pool, s.stream) for s in picture.segments] == [
        ("G0", 16 * MIB, "large", "default stream"), ("G1", 2 * MIB, "small", "stream 1"),
    ]  # fmt: skip
    assert picture.free_blocks() == [2 * MIB] * 4 + [2 * MIB - 512]
    assert picture.fragmentation == pytest.approx(0.8, abs=1e-3)
    assert [picture.segments[1].total(w) for w in ("in use", "awaiting events", "free")] == [
        0,
        512,
        2 * MIB - 512,
    ]
    text = picture.text()
    assert "G0+0x200000  2,097,152             free" in text
    assert "G1+0x0          512          4  awaiting events" in text
    assert "2,097,052  in use  addmm in step, line 7" in text
    assert "fragmentation 80%" in text and "0x7f" not in picture.html() and "simulated" not in text
    assert_good(picture)


def test_live_memory_of_the_device(simulator: SimulatedDriver) -> None:
    a = internals.empty(1000, device="cuda:1")
    internals.empty(3 * MIB, device="cuda:1")
    picture: Any = viz.allocator("cuda:1")
    first, second = picture.segments
    assert picture.heading == "CachingAllocator on cuda:1, simulated"
    assert [(b.size, b.requested, b.words) for b in first.blocks] == [
        (4096, 4000, "in use"),
        (2 * MIB - 4096, 0, "free"),
    ]
    assert [(b.size, b.words) for b in second.blocks] == [(12 * MIB, "free")]
    assert (
        sum(s.size for s in picture.segments) == memory.memory_reserved(1)
        and memory.memory_allocated(1) == 4096
    )
    # nothing was asked of cuda:0
    assert viz.allocator("cuda").text().endswith("0 free blocks, 0 B")
    assert_good(picture)
    assert_good(viz.allocator(internals.device("cuda")))
    del a


def test_an_allocator_of_ones_own() -> None:
    own = CachingAllocator(FakeSegments())
    pointers = [own.malloc(5 * MIB, 0) for _ in range(4)]
    own.free(pointers[0])
    own.free(pointers[2])
    picture: Any = viz.allocator(own)
    assert [(b.size // MIB, b.words) for b in picture.segments[0].blocks][:2] == [
        (5, "free"),
        (5, "in use"),
    ]
    assert_good(picture)


def test_snapshots_in_files(tmp_path: Path) -> None:
    whole = {"segments": fragmented(), "device_traces": [[]]}
    (tmp_path / "snapshot.pickle").write_bytes(pickle.dumps(whole))
    assert (
        viz.allocator(tmp_path / "snapshot.pickle").text()
        == viz.allocator(str(tmp_path / "snapshot.pickle")).text()
    )
    assert viz.allocator(whole).text() == viz.allocator(fragmented()).text()
    (tmp_path / "bad.pickle").write_bytes(pickle.dumps(print))
    with pytest.raises(
        ValueError,
        match="bad.pickle is no pickled snapshot of CUDA memory: it asks for builtins.print",
    ):
        viz.allocator(tmp_path / "bad.pickle")
    (tmp_path / "text.pickle").write_text("hello")
    with pytest.raises(ValueError, match="no pickled snapshot"):
        viz.allocator(tmp_path / "text.pickle")
    with pytest.raises(ValueError, match="no list of segments"):
        viz.allocator({"a": 1})
    with pytest.raises(ValueError, match="holds no history"):
        viz.allocator(whole).timeline()
    with pytest.raises(ValueError, match="allocators of 'cpu' and 'cuda', not of 'meta'"):
        viz.allocator("meta")


def test_who() -> None:
    assert str(who([CPP, LAYER, USER])) == "addmm in step, line 7"
    assert str(who([LAYER, {**USER, "name": "<module>"}])) == "line 7"
    assert str(who([])) == "" and str(who([CPP])) == "addmm"
    ours = [
        {
            "filename": "/x/internals/aten/native_functions/a.yaml:3, generated for it",
            "line": 1,
            "name": "_to_copy",
        },
        {"filename": "/x/internals/cuda/fallback.py", "line": 2, "name": "cpu_fallback"},
        {
            "filename": "/x/internals/aten/native_functions/a.yaml:3, generated for it",
            "line": 3,
            "name": "sort",
        },
        USER,
    ]
    assert str(who(ours)) == "sort in step, line 7"
    overload = {
        "filename": "/x/internals/aten/native_functions/a.yaml:3, generated for it",
        "line": 1,
        "name": "sum_dim_IntList",
    }
    assert str(who([overload, USER])) == "sum in step, line 7"
    assert [short(n) for n in (512, 4096, 1536, 3 * MIB + MIB // 2)] == [
        "512 B",
        "4 KiB",
        "1.5 KiB",
        "3.5 MiB",
    ]


def test_a_timeline_names_who_allocated_what(simulator: SimulatedDriver) -> None:
    before = internals.ones(100, device="cuda")
    with viz.allocator_timeline("cuda") as timeline:
        a = internals.ones(1000, device="cuda")
        b = a + before[:1]
        del a
        big = internals.empty(5 * MIB, device="cuda")
    assert isinstance(timeline, MemoryTimeline)
    assert [(e.action, e.place, e.size) for e in timeline.events] == [
        ("alloc", "G0+0x200", 4000), ("alloc", "G0+0x1200", 4000), ("free", "G0+0x200", 4000),
        ("segment_alloc", "G1+0x0", 20 * MIB), ("alloc", "G1+0x0", 20 * MIB),
    ]  # fmt: skip
    made = [life for life in timeline.lives if life.start >= 0]
    assert [(life.offset, life.size, life.start, life.given, life.end) for life in made] == [
        (0x200, 4096, 0, 2, 2), (0x1200, 4096, 1, 5, 5), (0, 20 * MIB, 4, 5, 5),
    ]  # fmt: skip
    assert [life.who.operator for life in made[:2]] == ["ones", "add"]
    assert made[0].who.line.startswith("test_a_timeline_names_who_allocated_what, line ")
    assert [life.size for life in timeline.lives if life.start < 0] == [512]
    assert timeline.events[-1].in_use == 512 + 4096 + 20 * MIB == memory.memory_allocated(0)
    assert (
        "3 allocations with 1 call of cudaMalloc" in timeline.text()
        and "simulated" in timeline.text()
    )
    assert_good(timeline)
    assert memory.allocator_for(0).history is None  # the recording that was begun is over
    assert b is not big


def test_memory_that_awaits_events(simulator: SimulatedDriver) -> None:
    side = internals.cuda.Stream()
    with viz.allocator_timeline("cuda") as timeline:
        a = internals.ones(1000, device="cuda")
        with internals.cuda.stream(side):
            b = a + 1
        a.record_stream(side)
        del a
        side.synchronize()
        c = internals.ones(1000, device="cuda")
    actions = [e.action for e in timeline.events]
    assert actions.index("free_requested") < actions.index("free_completed") < len(actions) - 1
    first = timeline.lives[0]
    assert first.given < first.end
    assert "given back, awaiting events" in timeline.text()
    assert_good(timeline)
    assert b is not c


def test_segments_come_and_go(simulator: SimulatedDriver) -> None:
    a = internals.empty(5 * MIB, device="cuda")
    memory._record_memory_history()
    with viz.allocator_timeline("cuda") as timeline:
        del a
        memory.empty_cache()
        b = internals.empty(6 * MIB, device="cuda")
    assert isinstance(timeline, MemoryTimeline)
    assert [e.action for e in timeline.events] == ["free", "segment_free", "segment_alloc", "alloc"]
    assert [(band.start, band.end) for band in timeline.bands] == [(-1, 1), (2, 4)]
    assert memory.allocator_for(0).history is not None  # it was on before
    assert_good(timeline)
    later: Any = viz.allocator("cuda").timeline()
    assert [e.action for e in later.events][-1] == "alloc"
    memory._record_memory_history(None)
    with viz.allocator_timeline("cuda") as nothing:
        pass
    assert nothing.text() == "CachingAllocator on cuda:0, simulated: nothing happened"
    assert_good(nothing)
    assert b is not None


def test_many_events_are_cut() -> None:
    events = []
    for n in range(400):
        frames = [{"filename": "train.py", "line": n % 9, "name": "step"}]
        events.append(
            {"action": "alloc", "addr": 4096 * n, "size": 4000, "stream": 0, "frames": frames}
        )
    held = [segment(0, 4096 * 400)]
    picture = viz.allocator({"segments": held, "device_traces": [events]}).timeline()
    assert len(picture.events) == 240 and picture.lines()[-1] == ("storage", "other lines")
    assert "(180 more events hidden)" in picture.text()
    assert_good(picture)


def test_without_cuda_the_way_to_the_simulator_is_named() -> None:
    program = (
        "import viz\ntry: viz.allocator('cuda')\nexcept AssertionError as error: print(error, "
        "*error.__notes__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "INTERNALS_CUDA": "none"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "set INTERNALS_CUDA=simulator in the environment" in done.stdout


def test_the_same_in_every_process() -> None:
    program = (
        "import internals as torch, viz\n"
        "torch.cuda.use_simulator()\n"
        "with viz.allocator_timeline('cuda') as t:\n"
        "    x = torch.ones(50, 30, device='cuda', requires_grad=True)\n"
        "    (x * x).sum().backward()\n"
        "    s = torch.cuda.Stream()\n"
        "    with torch.cuda.stream(s): y = x.detach() * 2\n"
        "print(t); print(t.html()); p = viz.allocator('cuda'); print(p); print(p.html())\n"
    )
    assert "simulated" in same_in_two_processes(program)


def test_a_long_name_is_cut_where_it_still_tells_something() -> None:
    assert _fitting("mm", 20) == "mm" and _fitting("threshold_backward", 60).startswith("thre")
    assert (
        _fitting("threshold_backward", 60).endswith("…")
        and _fitting("threshold_backward", 15) == ""
    )
