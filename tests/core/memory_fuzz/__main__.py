"""`python -m tests.core.memory_fuzz`: see the package's docstring."""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from tests.core.memory_fuzz.workers import Report, command, run

GOOD, TOLD = ("answered", "refused"), ("too long", "words")  # the rest is an exit status of 1


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.core.memory_fuzz", description="wrong arguments on guarded memory"
    )
    parser.add_argument("--count", type=int, default=60_000, help="how many calls (60,000)")
    parser.add_argument("--seed", type=int, default=0, help="other calls for another seed (0)")
    parser.add_argument("--first", type=int, default=0, help="the number of the first call (0)")
    parser.add_argument("--only", default="", help="a regular expression for operators' names")
    parser.add_argument("--show", action="store_true", help="show every call, not only findings")
    options = parser.parse_args()
    kinds, places = Counter[str](), Counter[tuple[str, str]]()
    reports = run(options.seed, options.first, options.count, options.only)
    for n, report in enumerate(reports, 1):
        kinds[report.kind] += 1
        if report.kind not in GOOD:
            places[report.kind, report.place] += 1
        if options.show or places[report.kind, report.place] in (1, 2):
            tell(report, command(options.seed, report.number, 1, options.only))
        if n % 1000 == 0:
            print(f"{n} of {options.count}: {summary(kinds)}", file=sys.stderr, flush=True)
    print(f"{options.count} calls: {summary(kinds)}")
    for (kind, place), n in places.most_common():
        print(f"  {n} x {kind}: {place}")
    return 1 if {*kinds} - {*GOOD, *TOLD} else 0


def tell(report: Report, again: str) -> None:
    print(f"{report.number} {report.kind}: {report.call}", flush=True)
    if report.kind not in GOOD:
        print(f"{report.place}\n{again}\n{report.details.strip()}\n", flush=True)


def summary(kinds: Counter[str]) -> str:
    return ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items()))


if __name__ == "__main__":
    sys.exit(main())
