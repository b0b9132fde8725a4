"""`make bench-serving`, or `python -m benchmarks.serving [WORD ...]`: load, faults and throughput
of `internals serve`.

Words choose the scenarios whose name contains one of them. `--full` takes the counts that
docs/serving.md reports (20 minutes), `--quick` the smallest (two minutes); `--save` keeps the run
in `benchmarks/serving/results` and writes its tables into docs/serving.md, as part of the newest
kept run if words were given.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks import machine
from benchmarks.serving import models, page, record
from benchmarks.serving.batching import curve, gain
from benchmarks.serving.crowd import many_clients
from benchmarks.serving.endurance import endurance
from benchmarks.serving.failing import raising, slow
from benchmarks.serving.finding import Finding
from benchmarks.serving.floods import flooded
from benchmarks.serving.image import image
from benchmarks.serving.malformed import malformed
from benchmarks.serving.oversized import oversized
from benchmarks.serving.shutdown import sigterm
from benchmarks.serving.slow_readers import slow_readers
from benchmarks.serving.vanishing import vanishing

QUICK, USUAL, FULL = range(3)
SMALL = ("double", "picky", "slow", "large", "shades")

FAULTS: dict[str, tuple[Callable[..., Finding], tuple[dict[str, Any], ...]]] = {
    "crowd": (many_clients, ({"clients": 50, "turns": 20}, {}, {})),
    "slow readers": (slow_readers, ({"readers": 5, "seconds": 4.0}, {}, {})),
    "vanishing": (vanishing, ({"count": 20, "processes": 1}, {}, {})),
    "floods": (flooded, ({"seconds": 2.0}, {}, {"seconds": 30.0})),
    "malformed": (malformed, ({"count": 1000}, {}, {})),
    "oversized": (oversized, ({"clients": 2, "mebibytes": 8}, {}, {})),
    "sigterm": (sigterm, ({"clients": 16}, {}, {})),
    "raising": (raising, ({"turns": 20}, {}, {})),
    "slow model": (slow, ({"clients": 24, "queue": 4}, {}, {})),
    "endurance": (endurance, ({"count": 5_000}, {"count": 30_000}, {"count": 100_000})),
}
CURVES: dict[str, tuple[str, int, tuple[str, ...]]] = {
    "MLP 784-2048-2048-10": ("mlp", 64, ()),
    "MLP 784-2048-2048-10, optimised": ("mlp", 64, ("--optimize",)),
    "MLP 784-128-128-10": ("mlp-small", 64, ()),
    "ResNet-18, 3 x 224 x 224, optimised": ("resnet18", 16, ("--optimize",)),
    "ResNet-18, 3 x 224 x 224": ("resnet18", 16, ()),
}
EFFORT: tuple[dict[str, Any], ...] = (  # for a curve
    {"sizes": (1, 8, 64), "seconds": 1.0, "rounds": 1},
    {"seconds": 2.0, "rounds": 1},
    {"seconds": 4.0, "rounds": 3},
)
IMAGES = ({"rounds": 5}, {"rounds": 20}, {"rounds": 40})


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    effort = FULL if options.full else QUICK if options.quick else USUAL
    wanted = partial(chosen, words=options.words)
    run: dict[str, Any] = {"faults": [], "curves": {}, "image": None, "load": machine.load()}
    began = perf_counter()
    with tempfile.TemporaryDirectory(prefix="serving") as name:
        folder = Path(name)
        models.archives(folder / "small", SMALL)
        for fault, (scenario, counts) in FAULTS.items():
            if wanted(fault):
                run["faults"].append(asdict(tried(scenario, folder / "small", counts[effort])))
        if wanted("image"):
            run["image"] = image(folder / "small", **IMAGES[effort])
            print("\n".join(page.image_table(run["image"])), flush=True)
        for title, (model, clients, extra) in CURVES.items():
            if wanted(f"batching {title}"):
                place = models.archives(folder / model, [model])
                points = curve(
                    place, model, clients, options=extra, **EFFORT[effort], told=progress
                )
                run["curves"][title] = {"clients": clients, "points": points, "gain": gain(points)}
                print(
                    f"{title}: {gain(points):.2f} times the requests/s of max_batch 1", flush=True
                )
    run["minutes"] = (perf_counter() - began) / 60
    if options.save:
        given = sys.argv[1:] if arguments is None else arguments
        command = shlex.join(["python", "-m", "benchmarks.serving", *given])
        print(f"kept in {record.save(run, command, part=bool(options.words)).name}")
        page.main()
    return 1 if any(finding["wrong"] for finding in run["faults"]) else 0


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="python -m benchmarks.serving", description="load, faults and throughput"
    )
    p.add_argument("words", nargs="*", help="only scenarios whose name contains one of these")
    size = p.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="the smallest counts")
    size.add_argument("--full", action="store_true", help="the counts of docs/serving.md")
    p.add_argument(
        "--save", action="store_true", help="keep the run, and show it in docs/serving.md"
    )
    return p


def chosen(name: str, words: list[str]) -> bool:
    return not words or any(word.lower() in name.lower() for word in words)


def tried(scenario: Callable[..., Finding], folder: Path, counts: dict[str, Any]) -> Finding:
    """What came of it, also when the scenario itself broke."""
    print(f"{scenario.__name__} ...", flush=True)
    began = perf_counter()
    try:
        finding = scenario(folder, **counts)
    except Exception as error:  # the others shall run
        traceback.print_exc()
        finding = Finding(scenario.__name__, "", wrong=[f"{type(error).__name__}: {error}"])
    seen = "; ".join(f"{name}: {value}" for name, value in finding.seen.items())
    print(f"  {seen} ({perf_counter() - began:.1f} s)", flush=True)
    for wrong in finding.wrong:
        print(f"  WRONG: {wrong}", flush=True)
    return finding


def progress(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
