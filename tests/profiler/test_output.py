"""What a profile says: the table, the Chrome trace, stacks; and `python -m internals.profiler`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import internals
from internals import nn
from internals.profiler import profile, record_function
from internals.profiler.formatting import format_memory, format_share, format_time
from tests.answers import answer


def program(lib: Any) -> None:
    x, w = lib.ones(3, 4), lib.ones(4, 2, requires_grad=True)
    with (internals.profiler if lib is internals else lib.profiler).record_function("label"):
        (x @ w).sum().backward()


def taken(**options: Any) -> Any:
    with profile(**options) as prof:
        program(internals)
    return prof


def headings(table: str) -> list[str]:
    return [cell.strip() for cell in table.splitlines()[1].split("  ") if cell.strip()]


OPTIONS = [
    {}, {"record_shapes": True}, {"profile_memory": True}, {"with_flops": True},
    {"record_shapes": True, "profile_memory": True, "with_flops": True},
]  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS)
def test_the_columns_are_pytorchs(options: dict[str, bool]) -> None:
    shapes = options.get("record_shapes", False)

    def layout(prof: Any, sort_by: str | None) -> Any:
        table = prof.key_averages(group_by_input_shape=shapes).table(sort_by=sort_by, row_limit=5)
        lines = table.splitlines()
        # shapes are as long as they are
        widths = [len(line) for line in lines[:2]] if not shapes else None
        return headings(table), len(lines), widths, lines[-1].partition(":")[0]

    def layouts(prof: Any) -> list[Any]:
        return [layout(prof, sort_by) for sort_by in (None, "cpu_time_total", "count")]

    def ask(torch: Any) -> list[Any]:
        with torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU], **options
        ) as prof:
            program(torch)
        return layouts(prof)

    assert layouts(taken(**options)) == answer(ask, family="programs")


def test_calls_shapes_and_flops_are_pytorchs() -> None:
    def calls(lib: Any, profiler: Any) -> dict[str, Any]:
        x, y, image, weight = (
            lib.ones(3, 4),
            lib.ones(4, 5),
            lib.ones(2, 3, 8, 8),
            lib.ones(4, 3, 3, 3),
        )
        with profiler.profile(record_shapes=True, with_flops=True) as prof:
            x @ y
            x * x
            x + 1
            lib.bmm(lib.ones(2, 3, 4), lib.ones(2, 4, 5))
            lib.addmm(lib.ones(5), x, y)
            lib.nn.functional.conv2d(image, weight, stride=2, padding=1)
        wanted = (
            "aten::mm",
            "aten::mul",
            "aten::add",
            "aten::bmm",
            "aten::addmm",
            "aten::conv2d",
            "aten::matmul",
        )
        return {
            e.key: (e.count, e.flops, e.input_shapes)
            for e in prof.key_averages(True)
            if e.key in wanted
        }

    ours = calls(internals, internals.profiler)
    assert (
        ours == answer(lambda torch: calls(torch, torch.profiler), family="programs")
        and len(ours) == 7
    )


def test_errors_are_pytorchs() -> None:
    def errors(prof: Any) -> list[tuple[str, str]]:
        found = []
        for call in (
            lambda p: p.key_averages().table(sort_by="no_such_column"),
            lambda p: p.export_stacks("never", "self_cpu_time_total"),
            lambda p: type(p)(activities=[]),
            lambda p: type(p)().events(),
            lambda p: type(p)().stop(),
        ):
            with pytest.raises((AssertionError, AttributeError)) as caught:
                call(prof)
            found.append((type(caught.value).__name__, str(caught.value)))
        return found

    def ask(torch: Any) -> list[tuple[str, str]]:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as theirs:
            torch.ones(1)
        return errors(theirs)

    with profile() as ours:
        internals.ones(1)
    assert errors(ours) == answer(ask, family="programs")


def test_formats_are_pytorchs() -> None:
    numbers = (0, 1, 64, 999, 1000, 1024, 123456, 1 << 20, 10**7, 3 << 30)

    def formatted(time: Any, memory: Any, share: Any) -> list[str]:
        return [share(1, 3), share(0, 0), *map(time, numbers), *(memory(-n) for n in numbers)]

    def ask(torch: Any) -> list[str]:
        util = torch.autograd.profiler_util
        return formatted(util._format_time, util._format_memory, util._format_time_share)

    ours = formatted(format_time, format_memory, format_share)
    assert ours == answer(ask, family="programs") and ours[1] == "NaN"


def test_a_table_without_times_is_the_same_every_time() -> None:
    tables = {
        taken(record_shapes=True, profile_memory=True).key_averages(True).table(times=False)
        for _ in range(3)
    }
    (table,) = tables
    assert headings(table) == ["Name", "CPU Mem", "Self CPU Mem", "# of Calls", "Input Shapes"]
    assert "us" not in table.split("Calls in total")[1]


def test_rows_can_be_sorted_cut_and_labelled() -> None:
    averages = taken().key_averages()
    rows = averages.table(sort_by="self_cpu_time_total").splitlines()[3:-2]
    times = {a.key: a.self_cpu_time_total for a in averages}
    assert [r.split()[0] for r in rows if "  autograd" not in r] and len(rows) == len(averages)
    order = sorted(averages, key=lambda a: -times[a.key])
    assert all(row.strip().startswith(a.key[:40]) for row, a in zip(rows, order))
    assert len(averages.table(row_limit=2).splitlines()) == len(rows) + 5 - (len(rows) - 2)
    assert averages.table(header="What it took").splitlines()[1] == "What it took"
    only = taken().events().table(top_level_events_only=True, time_unit="ms")
    assert (
        "This report only display top-level ops statistics" in only
        and "label" in only
        and "aten::mm" not in only
    )
    assert only.splitlines()[5].split()[2].endswith("ms")


def test_the_chrome_trace_nests_as_the_calls_do(tmp_path: Path) -> None:
    prof = taken(record_shapes=True, profile_memory=True)
    prof.add_metadata_json("epoch", "3")
    prof.export_chrome_trace(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))
    assert [p.name for p in tmp_path.iterdir()] == ["trace.json"]  # nothing temporary is left
    assert trace["schemaVersion"] == 1 and trace["record_shapes"] == 1 and trace["epoch"] == 3
    spans = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    events = [e for e in prof.events() if e.name != "[memory]"]
    assert [s["name"] for s in spans] == [e.name for e in events]
    assert len({(s["pid"], s["tid"]) for s in spans}) == 1
    by_id = {s["args"]["External id"]: s for s in spans}
    for e in events:
        if e.cpu_parent is not None:
            inner, outer = by_id[e.id], by_id[e.cpu_parent.id]
            assert outer["ts"] <= inner["ts"]
            # written to a nanosecond
            assert inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"] + 0.002
    assert {s["name"] for s in spans if s["cat"] == "user_annotation"} == {"label"}
    assert {s["cat"] for s in spans} == {"user_annotation", "cpu_op"}
    product = next(s for s in spans if s["name"] == "aten::matmul")
    assert product["args"]["Input Dims"] == [[3, 4], [4, 2]] and product["args"]["Input type"] == [
        "float32",
        "float32",
    ]
    arrows = [e for e in trace["traceEvents"] if e.get("cat") == "fwdbwd"]
    assert [a["ph"] for a in arrows] == ["s", "f"] * 2
    nodes = {s["ts"]: s["name"] for s in spans}
    assert [nodes[a["ts"]] for a in arrows] == [
        "aten::sum",
        "SumBackward0",
        "aten::mm",
        "MmBackward0",
    ]
    changes = [e["args"] for e in trace["traceEvents"] if e["ph"] == "i"]
    assert sum(c["Bytes"] for c in changes) == sum(e.self_cpu_memory_usage for e in prof.events())
    assert all(
        b["Total Allocated"] - a["Total Allocated"] == b["Bytes"]
        for a, b in zip(changes, changes[1:])
    )


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    prof = taken()
    prof._metadata["bad"] = object()
    (tmp_path / "trace.json").write_text("old", encoding="utf-8")
    with pytest.raises(TypeError):
        prof.export_chrome_trace(tmp_path / "trace.json")
    with pytest.raises(FileNotFoundError):
        taken().export_chrome_trace(tmp_path / "no folder" / "trace.json")
    assert [(p.name, p.read_text(encoding="utf-8")) for p in tmp_path.iterdir()] == [
        ("trace.json", "old")
    ]


def test_stacks(tmp_path: Path) -> None:
    with profile(with_stack=True) as prof:
        nn.functional.linear(internals.ones(60, 60), internals.ones(60, 60))
    prof.export_stacks(tmp_path / "stacks.txt")
    lines = (tmp_path / "stacks.txt").read_text(encoding="utf-8").splitlines()
    assert lines and all(";" in line and line.rpartition(" ")[2].isdigit() for line in lines)
    assert all(line.rpartition(" ")[0].count(" ") == 0 for line in lines)
    with pytest.raises(ValueError, match="metric should be one of"):
        prof.export_stacks(tmp_path / "stacks.txt", "count")
    with pytest.raises(AssertionError, match=r"export_stacks\(\) requires with_stack=True"):
        taken().export_stacks(tmp_path / "stacks.txt")


def test_the_older_door() -> None:
    with internals.autograd.profiler.profile(record_shapes=True) as prof, record_function("x"):
        internals.ones(2)
    assert [e.name for e in prof.function_events] == ["x", "aten::ones"]
    assert prof.self_cpu_time_total > 0 and prof.total_average().count == 2
    assert headings(prof.table(sort_by="cpu_time_total"))[0] == "Name" and str(prof) == prof.table()
    with internals.autograd.profiler.profile(enabled=False) as nothing:
        internals.ones(2)
    assert repr(nothing) == "<unfinished torch.autograd.profile>"
    with pytest.raises(RuntimeError, match="Profiler didn't finish running"):
        nothing.key_averages()
    assert internals.autograd.profiler.record_function is record_function
    with pytest.raises(ValueError, match="use_device"):
        internals.autograd.profiler.profile(use_device="xpu")


SCRIPT = """
import sys
import internals as torch
if __name__ == "__main__":
    print("arguments", sys.argv[1:])
    torch.nn.Linear(2, 2)(torch.ones(1, 2))
    sys.exit(int(sys.argv[1]))

def function(n, name="x"):
    print("called", n, name)
    torch.ones(n)
"""


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "work.py").write_text(SCRIPT, encoding="utf-8")
    root = str(Path(__file__).resolve().parents[2])
    return subprocess.run(
        [sys.executable, "-m", "internals.profiler", *arguments],
        cwd=folder, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": root},
    )  # fmt: skip


def test_a_script_is_profiled(tmp_path: Path) -> None:
    done = command(tmp_path, "--memory", "--sort-by", "count", "work.py", "3", "--flag")
    assert done.returncode == 3, done.stderr
    assert "arguments ['3', '--flag']" in done.stdout and "nn.Module: Linear_0" in done.stdout
    assert "CPU Mem" in done.stdout and "us longer" in done.stdout
    trace = json.loads((tmp_path / "work.trace.json").read_text(encoding="utf-8"))
    assert "aten::addmm" in [e["name"] for e in trace["traceEvents"]]


def test_a_function_is_profiled(tmp_path: Path) -> None:
    done = command(tmp_path, "--trace", "t.json", "--no-modules", "work:function", "4", "some text")
    assert done.returncode == 0, done.stderr
    assert (
        "called 4 some text" in done.stdout
        and "aten::ones" in done.stdout
        and (tmp_path / "t.json").exists()
    )


@pytest.mark.parametrize(
    "arguments, status, complaint",
    [
        (["no.py"], 2, "there is no file no.py"),
        (["work"], 2, "neither a Python file nor MODULE:FUNCTION"),
        (["work:nothing"], 2, "no attribute 'nothing'"),
        (["work:SystemExit"], 2, "no attribute"),
        (["work:function"], 1, "missing 1 required positional argument"),
        (["work.py"], 1, "IndexError"),
        (["--sort-by", "x", "work.py"], 2, "invalid choice"),
    ],
)
def test_a_program_that_cannot_be_run(
    tmp_path: Path, arguments: list[str], status: int, complaint: str
) -> None:
    done = command(tmp_path, *arguments)
    assert done.returncode == status and complaint in done.stderr
    assert ("trace:" in done.stdout) == (status == 1)  # what ran before it failed is shown
