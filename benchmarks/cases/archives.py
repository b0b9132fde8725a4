"""Saving and loading 100 MB, beside PyTorch in the same run.

Loading maps the file, so it should cost next to nothing: at most 0.05 of `torch.jit.load`, and 5 MB of memory. What is left is
reading the archive's directory, its pickle and its code, which takes longer the more layers there are: hence two models.
Saving writes the same bytes as `torch.save` and should take no longer. The memory is a ratio too: what a load allocates, for
tensors and in Python, over those 5 MB.

Without PyTorch, loading is compared with numpy loading an array of the same size, saving with numpy saving it.
"""

from __future__ import annotations

import importlib.util
import tempfile
import time
import tracemalloc
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import internals
from benchmarks.harness import Case
from internals import jit, nn

LAYERS, WIDTH = 25, 1024  # 25 matrices of 4 MiB, or one of the same size
LOADS = ("jit.load, 100 MB, one layer", "jit.load, 100 MB, 25 layers")
MEMORY = 5e6
ROUNDS = 21

_folder = tempfile.TemporaryDirectory(prefix="archives")  # emptied when the program ends
SCRIPT, ONE, STATE, OURS, THEIRS, ARRAY = (
    str(Path(_folder.name) / name) for name in ("script.pt", "one.pt", "state.pt", "ours.pt", "theirs.pt", "array.npy")
)


def cases() -> list[Case]:
    """Loads and saves of a module and of tensors of 100 MB, and the memory the loads take."""
    against, theirs = other_side()
    note = "" if against == "torch" else "no PyTorch to compare with; numpy loads and saves one array of the same size"
    ours: dict[str, Callable[[], object]] = {
        "jit.load, 100 MB, one layer": lambda: jit.load(ONE),
        "jit.load, 100 MB, 25 layers": lambda: jit.load(SCRIPT),
        "load, 100 MB": lambda: internals.load(STATE),
        "load, 100 MB, beside mmap=True": lambda: internals.load(STATE),
        "save, 100 MB": lambda: internals.save(files(), OURS),
    }
    goals = {**dict.fromkeys(LOADS, 0.05), "save, 100 MB": 1.0}
    found = []
    for name, call in ours.items():
        sides: dict[str, Callable[[], object]] = {"internals": timed(call), against: timed(theirs[name])}
        goal = {"torch": goals[name]} if name in goals else None
        found.append(Case(name, sides, goals=goal, self_timed=True, rounds=ROUNDS, note=note))
    for name in (LOADS[1], "load, 100 MB"):
        taken: dict[str, Callable[[], object]] = {"internals": allocated(ours[name]), "5 MB": lambda: MEMORY}
        found.append(Case(f"memory of {name}", taken, goals={"5 MB": 1.0}, self_timed=True, rounds=1))
    return found


@cache
def files() -> Any:
    """Writes what is to be loaded, once, and returns a tensor of 100 MB."""
    model = nn.Sequential(*[nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(LAYERS)])
    jit.save(jit.script(model), SCRIPT)
    jit.save(jit.script(nn.Linear(WIDTH, LAYERS * WIDTH, bias=False)), ONE)
    internals.save(model.state_dict(), STATE)
    whole = internals.rand(LAYERS * WIDTH * WIDTH)
    np.save(ARRAY, whole.numpy())
    return whole


def other_side() -> tuple[str, dict[str, Callable[[], object]]]:
    """Whom we are compared with, and what it does in each case."""
    if importlib.util.find_spec("torch") is None:
        load = lambda: np.load(ARRAY)  # noqa: E731
        loads = dict.fromkeys((*LOADS, "load, 100 MB", "load, 100 MB, beside mmap=True"), load)
        return "numpy", {**loads, "save, 100 MB": lambda: np.save(THEIRS, files().numpy())}
    import torch

    torch.set_num_threads(1)
    return "torch", {
        "jit.load, 100 MB, one layer": lambda: torch.jit.load(ONE),
        "jit.load, 100 MB, 25 layers": lambda: torch.jit.load(SCRIPT),
        "load, 100 MB": lambda: torch.load(STATE),
        "load, 100 MB, beside mmap=True": lambda: torch.load(STATE, mmap=True),
        "save, 100 MB": lambda: torch.save(torch.from_numpy(files().numpy()), THEIRS),
    }


def timed(call: Callable[[], object]) -> Callable[[], float]:
    """The seconds that `call` takes when the files are there; throwing away what it returns does not count."""

    def seconds() -> float:
        files()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            start = time.perf_counter()
            result = call()
            elapsed = time.perf_counter() - start
        del result
        return elapsed

    return seconds


def allocated(call: Callable[[], object]) -> Callable[[], float]:
    """The most bytes that `call` allocates at a time: Python's, and those of storages. What it imports first does not count."""

    def nbytes() -> float:
        files()
        call()
        internals.cpu.reset_peak_memory_stats()
        before = internals.cpu.memory_stats()["allocated_bytes.all.current"]
        tracemalloc.start()
        try:
            result = call()
            python = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        tensors = internals.cpu.memory_stats()["allocated_bytes.all.peak"] - before
        del result
        return float(python + tensors)

    return nbytes
