"""`make bench-gpu`, or `python -m benchmarks.cuda [WORD ...]`: a table of how near the CUDA backend
is to what the GPU can do.

Words choose the cases whose name contains one of them. With --simulator everything is run once,
tiny, on the simulated device, to see that it runs: times there are modelled and say nothing about a
GPU, so none are shown.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import sys
from typing import Any

import internals
from benchmarks.cuda import harness
from benchmarks.cuda.cases import FLOAT, FULL, TINY, cases, ceiling, rows_of
from benchmarks.cuda.harness import OURS, TORCH, Clock, Result

SIMULATED = (
    "On the simulated device, with tiny operands. It has no times that would say anything about a "
    "GPU."
)
HEAD = (
    "| case | of the copy's bandwidth | of PyTorch's speed | µs | goal | "
    "|\n|---|---:|---:|---:|---|---|"
)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.cuda", description="the CUDA backend beside the GPU's limits"
    )
    parser.add_argument("words", nargs="*", help="only cases whose name contains one of these")
    parser.add_argument("--rounds", type=int, default=30, help="how often each side has its turn")
    parser.add_argument(
        "--simulator",
        action="store_true",
        help="run everything once, tiny, on the simulated device",
    )
    options = parser.parse_args(arguments)
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    if options.simulator:
        internals.cuda.use_simulator()
        print(SIMULATED + "\n")
    elif not internals.cuda.is_available():
        print(f"bench-gpu: there is no GPU to measure: {reason()}", file=sys.stderr)
        return 1
    else:
        print(setting(options.words) + "\n")
    libraries = found_libraries(options.simulator)
    sizes, rounds = (TINY, 1) if options.simulator else (FULL, options.rounds)
    if not any(word in case.name for case in rows_of(sizes) for word in options.words or [""]):
        print(f"no case contains {' or '.join(options.words)}", file=sys.stderr)
        return 1
    clocks = {name: Clock(library.cuda) for name, library in libraries.items()}
    copy = ceiling(internals, sizes)
    if not options.simulator:
        print(HEAD)
    for case in cases(libraries, sizes, options.words):
        result = harness.run(case, copy, clocks, rounds)
        print(f"{case.name}: ran" if options.simulator else row(result), flush=True)
    return 0


def found_libraries(simulated: bool) -> dict[str, Any]:
    """Ours, and PyTorch where there is one that sees the same GPU."""
    libraries: dict[str, Any] = {OURS: internals}
    if not simulated and importlib.util.find_spec("torch"):
        import torch

        if torch.cuda.is_available():
            libraries[TORCH] = torch
    return libraries


def setting(words: list[str]) -> str:
    """What was measured, when, how and on what: what `docs/performance.md` has to say above the
    table.
    """
    properties = internals.cuda.get_device_properties(0)
    beside = "no PyTorch beside it"
    if importlib.util.find_spec("torch"):
        import torch

        left_out = "" if torch.cuda.is_available() else " (not built for this GPU: left out)"
        beside = f"PyTorch {torch.__version__}{left_out}"
    command = "make bench-gpu" + (f' ARGS="{" ".join(words)}"' if words else "")
    copied = f"{2 * FLOAT * FULL.n / 1e6:.0f} MB read and written"
    return (
        f"Measured on {datetime.date.today()} with `{command}`: {properties.name}, "
        f"{properties.multi_processor_count} multiprocessors, {beside}. Medians of interleaved "
        f"rounds, of time on the device; the copy is one of {copied}."
    )


def row(result: Result) -> str:
    """A line of the table in Markdown."""
    goal = result.case.goal
    kept = None if goal is None else goal.met(result)
    verdict = "" if kept is None else "met" if kept else "MISSED"
    cells = (
        result.case.name,
        "" if result.bandwidth is None else f"{result.bandwidth:.0%}",
        "" if result.of_torch is None else f"{result.of_torch:.0%}",
        f"{result.microseconds:.1f}",
        "" if goal is None else str(goal),
        verdict,
    )
    return f"| {' | '.join(cells)} |"


def reason() -> str:
    from internals.cuda.gpu_driver import availability

    return f"{availability().reason}. --simulator shows that everything runs, without any figures"


if __name__ == "__main__":
    sys.exit(main())
