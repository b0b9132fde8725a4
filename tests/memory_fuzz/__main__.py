"""`python -m tests.memory_fuzz`: see the package's docstring."""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from tests.memory_fuzz.workers import Report, run

FINDINGS = ("died", "outside", "error")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.memory_fuzz", description="wrong arguments on guarded memory"
    )
    parser.add_argument("--count", type=int, default=60_000, help="how many calls (60,000)")
    parser.add_argument("--seed", type=int, default=0, help="other calls for another seed (0)")
    parser.add_argument("--first", type=int, default=0, help="the number of the first call (0)")
    parser.add_argument("--only", default="", help="a regular expression for operators' names")
    parser.add_argument("--show", action="store_true", help="show every call, not only findings")
    options = parser.parse_args()
    kinds, places = Counter[str](), Counter[tuple[str, str]]()
    for n, report in enumerate(run(options.seed, options.first, options.count, options.only), 1):
        kinds[report.kind] += 1
        if report.kind not in ("answered", "refused"):
            places[report.kind, report.place] += 1
            if report.kind == "died" or places[report.kind, report.place] <= 2:
                tell(report)
        elif options.show:
            print(f"{report.number} {report.kind}: {report.call}", flush=True)
        if n % 1000 == 0:
            print(f"{n} of {options.count}: {summary(kinds)}", file=sys.stderr, flush=True)
    print(f"{options.count} calls: {summary(kinds)}")
    for (kind, place), n in places.most_common():
        print(f"  {n} x {kind}: {place}")
    return 1 if any(kinds[kind] for kind in FINDINGS) else 0


def tell(report: Report) -> None:
    print(
        f"\n{report.kind}, {report.place}: call {report.number}\n  {report.call}\n{report.details.strip()}",
        flush=True,
    )


def summary(kinds: Counter[str]) -> str:
    return ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items()))


if __name__ == "__main__":
    sys.exit(main())
