"""`make bench`, or `python -m benchmarks [WORD ...]`: how long we take over how long others take,
each result checked first.

Every module of `benchmarks/cases` takes part; words choose the cases whose name, or module,
contains one of them. Cases of one module with the same number of threads run in one process
(`worker.py`). `--full` adds the long cases and more rounds; `--save` keeps the result in
`benchmarks/results`, where `python -m benchmarks.report` finds it, and `--again` puts what is
measured into the newest full run there. What a GPU does is measured by `make bench-gpu`, in
`benchmarks/cuda`.

How the real one differs: PyTorch's benchmarks (`benchmarks/` in its repository) report seconds, for
its dashboards to compare over time on machines that do nothing else.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks import machine, results
from benchmarks.cases import MODULES
from benchmarks.harness import Case

ROOT = Path(__file__).parent.parent
BUSY = 0.7  # programs that wanted to run in the last minute
SECONDS, SECONDS_FULL = 2.0, 10.0  # for the rounds of one case; there are five at least
HEAD = (
    "our time / theirs, below 1 we are faster: median of the rounds, quartiles, and the ratio of "
    "the fastest rounds, which is what counts for work on one thread"
)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="ratios against numpy, PyTorch and others"
    )
    parser.add_argument(
        "words", nargs="*", help="only cases whose module or name contains one of these"
    )
    parser.add_argument(
        "--full", action="store_true", help="the long cases as well, and more rounds"
    )
    parser.add_argument("--save", action="store_true", help="keep the result in benchmarks/results")
    parser.add_argument(
        "--again",
        action="store_true",
        help="the same, as part of the newest full run, which is kept anew",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object for each case")
    parser.add_argument("--list", action="store_true", help="only say which cases there are")
    options = parser.parse_args(arguments)
    chosen = [
        (
            module,
            [
                case
                for case in cases
                if (options.full or not case.full) and selected(module, case, options.words)
            ],
        )
        for module, cases in all_cases()
    ]
    if not any(cases for _, cases in chosen):
        print(
            f"no benchmark case contains {' or '.join(options.words) or 'anything'}",
            file=sys.stderr,
        )
        return 1
    before = results.newest() if options.again else None
    if options.again and before is None:
        parser.error("--again needs a run in benchmarks/results: --full --save leaves one")
    if options.list:
        print(
            "\n".join(f"{short(module)}: {case.name}" for module, cases in chosen for case in cases)
        )
        return 0
    if not options.json:
        print(HEAD, flush=True)
    load = machine.load()
    if load is not None and load > BUSY:
        print(
            f"the machine is busy (load {load}): ratios on two threads will say little",
            file=sys.stderr,
        )
    budget = SECONDS_FULL if options.full else SECONDS
    groups = [measure(module, cases, budget, options.json) for module, cases in chosen if cases]
    if options.save or options.again:
        command = shlex.join(
            ["python", "-m", "benchmarks", *(sys.argv[1:] if arguments is None else arguments)]
        )
        record = results.record(command, options.full and not options.words, groups, load)
        if before is not None:
            record = results.updated(results.read(before), record)
        path = results.save(record, groups)
        print(f"kept in {path.parent.name}/{path.name}")
    return 1 if any(wrong(case) for group in groups for case in group["cases"]) else 0


def all_cases() -> Iterator[tuple[ModuleType, list[Case]]]:
    for name in MODULES:
        module = importlib.import_module(f"benchmarks.cases.{name}")
        yield module, module.cases()


def selected(module: ModuleType, case: Case, words: list[str]) -> bool:
    return not words or any(word in f"{short(module)} {case.name}" for word in words)


def short(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2]


def measure(module: ModuleType, cases: list[Case], budget: float, as_json: bool) -> dict[str, Any]:
    """The group of a module, as `results.GROUP` describes it."""
    found: dict[str, Any] = {}
    for threads in sorted({case.threads for case in cases}):
        names = [case.name for case in cases if case.threads == threads]
        while names:
            entries = in_a_process(short(module), names, threads, budget, quiet=as_json)
            found |= {entry["name"]: entry for entry in entries}
            names = names[len(entries) :]
    if as_json:
        for entry in found.values():
            print(json.dumps(entry))
    entries = [found[case.name] for case in cases]
    return {"module": short(module), "title": module.TITLE, "about": module.ABOUT, "cases": entries}


def in_a_process(
    module: str, names: list[str], threads: int, budget: float, quiet: bool
) -> list[dict[str, Any]]:
    """What a worker found. If it crashes, the last entry is the case that it did not survive."""
    with tempfile.TemporaryDirectory(prefix="benchmarks") as folder:
        file, found = Path(folder) / "task.json", Path(folder) / "found.jsonl"
        task = {"module": module, "cases": names, "threads": threads, "budget": budget}
        file.write_text(json.dumps(task | {"found": str(found), "quiet": quiet}))
        command = [sys.executable, "-m", "benchmarks.worker", str(file)]
        status = subprocess.run(command, cwd=ROOT, env=environment(threads)).returncode
        entries = (
            [json.loads(line) for line in found.read_text().splitlines()] if found.exists() else []
        )
    if len(entries) < len(names):
        entries.append(crashed(names[len(entries)], threads, status))
        print("\n".join(results.lines(entries[-1])), file=sys.stderr)
    return entries


def environment(threads: int) -> dict[str, str]:
    """For a worker: BLAS and OpenMP look at the number of threads when they are loaded."""
    number = dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(threads)
    )
    cache = os.environ.get("TORCHINDUCTOR_CACHE_DIR", str(ROOT / "build" / "inductor_cache"))
    inductor = {
        "TORCHINDUCTOR_CACHE_DIR": cache,
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
    }  # no processes beside what is timed
    return {**os.environ, **number, **inductor}


def crashed(name: str, threads: int, status: int) -> dict[str, Any]:
    about = {
        "name": name,
        "threads": threads,
        "clock": "wall",
        "unit": "second",
        "note": "",
        "unchecked": "",
        "again": "",
    }
    nothing: dict[str, Any] = {"absent": {}, "errors": {}, "ratios": [], "seconds": {}}
    return about | nothing | {"error": f"the process ended with status {status}"}


def wrong(case: dict[str, Any]) -> bool:
    return case["error"] is not None


if __name__ == "__main__":
    sys.exit(main())
