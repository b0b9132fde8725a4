"""A worker of `make test`: one pytest that takes a file at a time, runs its tests, and writes down
what became of them.

`tools/test.py` starts as many as there are cores, `python -m pytest -p tools.test_worker
--work=FOLDER`. All find the same files without importing them, those that take longest first, and a
worker takes the one of number N by making `FOLDER/N`, which only one can. So each file is imported
by one worker, and none waits while a file is left. `FOLDER/results-PID` has a line of JSON for each
file that is begun, each test that is over, and each file that is done, with its CPU time.

How pytest-xdist differs: every worker imports and collects all files before the first test runs,
and sends each result to a process that keeps it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, TextIO

import pytest
from _pytest.runner import collect_one_node


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--work", type=Path, help="the folder that a worker of make test gets its files from"
    )
    parser.addoption(
        "--results", type=Path, help="a file for what became of each test, a line of JSON each"
    )


def pytest_configure(config: pytest.Config) -> None:
    work, results = config.getoption("--work"), config.getoption("--results")
    if not (work or results) or hasattr(config, "workerinput"):
        # pytest-xdist's workers tell their controller
        return
    recorder = Recorder(results or work / f"results-{os.getpid()}")
    config.pluginmanager.register(recorder)
    if work:
        config.pluginmanager.register(Worker(work, recorder))


class Recorder:
    """Writes a line for each test, as soon as it is over: it is all that is left if the process
    dies.
    """

    def __init__(self, path: Path) -> None:
        self.file: TextIO = path.open("w", encoding="utf-8", buffering=1)
        self.outcome, self.text, self.seconds = "passed", "", 0.0

    def write(self, **fields: Any) -> None:
        self.file.write(json.dumps(fields) + "\n")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds += report.duration
        if report.failed or (report.skipped and self.outcome == "passed"):
            self.outcome, self.text = report.outcome, self.text + told(report)
        if report.when == "teardown":
            self.write(
                test=report.nodeid,
                outcome=self.outcome,
                text=self.text,
                seconds=round(self.seconds, 4),
            )
            self.outcome, self.text, self.seconds = "passed", "", 0.0

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if not report.passed:
            self.write(test=report.nodeid, outcome=report.outcome, text=told(report), seconds=0.0)


class Worker:
    """Runs the files that no other worker has taken, those that take longest first."""

    def __init__(self, folder: Path, recorder: Recorder) -> None:
        self.folder, self.recorder = folder, recorder
        self.nodes: list[pytest.Item | pytest.Collector] = []

    def pytest_collection(self, session: pytest.Session) -> bool:
        session.perform_collect(genitems=False)
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """At first there are folders and files, which are kept from plugins that choose tests; then
        each file's tests.
        """
        if not self.nodes:
            self.nodes, items[:] = list(expanded(items)), []

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        files = self.collected(session)
        before, (name, items) = cpu_seconds(), next(files, ("", []))
        while items:
            following: tuple[str, list[pytest.Item]] = ("", [])
            for item, after in zip(items, [*items[1:], None]):
                if after is None:
                    # the next file is taken now, so that what the two share, a fixture of the
                    # session, is kept
                    following = next(files, following)
                    after = next(iter(following[1]), None)
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
                if session.shouldfail or session.shouldstop:  # by -x, say
                    (self.folder / "stop").touch()
                    return True
            now = cpu_seconds()
            self.recorder.write(done=name, seconds=round(now - before, 2))
            before, (name, items) = now, following
        return True

    def collected(self, session: pytest.Session) -> Iterator[tuple[str, list[pytest.Item]]]:
        """The files that this worker takes, with their tests; a file without any is over when it is
        collected.
        """
        files = {
            name: list(nodes)
            for name, nodes in groupby(self.nodes, lambda node: node.nodeid.partition("::")[0])
        }
        seconds = json.loads((self.folder / "seconds").read_text(encoding="utf-8"))
        total = len(files)
        for number, name in enumerate(
            sorted(files, key=lambda name: (-seconds.get(name, 1.0), name))
        ):
            if self.take(number):
                self.recorder.write(begun=name, of=total)
                session.items = [
                    item for node in files.pop(name) for item in session.genitems(node)
                ]
                session.config.hook.pytest_collection_modifyitems(
                    session=session, config=session.config, items=session.items
                )
                session.testscollected += len(session.items)
                if session.items:
                    yield name, session.items
                else:
                    self.recorder.write(done=name, seconds=0.0)

    def take(self, number: int) -> bool:
        """Whether no other worker has it: a file can be made once."""
        if (self.folder / "stop").exists():
            return False
        try:
            os.close(os.open(self.folder / str(number), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True


def expanded(
    nodes: Iterable[pytest.Item | pytest.Collector],
) -> Iterator[pytest.Item | pytest.Collector]:
    """What is in folders instead of the folders; nothing is imported yet."""
    for node in nodes:
        if isinstance(node, pytest.Directory):
            yield from expanded(collect_one_node(node).result)
        else:
            yield node


def told(report: pytest.TestReport | pytest.CollectReport) -> str:
    """A failure as pytest shows it, or why a test was skipped."""
    if report.failed:
        parts = [report.longreprtext, *(f"--- {title}\n{text}" for title, text in report.sections)]
        return "\n".join(parts) + "\n"
    if hasattr(report, "wasxfail"):
        return report.wasxfail or "expected to fail"
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return reason.removeprefix("Skipped: ")


def cpu_seconds() -> float:
    """Of this process, and of those that it started and that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
