"""`make gpu-first-hour`: the first hour on a machine with a GPU, and one page of what was found.

Steps of at most ten minutes each, the most important first; one whose program is not here is left
out. Nothing is installed. The page, build/gpu-first-hour/page.md, is written anew after every step
and has only what ran: each line of it was printed by a program on this machine. Called again, it
goes on with what is not done; `--again` begins anew, and a letter (`ARGS="d"`) chooses steps.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tools.notebook_files import BUILD, ROOT

FOLDER = BUILD / "gpu-first-hour"
SECONDS = 600
LEFT = 3  # the exit status of a program that is to be called again, to go on
PYTHON = sys.executable
OWN = [PYTHON, "-m", "tools.gpu_first_hour_inside"]

Read = Callable[[str], list[str]]


class Step(NamedTuple):
    """A command, the program it needs besides Python, and what of its output goes onto the page."""

    letter: str
    title: str
    command: list[str]
    read: Read
    needs: str = ""


class Result(NamedTuple):
    """`state`: ran, failed, not over in time, to be continued, or missing with what is missing."""

    state: str
    seconds: float
    lines: list[str]

    @property
    def over(self) -> bool:
        return self.state == "ran"


def every_line(output: str) -> list[str]:
    return [line.rstrip() for line in output.splitlines() if line.strip()]


def last_line(output: str) -> list[str]:
    """What pytest counts, or the last words of a program that failed."""
    return every_line(output)[-1:]


def table(output: str) -> list[str]:
    """The table of a benchmark, and what was measured."""
    return [line for line in every_line(output) if line.startswith(("|", "Measured"))]


def sanitized(output: str) -> list[str]:
    """How many errors compute-sanitizer found, and the first of them."""
    found = re.findall(
        r"^=+ (ERROR SUMMARY.*|RACECHECK SUMMARY.*|Invalid .*|Error: .*|Warning: .*)$", output, re.M
    )
    return [
        *[line for line in found if "SUMMARY" in line],
        *[line for line in found if "SUMMARY" not in line][:3],
    ]


def occupancy(output: str) -> list[str]:
    """A kernel's name, and the rows of ncu's section about occupancy."""
    rows = re.findall(
        r"^ +(\S.*?Occupancy|Block Limit \w+|Registers Per Thread) +(\S+) +([\d.,]+)$", output, re.M
    )
    names = re.findall(r"^  (\S+) \(\d+, \d+, \d+\)x\(\d+, \d+, \d+\)", output, re.M)
    return [*names[:1], *[f"{name}: {value} {unit}" for name, unit, value in rows]]


def steps() -> list[Step]:
    """In order of importance."""
    sanitizer = ["compute-sanitizer", "--print-limit", "3", "--tool"]
    ncu = [
        "ncu",
        "--section",
        "Occupancy",
        "--section",
        "LaunchStats",
        "--kernel-name",
        "regex:gemm",
        "--launch-count",
        "1",
    ]
    return [
        Step(
            "a",
            "One launch, versions, risks",
            [PYTHON, "-m", "internals", "doctor", "--gpu"],
            every_line,
        ),
        Step(
            "b",
            "Tests marked gpu",
            [PYTHON, "-m", "pytest", "-q", "-m", "gpu", "tests/cuda"],
            last_line,
        ),
        Step(
            "c",
            "Bandwidth and PyTorch",
            [PYTHON, "-m", "benchmarks.cuda", "a + b", "a.sum", "a @ b"],
            table,
        ),
        Step("d", "GEMM 4096 by launch bounds", [*OWN, "gemm"], every_line),
        Step("e", "Registers, by ptxas", [*OWN, "registers"], every_line),
        Step("e2", "Occupancy, by ncu", [*ncu, *OWN, "gemm"], occupancy, "ncu"),
        Step(
            "f",
            "Memory errors",
            [*sanitizer, "memcheck", *OWN, "rows"],
            sanitized,
            "compute-sanitizer",
        ),
        Step(
            "f2",
            "Races in shared memory",
            [*sanitizer, "racecheck", *OWN, "rows"],
            sanitized,
            "compute-sanitizer",
        ),
        Step("g", "Forks and pinned memory", [*OWN, "questions"], every_line),
        Step("h", "All CUDA tests", [PYTHON, "-m", "tools.test_gpu"], last_line),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.gpu_first_hour")
    parser.add_argument("letters", nargs="*", help="only these steps")
    parser.add_argument("--again", action="store_true", help="forget what was found before")
    options = parser.parse_args(arguments)
    wanted = [step for step in steps() if not options.letters or step.letter[0] in options.letters]
    reason = missing_gpu()
    if reason:
        print(f"gpu-first-hour: there is no GPU here: {reason}. Nothing was run.", file=sys.stderr)
        absent = sorted(
            {step.needs for step in wanted if step.needs and not shutil.which(step.needs)}
        )
        print(
            f"Also absent: {', '.join(absent) or 'nothing'}. What needs no GPU: make test "
            "ARGS=tests/cuda",
            file=sys.stderr,
        )
        return 1
    if options.again:
        shutil.rmtree(FOLDER, ignore_errors=True)
    return go_through(wanted)


def go_through(wanted: Sequence[Step], seconds: float = SECONDS) -> int:
    """Run what is not over, write the page after each. Returns 0 when all has run."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for step in wanted:
        if not (found := kept(step)) or not found.over:
            print(f"{step.letter}: {step.title} ...", end=" ", flush=True)
            found = run(step, seconds)
            (FOLDER / f"{step.letter}.json").write_text(
                json.dumps({"commit": commit(), **found._asdict()})
            )
            print(f"{found.state}, {found.seconds:.0f} s", flush=True)
        (FOLDER / "page.md").write_text(page())
    place = (FOLDER / "page.md").relative_to(ROOT) if FOLDER.is_relative_to(ROOT) else FOLDER
    print(f"\n{page()}\nThe page is {place}.")
    return 0 if all((found := kept(step)) and found.over for step in wanted) else 1


def run(step: Step, seconds: float = SECONDS) -> Result:
    """One step in a process of its own; all it says is kept beside the page."""
    if step.needs and shutil.which(step.needs) is None:
        return Result(f"left out: {step.needs} is not here", 0, [])
    start, log = time.monotonic(), FOLDER / f"{step.letter}.log"
    environment = {**os.environ, "INTERNALS_CUDA": "gpu"}
    with log.open("wb") as file:
        process = subprocess.Popen(
            step.command,
            cwd=ROOT,
            env=environment,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            state = {0: "ran", LEFT: "to be continued"}.get(
                process.wait(seconds), f"FAILED, status {process.returncode}"
            )
        except subprocess.TimeoutExpired:
            state = f"not over after {seconds:g} s"
        finally:
            end(process)
    output = log.read_text(errors="replace")
    return Result(
        state,
        time.monotonic() - start,
        step.read(output) or (last_line(output) if state != "ran" else []),
    )


def end(process: subprocess.Popen[bytes]) -> None:
    """The step's process and all that it started."""
    if process.poll() is None and hasattr(os, "killpg"):
        os.killpg(process.pid, 9)
    process.kill()
    process.wait()


def kept(step: Step) -> Result | None:
    """What an earlier call found at this commit."""
    file = FOLDER / f"{step.letter}.json"
    if not file.exists():
        return None
    found = json.loads(file.read_text())
    return (
        Result(found["state"], found["seconds"], found["lines"])
        if found.pop("commit") == commit()
        else None
    )


def page() -> str:
    """One page, in Markdown."""
    parts = [f"# The first hour on a GPU\n\nCommit {commit()}."]
    for step in steps():
        found = kept(step)
        state = "not run" if found is None else f"{found.state}, {found.seconds:.0f} s"
        quoted = (
            ""
            if found is None or not found.lines
            else "\n\n" + "\n".join(f"    {line}" for line in found.lines)
        )
        parts.append(f"## {step.letter}. {step.title}: {state}{quoted}")
    return "\n\n".join(parts) + "\n"


def commit() -> str:
    """That of the working tree; with changes that are not committed it is another one."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def missing_gpu() -> str:
    """Why there is no GPU; empty if there is one."""
    from internals.cuda.gpu_driver import availability

    return availability().reason


if __name__ == "__main__":
    sys.exit(main())
