"""Which test runs which block: recorded once, a file of tests at a time, and kept in
`build/mutants/reach`.

What a test's subprocesses reach counts as well (`site/sitecustomize.py` in them). A test that
fails before anything was planted is left out: it says nothing.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from tools import sampling
from tools.mutants import blocks, children
from tools.mutants.blocks import PACKAGES

VARIABLE = "INTERNALS_MUTANTS_REACH"  # a folder where subprocesses leave what they reached
ARGUMENTS = ("-q", "--tb=line", "-p", "no:cacheprovider", "-p", "no:nbval", "-p", "no:xdist")
LIMIT = 900.0  # seconds of CPU for a file of tests


class Test(NamedTuple):
    """A test that reaches what was asked for."""

    file: str
    name: str  # pytest's node id
    cost: float  # seconds
    share: float  # of the blocks that it reaches, those in the same file


class Recorder:
    """A plugin of pytest that notes the blocks between the beginning and the end of each test."""

    def __init__(self, reached: set[int], folder: Path) -> None:
        self.reached, self.folder = reached, folder
        self.names: list[str] = []
        self.costs: list[float] = []
        self.blocks: list[Any] = []
        self.passed: dict[str, bool] = {}
        self.failed: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.reached.clear()
        begin = os.times()
        yield
        end = os.times()
        for path in self.folder.glob("*.npy"):
            self.reached.update(np.load(path).tolist())
            path.unlink()
        if self.passed.get(item.nodeid):
            self.names.append(item.nodeid)
            self.costs.append(sum(end[:4]) - sum(begin[:4]))
            self.blocks.append(np.fromiter(self.reached, np.uint32, len(self.reached)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(report.nodeid)
        if report.when == "setup":
            self.passed[report.nodeid] = report.passed
        elif not report.passed:
            self.passed[report.nodeid] = False

    def save(self, path: Path, of: str) -> None:
        lengths = np.array([len(b) for b in self.blocks], np.int64)
        every = np.concatenate(self.blocks) if self.blocks else np.empty(0, np.uint32)
        temporary = path.with_suffix(".part.npz")
        np.savez_compressed(
            temporary,
            of=of,
            names=np.array(self.names, str),
            costs=np.array(self.costs),
            lengths=lengths,
            blocks=every,
            left_out=len(self.failed),
        )
        temporary.replace(path)


def digest_of(root: Path, places: Iterable[str]) -> str:
    """Changes when a Python file at one of these places does."""
    paths = [
        p
        for place in places
        for p in ([root / place] if place.endswith(".py") else (root / place).rglob("*.py"))
    ]
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(paths))).hexdigest()


def record(
    root: Path, folder: Path, files: list[str], log: Path, jobs: int = 1, every_case: bool = False
) -> list[str]:
    """Record what has no record yet or one of another version; returns the files where that failed.

    Of sampled tests it has the cases that one run of `make test` runs, or `every_case`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    source = digest_of(root, PACKAGES) + ("every case" if every_case else "")
    due = {}
    for file in sorted(files, key=lambda file: -(root / file).stat().st_size):
        path = folder / (file.replace("/", "__") + ".npz")
        of = source + digest_of(root, [file])
        if not path.exists() or str(np.load(path)["of"]) != of:
            due[file] = path, of

    def one(i: int, worker: int) -> None:
        file, (path, of) = list(due.items())[i]
        path.unlink(missing_ok=True)
        noted = log.with_stem(f"{log.stem}{worker}")
        ended = children.run(partial(_record, root, file, path, of, every_case), noted, LIMIT)
        if not path.exists():
            (folder / "failed").mkdir(exist_ok=True)
            noted.rename(folder / "failed" / f"{path.stem}.{ended.status}.log")

    children.share(len(due), jobs, one)
    return [file for file, (path, _) in due.items() if not path.exists()]


def left_out(folder: Path) -> Iterator[tuple[str, int]]:
    """Files of which tests failed before anything was planted, and how many: they say nothing."""
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as data:
            if data.get("left_out", 0):
                yield path.stem.replace("__", "/"), int(data["left_out"])


def _record(root: Path, file: str, path: Path, of: str, every_case: bool) -> int:
    if not every_case:
        os.environ[sampling.VARIABLE] = "0"  # what one run of `make test` would run
    if sys.modules.get("torch", ...) is None:  # hidden; the record is to serve with and without it
        del sys.modules["torch"], os.environ["INTERNALS_ORACLE"]
    with tempfile.TemporaryDirectory() as left:
        os.environ[VARIABLE] = left
        recorder = Recorder(blocks.install(root), Path(left))
        pytest.main([*ARGUMENTS, file], plugins=[recorder])
    recorder.save(path, of)
    return 0


def reaching(
    folder: Path,
    wanted: dict[str, tuple[set[int], set[int]]],
    files: dict[str, set[str]] | None = None,
) -> dict[str, list[Test]]:
    """For each name the tests that run one of its blocks, and all tests in its `files`. `wanted`
    has these blocks, and all of their file."""
    found: dict[str, list[Test]] = {name: [] for name in wanted}
    arrays = {
        name: [np.array(sorted(part), np.uint32) for part in pair] for name, pair in wanted.items()
    }
    every = np.unique(
        np.concatenate(
            [part for pair in arrays.values() for part in pair] or [np.empty(0, np.uint32)]
        )
    )
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as data:
            names, costs, lengths, reached = (
                data[k] for k in ("names", "costs", "lengths", "blocks")
            )
        here = np.isin(reached, every)
        owner, reached = np.repeat(np.arange(len(names)), lengths)[here], reached[here]
        file = str(names[0]).partition("::")[0] if len(names) else ""
        for name, (wanted_here, of_file) in arrays.items():
            tests = np.unique(owner[np.isin(reached, wanted_here)])
            if files and file in files[name]:
                tests = np.arange(len(names))
            if not tests.size:
                continue
            shares = np.bincount(
                owner[np.isin(reached, of_file)], minlength=len(names)
            ) / np.maximum(lengths, 1)
            for i in tests:
                found[name].append(Test(file, str(names[i]), float(costs[i]), float(shares[i])))
    return found
