"""Exercises of notebook 00: the path of one call through the house, and who shares memory with
whom.
"""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

import internals as torch
from exercises.exercise import Mistake, Wrong, exercise

FLOORS = ["method", "dispatcher", "kernel", "storage", "allocator"]


def way(*floors: str) -> str:
    return "answer = [" + ", ".join(f'"{floor}"' for floor in floors) + "]"


@exercise(
    level=1,
    title="The path of one call",
    ask="""
        `a + b` comes through five floors of the house: `"allocator"`, `"dispatcher"`, `"kernel"`
        (the one that adds), `"method"`, `"storage"`. Bring them into the order in which the call
        reaches them. The checker runs an addition and watches which file is entered when.""",
    start="answer = [..., ..., ..., ..., ...]",
    hints=(
        "The map shows the floors from top to bottom. Where does a `+` in your line of Python "
        "arrive first?",
        "The one who adds needs a place for the sum: it asks for a storage, and the storage asks "
        "for memory.",
    ),
    solution=way(*FLOORS),
    why=(
        "The dispatcher is asked twice: the keys of `a` and `b` name autograd's kernel first, even "
        "if no gradient is wanted, and that one calls again without its key. Then it is the turn "
        "of the CPU's kernel, which adds. (Small tensors of the same kind take a fast lane past "
        "most floors; notebook 06 says how.)"
    ),
    mistakes=[
        Mistake(
            "There must be memory before anything can begin.",
            way("method", "allocator", "storage", "dispatcher", "kernel"),
            "nobody knows yet how much",
        ),
        Mistake(
            "The kernel is the method.",
            way("method", "kernel", "dispatcher", "storage", "allocator"),
            "which kernel",
        ),
        Mistake(
            "Memory first, then an owner for it.",
            way("method", "dispatcher", "kernel", "allocator", "storage"),
            "the storage asks",
        ),
        Mistake(
            "The dispatcher hears of a call before Python does.",
            way("dispatcher", "method", "kernel", "storage", "allocator"),
            "your line of Python",
        ),
        Mistake("From the bottom to the top.", way(*reversed(FLOORS)), "the other way round"),
    ],
)
def start_1(answer: list[str]) -> str:
    if not isinstance(answer, (list, tuple)) or sorted(map(str, answer)) != sorted(FLOORS):
        raise Wrong(
            f"the answer is a list of these five words, each once: {', '.join(sorted(FLOORS))}"
        )
    truth, told = visited(), list(answer)
    if told == truth:
        return "each floor calls the one below, and hands back what it made"
    if told == truth[::-1]:
        raise Wrong(
            "this is the other way round: the result comes back from the bottom to the top, the "
            "call goes down"
        )
    if told[0] != truth[0]:
        raise Wrong(
            "your line of Python calls a method first, Tensor.__add__; only that knows of the "
            "floors below"
        )
    if told.index("allocator") < told.index("kernel"):
        raise Wrong(
            "memory for the result comes later: before there is a kernel at work, nobody knows yet "
            "how much"
        )
    if told.index("kernel") < told.index("dispatcher"):
        raise Wrong(
            "a kernel is chosen before it runs: which kernel it is depends on the keys of a and b, "
            "which tell of their device and of autograd; who looks that up?"
        )
    if told.index("allocator") < told.index("storage"):
        raise Wrong(
            "the kernel asks for a storage, and the storage asks the allocator for its bytes"
        )
    raise Wrong(
        "the storage is made for the result, by the kernel: it comes after who chooses and who "
        "computes"
    )


def visited() -> list[str]:
    """The floors in the order in which an addition enters their files."""
    from internals.core.hot import hot

    files = {"fast_lane": "method", "dispatcher": "dispatcher", "pointwise": "kernel",
             "storage": "storage", "cpu_allocator": "allocator"}  # fmt: skip
    home, seen = Path(torch.__file__).parent, dict[str, None]()

    def note(frame: Any, event: str, argument: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(home) and path.stem in files:
            seen.setdefault(files[path.stem])

    a, b, before = torch.ones(3), torch.ones(3), sys.getprofile()
    with hot.paused():
        sys.setprofile(note)
        try:
            result = a + b
        finally:
            sys.setprofile(before)
    del result
    return list(seen)


@exercise(
    level=2,
    title="Do not touch my array",
    ask="""
        The caller of your function has an array of float32, and needs it afterwards as it was.
        Write `brighter(array)`: a tensor in which every element is 10 more. The array stays
        untouched, and the result is the only memory that you ask for.""",
    start="""
        def brighter(array):
            ...""",
    passes=("brighter",),
    hints=(
        "Of the two ways from array to tensor in the first cells, one shares. Is that dangerous as "
        "long as you only read?",
        "Borrow the array, and let the addition make the new tensor. Which additions write into "
        "their first argument?",
    ),
    solution="""
        def brighter(array):
            return torch.from_numpy(array) + 10""",
    why="Sharing is harmless as long as all only read. Who writes has to know who else is looking.",
    mistakes=[
        Mistake(
            "A tensor made from an array is the function's own.",
            """
            def brighter(array):
                return torch.from_numpy(array).add_(10)""",
            "the caller's array was changed",
        ),
        Mistake(
            "Safe is who copies first.",
            """
            def brighter(array):
                return torch.tensor(array) + 10""",
            "twice as much memory",
        ),
        Mistake(
            "numpy adds just as well.",
            """
            def brighter(array):
                array += 10
                return torch.tensor(array)""",
            "+= on an array",
        ),
        Mistake(
            "An array is as good as a tensor.",
            """
            def brighter(array):
                return array + 10""",
            "not a tensor",
        ),
        Mistake(
            "Whatever prints right is right.",
            """
            def brighter(array):
                return torch.from_numpy(array).to(torch.float64) + 10""",
            "float32",
        ),
    ],
)
def start_2(brighter: Callable[[np.ndarray], Any]) -> str:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    result = brighter(array)
    changed = array.tolist() != np.arange(6).reshape(2, 3).tolist()
    if changed and isinstance(result, torch.Tensor) and np.shares_memory(result.numpy(), array):
        raise Wrong(
            "the result is right, and the caller's array was changed, too: both are the same bytes"
        )
    if changed:
        raise Wrong(
            "the caller's array was changed: += on an array writes into it, and it is not yours"
        )
    if not isinstance(result, torch.Tensor):
        raise Wrong(f"the result is a {type(result).__name__}, not a tensor")
    if result.dtype != torch.float32:
        raise Wrong(f"the array holds float32, the result {str(result.dtype).partition('.')[2]}")
    if result.shape != (2, 3) or result.tolist() != (array + 10).tolist():
        raise Wrong(f"{array.tolist()} became {result.tolist()}, not 10 more everywhere")
    big = np.zeros((256, 1024), dtype=np.float32)
    # the first call may import modules
    asked = min(memory_for(lambda: brighter(big)) for _ in range(2)) / big.nbytes
    if asked > 1.5:
        why = (
            "twice as much memory as needed, once for a copy and once for the sum"
            if asked < 3
            else "the sum needs one"
        )
        raise Wrong(f"for an array of 1 MiB, {asked:.0f} MiB were asked for: {why}")
    return "the array is as it was, and the only new memory is that of the result"


def memory_for(compute: Callable[[], Any]) -> int:
    """The most bytes that were in use at a time, numpy's and ours, and had not been before."""
    counted, tracing = torch.cpu.CachingAllocator(), tracemalloc.is_tracing()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        with torch.cpu.use_cpu_allocator(counted):
            result = compute()
            ours = counted.memory_stats()["allocated_bytes.all.peak"]
            del result
        return ours + tracemalloc.get_traced_memory()[1] - before
    finally:
        counted.empty_cache()
        if not tracing:
            tracemalloc.stop()


@exercise(
    level=3,
    title="A small viz.memory",
    ask="""
        Write `shared(**things)`: which of these arrays and tensors look at a byte in common? It
        returns a list of pairs of names, in the order in which they were given:
        `shared(a=a, b=a[1:], c=a.copy())` is `[("a", "b")]`. The checker finds the truth by writing
        through each of them and looking at the others.""",
    given="from itertools import combinations",
    start="""
        def shared(**things):
            ...""",
    passes=("shared",),
    hints=(
        "Two views may begin at different places and overlap, or take turns in the same memory and "
        "never meet. numpy has a function that decides exactly that, for two arrays.",
        "`np.asarray(thing)` is an array on the bytes of a tensor, and the array itself for an "
        "array. Then `np.shares_memory` for each of `combinations(things, 2)`.",
    ),
    solution="""
        def shared(**things):
            arrays = {name: np.asarray(thing) for name, thing in things.items()}
            return [
                (a, b) for a, b in combinations(arrays, 2) if np.shares_memory(arrays[a], arrays[b])
            ]""",
    why=(
        "`viz.memory` does as much, and says which bytes. In general the question is hard: strides "
        "make it a puzzle in integers."
    ),
    mistakes=[
        Mistake(
            "What looks alike is the same.",
            """
            def shared(**things):
                arrays = {name: np.asarray(thing) for name, thing in things.items()}
                return [
                    (a, b)
                    for a, b in combinations(arrays, 2)
                    if np.array_equal(arrays[a], arrays[b])
                ]""",
            "equal numbers",
        ),
        Mistake(
            "Who shares memory begins at the same address.",
            """
            def shared(**things):
                start = {name: np.asarray(thing).ctypes.data for name, thing in things.items()}
                return [(a, b) for a, b in combinations(start, 2) if start[a] == start[b]]""",
            "begins elsewhere",
        ),
        Mistake(
            "What overlaps from first to last byte shares bytes.",
            """
            def shared(**things):
                arrays = {name: np.asarray(thing) for name, thing in things.items()}
                return [
                    (a, b)
                    for a, b in combinations(arrays, 2)
                    if np.may_share_memory(arrays[a], arrays[b])
                ]""",
            "take turns",
        ),
        Mistake(
            "Only the same object shares.",
            """
            def shared(**things):
                return [(a, b) for a, b in combinations(things, 2) if things[a] is things[b]]""",
            "two objects",
        ),
        Mistake(
            "A copy is needed to compare.",
            """
            def shared(**things):
                arrays = {name: np.array(thing) for name, thing in things.items()}
                return [
                    (a, b)
                    for a, b in combinations(arrays, 2)
                    if np.shares_memory(arrays[a], arrays[b])
                ]""",
            "np.array copies",
        ),
    ],
)
def start_3(shared: Callable[..., list[tuple[str, str]]]) -> str:
    array = np.zeros((4, 4), dtype=np.float32)
    cases: list[tuple[str, dict[str, Any]]] = [
        ("two objects on the same bytes", {"array": array, "tensor": torch.from_numpy(array)}),
        ("equal numbers are not the same memory", {"x": torch.zeros(3), "y": torch.zeros(3)}),
        ("one of them begins elsewhere", {"array": array, "row": torch.from_numpy(array)[2]}),
        ("even and odd elements take turns in the same memory and have no byte in common",
         {"even": array[:, ::2], "odd": torch.from_numpy(array)[:, 1::2]}),
        ("rows and columns cross in one place",
         {"row": array[1], "column": array[:, 2], "other": array[0, :2]}),
        ("as_tensor shares, tensor copies",
         {"a": array, "b": torch.as_tensor(array), "c": torch.tensor(array)}),
        ("nothing to compare", {"alone": array}),
    ]  # fmt: skip
    for why, things in cases:
        got, truth = shared(**things), by_writing(things)
        if not isinstance(got, list):
            raise Wrong(f"shared returned {got!r}; a list of pairs of names is wanted")
        if not got and truth and why.startswith("two objects") and "array" in things:
            why = copied_or_other(shared)
        if [tuple(pair) if isinstance(pair, (list, tuple)) else pair for pair in got] != truth:
            raise Wrong(f"{', '.join(things)}: {truth} share bytes, not {got}: {why}")
    return "a write through one of each pair was seen through the other, and through no third"


def copied_or_other(shared: Callable[..., list[tuple[str, str]]]) -> str:
    """Why nothing is shared with anybody: because only objects were compared, or because copies
    were made first.
    """
    same = np.zeros(2)
    return (
        "two objects can look at the same bytes"
        if shared(a=same, b=same)
        else "np.array copies before you compare"
    )


def by_writing(things: dict[str, Any]) -> list[tuple[str, str]]:
    """The pairs that a write through the first one shows in the second."""
    found = []
    for a, b in combinations(things, 2):
        before = things[a].tolist()
        things[a][...] = 7
        seen = 7 in np.asarray(things[b]).ravel().tolist()
        things[a][...] = (
            np.array(before, dtype=np.float32)
            if isinstance(things[a], np.ndarray)
            else torch.tensor(before)
        )
        if seen:
            found.append((a, b))
    return found
