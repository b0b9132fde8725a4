"""Times the sides of a comparison so that the machine's mood cancels out, and only after each has
shown that it is right.

A `Case` does the same thing in several ways, its sides. First each side runs once, and its result
is compared with one computed in float64: whoever is wrong stops the case. Then the sides take
turns, round after round, so that whatever slows the machine down slows all of them; each round
gives one ratio of our time to each other side's. Reported are the median of these ratios with its
quartiles, and the ratio of the fastest rounds. Seconds are never reported: they tell about the
machine.

How the real one differs: `torch.utils.benchmark` times one statement after the other, in blocks,
and leaves comparing, and whether the results are right, to the reader.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from benchmarks.correctness import WrongResult, error

ROUND_SECONDS = 0.005  # how long one side runs in one round, at least
# between turns on several threads: OpenMP's threads go on spinning for some milliseconds
SETTLE_SECONDS = 0.02
LEAST_ROUNDS = 5  # however long they take, unless the case itself asks for fewer
OURS = "internals"
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}

Call = Callable[[], object]


@dataclass(frozen=True)
class Absent:
    """In the place of a side that cannot take part, and why."""

    reason: str


class Timed(NamedTuple):
    """What a side of a `self_timed` case returns: the seconds to count (or bytes), and the result
    to check.
    """

    seconds: float
    result: object = None


@dataclass(frozen=True)
class Case:
    """One comparison.

    `sides()` maps "internals", "numpy", "torch" ... to a call that does the work once and returns
    its result. It is called just before the case is timed, so a case that is not chosen costs
    nothing. `reference()` is what the first call of each side should return, computed in float64; a
    side may be off by `tolerance`, measured as `correctness.error` does. Where there is nothing to
    check, `unchecked` says why.

    `goals` says how large our ratio to a side may be; missing one is reported, and never fails a
    test. With `clock` "cpu" the processor's time is counted instead of the wall's, and the fastest
    rounds are what is held against a goal: for work on one thread that other programs disturb. A
    side of a `self_timed` case returns `Timed`, for work that cannot be repeated in one process.
    With `full` it runs only in `make bench-full`. `note` is printed with the results.
    """

    name: str
    sides: Callable[[], Mapping[str, Call | Absent]]
    reference: Callable[[], object] | None = None
    unchecked: str = ""
    tolerance: float = 1e-5
    goals: Mapping[str, float] = field(default_factory=dict)
    threads: int = 1
    clock: str = "wall"
    self_timed: bool = False
    unit: str = "second"  # or "byte", of what the sides of a self-timed case return
    rounds: int = 40
    full: bool = False
    note: str = ""


@dataclass(frozen=True)
class Measurement:
    """What came of a case: seconds of each round and errors of each side, by its name, and who
    could not take part.
    """

    case: Case
    seconds: dict[str, list[float]]
    errors: dict[str, float]
    absent: dict[str, str]


@dataclass(frozen=True)
class Ratio:
    """Our time over another side's: median and quartiles of the rounds, and the ratio of the
    fastest rounds.
    """

    against: str
    rounds: int
    median: float
    lower: float
    upper: float
    fastest: float
    judged: float  # the median or the fastest, whichever is held against the goal
    goal: float | None = None

    @property
    def met(self) -> bool | None:
        return None if self.goal is None else self.judged <= self.goal


def run(case: Case, budget: float = 10.0) -> Measurement:
    """Checks a case, then measures it: as many rounds as it asks for, or as fit into `budget`
    seconds.

    Raises ValueError when our side is missing, `WrongResult` when a side's result is not right.
    """
    made = case.sides()
    if OURS not in made:
        raise ValueError(
            f"benchmark case '{case.name}' has no side '{OURS}'; it has: {', '.join(made)}"
        )
    absent = {name: side.reason for name, side in made.items() if isinstance(side, Absent)}
    sides = {name: side for name, side in made.items() if not isinstance(side, Absent)}
    results = {}
    for name, side in list(sides.items()):
        try:
            results[name] = side()
        except Exception as problem:
            if name == OURS:
                raise
            absent[name] = f"{type(problem).__name__}: {str(problem).strip().partition(chr(10))[0]}"
            del sides[name]
    errors = errors_of(case, results)
    del results
    timers = {name: timer(side, case) for name, side in sides.items()}
    seconds: dict[str, list[float]] = {name: [] for name in timers}
    for number in rounds(case, budget):
        order = list(timers) if number % 2 else list(reversed(timers))  # nobody always goes first
        for name in order:
            seconds[name].append(timers[name]())
    return Measurement(case, seconds, errors, absent)


def errors_of(case: Case, results: Mapping[str, object]) -> dict[str, float]:
    """How far each side's first result is from the reference. Raises `WrongResult` beyond the
    case's tolerance.
    """
    if case.reference is None:
        return {}
    right = case.reference()
    found = {
        name: error(r.result if isinstance(r, Timed) else r, right) for name, r in results.items()
    }
    wrong = {name: far for name, far in found.items() if not far <= case.tolerance}
    if wrong:
        said = ", ".join(f"{name} is off by {far:.3g}" for name, far in wrong.items())
        raise WrongResult(f"{said}; {case.tolerance:g} is allowed")
    return found


def rounds(case: Case, budget: float) -> Iterator[int]:
    start = time.perf_counter()
    for number in range(case.rounds):
        if number >= LEAST_ROUNDS and time.perf_counter() - start > budget:
            return
        yield number


def ratios(measurement: Measurement) -> list[Ratio]:
    """Ours over each other side's, in the order of the sides."""
    case = measurement.case
    ours = measurement.seconds[OURS]
    return [
        ratio(against, ours, theirs, case.goals.get(against), by_fastest=case.clock == "cpu")
        for against, theirs in measurement.seconds.items()
        if against != OURS
    ]


def ratio(
    against: str,
    ours: list[float],
    theirs: list[float],
    goal: float | None = None,
    by_fastest: bool = False,
) -> Ratio:
    each = [a / b for a, b in zip(ours, theirs, strict=True)]
    lower, median, upper = (
        statistics.quantiles(each, n=4, method="inclusive") if len(each) > 1 else each * 3
    )
    fastest = min(ours) / min(theirs)
    return Ratio(
        against, len(each), median, lower, upper, fastest, fastest if by_fastest else median, goal
    )


def timer(call: Call, case: Case) -> Callable[[], float]:
    """A function that gives the seconds of one call, averaged over as many calls as make the clock
    reliable.
    """
    if case.self_timed:
        return lambda: call().seconds  # type: ignore[attr-defined]
    clock = CLOCKS[case.clock]
    count = 1
    while (elapsed := time_calls(call, count, clock)) < ROUND_SECONDS:
        count = max(2 * count, int(count * ROUND_SECONDS / max(elapsed, 1e-9)))

    def seconds() -> float:
        if case.threads > 1:
            time.sleep(SETTLE_SECONDS)
            if count > 1:
                call()  # wakes the side's own threads
        return time_calls(call, count, clock) / count

    return seconds


def time_calls(call: Call, count: int, clock: Callable[[], float] = time.perf_counter) -> float:
    turns = range(count)
    start = clock()
    for _ in turns:
        call()
    return clock() - start
