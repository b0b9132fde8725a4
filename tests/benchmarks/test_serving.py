"""How the server is measured: figures from a small run, the page they are shown on, what is
kept.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("grpc", reason="the extra `serving` is not installed")
pytest.importorskip("aiohttp", reason="the extra `serving` is not installed")

from benchmarks.serving import __main__ as runner, load, models, page, record
from benchmarks.serving.batching import curve, gain
from benchmarks.serving.finding import Finding, milliseconds
from benchmarks.serving.image import BASE64, BINARY, LISTS, PROTOBUF, image
from benchmarks.serving.load import Answer

needs_signals = pytest.mark.skipif(
    os.name == "nt", reason="Windows has no SIGTERM to stop a server with"
)


@pytest.fixture
def run() -> dict[str, Any]:
    """As short as a run can be."""
    points = [
        {
            "max_batch": size,
            "rate": 100.0 * size,
            "p50": 1.0,
            "p95": 2.0,
            "p99": 3.0,
            "filled": size,
            "rates": [1.0],
        }
        for size in (1, 2)
    ]
    way = {"bytes": 10, "milliseconds": 1.5, "ratio": 1.0}
    fault = {"name": "a | b", "done": "nothing", "seen": {"x": 3}, "wrong": []}
    curves = {"MLP": {"clients": 4, "points": points, "gain": 2.0}}
    return {
        "faults": [fault],
        "curves": curves,
        "image": {PROTOBUF: way},
        "load": 0.5,
        "minutes": 1.0,
    }


def test_the_page_is_what_the_parser_and_the_kept_run_say() -> None:
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.filled(text, page.newest_run()) == text, (
        "python -m benchmarks.serving.page writes it anew"
    )


def test_the_page_has_every_option_and_every_setting() -> None:
    from dataclasses import fields

    from internals.serving.settings import Settings

    table = "\n".join(page.options_table())
    for field in fields(Settings):
        assert f"`{field.name}`" in table or field.name == "token", field.name
    assert "| `--max-batch ROWS` | `max_batch` |" in table
    assert "| `--log json or text` | `log` |" in table


def test_the_same_run_gives_the_same_page(
    run: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(record, "FOLDER", tmp_path)
    record.save(run, "python -m benchmarks.serving")
    text = page.PAGE.read_text(encoding="utf-8")
    once = page.filled(text, page.newest_run())
    assert page.filled(once, page.newest_run()) == once
    assert "| a \\| b | nothing | x: 3 | kept |" in once
    assert "| 2 | 200 | 2.00 | 1 | 2 | 3 | 2.0 |" in once


def test_a_page_without_markers_is_an_error() -> None:
    with pytest.raises(ValueError, match="no markers of 'options'"):
        page.filled("nothing", None)


def test_a_part_that_is_measured_again_replaces_that_of_the_kept_run(
    run: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(record, "FOLDER", tmp_path)
    record.save(run, "all")
    again = {**run["faults"][0], "wrong": ["much"]}
    path = record.save({**run, "faults": [again], "curves": {}, "image": None}, "part", part=True)
    assert list(tmp_path.iterdir()) == [path]
    kept = json.loads(path.read_text())
    assert kept["command"] == "all" and kept["again"][0]["what"] == ["a | b"]
    assert kept["faults"] == [again] and kept["curves"].keys() == {"MLP"} and kept["image"]


def test_words_choose_scenarios() -> None:
    assert runner.chosen("slow readers", []) and runner.chosen("slow readers", ["other", "READ"])
    assert not runner.chosen("slow readers", ["crowd"])


def test_a_scenario_that_breaks_is_a_finding_and_does_not_stop_the_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def broken(folder: Path) -> Finding:
        raise OSError("no port")

    assert runner.tried(broken, Path(), {}).wrong == ["OSError: no port"]
    assert "WRONG: OSError: no port" in capsys.readouterr().out


def test_percentiles_and_statuses() -> None:
    assert [load.percentile([3.0, 1.0, 2.0, 4.0], percent) for percent in (0, 50, 99, 100)] == [
        1.0,
        3.0,
        4.0,
        4.0,
    ]
    answers = [Answer(0, 1, status, True) for status in ("OK", "UNAVAILABLE", "OK")]
    assert list(load.statuses(answers).items()) == [("OK", 2), ("UNAVAILABLE", 1)]


def test_times_are_said_with_three_digits() -> None:
    said = [milliseconds(seconds) for seconds in (0.00012, 0.0123456, 0.9994, 0.9999, 1.9321)]
    assert said == ["0.12 ms", "12.3 ms", "999 ms", "1 s", "1.93 s"]


def test_a_finding_tells_who_was_answered_wrong() -> None:
    finding = Finding("x", "y")
    finding.all_right([Answer(0, 1, "OK", True)], "everyone")
    assert finding.wrong == []
    finding.all_right(
        [Answer(0, 1, "OK", True), Answer(0, 1, "INTERNAL", False, "why")], "everyone"
    )
    assert finding.wrong == ["everyone: 1 of 2 were not answered right: {'INTERNAL': 1}, why"]


@pytest.mark.sampled(1 / 4)
@needs_signals
def test_an_image_is_answered_the_same_all_four_ways(tmp_path: Path) -> None:
    found = image(models.archives(tmp_path, ["shades"]), rounds=1)
    assert list(found) == [PROTOBUF, BINARY, BASE64, LISTS]
    assert (
        found[PROTOBUF]["bytes"] < found[BASE64]["bytes"] * 0.76
        and found[LISTS]["bytes"] > found[BASE64]["bytes"]
    )
    assert found[PROTOBUF]["ratio"] == 1.0


@pytest.mark.sampled(1 / 8)
@needs_signals
def test_a_curve_has_the_figures_of_each_setting(tmp_path: Path) -> None:
    told: list[str] = []
    points = curve(
        models.archives(tmp_path, ["mlp-small"]),
        "mlp-small",
        8,
        sizes=(1, 8),
        seconds=0.3,
        rounds=1,
        told=told.append,
    )
    assert [point["max_batch"] for point in points] == [1, 8] and len(told) == 2
    assert points[0]["filled"] == 1.0 < points[1]["filled"] <= 8
    assert all(
        0 < point["p50"] <= point["p95"] <= point["p99"] and point["rate"] > 0 for point in points
    )
    assert gain(points) == points[1]["rate"] / points[0]["rate"] or gain(points) == 1.0
