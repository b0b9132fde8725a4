"""`make mutants`: faults are drawn, planted one by one in a copy, and the tests that reach each of
them run until one fails.

    make mutants                                               6 faults a layer
    make mutants ARGS="--count 40 --save"                      the long one, shown in docs/mutants.md
    make mutants ARGS="--layer jit/passes --seed 3 --without-torch"
    make mutants ARGS="--again"                                those that survived the last time

The first run also records which test reaches what, as long as `make test` takes; after a change in
the source it does so again, unless `--keep-reach` says that the old record will do. Results are
kept in `build/mutants/results.json`.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import sys
from pathlib import Path

from tools.mutants import children, copy, reach, report, results
from tools.mutants.faults import LAYERS, blocks_of, draw
from tools.mutants.trial import Bench


def main() -> int:
    options = parse(sys.argv[1:])
    work = Path(options.work)
    if copy.ROOT == work / "copy":
        return inside(options, work)
    work.mkdir(parents=True, exist_ok=True)
    lock = (work / "lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.set_inheritable(lock.fileno(), True)
    copy.refresh(work / "copy")
    os.chdir(work / "copy")
    arguments = [
        sys.executable,
        "-m",
        "tools.mutants",
        *sys.argv[1:],
        "--work",
        str(work),
        "--home",
        str(copy.ROOT),
    ]
    os.execve(sys.executable, arguments, copy.environment(work / "copy", options.without_torch))


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make mutants", description="a test of the tests")
    parser.add_argument(
        "--layer", action="append", choices=LAYERS, help="this layer only (may be repeated)"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=6, help="faults a layer")
    parser.add_argument(
        "--budget", type=float, default=45.0, help="seconds of tests for a fault that is not found"
    )
    parser.add_argument(
        "--without-torch", action="store_true", help="as if PyTorch were not installed"
    )
    parser.add_argument(
        "--again", action="store_true", help="only what survived or was not reached the last time"
    )
    parser.add_argument(
        "--keep-reach",
        action="store_true",
        help="the record of reach will do, though the source changed",
    )
    parser.add_argument("--save", action="store_true", help="write docs/mutants.md")
    parser.add_argument(
        "--work", default=str(copy.ROOT / "build" / "mutants"), help=argparse.SUPPRESS
    )
    parser.add_argument("--home", default=str(copy.ROOT), help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def inside(options: argparse.Namespace, root_of_work: Path) -> int:
    """The second half, which runs in the copy."""
    root = copy.ROOT
    kept = results.Kept(root_of_work / "results.json", options.without_torch)
    named = results.named_equivalent(root)
    children.prepare()
    where = root_of_work / "reach"
    if not options.keep_reach:
        tests = sorted(p.relative_to(root).as_posix() for p in (root / "tests").rglob("test_*.py"))
        for file in reach.record(root, where, tests, root_of_work / "record.log"):
            print(f"mutants: {file} could not be recorded", flush=True)
    bench = Bench(root, root_of_work, options.budget)
    for layer in options.layer or LAYERS:
        drawn = draw(root, layer, options.seed, options.count)
        if options.again:
            drawn = [fault for fault in drawn if kept.is_open(options.seed, fault)]
        wanted = {fault.identity: blocks_of(fault, root) for fault in drawn}
        tests_of = reach.reaching(where, wanted) if wanted else {}
        for fault in drawn:
            outcome = bench.trial(fault, tests_of[fault.identity])
            if outcome.result in ("survived", "not reached") and fault.identity in named:
                outcome = outcome._replace(result="equivalent")
            kept.note(layer, options.seed, fault, outcome)
            print(
                f"{outcome.result:<12}{fault.file}:{fault.line} {fault.kind}: {fault.after}",
                flush=True,
            )
        kept.save()
    print(report.table(kept.of(options.seed)))
    if options.save:
        (Path(options.home) / "docs" / "mutants.md").write_text(
            report.page(kept.of(options.seed), named, options)
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
