"""The processes that make the calls. When one dies, another goes on after the call that it died of.

A process says on its standard output what it is about to do and what came of it, a line of JSON
each. A call has so many seconds of processor time: on a busy machine it may take longer.
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

PATIENCE = 20  # seconds for a call; compiling a kernel takes some
MEMORY = 3 << 29  # bytes of address space, beside what a process has from the beginning
TOO_LONG = signal.SIGPROF
NO_CALL_YET = "(on the way to its arguments)"


class Report(NamedTuple):
    """What came of a call: `kind` is "died", "too long", or that of a `judging.Outcome`."""

    number: int
    kind: str
    place: str = ""
    details: str = ""
    call: str = ""


def run(seed: int, first: int, count: int, only: str = "") -> Iterator[Report]:
    """The outcomes of calls `first` to `first + count - 1`, in order.

    Of a death the details say how it can be seen again.
    """
    at = first
    while at < first + count:
        began = at
        for report in process(seed, at, first + count - at, only):
            at = report.number + 1
            if report.kind == "died":
                needed = calls_needed(seed, began, report.number, only)
                report = report._replace(details=f"{needed}\n{report.details}")
            yield report


def calls_needed(seed: int, began: int, number: int, only: str) -> str:
    """The command that makes call `number` after as few others as it takes for a process to die."""
    before = 0
    while True:
        first = max(began, number - before)
        count = number - first + 1
        if any(r.kind == "died" for r in process(seed, first, count, only)):
            return f"again: {command(seed, first, count, only)}"
        if first == began:
            return f"not seen again, with the calls from {began} on"
        before = 4 * before + 1


def command(seed: int, first: int, count: int, only: str) -> str:
    chosen = f" --only '{only}'" if only else ""
    return f"python -m tests.core.memory_fuzz --seed {seed} --first {first} --count {count}{chosen}"


def process(seed: int, first: int, count: int, only: str) -> Iterator[Report]:
    """The outcomes until the process is through or dies; its death is the last of them."""
    arguments = [sys.executable, "-m", __name__, str(seed), str(first), str(count), only]
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            arguments, stdout=subprocess.PIPE, stderr=errors, env=environment(), text=True
        ) as child,
    ):
        number, call = first, NO_CALL_YET
        for line in child.stdout or ():
            said = json.loads(line)
            if "kind" in said:
                yield Report(call=call, **said)
                number, call = number + 1, NO_CALL_YET
            else:
                call = said["call"]
        if status := child.wait():
            errors.seek(0)
            kind = "too long" if status == -TOO_LONG else "died"
            place = signal.Signals(-status).name if status < 0 else f"exit status {status}"
            yield Report(number, kind, place, errors.read()[-4000:], call)


def environment() -> dict[str, str]:
    """What comes from malloc is checked when it is given back, and full of a pattern before."""
    checks = {"MALLOC_CHECK_": "3", "MALLOC_PERTURB_": "165", "PYTHONMALLOC": "malloc"}
    debug = ctypes.util.find_library("c_malloc_debug")  # where glibc has its checks since 2.34
    return {**os.environ, **checks, **({"LD_PRELOAD": debug} if debug else {})}


def main(seed: int, first: int, count: int, only: str) -> None:
    """What the process does."""
    from tests.core.memory_fuzz import calls, guarded, guarded_arrays, judging

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
