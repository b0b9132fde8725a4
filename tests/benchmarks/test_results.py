"""What a run of the benchmarks leaves behind, and the page and chart that are made of it: the same
run, the same bytes.
"""

from __future__ import annotations

import copy
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from benchmarks import __main__ as runner, chart, machine, report, results
from benchmarks.results import NotAResult

NOBODY = {
    "absent": {},
    "errors": {"internals": 3.2e-08, "torch": 0.0},
    "error": None,
    "note": "",
    "unchecked": "",
    "again": "",
}


def ratio(against: str, value: float, goal: float | None = None) -> dict[str, Any]:
    met = None if goal is None else value <= goal
    spread = {
        "median": value,
        "lower": 0.9 * value,
        "upper": 1.1 * value,
        "fastest": value,
        "judged": value,
    }
    return {"against": against, "rounds": 5, **spread, "goal": goal, "met": met}


def case(name: str, *ratios: dict[str, Any], **more: Any) -> dict[str, Any]:
    about = {"name": name, "threads": 1, "clock": "cpu", "unit": "second", **NOBODY}
    return {
        **about,
        "ratios": list(ratios),
        "seconds": {"internals": [1.0, 2.0], "torch": [0.5, 0.25]},
        **more,
    }


def groups() -> list[dict[str, Any]]:
    fast = case("a * b | c", ratio("torch", 0.5, 1.2), ratio("numpy", 3.123456))
    slow = case(
        "sort", ratio("torch", 1.5, 1.2), clock="wall", absent={"tinygrad": "tinygrad needs clang"}
    )
    failed = case(
        "gelu", error="wrong result: internals is off by 0.5; 1e-05 is allowed", seconds={}
    )
    return [
        {
            "module": "kernels",
            "title": "Eager kernels",
            "about": "About them.",
            "cases": [fast, slow],
        },
        {"module": "fusion", "title": "Fused chains", "about": "About those.", "cases": [failed]},
    ]


@pytest.fixture
def record() -> results.Record:
    found = results.record("python -m benchmarks --full --save", True, groups(), load=0.1)
    found["date"] = "2026-11-21T20:15:00+00:00"
    found["machine"] = {
        "cpu": "A processor",
        "cores": 2,
        "system": "Linux x86_64",
        "instructions": "avx2",
        "load": 0.1,
    }
    found["versions"] = {
        "python": "3.11.7",
        "numpy": "2.4.6",
        "torch": "2.13.0",
        "internals": "abc",
    }
    return found


def test_a_record_is_written_whole_and_read_again(record: results.Record, tmp_path: Path) -> None:
    path = results.save(record, groups(), tmp_path)
    assert path.name == "2026-11-21-2015.json" and results.read(path) == record == results.checked(
        record
    )
    assert sorted(p.name for p in tmp_path.iterdir()) == ["2026-11-21-2015-seconds.json", path.name]
    assert "seconds" not in record["groups"][0]["cases"][0]
    assert record["groups"][0]["cases"][0]["ratios"][1]["median"] == 3.123  # four digits


def test_an_interrupted_write_leaves_the_old_file(
    record: results.Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = results.save(record, groups(), tmp_path)
    before = path.read_bytes()

    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(results.os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        results.write(path, "half")
    assert path.read_bytes() == before


def test_every_round_is_kept_in_pyperfs_format(record: results.Record, tmp_path: Path) -> None:
    pyperf = pytest.importorskip("pyperf")
    results.save(record, groups(), tmp_path)
    suite = pyperf.BenchmarkSuite.load(str(tmp_path / "2026-11-21-2015-seconds.json"))
    names = suite.get_benchmark_names()
    assert "Eager kernels: sort: torch" in names and not any("gelu" in name for name in names)
    assert suite.get_benchmark("Eager kernels: sort: torch").get_values() == (0.5, 0.25)


def test_nothing_kept_names_a_person_or_a_place(record: results.Record, tmp_path: Path) -> None:
    real = results.record("x", False, groups(), machine.load())
    assert {"system", "instructions", "settings", "load"} <= set(real["machine"]) and real[
        "versions"
    ]["numpy"]
    results.save({**record, "machine": real["machine"]}, groups(), tmp_path)
    for path in tmp_path.iterdir():
        text = path.read_text()
        assert (
            "hostname" not in text
            and "python_executable" not in text
            and str(runner.ROOT) not in text
        )


def broken(found: Any, change: str) -> Any:
    found = copy.deepcopy(found)
    exec(change, {"r": found, "c": found["groups"][0]["cases"][0]})
    return found


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("r['format'] = 7", "the record has format 7; this version reads 1"),
        ("r['format'] = True", "'format' of the record is of type bool"),
        ("del r['machine']", "the record has no 'machine'"),
        ("r['full'] = 1", "'full' of the record is of type int"),
        ("r['groups'][0] = 3", "a group of the record should be an object, and is int"),
        ("del r['groups'][1]['title']", "a group of the record has no 'title'"),
        ("del c['errors']", "a case of 'Eager kernels' in the record has no 'errors'"),
        (
            "c['ratios'][0]['median'] = 'fast'",
            r"'median' of a ratio of 'a \* b | c' in the record is of type str",
        ),
    ],
)
def test_what_is_no_record_is_refused(record: results.Record, change: str, message: str) -> None:
    with pytest.raises(NotAResult, match=message):
        results.checked(broken(record, change))


def test_a_file_that_is_not_json_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(NotAResult, match="x.json is not JSON"):
        results.read(tmp_path / "x.json")


def test_the_newest_full_run_comes_first(record: results.Record, tmp_path: Path) -> None:
    assert results.newest(tmp_path) is None
    for date, full in (("2026-01-02", True), ("2026-01-03", True), ("2026-01-04", False)):
        results.save(record | {"date": f"{date}T00:00:00+00:00", "full": full}, groups(), tmp_path)
    found = results.newest(tmp_path)
    assert found is not None and found.name == "2026-01-03-0000.json"


def test_cases_measured_again_take_their_place_in_the_old_run_and_say_so(
    record: results.Record,
) -> None:
    few = [
        {
            **groups()[0],
            "cases": [case("sort", ratio("torch", 0.9, 1.2)), case("new", ratio("torch", 1.0))],
        }
    ]
    new = results.record("again", False, few) | {"date": "2026-11-22T08:00:00+00:00"}
    new["versions"]["internals"] = "def"
    found = results.updated(record, new)
    names = [case["name"] for case in found["groups"][0]["cases"]]
    assert names == ["a * b | c", "sort", "new"] and found["full"] and found["date"] == new["date"]
    assert [bool(case["again"]) for case in found["groups"][0]["cases"]] == [False, True, True]
    assert (
        found["groups"][1] == record["groups"][1]
        and record["groups"][0]["cases"][1]["ratios"][0]["median"] == 1.5
    )
    text = report.page(found)
    assert "Measured on 2026-11-21 with" in text
    assert (
        "Measured again on 2026-11-22 at commit def: sort; new." in text
        and "**2 of 2 goals are met.**" in text
    )


# The page and the chart


def test_the_page_tells_met_from_missed(record: results.Record) -> None:
    text = report.page(record)
    assert "**1 of 2 goals are met.** Missed:\n\n- sort: 1.50 of PyTorch, goal 1.20\n" in text
    assert "- gelu: wrong result: internals is off by 0.5" in text
    assert r"| a \* b \| c | PyTorch | 0.50 | 0.45 – 0.55 | **0.50** | 3e-08 | 1.20 | met |" in text
    assert "|  | numpy | 3.12 | 2.81 – 3.44 | **3.12** |  |  |  |" in text
    assert "| sort | PyTorch | **1.50** | 1.35 – 1.65 | 1.50 | 3e-08 | 1.20 | missed |" in text
    assert "Without tinygrad in some cases: tinygrad needs clang." in text
    assert (
        "2026-11-21" in text
        and "A processor, 2 cores" in text
        and "torch 2.13.0" in text
        and "at commit abc" in text
    )


def test_a_busy_machine_is_admitted(record: results.Record) -> None:
    assert "was not idle" not in report.page(record)
    record["machine"]["load"] = 3.5
    assert "The machine was not idle (load 3.5 before the run)" in report.page(record)


def test_without_a_run_the_page_says_so() -> None:
    assert "`make bench-full` leaves one" in report.page(None)


def test_the_same_run_gives_the_same_bytes(record: results.Record) -> None:
    again = json.loads(json.dumps(record))
    assert report.page(record) == report.page(again) and chart.draw(record) == chart.draw(again)


def test_the_chart_shows_every_case_beside_pytorch(record: results.Record) -> None:
    picture = chart.draw(record)
    ET.fromstring(picture)
    assert (
        "a * b | c: 0.50, goal 1.20: met" in picture and "sort: 1.50, goal 1.20: missed" in picture
    )
    assert "2 cases; 1 of 2 goals beside PyTorch are met." in picture
    names = [text.text for text in chart.sheet(record).texts()]
    assert {"a * b | c", "sort", "0.5", "1", "Eager kernels"} <= set(names) and "gelu" not in names
    boxes = [text.box for text in chart.sheet(record).texts()]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_a_chart_of_nothing(record: results.Record) -> None:
    ET.fromstring(chart.draw(record | {"groups": []}))


def test_the_page_and_the_chart_are_fresh() -> None:
    path = results.newest()
    found = None if path is None else results.read(path)
    assert report.PAGE.read_text() == report.page(found), "python -m benchmarks.report"
    if found is not None:
        assert report.CHART.read_text() == chart.draw(found), "python -m benchmarks.report"


def test_lines_in_the_terminal() -> None:
    lines = list(results.lines(groups()[0]["cases"][1]))
    assert re.sub(" +", " ", lines[0]) == "sort 1.50 1.35 to 1.65 1.50 x torch goal 1.20: MISSED"
    assert re.sub(" +", " ", lines[1]) == "sort without tinygrad: tinygrad needs clang"
    assert results.number(0.000571) == "0.00057" and results.number(12.345) == "12.35"
