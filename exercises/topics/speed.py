"""Exercises of notebook 23b: what bounds a loop, how to compare two programs, and a matrix turned
in tiles.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import internals as torch
from exercises.exercise import Mistake, Wrong, exercise


@exercise(
    level=1,
    title="Operations for each byte",
    ask="""
        How many arithmetic operations are done for each byte that has to come from memory or go
        there, if each number does so once? All numbers are float32; a multiplication and an
        addition are two operations.

        - `x + y`, two vectors of a million numbers each;
        - `x.sum()` of such a vector (its one result may be forgotten);
        - `a @ b`, two matrices of 384 by 384.""",
    start="""
        answer = {
            "x + y": ...,
            "x.sum()": ...,
            "a @ b": ...,
        }""",
    hints=(
        "Count the numbers that are read, and those that are written. Each has four bytes.",
        "A product of n by n matrices has n³ multiplications and as many additions, on 3 n² "
        "numbers.",
    ),
    solution="""
        answer = {
            "x + y": 1 / 12,
            "x.sum()": 1 / 4,
            "a @ b": 2 * 384**3 / (3 * 384**2 * 4),
        }""",
    why=(
        "A processor does some ten operations while one byte comes. Two of the three wait for "
        "memory, however they are written."
    ),
    mistakes=[
        Mistake(
            "Only what is read has to travel.",
            'answer = {"x + y": 1 / 8, "x.sum()": 1 / 4, "a @ b": 2 * 384**3 / (2 * 384**2 * 4)}',
            "is written",
        ),
        Mistake(
            "A number is a byte.",
            'answer = {"x + y": 1 / 3, "x.sum()": 1, "a @ b": 256}',
            "four bytes",
        ),
        Mistake(
            "A multiplication with its addition is one operation.",
            'answer = {"x + y": 1 / 12, "x.sum()": 1 / 4, "a @ b": 384**3 / (3 * 384**2 * 4)}',
            "two operations",
        ),
        Mistake(
            "A product reads both matrices again for every element of the result.",
            'answer = {"x + y": 1 / 12, "x.sum()": 1 / 4, "a @ b": 1 / 4}',
            "if each number travels once",
        ),
    ],
)
def speed_1(answer: dict[str, float]) -> str:
    n, m = 10**6, 384
    work = {"x + y": (n, 3 * n), "x.sum()": (n, n), "a @ b": (2 * m**3, 3 * m**2)}
    if not isinstance(answer, dict) or answer.keys() != work.keys():
        raise Wrong("the answer is the dict above, with a number for each of its three keys")
    for key, (operations, numbers) in work.items():
        if not isinstance(answer[key], (int, float)):
            raise Wrong(f"{key}: a number is wanted, not {answer[key]!r}")
        share = answer[key] / (operations / (4 * numbers))
        if abs(share - 1) < 0.02:
            continue
        if abs(share - 4) < 0.05:
            raise Wrong(f"{key}: you counted numbers; each of them is four bytes")
        if abs(share - 0.5) < 0.01:
            raise Wrong(
                f"{key}: a multiplication and the addition of its result are two operations"
            )
        if abs(share - 1.5) < 0.02:
            raise Wrong(
                f"{key}: the result is written, too: that is a third number for each two that are "
                "read"
            )
        if key == "a @ b" and answer[key] < 1:
            raise Wrong(
                "a @ b: that is so if nothing is kept; if each number travels once, it is used "
                "hundreds of times"
            )
        raise Wrong(
            f"{key}: {operations:,} operations on {numbers:,} numbers are not {answer[key]:.3g} "
            "for each byte"
        )
    return "below the machine's ratio move fewer bytes, above it do fewer operations"


@exercise(
    level=2,
    title="A fair race",
    ask="""
        Write `race(sides, rounds, clock)`. `sides` is a dict of names and functions without
        arguments, `clock()` tells the time. It returns a dict: for each name the *least* time of
        one call. The sides *take turns*, round by round, and the first call of each, which may
        compile something, is not counted.

        It will run on a machine on which a neighbour starts a job in the middle.""",
    start="""
        def race(sides, rounds, clock):
            ...""",
    passes=("race",),
    hints=(
        "Two loops, one in the other: which is outside?",
        "Call every side once before. Then, in each round, time each side once, and keep the "
        "least.",
    ),
    solution="""
        def race(sides, rounds, clock):
            for call in sides.values():
                call()
            least = {name: float("inf") for name in sides}
            for _ in range(rounds):
                for name, call in sides.items():
                    start = clock()
                    call()
                    least[name] = min(least[name], clock() - start)
            return least""",
    why=(
        "Noise only ever adds, so the least time is what it can hardly touch; and what slows the "
        "machine down slows both sides."
    ),
    mistakes=[
        Mistake(
            "First one side, then the other.",
            """
            def race(sides, rounds, clock):
                least = {}
                for name, call in sides.items():
                    call()
                    times = []
                    for _ in range(rounds):
                        start = clock()
                        call()
                        times.append(clock() - start)
                    least[name] = min(times)
                return least""",
            "one after the other",
        ),
        Mistake(
            "An average is more exact.",
            """
            def race(sides, rounds, clock):
                for call in sides.values():
                    call()
                total = {name: 0.0 for name in sides}
                for _ in range(rounds):
                    for name, call in sides.items():
                        start = clock()
                        call()
                        total[name] += (clock() - start) / rounds
                return total""",
            "interruptions",
        ),
        Mistake(
            "The least time takes care of the first call.",
            """
            def race(sides, rounds, clock):
                least = {name: float("inf") for name in sides}
                for _ in range(rounds):
                    for name, call in sides.items():
                        start = clock()
                        call()
                        least[name] = min(least[name], clock() - start)
                return least""",
            "first call",
        ),
        Mistake(
            "The clock is read once a round.",
            """
            def race(sides, rounds, clock):
                for call in sides.values():
                    call()
                least = {name: float("inf") for name in sides}
                for _ in range(rounds):
                    start = clock()
                    for name, call in sides.items():
                        call()
                        least[name] = min(least[name], clock() - start)
                return least""",
            "of the side before",
        ),
    ],
)
def speed_2(race: Callable[..., dict[str, float]]) -> str:
    machine = _Machine()
    found = race({"a": machine.job(1.0)}, 1, machine.clock)
    if not isinstance(found, dict) or found.keys() != {"a"}:
        raise Wrong(f"a dict with a time for each name is wanted, not {found!r}")
    if found["a"] > 5:
        raise Wrong(
            f"one round, and {found['a']:.1f} s for a job of 1 s: the first call, which compiles, "
            "was counted"
        )
    machine = _Machine()
    found = race({"a": machine.job(1.0), "b": machine.job(3.0)}, 20, machine.clock)
    if abs(found["b"] - 4) < 0.3:
        raise Wrong("b takes 3 s and got 4: the time of the side before it is in it")
    if min(found["a"], found["b"] / 3) < 0.99:
        raise Wrong(
            f"a takes 1 s and b 3 s, never less; {found} was found. The time of a call is read off "
            "`clock`"
        )
    if found["a"] > 1.04 and abs(found["b"] / found["a"] - 3) < 0.3:
        raise Wrong(
            f"a takes 1 s and got {found['a']:.2f}: a mean pays for interruptions, the least does "
            "not"
        )
    machine = _Machine(neighbour=20)
    found = race({"a": machine.job(1.0), "b": machine.job(1.0)}, 20, machine.clock)
    if found["b"] / found["a"] > 1.2:
        raise Wrong(
            "a and b are the same program, and b seems slower: run one after the other, b met the "
            "neighbour alone"
        )
    if abs(found["a"] - 1) > 0.04 or abs(found["b"] - 1) > 0.04:
        raise Wrong(f"both jobs take 1 s when nothing disturbs; {found} was found")
    return "both sides met the neighbour, and the least time did not notice"


class _Machine:
    """Where time is what its jobs take: 10 s more at the first call, a little noise, half as much
    again with a neighbour.
    """

    def __init__(self, neighbour: int = 10**9) -> None:
        self.now, self.calls, self.neighbour, self.noise = 0.0, 0, neighbour, random.Random(1)

    def clock(self) -> float:
        return self.now

    def job(self, seconds: float) -> Callable[[], None]:
        compiled = False

        def run() -> None:
            nonlocal compiled
            self.calls += 1
            slower = 1.5 if self.calls > self.neighbour else 1.0
            self.now += seconds * slower * (1 + self.noise.expovariate(20)) + (
                0 if compiled else 10
            )
            compiled = True

        return run


@exercise(
    level=3,
    title="Turn a matrix in tiles",
    ask="""
        Write `turn(begin, end, x, out, n)` in the kernel language: `out[j * n + i] = x[i * n + j]`
        for all elements of a matrix of n by n numbers, in tiles, so that a cache of 32 lines (of
        16 numbers each) is enough. `begin` to `end` counts rows of tiles of 16, and n is a multiple
        of 16.

        It is run as Python first, on arrays that count cache lines; then compiled to machine code,
        and run on a tensor.""",
    start="""
        def turn(begin, end, x, out, n):
            ...""",
    passes=("turn",),
    hints=(
        "A line holds 16 numbers of one row. Which square of x fills 16 lines of `out` completely?",
        "Four loops: rows of tiles `range(16 * begin, 16 * end, 16)`, columns of tiles `range(0, "
        "n, 16)`, and two within.",
    ),
    solution="""
        def turn(begin, end, x, out, n):
            for i in range(16 * begin, 16 * end, 16):
                for j in range(0, n, 16):
                    for k in range(i, i + 16):
                        for m in range(j, j + 16):
                            out[m * n + k] = x[k * n + m]""",
    why=(
        "Not one load less, and not one store: only in another order. Each line is fetched once "
        "instead of sixteen times."
    ),
    mistakes=[
        Mistake(
            "The order of the loops does not matter, as nothing is computed.",
            """
            def turn(begin, end, x, out, n):
                for i in range(16 * begin, 16 * end):
                    for j in range(n):
                        out[j * n + i] = x[i * n + j]""",
            "thrown out before",
        ),
        Mistake(
            "A small tile is better.",
            """
            def turn(begin, end, x, out, n):
                for i in range(16 * begin, 16 * end, 4):
                    for j in range(0, n, 4):
                        for k in range(i, i + 4):
                            for m in range(j, j + 4):
                                out[m * n + k] = x[k * n + m]""",
            "part of each line",
        ),
        Mistake(
            "`begin` and `end` count rows.",
            """
            def turn(begin, end, x, out, n):
                for i in range(begin, end, 16):
                    for j in range(0, n, 16):
                        for k in range(i, i + 16):
                            for m in range(j, j + 16):
                                out[m * n + k] = x[k * n + m]""",
            "rows of tiles",
        ),
        Mistake(
            "Within a tile the indices begin at 0.",
            """
            def turn(begin, end, x, out, n):
                for i in range(16 * begin, 16 * end, 16):
                    for j in range(0, n, 16):
                        for k in range(16):
                            for m in range(16):
                                out[m * n + k] = x[k * n + m]""",
            "the first tile",
        ),
        Mistake(
            "A tile is turned where it is.",
            """
            def turn(begin, end, x, out, n):
                for i in range(16 * begin, 16 * end, 16):
                    for j in range(0, n, 16):
                        for k in range(16):
                            for m in range(16):
                                out[(i + m) * n + j + k] = x[(i + k) * n + j + m]""",
            "tiles themselves",
        ),
    ],
)
def speed_3(turn: Callable[..., None]) -> str:
    from internals.machine_code.language import kernel

    n = 64
    touched: list[int] = []
    x, out = _Memory(range(n * n), 0, touched), _Memory([-1] * (n * n), 4 * n * n, touched)
    turn(1, 2, x, out, n)
    written = {i for i, value in enumerate(out) if value != -1}
    if written != {j * n + i for i in range(16, 32) for j in range(n)}:
        told = "rows of tiles: 1 to 2 are the rows 16 to 31 of x"
        if written and written <= {j * n + i for i in range(16) for j in range(16)}:
            raise Wrong(
                "the first tile was written, again and again: k and m have to begin where the tile "
                "does"
            )
        if len(written) == 16 * n and written == {
            i * n + j for i in range(16, 32) for j in range(n)
        }:
            raise Wrong(
                "each tile was turned, but the tiles themselves have to change places as well"
            )
        raise Wrong(
            f"begin and end count {told}; {len(written)} elements were written, not {16 * n}, or "
            "others"
        )
    turn(0, 1, x, out, n)
    turn(2, n // 16, x, out, n)
    if list(out) != [i * n + j for j in range(n) for i in range(n)]:
        raise Wrong(
            "the elements were written, but not each to its mirrored place: out[j * n + i] is x[i "
            "* n + j]"
        )
    missed, least = _misses(touched), 2 * n * n // 16
    if missed > 6 * least:
        raise Wrong(
            f"{missed} lines were fetched, where {least} are enough: each was thrown out before "
            "its neighbour came"
        )
    if missed > 1.5 * least:
        raise Wrong(
            f"{missed} lines were fetched, where {least} are enough: a tile uses only a part of "
            "each line it fetches"
        )
    m, result = torch.randn(96, 96), torch.zeros(96, 96)
    kernel(turn).entry("*f4 *f4 i8")(0, 6, m.data_ptr(), result.data_ptr(), 96)
    if not torch.equal(result, m.t()):
        raise Wrong("run as machine code it gives another matrix than as Python")
    return (
        f"{missed} lines fetched, not one more than the matrices have; and the same as machine code"
    )


class _Memory(list[Any]):
    """A list that notes which addresses are used; its numbers are four bytes each."""

    def __init__(self, values: Any, address: int, touched: list[int]) -> None:
        super().__init__(values)
        self.address, self.touched = address, touched

    def __getitem__(self, index: Any) -> Any:
        self.touched.append(self.address + 4 * index)
        return super().__getitem__(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        self.touched.append(self.address + 4 * index)
        super().__setitem__(index, value)

    def __iter__(self) -> Iterator[Any]:
        return super().__iter__()


def _misses(addresses: list[int], lines: int = 32) -> int:
    """How often a cache of so many lines of 64 bytes does not have what is asked for; the oldest
    line goes.
    """
    cache: OrderedDict[int, None] = OrderedDict()
    missed = 0
    for line in (address // 64 for address in addresses):
        if line in cache:
            cache.move_to_end(line)
            continue
        missed += 1
        cache[line] = None
        if len(cache) > lines:
            cache.popitem(last=False)
    return missed
