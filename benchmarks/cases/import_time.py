"""How long `import internals` takes: numpy, which it needs, included. PyTorch's import is there for comparison."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

from benchmarks.harness import Case

PROGRAM = "from time import perf_counter as now; start = now(); import {}; print(now() - start)"


def cases() -> list[Case]:
    """One case; a round is one fresh interpreter for each side."""
    names = ["internals", "numpy"] + ["torch"] * bool(importlib.util.find_spec("torch"))
    sides = {name: (lambda name=name: seconds_to_import(name)) for name in names}
    return [Case("import", sides, goals={"numpy": 1.5}, self_timed=True, rounds=9)]


def seconds_to_import(module: str) -> float:
    program = [sys.executable, "-c", PROGRAM.format(module)]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}  # users import compiled files
    return float(subprocess.run(program, capture_output=True, text=True, check=True, env=environment).stdout)
