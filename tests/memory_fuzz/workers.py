"""The processes that make the calls. One that dies leaves the number of its call behind, and another goes on after it.

A process says on its standard output what it is about to do and what came of it, a JSON line each. Each call has so many seconds
of processor time; a busy machine takes longer, and no call is blamed for that.
"""

from __future__ import annotations

import ctypes.util
import faulthandler
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from typing import NamedTuple

PATIENCE = 20  # seconds of processor time for a call; compiling a kernel takes some
MEMORY = 3 << 29  # bytes of address space, beside what a process has from the beginning
TOO_LONG = signal.SIGPROF


class Report(NamedTuple):
    """What came of a call: `kind` is "answered", "refused" or that of the finding."""

    number: int
    kind: str
    place: str = ""
    details: str = ""
    call: str = ""


def run(seed: int, first: int, count: int, only: str = "") -> Iterator[Report]:
    """The outcomes of calls `first` to `first + count - 1`, in order."""
    at = first
    while at < first + count:
        began = at
        for report in process(seed, at, first + count - at, only):
            at = report.number + 1
            if report.kind == "died":
                report = report._replace(
                    details=f"{alone(seed, began, report, only)}\n{report.details}"
                )
            yield report


def alone(seed: int, began: int, report: Report, only: str) -> str:
    """How the death can be seen again: the fewest calls before it that are needed."""
    n, before = report.number, 0
    while True:
        first = max(began, n - before)
        if any(r.kind == "died" for r in process(seed, first, n - first + 1, only)):
            return (
                f"again: python -m tests.memory_fuzz --seed {seed} --first {first} --count {n - first + 1}"
                + (f" --only '{only}'" if only else "")
            )
        if first == began:
            return f"not seen again, with the calls from {began} on"
        before = 4 * before + 1


def process(seed: int, first: int, count: int, only: str) -> Iterator[Report]:
    """The outcomes until the process is through or dies; its death is the last of them."""
    with tempfile.TemporaryFile("w+") as errors:
        command = [sys.executable, "-m", __name__, str(seed), str(first), str(count), only]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, env=environment(), text=True
        ) as child:
            number, call = first, "(on the way to its arguments)"
            assert child.stdout is not None
            for line in child.stdout:
                said = json.loads(line)
                if "kind" in said:
                    yield Report(call=call, **said)
                    number, call = number + 1, "(on the way to its arguments)"
                else:
                    call = said["call"]
        if child.returncode:
            errors.seek(0)
            kind = "too long" if child.returncode == -TOO_LONG else "died"
            yield Report(number, kind, name_of(child.returncode), errors.read()[-4000:], call)


def name_of(status: int) -> str:
    return signal.Signals(-status).name if status < 0 else f"exit status {status}"


def environment() -> dict[str, str]:
    """What comes from malloc, ctypes' arrays among it, is checked when it is given back, and full of a pattern before."""
    checks = {"MALLOC_CHECK_": "3", "MALLOC_PERTURB_": "165", "PYTHONMALLOC": "malloc"}
    debug = ctypes.util.find_library("c_malloc_debug")  # where glibc has its checks since 2.34
    return {
        **os.environ,
        **checks,
        **({"LD_PRELOAD": debug} if debug else {}),
        "PYTHONWARNINGS": "ignore",
    }


def main(seed: int, first: int, count: int, only: str) -> None:
    """What the process does."""
    from tests.memory_fuzz import calls, guarded, guarded_arrays, judging

    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    warnings.simplefilter("ignore")
    faulthandler.enable()
    faulthandler.register(TOO_LONG, chain=True)
    chosen = [op for op in calls.operators() if re.fullmatch(only or ".*", op.schema.name)]
    guarded.under_the_cache()
    guarded_arrays.under_numpy()
    limit_memory()
    for number in range(first, first + count):
        signal.setitimer(signal.ITIMER_PROF, PATIENCE)
        call = calls.make(seed, number, chosen)
        print(json.dumps({"call": repr(call)}), file=out)
        outcome = judging.judge(call)
        print(json.dumps({"number": number, **outcome._asdict()}), file=out)
    os._exit(0)  # at the end of Python, arrays go after the functions that take their memory back


def limit_memory() -> None:
    with open("/proc/self/statm") as file:
        limit = int(file.read().split()[0]) * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
