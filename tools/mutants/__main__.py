"""`make mutants`: faults are drawn, planted one by one in a copy, and the tests that reach each of
them run until one fails.

    make mutants                            6 faults a layer
    make mutants ARGS="--count 40 --save"   the long one, shown in docs/mutants.md
    make mutants ARGS="--layer jit/passes --seed 3 --without-torch"
    make mutants ARGS="--every-case"        as if sixteen commits were tested
    make mutants ARGS="--again"             those that survived the last time

The first run also records which test reaches what, as long as `make test` takes; after a change in
the source it does so again, unless `--keep-reach` says that the old record will do. Results are
kept in `build/mutants/results.json`.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import shutil
import sys
from pathlib import Path

from tools.mutants import children, copy, reach, report, results
from tools.mutants.faults import LAYERS, Fault, blocks_of, draw, tests_of
from tools.mutants.trial import Bench, Outcome


def main() -> int:
    options = parse(sys.argv[1:])
    work = Path(options.work)
    if copy.ROOT == work / "copy":
        return inside(options, work)
    work.mkdir(parents=True, exist_ok=True)
    lock = (work / "lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.set_inheritable(lock.fileno(), True)
    for place in places(options, work):
        copy.refresh(place)
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
        "--budget", type=float, default=90.0, help="seconds of tests for a fault that is not found"
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
    parser.add_argument(
        "--every-case",
        action="store_true",
        help="of sampled tests all cases, those of sixteen commits, not those of one",
    )
    parser.add_argument("--save", action="store_true", help="write docs/mutants.md")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="faults that are tried at a time"
    )
    parser.add_argument(
        "--work", default=str(copy.ROOT / "build" / "mutants"), help=argparse.SUPPRESS
    )
    parser.add_argument("--home", default=str(copy.ROOT), help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def places(options: argparse.Namespace, work: Path) -> list[Path]:
    """A copy for each fault that is tried at a time."""
    return [work / f"copy{worker or ''}" for worker in range(options.jobs)]


def inside(options: argparse.Namespace, work: Path) -> int:
    """The second half, which runs in the copy."""
    root = copy.ROOT
    kept = results.Kept(work / "results.json", options.without_torch)
    named = results.named_equivalent(root)
    children.prepare()
    where = work / "reach"
    if not options.keep_reach:
        files = sorted(p.relative_to(root).as_posix() for p in (root / "tests").rglob("test_*.py"))
        log = work / "record.log"
        for file in reach.record(root, where, files, log, options.jobs, options.every_case):
            print(f"mutants: {file} could not be recorded", flush=True)
        for file, count in reach.left_out(where):
            print(f"mutants: {count} tests of {file} fail as it is, and are left out", flush=True)
    drawn = [
        (layer, fault)
        for layer in options.layer or LAYERS
        for fault in draw(root, layer, options.seed, options.count)
    ]
    tried = [pair for pair in drawn if not options.again or kept.is_open(pair[1])]
    reaching = reach.reaching(
        where,
        {f.identity: blocks_of(f, root) for _, f in tried},
        {f.identity: tests_of(f, root) for _, f in tried},
    )
    for (layer, fault), outcome in zip(tried, outcomes(tried, reaching, options, work)):
        if outcome.result in results.OPEN and fault.identity in named:
            outcome = outcome._replace(result="equivalent")
        kept.note(layer, fault, outcome)
    kept.save()
    rows = [kept.rows[fault.identity] for _, fault in drawn]
    print(report.table(rows))
    if options.save:
        page = report.page(rows, named, options)
        (Path(options.home) / "docs" / "mutants.md").write_text(page)
    return 0


def outcomes(
    tried: list[tuple[str, Fault]],
    reaching: dict[str, list[reach.Test]],
    options: argparse.Namespace,
    work: Path,
) -> list[Outcome]:
    """Of each fault; `jobs` of them are tried at a time, each in a copy of its own."""
    noted = work / "outcomes"
    shutil.rmtree(noted, ignore_errors=True)
    noted.mkdir()
    benches: dict[int, Bench] = {}

    def one(i: int, worker: int) -> None:
        if worker not in benches:
            place = places(options, work)[worker]
            copy.move_to(place)
            benches[worker] = Bench(place, work / f"bench{worker}", options.budget)
        fault = tried[i][1]
        outcome = benches[worker].trial(fault, reaching[fault.identity])
        (noted / f"{i}.json").write_text(json.dumps(outcome))
        where_it_is = f"{fault.file}:{fault.line}"
        print(f"{outcome.result:<12}{where_it_is} {fault.kind}: {fault.after}", flush=True)

    children.share(len(tried), options.jobs, one)
    return [Outcome(*json.loads((noted / f"{i}.json").read_text())) for i in range(len(tried))]


if __name__ == "__main__":
    sys.exit(main())
