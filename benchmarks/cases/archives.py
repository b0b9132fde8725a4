"""Saving and loading 100 MB, beside PyTorch in the same run.

Loading maps the file, so it should cost next to nothing: at most 0.05 of `torch.jit.load`, and 5 MB
of memory. What is left is reading the archive's directory, its pickle and its code, which takes
longer the more layers there are: hence two models. Saving writes the same bytes as `torch.save` and
should take no longer. The memory is a ratio too: what a load allocates, for tensors and in Python,
over those 5 MB.

Without PyTorch, loading is compared with numpy loading an array of the same size, saving with numpy
saving it.
"""

from __future__ import annotations

import tempfile
import time
import tracemalloc
import warnings
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import internals
from benchmarks import peers
from benchmarks.harness import OURS, Absent, Call, Case, Timed
from internals import jit, nn

TITLE = "Archives"
ABOUT = (
    "Saving and loading 100 MB. Loading maps the file, so that what is left is reading the "
    "directory, the pickle and the code. Memory is a ratio too: the most that a load allocates, "
    "for tensors and in Python, over 5 MB."
)
LAYERS, WIDTH = 25, 1024  # 25 matrices of 4 MiB, or one of the same size
LOADS = ("jit.load, 100 MB, one layer", "jit.load, 100 MB, 25 layers")
MEMORY = 5e6
ROUNDS = 21

_folder = tempfile.TemporaryDirectory(prefix="archives")  # emptied when the program ends
SCRIPT, ONE, STATE, OURS_SAVED, THEIRS_SAVED, ARRAY = (
    str(Path(_folder.name) / name)
    for name in ("script.pt", "one.pt", "state.pt", "ours.pt", "theirs.pt", "array.npy")
)


class Work(NamedTuple):
    """What each side does, what of it is looked at afterwards, and the file it is about."""

    ours: Call
    torch: Callable[[Any], object]
    look: Callable[[Any], Any]
    file: str
    goal: float | None = None


WORKS: Mapping[str, Work] = {
    LOADS[0]: Work(
        lambda: jit.load(ONE),
        lambda T: T.jit.load(ONE),
        lambda m: numbers(m.state_dict()),
        ONE,
        0.05,
    ),
    LOADS[1]: Work(
        lambda: jit.load(SCRIPT),
        lambda T: T.jit.load(SCRIPT),
        lambda m: numbers(m.state_dict()),
        SCRIPT,
        0.05,
    ),
    "load, 100 MB": Work(
        lambda: internals.load(STATE), lambda T: T.load(STATE), lambda d: numbers(d), STATE
    ),
    "load, 100 MB, beside mmap=True": Work(
        lambda: internals.load(STATE),
        lambda T: T.load(STATE, mmap=True),
        lambda d: numbers(d),
        STATE,
    ),
    "save, 100 MB": Work(
        lambda: save(internals.save, whole(), OURS_SAVED),
        lambda T: save(T.save, T.from_numpy(whole().numpy()), THEIRS_SAVED),
        lambda path: [internals.load(path)],
        ARRAY,
        1.0,
    ),
}


def cases() -> list[Case]:
    """Loads and saves of a module and of tensors of 100 MB, and the memory the loads take."""
    note = (
        ""
        if peers.installed("torch")
        else "no PyTorch to compare with; numpy loads and saves one array of the same size"
    )
    found = [
        Case(
            name,
            partial(sides_of, name),
            reference=partial(written, work.file),
            tolerance=0.0,
            goals={"torch": work.goal} if work.goal else {},
            self_timed=True,
            rounds=ROUNDS,
            note=note,
        )
        for name, work in WORKS.items()
    ]
    memory = [
        Case(
            f"memory of {name}",
            partial(memory_of, name),
            unchecked="it is what another case loads, which is checked there",
            goals={"5 MB": 1.0},
            self_timed=True,
            unit="byte",
            rounds=1,
        )
        for name in (LOADS[1], "load, 100 MB")
    ]
    return [*found, *memory]


def sides_of(name: str) -> dict[str, Call | Absent]:
    files()
    work = WORKS[name]
    made: dict[str, Call | Absent] = {OURS: timed(work.ours, work.look)}
    if torch := peers.library("torch"):
        return made | {"torch": timed(partial(work.torch, torch), work.look)}
    made["torch"] = peers.not_installed("torch")
    if name.startswith("save"):
        return made | {
            "numpy": timed(lambda: np.save(ARRAY, whole().numpy()), lambda _: written(ARRAY))
        }
    return made | {"numpy": timed(lambda: np.load(ARRAY), lambda _: written(work.file))}


def memory_of(name: str) -> dict[str, Call | Absent]:
    files()
    return {OURS: allocated(WORKS[name].ours), "5 MB": lambda: Timed(MEMORY)}


@cache
def files() -> dict[str, Any]:
    """Writes what is to be loaded, once, and returns what is in each file."""
    model = nn.Sequential(*[nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(LAYERS)])
    wide = nn.Linear(WIDTH, LAYERS * WIDTH, bias=False)
    jit.save(jit.script(model), SCRIPT)
    jit.save(jit.script(wide), ONE)
    internals.save(model.state_dict(), STATE)
    one = internals.rand(LAYERS * WIDTH * WIDTH)
    np.save(ARRAY, one.numpy())
    many = model.state_dict()
    return {SCRIPT: many, ONE: wide.state_dict(), STATE: many, ARRAY: {"": one}}


def whole() -> Any:
    """The tensor of 100 MB that is to be saved."""
    return files()[ARRAY][""]


def written(file: str) -> list[Any]:
    return numbers(files()[file])


def numbers(state: Mapping[str, Any]) -> list[Any]:
    """The tensors, in the order of their names."""
    return [state[name] for name in sorted(state)]


def save(function: Callable[[Any, str], object], whole: Any, path: str) -> str:
    function(whole, path)
    return path


def timed(call: Call, look: Callable[[Any], Any]) -> Call:
    """The seconds that `call` takes; looking at what it returns, and throwing that away, do not
    count.
    """

    def seconds() -> Timed:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            start = time.perf_counter()
            result = call()
            elapsed = time.perf_counter() - start
        return Timed(elapsed, look(result))

    return seconds


def allocated(call: Call) -> Call:
    """The most bytes that `call` allocates at a time: Python's, and those of storages. What it
    imports first does not count.
    """

    def nbytes() -> Timed:
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
        return Timed(float(python + tensors))

    return nbytes
