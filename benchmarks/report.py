"""`python -m benchmarks.report`: writes `docs/performance.md` and its chart from what `make
bench-full` left in `benchmarks/results`.

Every figure on the page comes from the newest full run: nothing is written by hand but the texts
below and in the cases' modules. With a path, that run is shown instead. The same run gives the same
bytes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks import chart, results
from benchmarks.results import Record, number

DOCS = Path(__file__).parent.parent / "docs"
PAGE, CHART = DOCS / "performance.md", DOCS / "performance.svg"

HEAD = """# Performance

How long we take over how long others take, for the same work in the same run; below 1 we are
faster. `make bench` measures most of this in minutes, `make bench-full` all of it in an hour, and
writes this page (`python -m benchmarks.report`). `make bench ARGS="kernels softmax"` chooses cases
by words.

- **What is compared** has shown before that it is right: the first result of every side is held
  against one computed in float64. The column *error* is the largest difference found on our side,
  over the largest value; a side that is wrong stops its case.
- **Sides take turns**, round after round, in one process, so that whatever slows the machine down
  slows all of them. Each round gives one ratio; the table has their median, the quartiles, and the
  ratio of the fastest rounds.
- **A goal is held against the median**, and against the fastest rounds (in bold) for work on one
  thread that is counted in the processor's time. Goals are the project's promises; a missed one is
  said to be missed.
- **In `benchmarks/results`** is every figure with the machine and the versions, and every round's
  seconds in pyperf's format: `python -m pyperf hist`, `check` and `compare_to` read it.
"""

EMPTY = """
No run is kept in `benchmarks/results` yet: `make bench-full` leaves one.
"""

GPU = """
## On a GPU

`make bench-gpu` prints the table that belongs here, with the date, the command and the GPU: each
operator's share of the bandwidth of a copy that takes its turns with it, and its speed against
PyTorch's, on the device's own clock. It has not been run on a GPU yet, so there are no figures.
What an operator costs the host is measured without one, on a driver that does nothing: `python -m
benchmarks.cuda.launches`. Packing a launch's arguments ourselves (`internals/cuda/gpu_launch.py`)
took about a sixth of the time of numba's own way.
"""

TABLE_HEAD = (
    "| case | beside | median | quartiles | fastest | error | goal | "
    "|\n|---|---|---:|---:|---:|---:|---:|---|"
)
NAMES = {"torch": "PyTorch", "torch.compile": "`torch.compile`"}


def main(arguments: list[str] | None = None) -> int:
    given = sys.argv[1:] if arguments is None else arguments
    path = Path(given[0]) if given else results.newest()
    found = None if path is None else results.read(path)
    results.write(PAGE, page(found))
    if found is not None:
        results.write(CHART, chart.draw(found))
    print(f"wrote {PAGE.name} from {path.name if path else 'nothing'}")
    return 0


def page(found: Record | None) -> str:
    """The whole page."""
    return HEAD + (EMPTY if found is None else "\n".join(body(found)) + "\n") + GPU


def body(found: Record) -> Iterator[str]:
    yield f"\n{setting(found)}\n"
    yield from summary(found)
    yield f"\n![Ratios to PyTorch, with their quartiles and goals]({CHART.name})"
    for group in found["groups"]:
        yield f"\n## {group['title']}\n\n{group['about']}\n"
        yield from table(group["cases"])
        yield from remarks(group["cases"])


def setting(found: Record) -> str:
    """What was measured, when, how and on what."""
    machine, versions = found["machine"], found["versions"]
    libraries = ", ".join(
        f"{name} {versions[name]}" for name in versions if name not in ("internals", "python")
    )
    settings = " ".join(f"{name}={value}" for name, value in machine.get("settings", {}).items())
    load = machine.get("load")
    day = str(found.get("measured", found["date"]))[:10]
    sentences = [
        f"Measured on {day} with `{found['command']}` at commit {versions['internals']}: "
        f"{machine.get('cpu', 'an unnamed processor')}, {machine.get('cores', '?')} cores, "
        f"{machine.get('instructions')}, {machine.get('system')}; Python {versions['python']}, "
        f"{libraries}.",
    ]
    again: dict[str, list[str]] = {}
    for case in (case for group in found["groups"] for case in group["cases"] if case["again"]):
        again.setdefault(case["again"], []).append(escaped(case["name"]))
    sentences += [f"Measured again on {when}: {'; '.join(names)}." for when, names in again.items()]
    if settings:
        sentences.append(f"The environment had `{settings}`.")
    if load is not None and load > 0.7:
        sentences.append(
            f"The machine was not idle (load {load} before the run): ratios on two threads say "
            "little."
        )
    return " ".join(sentences)


def summary(found: Record) -> Iterator[str]:
    """How many goals are met, and which are not."""
    promises = list(results.against_goals(found))
    missed = [(case, ratio) for _, case, ratio in promises if not ratio["met"]]
    failed = [case for group in found["groups"] for case in group["cases"] if case["error"]]
    yield (
        f"**{len(promises) - len(missed)} of {len(promises)} goals are met.**"
        + (" Missed:" if missed else "")
        + "\n"
    )
    for case, ratio in missed:
        yield (
            f"- {escaped(case['name'])}: {number(ratio['judged'])} of {beside(ratio)}, goal "
            f"{number(ratio['goal'])}"
        )
    if failed:
        yield "\nNot measured:\n" if missed else "Not measured:\n"
    for case in failed:
        yield f"- {escaped(case['name'])}: {escaped(case['error'])}"


def table(cases: list[dict[str, Any]]) -> Iterator[str]:
    if not any(case["ratios"] for case in cases):
        return
    yield TABLE_HEAD
    for case in cases:
        for place, ratio in enumerate(case["ratios"]):
            yield row(case, ratio, first=place == 0)


def row(case: Mapping[str, Any], ratio: Mapping[str, Any], first: bool) -> str:
    """A line of the table; the case's name and error are said once."""
    by_fastest = case["clock"] == "cpu"
    median, fastest = number(ratio["median"]), number(ratio["fastest"])
    cells = (
        escaped(case["name"]) if first else "",
        beside(ratio),
        median if by_fastest else f"**{median}**",
        f"{number(ratio['lower'])} – {number(ratio['upper'])}",
        f"**{fastest}**" if by_fastest else fastest,
        error(case) if first else "",
        "" if ratio["goal"] is None else number(ratio["goal"]),
        "" if ratio["met"] is None else "met" if ratio["met"] else "missed",
    )
    return f"| {' | '.join(cells)} |"


def error(case: Mapping[str, Any]) -> str:
    ours = case["errors"].get("internals")
    return "" if ours is None else "0" if ours == 0 else f"{ours:.0e}"


def remarks(cases: list[dict[str, Any]]) -> Iterator[str]:
    """Who could not take part, once for each reason; notes."""
    absent = {(side, reason): None for case in cases for side, reason in case["absent"].items()}
    notes = {case["note"]: None for case in cases if case["note"]}
    unchecked = {
        f"{case['name']}: {case['unchecked']}": None for case in cases if case["unchecked"]
    }
    for side, reason in absent:
        yield f"\nWithout {NAMES.get(side, side)} in some cases: {escaped(reason)}."
    for note in notes:
        yield f"\n{escaped(note)}."
    for reason in unchecked:
        yield f"\nNot checked: {escaped(reason)}."


def beside(ratio: Mapping[str, Any]) -> str:
    return NAMES.get(ratio["against"], ratio["against"])


def escaped(text: str) -> str:
    """As Markdown shows it: `|` would end a cell, `*` begins emphasis."""
    return text.replace("|", "\\|").replace("*", "\\*").replace("_", "\\_")


if __name__ == "__main__":
    sys.exit(main())
