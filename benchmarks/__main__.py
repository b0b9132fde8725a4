"""`make bench`, or `python -m benchmarks [WORD ...]`: prints how long we take over how long numpy and PyTorch take.

Every module in this folder that has a function `cases()` takes part; words choose the cases whose name, or module,
contains one of them. What a GPU does is measured by `make bench-gpu`, in `benchmarks/cuda`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pkgutil
import sys
from collections.abc import Iterator
from dataclasses import asdict

# Before numpy is imported: one thread for everybody.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import benchmarks
from benchmarks import harness


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="ratios against numpy and PyTorch")
    parser.add_argument("words", nargs="*", help="only cases whose module or name contains one of these")
    parser.add_argument("--json", action="store_true", help="print one JSON object for each ratio")
    options = parser.parse_args()
    chosen = [case for module, case in all_cases() if selected(f"{module} {case.name}", options.words)]
    if not chosen:
        print(f"no benchmark case contains {' or '.join(options.words) or 'anything'}", file=sys.stderr)
        return 1
    width = max(len(case.name) for case in chosen)
    if not options.json:
        print("our time / theirs; below 1 we are faster. Median of the rounds, and of the fastest rounds.")
    for case in chosen:
        for result in harness.run(case):
            print(json.dumps(asdict(result)) if options.json else line(result, width), flush=True)
        if case.note:
            print(f"{case.name}: {case.note}", file=sys.stderr)
    return 0


def all_cases() -> Iterator[tuple[str, harness.Case]]:
    for module in sorted(info.name for info in pkgutil.iter_modules(benchmarks.__path__) if not info.ispkg):
        if module in ("__main__", "harness"):
            continue
        for case in importlib.import_module(f"benchmarks.{module}").cases():
            yield module, case


def selected(text: str, words: list[str]) -> bool:
    return not words or any(word in text for word in words)


def line(result: harness.Result, width: int) -> str:
    goal = "" if result.goal is None else f"   goal {ratio(result.goal)}: {'met' if result.met else 'MISSED'}"
    return f"{result.case:<{width}}  {ratio(result.median):>7}  {ratio(result.fastest):>7}   x {result.against}{goal}"


def ratio(value: float) -> str:
    """Two digits behind the point, or as many as show something."""
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


if __name__ == "__main__":
    sys.exit(main())
