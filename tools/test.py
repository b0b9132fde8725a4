"""`make test`: lint, types, unit tests and notebooks, all at once; then what passed, what was
skipped, and why.

Arguments are passed on to pytest: `make test ARGS="-k storage"`, `make test ARGS=tests/viz`. Of the
tests marked `sampled` it runs the cases whose turn it is (`tools/sampling.py`); `make test
ARGS=--sample=HASH` runs those of that commit.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools import sampling
from tools.notebook_files import BUILD, CELL_TIMEOUT, FOLDER, ROOT

TYPED = [
    "internals",
    "viz",
    "exercises",
    "apparatus",
    "codegen",
    "tools",
    "workshop",
    "benchmarks",
    "conftest.py",
]
RESULTS = BUILD / "test-results"
SECONDS = BUILD / "test-seconds.json"  # the CPU time of each file when it ran last
WORKERS = min(os.cpu_count() or 2, 8)
# Those that take longest, and so begin first, before there is a file that says so.
GIANTS = [
    *(
        "tests/runtimes/test_cpp.py",
        "tests/autograd/test_gradcheck_ops.py",
        "tests/aten/compiled/test_elementwise.py",
    ),
    *(
        "tests/serving/test_load_scenarios.py",
        "notebooks/23_how_fast.ipynb",
        "notebooks/17_other_languages.ipynb",
    ),
]
NBVAL = [
    *("--nbval", "--nbval-current-env", f"--nbval-cell-timeout={CELL_TIMEOUT}"),
    "--nbval-sanitize-with=tests/nbval_sanitize.cfg",
]


@dataclass
class Tally:
    """What became of one group of tests (the unit tests, or the notebooks' cells)."""

    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)  # test, reason


def main() -> int:
    parser = argparse.ArgumentParser(
        description="lint, types, unit tests, notebooks", allow_abbrev=False
    )
    parser.add_argument(
        "--full", action="store_true", help="also the slow tests, and many more random cases"
    )
    parser.add_argument(
        "--sample", default="", metavar="HASH", help="the sample of this commit, instead of HEAD's"
    )
    options, arguments = parser.parse_known_args()
    BUILD.mkdir(exist_ok=True)
    paths, arguments = apart(arguments)
    environment = {**os.environ, "INTERNALS_TEST_FULL": "1" if options.full else "0"}
    environment.pop(sampling.VARIABLE, None)
    print(f"test: Python {sys.version.split()[0]}, {oracle()}; {WORKERS} workers", flush=True)
    if options.sample or not (paths or options.full):
        seed = sampling.seed(options.sample)
        environment[sampling.VARIABLE] = str(seed.turn)
        print(
            f"test: of the tests marked `sampled`, the cases whose turn it is at {seed.name}",
            flush=True,
        )
    checks = start_checks()
    problems = run_tests(lanes(paths or everything(), arguments), environment)
    broken = [name for name, process in checks.items() if not finished_well(name, process)]
    if not arguments:
        remember_seconds()
    return report(problems, broken, list(checks))


def start_checks() -> dict[str, subprocess.Popen[str]]:
    return {"lint": start("ruff", "check", "--quiet", "."), "types": start("mypy", *typed())}


def start(*command: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", *command],
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def apart(arguments: list[str]) -> tuple[list[str], list[str]]:
    """The files, folders and tests to run, and pytest's options: `-k viz` has nothing to do with
    the folder.
    """
    takes_a_value = {"-k", "-m", "-p", "-o", "-W"}
    paths = [
        b for a, b in zip(["", *arguments], arguments) if names_a_path(b) and a not in takes_a_value
    ]
    return paths, [argument for argument in arguments if argument not in paths]


def names_a_path(argument: str) -> bool:
    return not argument.startswith("-") and (ROOT / argument.partition("::")[0]).exists()


def everything() -> list[str]:
    return ["tests", *([FOLDER.name] if FOLDER.exists() else [])]


def lanes(paths: list[str], arguments: list[str]) -> dict[str, list[str]]:
    notebooks = [path for path in paths if path.rstrip("/") == FOLDER.name or ".ipynb" in path]
    tests = [path for path in paths if path not in notebooks]
    return {
        name: [*some, *arguments]
        for name, some in (("notebooks", notebooks), ("tests", tests))
        if some
    }


def run_tests(lanes: dict[str, list[str]], environment: dict[str, str]) -> list[str]:
    """Keep WORKERS processes at work, the first of them with the notebooks; returns what went wrong
    outside of the tests.

    A lane is what pytest is given, files first: that of the tests has all workers, others a quarter
    of them."""
    shutil.rmtree(RESULTS, ignore_errors=True)
    for lane in lanes:
        (RESULTS / lane).mkdir(parents=True)
        (RESULTS / lane / "seconds").write_text(json.dumps(known_seconds()), encoding="utf-8")
    wanted = [lane for lane in lanes if lane != "tests" for _ in range(max(1, WORKERS // 4))]
    wanted += ["tests"] * (WORKERS if "tests" in lanes else 0)
    # hundreds of tests start a Python, which would compile it all again
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    problems: list[str] = []
    running: list[tuple[str, subprocess.Popen[bytes]]] = []
    begun = said = time.monotonic()
    try:
        while wanted or running:
            while wanted and len(running) < WORKERS:
                lane = wanted.pop(0)
                running.append((lane, start_worker(RESULTS / lane, lanes[lane], environment)))
            time.sleep(0.1)
            for lane, worker in [pair for pair in running if pair[1].poll() is not None]:
                running.remove((lane, worker))
                if worker.returncode not in (0, 1, 5):  # all passed, some failed, nothing to run
                    problem, files = ended_badly(RESULTS / lane, worker)
                    problems.append(problem)
                    wanted += [lane] if files else []  # another one goes on with the next file
            if time.monotonic() - said > 20:
                said = time.monotonic()
                print(f"{progress()}, {(said - begun) / 60:.1f} minutes", flush=True)
    finally:
        for _, worker in running:
            worker.kill()
    return problems or [
        f"{lane}: not all files were run" for lane in lanes if not all_done(RESULTS / lane)
    ]


def all_done(folder: Path) -> bool:
    told = list(lines(folder.glob("results-*")))
    of = max((line["of"] for line in told if "of" in line), default=1)
    return sum("done" in line for line in told) == of or (folder / "stop").exists()


def start_worker(
    folder: Path, arguments: list[str], environment: dict[str, str]
) -> subprocess.Popen[bytes]:
    """A worker of `tools/test_worker.py`. What it prints is kept in case that it dies."""
    plugins = ["-p", "tools.test_worker", "-p", "no:xdist", "-p", "no:cacheprovider"]
    # nobody else waits for its import
    plugins += NBVAL if folder.name == "notebooks" else ["-p", "no:nbval"]
    command = [sys.executable, "-m", "pytest", "-q", *plugins, f"--work={folder}", *arguments]
    with (folder / f"log-{time.monotonic_ns()}").open("wb") as log:
        worker = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT
        )
    Path(log.name).rename(folder / f"log-{worker.pid}")
    return worker


def ended_badly(folder: Path, worker: subprocess.Popen[bytes]) -> tuple[str, list[str]]:
    """How a worker ended, and in which file; with the last test of a file it had taken another one,
    too.
    """
    told = list(lines([folder / f"results-{worker.pid}"]))
    done = {line["done"] for line in told if "done" in line}
    files = [line["begun"] for line in told if "begun" in line and line["begun"] not in done]
    problem = f"pytest ended with status {worker.returncode}" + (
        f" in {' or '.join(files)}" if files else ""
    )
    text = (folder / f"log-{worker.pid}").read_text(encoding="utf-8", errors="replace")
    print(f"\n{problem}:\n{text[-5000:]}", flush=True)
    return problem, files


def progress() -> str:
    begun = of = 0
    for lane in RESULTS.iterdir():
        told = {
            line["begun"]: line["of"] for line in lines(lane.glob("results-*")) if "begun" in line
        }
        begun, of = begun + len(told), of + max(told.values(), default=0)
    return f"{begun} of {of} files begun"


def finished_well(name: str, process: subprocess.Popen[str]) -> bool:
    output, _ = process.communicate()
    if process.returncode:
        print(f"\n{name} found:\n{output}", flush=True)
    return process.returncode == 0


def report(problems: list[str], broken: list[str], checks: list[str]) -> int:
    tests, cells = read_results(RESULTS.glob("*/results-*"))
    if not (
        tests.passed or tests.failed or tests.skipped or cells.passed or cells.failed or problems
    ):
        problems = ["no tests were run"]
    print()
    for name in checks:
        print(f"{name:<10}{'FAILED' if name in broken else 'ok'}")
    for name, tally in (("tests", tests), ("notebooks", cells)):
        print(
            f"{name:<10}{tally.passed} passed, {len(tally.failed)} failed, {len(tally.skipped)} "
            "skipped"
        )
    print_skips(tests.skipped + cells.skipped)
    failures = tests.failed + cells.failed + problems + broken
    if failures:
        print(
            "failed: "
            + ", ".join(failures[:20])
            + (f" and {len(failures) - 20} more" if len(failures) > 20 else "")
        )
    passed = tests.passed + cells.passed + len(checks) - len(broken)
    print(
        f"{passed} passed, {len(failures)} failed, {len(tests.skipped) + len(cells.skipped)} "
        "skipped",
        flush=True,
    )
    return 1 if failures else 0


def read_results(paths: Iterable[Path]) -> tuple[Tally, Tally]:
    """What workers wrote: the unit tests' results and the notebook cells'. Prints how tests
    failed.
    """
    tests, cells = Tally(), Tally()
    for line in lines(paths):
        if "test" not in line:
            continue
        label, outcome, text = line["test"], line["outcome"], line["text"].strip()
        tally = cells if ".ipynb" in label.partition("::")[0] else tests
        if outcome == "passed":
            tally.passed += 1
        elif outcome == "skipped":
            tally.skipped.append((label, text or "no reason given"))
        else:
            tally.failed.append(label)
            print(f"\n{'_' * 20} {label} {'_' * 20}\n{text}", flush=True)
    return tests, cells


def lines(paths: Iterable[Path]) -> Iterator[dict[str, Any]]:
    for path in paths:
        if path.exists():
            text = path.read_text(encoding="utf-8")
            yield from (
                json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")
            )


def known_seconds() -> dict[str, float]:
    known = json.loads(SECONDS.read_text(encoding="utf-8")) if SECONDS.exists() else {}
    return {**dict.fromkeys(GIANTS, 60.0), **known}


def remember_seconds() -> None:
    new = {
        line["done"]: line["seconds"]
        for line in lines(RESULTS.glob("*/results-*"))
        if "done" in line
    }
    SECONDS.write_text(
        json.dumps({**known_seconds(), **new}, indent=0, sort_keys=True), encoding="utf-8"
    )


def print_skips(skipped: list[tuple[str, str]]) -> None:
    by_reason: dict[str, list[str]] = defaultdict(list)
    for label, reason in skipped:
        by_reason[reason].append(label)
    for reason, labels in sorted(by_reason.items()):
        places = Counter(label.split("::")[0].split("[")[0] for label in labels)
        named = ", ".join(f"{place} ({count})" for place, count in places.items())
        print(f"skipped {len(labels)}, because {reason}: {named}")


def typed() -> list[str]:
    return [name for name in TYPED if (ROOT / name).is_file() or any((ROOT / name).glob("**/*.py"))]


def oracle() -> str:
    try:
        return f"compared with PyTorch {importlib.metadata.version('torch')}"
    except importlib.metadata.PackageNotFoundError:
        return "no PyTorch to compare with (make oracle adds it)"


if __name__ == "__main__":
    sys.exit(main())
