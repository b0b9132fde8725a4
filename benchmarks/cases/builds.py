"""How long compiling takes: a fused chain and a whole network, the first time on a machine and from
the cache.

Each measurement is a process of its own, with an empty folder for the cache, or one that another
process has filled before (`benchmarks/fresh.py`). Ours is held against the seconds that were
promised, the only figures here that depend on the machine; `torch.compile` is there for comparison,
under the same conditions.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import numpy as np

from benchmarks import peers
from benchmarks.harness import OURS, Absent, Call, Case, Timed

TITLE = "Compiling"
ABOUT = (
    "From the call of `internals.jit.optimize` to the first result of the compiled program, in a "
    "fresh process. Cold: with an empty cache; cached: another process has compiled the same "
    "before. Libraries are imported already, the compiler is not. The other side is the time that "
    "was promised: a ratio of 1 is just that."
)
CACHES = {OURS: "INTERNALS_CACHE_DIR", "torch.compile": "TORCHINDUCTOR_CACHE_DIR"}
WORKS = {"x * sigmoid(x) + tanh(y)": "chain", "ResNet-18, batch 1": "resnet18"}
PROMISES = {
    ("chain", "cold"): 1.0,
    ("chain", "cached"): 0.3,
    ("resnet18", "cold"): 60.0,
    ("resnet18", "cached"): 2.0,
}

_folders: list[tempfile.TemporaryDirectory[str]] = []  # emptied when the program ends


def cases() -> list[Case]:
    """Both works, cold and cached."""
    return [
        Case(
            f"{name}, {state}",
            partial(sides, work, state),
            reference=lambda: np.zeros(()),
            tolerance=1e-4,
            goals={seconds(PROMISES[work, state]): 1.0},
            threads=2,
            self_timed=True,
            rounds=3 if work == "chain" else 2 if state == "cached" else 1,
            full=work == "resnet18",
        )
        for name, work in WORKS.items()
        for state in ("cold", "cached")
    ]


def seconds(promise: float) -> str:
    return f"{promise:g} s"


def sides(work: str, state: str) -> dict[str, Call | Absent]:
    """Ours, the promise, and `torch.compile`."""
    promise = PROMISES[work, state]
    theirs: Callable[[], Timed] | Absent = partial(build, work, state, "torch.compile")
    if not peers.installed("torch"):
        theirs = peers.not_installed("torch")
    elif not peers.has_cpp_compiler():
        theirs = Absent("torch.compile needs a C++ compiler, and there is none")
    return {
        OURS: once_more(partial(build, work, state, OURS)),
        seconds(promise): lambda: Timed(promise, np.zeros(())),
        "torch.compile": once_more(theirs) if callable(theirs) else theirs,
    }


def once_more(call: Callable[[], Timed]) -> Call:
    """The harness calls every side once to check it: that build counts as the first round, instead
    of being thrown away.
    """
    first: list[Timed] = []
    calls = 0

    def side() -> Timed:
        nonlocal calls
        calls += 1
        if calls == 2:
            return first.pop()
        found = call()
        if calls == 1:
            first.append(found)
        return found

    return side


def build(work: str, state: str, side: str) -> Timed:
    """In a process of its own: the seconds it took, and how far the result was from the right
    one.
    """
    if state == "cached":
        return run(work, side, filled(work, side))
    with tempfile.TemporaryDirectory(prefix="cold") as folder:
        return run(work, side, folder)


@cache
def filled(work: str, side: str) -> str:
    """A folder in which a process has left what it compiled."""
    _folders.append(tempfile.TemporaryDirectory(prefix="cached"))
    run(work, side, _folders[-1].name)
    return _folders[-1].name


def run(work: str, side: str, folder: str) -> Timed:
    answer = Path(folder) / "answer.json"
    command = [sys.executable, "-m", "benchmarks.fresh", work, side, str(answer)]
    process = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, CACHES[side]: folder}
    )
    if process.returncode != 0:
        lines = process.stderr.strip().splitlines()
        raise RuntimeError(
            f"building {work} with {side} failed: {lines[-1] if lines else process.returncode}"
        )
    found = json.loads(answer.read_text())
    return Timed(found["seconds"], np.asarray(found["error"]))
