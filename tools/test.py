"""`make test`: lint, types, unit tests and notebooks, all at once; then what passed, what was skipped, and why.

Arguments are passed on to pytest: `make test ARGS="-k storage"`, `make test ARGS=tests/test_doctor.py`.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from tools.notebook_files import BUILD, CELL_TIMEOUT, FOLDER, ROOT

TYPED = ["internals", "viz", "exercises", "codegen", "tools", "workshop", "benchmarks", "conftest.py"]
JUNIT = BUILD / "test-results.xml"
WORKERS = min(os.cpu_count() or 2, 8)


@dataclass
class Tally:
    """What became of one group of tests (the unit tests, or the notebooks' cells)."""

    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)  # test, reason


def main() -> int:
    parser = argparse.ArgumentParser(description="lint, types, unit tests, notebooks")
    parser.add_argument("--full", action="store_true", help="also the slow tests, and many more random cases")
    options, pytest_arguments = parser.parse_known_args()
    BUILD.mkdir(exist_ok=True)
    print(f"test: Python {sys.version.split()[0]}, {oracle()}; {WORKERS} workers", flush=True)
    checks = {"lint": start("ruff", "check", "--quiet", "."), "types": start("mypy", *typed())}
    pytest_status = run_pytest(options.full, pytest_arguments)
    broken = [name for name, process in checks.items() if not finished_well(name, process)]
    return report(pytest_status, broken, list(checks))


def start(*command: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", *command], cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def run_pytest(full: bool, arguments: list[str]) -> int:
    JUNIT.unlink(missing_ok=True)
    whole = not any(names_a_path(argument) for argument in arguments)
    environment = {**os.environ, "INTERNALS_TEST_FULL": "1" if full else "0" if whole else ""}
    # Hundreds of tests start a Python, which would compile everything again.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [
        *(sys.executable, "-m", "pytest", "-q", f"--junitxml={JUNIT}"),
        *("-n", str(WORKERS), "--dist", "loadfile"),
        *("--nbval", "--nbval-current-env", f"--nbval-cell-timeout={CELL_TIMEOUT}"),
        "--nbval-sanitize-with=tests/nbval_sanitize.cfg",
        *(everything() if whole else []),
        *arguments,
    ]
    return subprocess.run(command, cwd=ROOT, env=environment).returncode


def everything() -> list[str]:
    return ["tests", *([FOLDER.name] if FOLDER.exists() else [])]


def names_a_path(argument: str) -> bool:
    return not argument.startswith("-") and (ROOT / argument.partition("::")[0]).exists()


def finished_well(name: str, process: subprocess.Popen[str]) -> bool:
    output, _ = process.communicate()
    if process.returncode:
        print(f"\n{name} found:\n{output}", flush=True)
    return process.returncode == 0


def report(pytest_status: int, broken: list[str], checks: list[str]) -> int:
    try:
        tests, cells = read_junit(JUNIT)
    except (OSError, ElementTree.ParseError) as error:
        tests, cells = Tally(failed=[f"pytest wrote no results: {error}"]), Tally()
    if pytest_status and not (tests.failed or cells.failed):
        tests.failed.append(f"pytest ended with status {pytest_status}")
    print()
    for name in checks:
        print(f"{name:<10}{'FAILED' if name in broken else 'ok'}")
    for name, tally in (("tests", tests), ("notebooks", cells)):
        print(f"{name:<10}{tally.passed} passed, {len(tally.failed)} failed, {len(tally.skipped)} skipped")
    print_skips(tests.skipped + cells.skipped)
    failures = tests.failed + cells.failed + broken
    if failures:
        print("failed: " + ", ".join(failures[:20]) + (f" and {len(failures) - 20} more" if len(failures) > 20 else ""))
    passed = tests.passed + cells.passed + len(checks) - len(broken)
    print(f"{passed} passed, {len(failures)} failed, {len(tests.skipped) + len(cells.skipped)} skipped", flush=True)
    return 1 if failures else 0


def read_junit(path: Path) -> tuple[Tally, Tally]:
    """Pytest's results: the unit tests' and the notebook cells'."""
    tests, cells = Tally(), Tally()
    for case in ElementTree.parse(path).iter("testcase"):
        place, name = case.get("classname") or "", case.get("name") or ""
        tally = cells if ".ipynb" in name or f"{FOLDER.name}." in f"{place}." and "::" not in place else tests
        label = f"{place}::{name}" if place else name
        outcome = next((child for child in case if child.tag in ("failure", "error", "skipped")), None)
        if outcome is None:
            tally.passed += 1
        elif outcome.tag == "skipped":
            tally.skipped.append((label, (outcome.get("message") or "no reason given").strip()))
        else:
            tally.failed.append(label)
    return tests, cells


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
