"""Snapshots and histories are in PyTorch's own schema: real PyTorch reads them."""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import internals as torch
from internals.cuda import memory
from internals.cuda.allocator import CachingAllocator, FakeSegments, OutOfMemoryError
from internals.cuda.allocator.history import ALL, ALLOC, NEVER, STATE
from internals.cuda.allocator.snapshot import PENDING
from tests.support import oracle

MIB = 1 << 20
BASE = 0x7_0000_0000_00
SEGMENT = {
    "device", "address", "total_size", "allocated_size", "active_size", "requested_size", "stream",
    "segment_type", "segment_pool_id", "is_expandable", "frames", "blocks",
}  # fmt: skip
BLOCK = {"address", "size", "requested_size", "state", "frames"}


@pytest.fixture
def a() -> CachingAllocator:
    return CachingAllocator(FakeSegments(64 * MIB))


def actions(a: CachingAllocator) -> list[tuple[str, int, int]]:
    return [(e["action"], e.get("addr", e.get("device_free")), e["size"]) for e in a.trace()]


def test_schema(a: CachingAllocator) -> None:
    kept, waits = a.allocate(1000), a.allocate(3 * MIB)
    a.record_stream(waits, 1)
    waits.clear()
    small, large = a.snapshot()
    assert set(small) == SEGMENT and all(
        set(b) == BLOCK for s in (small, large) for b in s["blocks"]
    )
    assert (
        small["segment_type"], small["total_size"], small["allocated_size"],
        small["requested_size"],
    ) == (
        "small", 2 * MIB, 1024, 1000,
    )  # fmt: skip
    assert (large["segment_type"], large["allocated_size"], large["active_size"]) == (
        "large",
        0,
        3 * MIB,
    )
    assert [b["state"] for b in large["blocks"]] == [PENDING, "inactive"]
    assert [b["address"] for b in small["blocks"]] == [kept.pointer, kept.pointer + 1024]
    assert small["address"] == BASE and large["address"] == BASE + 2 * MIB


def test_history_of_a_short_program(a: CachingAllocator) -> None:
    a.record_history()
    p = a.allocate(1000)
    a.record_stream(p, 1)
    p.clear()
    a.segments.finish()  # type: ignore[attr-defined]
    a.allocate(3000).clear()
    a.snapshot()
    with pytest.raises(OutOfMemoryError):
        a.malloc(90 * MIB - 7, 0)
    assert actions(a) == [
        ("segment_alloc", BASE, 2 * MIB),
        ("alloc", BASE, 1000),
        ("free_requested", BASE, 1000),
        ("free_completed", BASE, 1000),
        ("alloc", BASE, 3000),
        ("free_requested", BASE, 3000),
        ("free_completed", BASE, 3000),
        ("snapshot", 0, 0),
        ("segment_free", BASE, 2 * MIB),
        ("oom", 64 * MIB, 90 * MIB),
    ]
    entry = a.trace()[1]
    assert set(entry) == {
        "action", "addr", "size", "stream", "time_us", "compile_context", "user_metadata",
        "pool_id", "frames",
    }  # fmt: skip
    times = [e["time_us"] for e in a.trace()]
    assert times == sorted(times) and times[0] > 1_600_000_000_000_000


def test_large_segments_go_back_before_small_ones(a: CachingAllocator) -> None:
    sizes = [(1000, 0), (12 * MIB, 1), (14 * MIB, 0), (12 * MIB, 0), (1000, 1)]
    for block in [a.malloc(*size) for size in sizes]:
        a.free(block)
    a.record_history()
    a.empty_cache()
    entries = [(e["action"], e["size"] // MIB, e["stream"]) for e in a.trace()]
    assert entries == [
        ("segment_free", n, stream) for n, stream in [(12, 0), (14, 0), (12, 1), (2, 0), (2, 1)]
    ]


def first_user(a: CachingAllocator) -> Any:
    return a.malloc(512, 0)


def second_user(a: CachingAllocator) -> Any:
    return a.malloc(512, 0)


def test_frames_tell_who(a: CachingAllocator) -> None:
    a.record_history()
    x, y = first_user(a), second_user(a)
    (segment,) = a.snapshot()
    assert [b["frames"][0]["name"] for b in segment["blocks"][:2]] == ["first_user", "second_user"]
    assert segment["frames"][0]["name"] == "first_user", (
        "who was allocating when the segment was made"
    )
    top = segment["blocks"][0]["frames"][0]
    assert set(top) == {"filename", "line", "name"} and top["filename"] == __file__
    assert top["line"] == first_user.__code__.co_firstlineno + 1
    assert segment["blocks"][0]["frames"][1]["name"] == "test_frames_tell_who", (
        "the innermost frame comes first"
    )
    a.free(x)
    a.free(y)  # now the whole segment is one block, which was its last
    (segment,) = a.snapshot()
    assert segment["blocks"][0]["frames"] == [] and segment["frames"][0]["name"] == "first_user"


@pytest.mark.parametrize(
    "level,live,alloc,freed",
    [(NEVER, 0, 0, 0), (STATE, 1, 0, 0), (ALLOC, 1, 1, 1), (ALL, 1, 1, 1)],
)
def test_whose_stacks_are_kept(
    a: CachingAllocator, level: int, live: int, alloc: int, freed: int
) -> None:
    a.record_history(context=level)
    x = first_user(a)
    assert bool(a.snapshot()[0]["blocks"][0]["frames"]) == live
    a.free(x)
    by_action = {e["action"]: e["frames"] for e in a.trace()}
    assert bool(by_action["alloc"]) == alloc and bool(by_action["free_requested"]) == freed
    if freed:  # without its own stack, a free shows that of the allocation
        assert by_action["free_requested"][0]["name"] == (
            "test_whose_stacks_are_kept" if level == ALL else "first_user"
        )


def test_the_oldest_entries_go_first_and_some_are_not_wanted(a: CachingAllocator) -> None:
    a.record_history(max_entries=3, skipped=["free_requested"])
    for n in range(1, 5):
        a.free(a.malloc(n * 512, 0))
    assert [(action, size) for action, _, size in actions(a)] == [
        ("free_completed", 1536), ("alloc", 2048), ("free_completed", 2048),
    ]  # fmt: skip
    a.record_history(max_entries=2)
    assert len(a.trace()) == 2, "what was written is kept"
    a.record_history(clear=True)
    assert a.trace() == []
    a.record_history(False)
    a.malloc(1, 0)
    assert a.history is None and a.trace() == []


# torch.cuda.memory


@pytest.fixture
def program(simulator: Any) -> dict[str, Any]:
    """A snapshot of a little program on the simulator."""
    memory._record_memory_history(stacks="python")
    kept = torch.ones(1000, device="cuda")
    torch.empty(3 * MIB, device="cuda")
    kept.add(kept)
    with pytest.raises(torch.OutOfMemoryError):
        torch.empty(1 << 40, dtype=torch.uint8, device="cuda")
    snapshot = memory._snapshot()
    memory._record_memory_history(None)
    return snapshot


def test_whole_snapshot(program: dict[str, Any]) -> None:
    assert set(program) == {
        "segments",
        "device_traces",
        "allocator_settings",
        "external_annotations",
    }
    assert len(program["device_traces"]) == 2 and program["device_traces"][1] == []
    found = [e["action"] for e in program["device_traces"][0]]
    assert found[:2] == ["segment_alloc", "alloc"] and "oom" in found
    assert program["allocator_settings"]["max_split_size"] == -1
    assert program["allocator_settings"]["roundup_power2_divisions"]["32768"] == 0
    for entry in program["device_traces"][0]:
        if entry["action"] == "alloc":
            assert entry["frames"][0]["filename"] == __file__, (
                "what is C++ in PyTorch does not show"
            )


class PlainData(pickle.Unpickler):
    """Reads nothing but builtins."""

    def find_class(self, module: str, name: str) -> Any:
        raise AssertionError(f"the pickle needs {module}.{name}")


def test_dump_is_plain_data(simulator: Any, tmp_path: Path) -> None:
    memory._record_memory_history()
    x = torch.ones(5, device="cuda")
    file = tmp_path / "snapshot.pickle"
    memory._dump_snapshot(file)
    read = PlainData(io.BytesIO(file.read_bytes())).load()
    assert read["segments"] == [{**s} for s in memory.memory_snapshot()]
    assert read["device_traces"][0][1]["addr"] == x.data_ptr()
    assert os.listdir(tmp_path) == ["snapshot.pickle"]
    traceback = memory._allocation_traceback(x.data_ptr())
    assert traceback is not None and "test_dump_is_plain_data" in [f["name"] for f in traceback]
    assert memory._allocation_traceback(1) is None


def test_pytorch_reads_the_snapshot(program: dict[str, Any]) -> None:
    viz = pytest.importorskip(
        "torch.cuda._memory_viz", reason="real PyTorch is not installed", exc_type=ImportError
    )
    text = viz.trace(program)
    assert (
        "Device 0 ----" in text
        and "= cudaMalloc(" in text
        and "raise OutOfMemoryError # 1.0TiB requested" in text
    )
    table = viz.segsum(program)
    assert f"segments: {len(program['segments'])}" in table
    reserved = sum(s["total_size"] for s in program["segments"])
    assert f"total_reserved: {viz.Bytes(reserved)}" in table
    for function in (viz.segments, viz.memory):
        lines = function(program, format_flamegraph=lambda flames: flames)
        assert "active_allocated;" in lines and "test_memory_snapshot.py:" in lines
        total = sum(int(line.rpartition(" ")[2]) for line in lines.splitlines())
        assert total == reserved, "every byte belongs to somebody, or to a gap"
    added = viz.compare([], program["segments"], format_flamegraph=lambda flames: flames)
    assert "only_after;stream_0" in added
    for page in (
        viz.trace_plot(program),
        viz.trace_plot(program, plot_segments=True),
        viz.segment_plot(program),
    ):
        assert "snapshot.pickle" in page
    kept = viz.filter_alloc_free_pairs(pickle.loads(pickle.dumps(program)))["device_traces"][0]
    assert [e["size"] for e in kept if e["action"] == "alloc"] == [4000]


RUN = """
import runpy, sys, warnings
warnings.simplefilter("ignore")
plots = ["trace_plot", "-o", "trace.html"], ["segment_plot", "-o", "segments.html"]
for command in (["trace"], ["stats"], *plots):
    sys.argv = ["_memory_viz", command[0], "s.pickle", *command[1:]]
    runpy.run_module("torch.cuda._memory_viz", run_name="__main__")
"""


@pytest.mark.sampled(1 / 4)
def test_pytorch_reads_the_file(program: dict[str, Any], tmp_path: Path) -> None:
    """`python -m torch.cuda._memory_viz` and its commands."""
    oracle()
    (tmp_path / "s.pickle").write_bytes(pickle.dumps(program))
    done = subprocess.run(
        [sys.executable, "-c", RUN], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "raise OutOfMemoryError" in done.stdout and "Summary of segments" in done.stdout
    assert {"trace.html", "segments.html"} <= set(os.listdir(tmp_path))


def test_what_is_asked_for_must_make_sense() -> None:
    with pytest.raises(RuntimeError, match="expected state to be 'state', 'all', or None"):
        memory._record_memory_history("some")
    with pytest.raises(
        RuntimeError, match="expected context to be 'state', 'alloc', 'all', or None"
    ):
        memory._record_memory_history(context="some")
    with pytest.raises(RuntimeError, match="expected stacks to be 'python', or 'all'"):
        memory._record_memory_history(stacks="c++")
    with pytest.raises(RuntimeError, match="Unknown TraceEntry action: dance"):
        memory._record_memory_history(skip_actions=["dance"])


def test_state_keeps_no_history_and_metadata_is_written(simulator: Any) -> None:
    memory._record_memory_history("state")
    x = torch.ones(5, device="cuda")
    assert memory._snapshot()["device_traces"] == [[], []]
    assert memory._allocation_traceback(x.data_ptr())
    memory._record_memory_history(True)  # as until 2.0: one entry
    del x
    assert len(memory._snapshot()["device_traces"][0]) == 1
    memory._record_memory_history("all", context=None)
    memory._set_memory_metadata("step 3")
    try:
        torch.ones(5, device="cuda")
        entry = memory._snapshot()["device_traces"][0][-2]
        assert (
            (entry["user_metadata"], entry["frames"])
            == (memory._get_memory_metadata(), [])
            == ("step 3", [])
        )
    finally:
        memory._set_memory_metadata("")
