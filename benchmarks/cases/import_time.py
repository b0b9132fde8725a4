"""How long `import internals` takes: numpy, which it needs, included. PyTorch's import is there for
comparison.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import partial

from benchmarks import peers
from benchmarks.harness import Absent, Call, Case, Timed

TITLE = "Importing"
ABOUT = """A fresh interpreter for each measurement. Either all files are compiled to bytecode
already, or none is, and none can be: a container that was just started."""
PROGRAM = "from time import perf_counter as now; start = now(); import {}; print(now() - start)"


def cases() -> list[Case]:
    """Two cases; a round is one fresh interpreter for each side."""
    goals = {"import": 1.4, "import, without bytecode": 2.0}
    return [
        Case(
            name,
            partial(sides, "without" not in name),
            unchecked="an import computes nothing",
            goals={"numpy": goal},
            self_timed=True,
            rounds=9,
        )
        for name, goal in goals.items()
    ]


def sides(bytecode: bool = True) -> dict[str, Call | Absent]:
    names = ("internals", "numpy", "torch", "tinygrad")
    return {
        name: partial(seconds_to_import, name, bytecode)
        if peers.installed(name)
        else peers.not_installed(name)
        for name in names
    }


def seconds_to_import(module: str, bytecode: bool = True) -> Timed:
    program = [sys.executable, "-c", PROGRAM.format(module)]
    # users import compiled files
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as empty:
        if not bytecode:
            environment |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPYCACHEPREFIX": empty}
        run = subprocess.run(program, capture_output=True, text=True, check=True, env=environment)
    return Timed(float(run.stdout))
