"""How long `import internals` takes: numpy, which it needs, included. PyTorch's import is there for comparison."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial

from benchmarks import peers
from benchmarks.harness import Absent, Call, Case, Timed

TITLE = "Importing"
ABOUT = "A fresh interpreter for each measurement; the files are compiled to bytecode already."
PROGRAM = "from time import perf_counter as now; start = now(); import {}; print(now() - start)"


def cases() -> list[Case]:
    """One case; a round is one fresh interpreter for each side."""
    nothing = "an import computes nothing"
    return [Case("import", sides, unchecked=nothing, goals={"numpy": 1.5}, self_timed=True, rounds=9)]


def sides() -> dict[str, Call | Absent]:
    names = ("internals", "numpy", "torch", "tinygrad")
    return {
        name: partial(seconds_to_import, name) if peers.installed(name) else peers.not_installed(name) for name in names
    }


def seconds_to_import(module: str) -> Timed:
    program = [sys.executable, "-c", PROGRAM.format(module)]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}  # users import compiled files
    run = subprocess.run(program, capture_output=True, text=True, check=True, env=environment)
    return Timed(float(run.stdout))
