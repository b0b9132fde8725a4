"""One fault put to the test: it is planted in the copy, and the tests that reach it run until one
fails.

First come tests that cost little and reach little else, of different test functions. They run in
stages, each in a child of its own, so that most faults are settled by the few seconds of the
first. A test that failed is run again without the fault, alone: where it fails
there too, it is left out, and the trial goes on.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tools.mutants import children
from tools.mutants.copy import planted
from tools.mutants.faults import Fault
from tools.mutants.reach import ARGUMENTS, Test

STAGES = (3.0, 12.0, 30.0)  # seconds of CPU; further ones are as long as the last
PER_FILE = 0.4  # to import and collect one
SLACK = (
    15.0,
    5.0,
)  # a stage may take so many seconds, and so many times what its tests took when they were recorded
CAUGHT = ("caught", "timed out")


class Outcome(NamedTuple):
    result: str  # caught, timed out, survived, not reached
    by: str  # the test that failed
    ran: int  # tests
    reaching: int


class Bench:
    """Where trials are made: the copy, a place for files, what each fault may cost, and which tests
    cannot be relied on.
    """

    def __init__(self, copy: Path, work: Path, budget: float) -> None:
        self.copy, self.work, self.budget = copy, work, budget
        work.mkdir(exist_ok=True)
        self.reliable: dict[str, bool] = {}

    def trial(self, fault: Fault, tests: list[Test]) -> Outcome:
        if not tests:
            return Outcome("not reached", "", 0, 0)
        path, ran = self.copy / fault.file, 0
        for stage in stages(in_order(tests, fault), self.budget):
            while chosen := [t for t in stage if self.reliable.get(t.name, True)]:
                with planted(path, fault.planted(path.read_bytes())):
                    ended, failed, count = self.run(
                        chosen, own_code=fault.file.startswith("internals/machine_code")
                    )
                ran += count
                if ended.status is None:
                    return Outcome("timed out", failed, ran, len(tests))
                if ended.status in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
                    break
                if not failed or self.passes_without(next(t for t in chosen if t.name == failed)):
                    return Outcome(
                        "caught", failed or f"{chosen[0].file} (cannot be run)", ran, len(tests)
                    )
        return Outcome("survived", "", ran, len(tests))

    def passes_without(self, test: Test) -> bool:
        if test.name not in self.reliable:
            ended, _, _ = self.run([test], own_code=False)
            self.reliable[test.name] = ended.status == pytest.ExitCode.OK
        return self.reliable[test.name]

    def run(self, tests: list[Test], own_code: bool) -> tuple[children.Ended, str, int]:
        """How it ended, the test that failed, and how many ran."""
        notes, cache = self.work / "notes.json", self.work / "own_code"
        notes.unlink(missing_ok=True)
        shared = "" if own_code else os.pathsep + os.environ.get("INTERNALS_CACHE_DIR", "")

        def task() -> int:
            os.environ["INTERNALS_CACHE_DIR"] = f"{cache}{shared}"
            files = list(dict.fromkeys(t.file for t in tests))
            return int(
                pytest.main(
                    [*ARGUMENTS, "-x", *files], plugins=[Selection([t.name for t in tests], notes)]
                )
            )

        limit = SLACK[0] + SLACK[1] * sum(t.cost for t in tests)
        ended = children.run(task, self.work / "trial.log", limit)
        shutil.rmtree(cache, ignore_errors=True)
        failed, count = json.loads(notes.read_text()) if notes.exists() else ("", 0)
        return ended, failed, count


class Selection:
    """A plugin of pytest: only these tests, file by file, and a note of the one that runs or
    failed.
    """

    def __init__(self, names: list[str], notes: Path) -> None:
        self.order = {name: i for i, name in enumerate(names)}
        self.notes, self.count, self.failed = notes, 0, ""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid in self.order]

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.count += 1
        self.notes.write_text(json.dumps([nodeid, self.count]))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid

    def pytest_sessionfinish(self) -> None:
        self.notes.write_text(json.dumps([self.failed, self.count]))


def stages(tests: list[Test], budget: float) -> Iterator[list[Test]]:
    """The tests in stages, as many as the budget allows."""
    stage: list[Test] = []
    files: set[str] = set()
    spent = total = 0.0
    limits = iter(STAGES)
    limit = next(limits)
    for test in tests:
        cost = test.cost + (0.0 if test.file in files else PER_FILE)
        if stage and spent + cost > limit:
            yield stage
            total, spent, stage, files = total + spent, 0.0, [], set()
            limit = next(limits, STAGES[-1])
            if total > budget:
                return
        stage.append(test)
        files.add(test.file)
        spent += cost
    if stage:
        yield stage


def in_order(tests: list[Test], fault: Fault) -> list[Test]:
    """Those first that are quick, about the same file more than others, and speak of the same
    thing, to judge by names; each further case of a test function counts less."""
    about = fault.function or fault.before.partition("=")[0]
    words = words_of(f"{Path(fault.file).with_suffix('')} {about}") - {"internals"}

    def worth(test: Test) -> float:
        alike = min(len(words & words_of(test.name)), 3)
        return (test.cost + 0.02) / (test.share + 0.001) / 4**alike

    turn: dict[str, int] = {}
    ranked = []
    for value, test in sorted((worth(test), test) for test in tests):
        function = test.name.partition("[")[0]
        turn[function] = turn.get(function, 0) + 1
        ranked.append((turn[function] * value, test))
    return [test for _, test in sorted(ranked)]


def words_of(text: str) -> set[str]:
    return {word for word in re.split(r"[^a-z0-9]+", text.lower()) if len(word) > 2}
