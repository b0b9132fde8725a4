"""What a run of the benchmarks leaves: two files in `benchmarks/results`, each written whole or not
at all.

`DATE.json` is what the report is made of: when, with which command, on what machine, with which
versions, and for every case the ratios with their spread, the largest errors, who was absent and
what went wrong. `DATE-seconds.json` has every round of every side in pyperf's format: `python -m
pyperf hist`, `check` and `compare_to` read it.
"""

from __future__ import annotations

import io
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.harness import OURS

FOLDER = Path(__file__).parent / "results"
FORMAT = 1

Record = dict[str, Any]
# What each level has to have, and of which type.
RECORD = {
    "format": int,
    "date": str,
    "command": str,
    "full": bool,
    "machine": dict,
    "versions": dict,
    "groups": list,
}
GROUP = {"module": str, "title": str, "about": str, "cases": list}
CASE = {
    "name": str,
    "threads": int,
    "clock": str,
    "unit": str,
    "note": str,
    "unchecked": str,
    "again": str,  # when it was measured again and at which commit, if it was
    "error": (str, type(None)),
    "absent": dict,
    "errors": dict,
    "ratios": list,
}
RATIO = {
    "against": str,
    "rounds": int,
    "median": (int, float),
    "lower": (int, float),
    "upper": (int, float),
    "fastest": (int, float),
    "judged": (int, float),
    "goal": (int, float, type(None)),
    "met": (bool, type(None)),
}


class NotAResult(ValueError):
    """A file is no result of a benchmark run; the message says where and why."""


def record(
    command: str, full: bool, groups: Sequence[Mapping[str, Any]], load: float | None = None
) -> Record:
    """A run, as it is kept. `groups` are as in `GROUP`, their cases as `worker.measured` gives
    them.

    `load` is the machine's before the run began.
    """
    kept = [
        {
            **group,
            "cases": [
                {key: value for key, value in case.items() if key != "seconds"}
                for case in group["cases"]
            ],
        }
        for group in groups
    ]
    return checked(
        {
            "format": FORMAT,
            "date": machine.now(),
            "command": command,
            "full": full,
            "machine": machine.describe(load),
            "versions": machine.versions(),
            "groups": rounded(kept),
        }
    )


def updated(old: Record, new: Record) -> Record:
    """The old run with what the new one measured again in it; each such case says when. New cases
    are added.
    """
    again = f"{new['date'][:10]} at commit {new['versions']['internals']}"
    groups = {group["module"]: {**group, "cases": list(group["cases"])} for group in old["groups"]}
    for group in new["groups"]:
        cases = groups.setdefault(group["module"], {**group, "cases": []})["cases"]
        places = {case["name"]: place for place, case in enumerate(cases)}
        for case in group["cases"]:
            place = places.get(case["name"], len(cases))
            cases[place : place + 1] = [{**case, "again": again}]
    return checked(
        {
            **old,
            "date": new["date"],
            "measured": old.get("measured", old["date"]),
            "groups": list(groups.values()),
        }
    )


def rounded(value: Any) -> Any:
    """Floats with four digits that count: more is noise."""
    if isinstance(value, float) and math.isfinite(value):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {key: rounded(v) for key, v in value.items()}
    return [rounded(v) for v in value] if isinstance(value, list) else value


def checked(found: Any, name: str = "the record") -> Record:
    """`found`, if it is a record as described above. Raises `NotAResult`."""
    fields(found, RECORD, name)
    if found["format"] != FORMAT:
        raise NotAResult(f"{name} has format {found['format']}; this version reads {FORMAT}")
    for group in found["groups"]:
        fields(group, GROUP, f"a group of {name}")
        for case in group["cases"]:
            fields(case, CASE, f"a case of '{group['title']}' in {name}")
            for ratio in case["ratios"]:
                fields(ratio, RATIO, f"a ratio of '{case['name']}' in {name}")
    assert isinstance(found, dict)
    return found


def fields(found: Any, wanted: Mapping[str, Any], name: str) -> None:
    if not isinstance(found, dict):
        raise NotAResult(f"{name} should be an object, and is {type(found).__name__}")
    for key, kind in wanted.items():
        if key not in found:
            raise NotAResult(f"{name} has no '{key}'")
        if not isinstance(found[key], kind) or (isinstance(found[key], bool) and kind is int):
            raise NotAResult(f"'{key}' of {name} is of type {type(found[key]).__name__}")


def save(found: Record, groups: Sequence[Mapping[str, Any]], folder: Path | None = None) -> Path:
    """Writes both files, named after the date, and returns the path of the record."""
    folder = folder or FOLDER
    folder.mkdir(exist_ok=True)
    name = found["date"][:16].replace(":", "").replace("T", "-")
    write(folder / f"{name}.json", json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    if seconds := suite(groups, found["date"]):
        write(folder / f"{name}-seconds.json", seconds)
    return folder / f"{name}.json"


def write(path: Path, text: str) -> None:
    temporary = path.with_suffix(".new")
    temporary.write_text(text)
    os.replace(temporary, path)


def suite(groups: Sequence[Mapping[str, Any]], date: str) -> str:
    """All rounds as pyperf's JSON: a benchmark for each side of each case. Empty when there is
    none.
    """
    import pyperf

    benchmarks = []
    for group in groups:
        for case in group["cases"]:
            for side, seconds in case["seconds"].items():
                about = {
                    "name": f"{group['title']}: {case['name']}: {side}",
                    "unit": case["unit"],
                    "date": date,
                }
                run = pyperf.Run(rounded(seconds), metadata=about, collect_metadata=False)
                benchmarks.append(pyperf.Benchmark([run]))
    if not benchmarks:
        return ""
    text = io.StringIO()
    pyperf.BenchmarkSuite(benchmarks).dump(text)
    return text.getvalue()


def read(path: Path) -> Record:
    """A record. Raises `NotAResult`, naming the file."""
    try:
        found = json.loads(path.read_text())
    except ValueError as error:
        raise NotAResult(f"{path.name} is not JSON: {error}") from None
    return checked(found, path.name)


def newest(folder: Path | None = None) -> Path | None:
    """The last full run; where there is none, the last run."""
    paths = [
        path
        for path in sorted((folder or FOLDER).glob("*.json"))
        if not path.stem.endswith("-seconds")
    ]
    found = [(read(path), path) for path in paths]
    return max(found, key=lambda pair: (pair[0]["full"], pair[0]["date"]))[1] if found else None


# As text in a terminal


def lines(case: Mapping[str, Any]) -> Iterator[str]:
    """A line for each ratio, or for what went wrong; then who was absent."""
    name = case["name"]
    if case["error"]:
        yield f"{name:<48}  {case['error']}"
    for r in case["ratios"]:
        spread = f"{number(r['lower'])} to {number(r['upper'])}"
        verdict = (
            ""
            if r["goal"] is None
            else f"   goal {number(r['goal'])}: {'met' if r['met'] else 'MISSED'}"
        )
        yield (
            f"{name:<48}  {number(r['median']):>7}  {spread:<16} {number(r['fastest']):>7}   x "
            f"{r['against']}{verdict}"
        )
    for side, reason in case["absent"].items():
        yield f"{name:<48}  without {side}: {reason}"
    if case["note"]:
        yield f"{name:<48}  {case['note']}"


def number(value: float) -> str:
    """Two digits behind the point, or as many as show something."""
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def against_goals(found: Record) -> Iterator[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]]:
    """(group, case, ratio) for every promise that was measured."""
    for group in found["groups"]:
        for case in group["cases"]:
            for ratio in case["ratios"]:
                if ratio["goal"] is not None:
                    yield group, case, ratio


def sides_of(case: Mapping[str, Any]) -> list[str]:
    return [OURS, *(ratio["against"] for ratio in case["ratios"])]
