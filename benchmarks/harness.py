"""Times the sides of a comparison so that the machine's mood cancels out.

A `Case` does the same thing in several ways, its sides. The sides take turns, round after round, so that whatever slows
the machine down slows all of them; each round gives one ratio, and the median of the ratios is what is reported.
Seconds are never reported: they tell about the machine.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

ROUND_SECONDS = 0.005  # how long one side runs in one round, at least
OURS = "internals"


@dataclass(frozen=True)
class Case:
    """One comparison. `sides` maps "internals", "numpy", "torch" to a call that does the work once.

    With `self_timed` the call returns the seconds to count, for work that cannot be repeated in one process.
    `goals` says how large our ratio to a side may be; missing one is reported, and never fails a test. `note` is printed with
    the results: which side is absent, say.
    """

    name: str
    sides: Mapping[str, Callable[[], object]]
    goals: Mapping[str, float] | None = None
    self_timed: bool = False
    rounds: int = 40
    note: str = ""


@dataclass(frozen=True)
class Result:
    """Our time over another side's: the median of the rounds, and the ratio of the fastest rounds."""

    case: str
    against: str
    median: float
    fastest: float
    goal: float | None

    @property
    def met(self) -> bool:
        return self.goal is None or self.median <= self.goal


def run(case: Case) -> list[Result]:
    """Measures a case. Raises ValueError when our side is missing."""
    if OURS not in case.sides:
        raise ValueError(f"benchmark case '{case.name}' has no side '{OURS}'; it has: {', '.join(case.sides)}")
    timers = {name: timer(call, case.self_timed) for name, call in case.sides.items()}
    seconds: dict[str, list[float]] = {name: [] for name in timers}
    for number in range(case.rounds):
        order = list(timers) if number % 2 else list(reversed(timers))  # nobody always goes first
        for name in order:
            seconds[name].append(timers[name]())
    ours = seconds.pop(OURS)
    return [
        Result(
            case.name,
            against,
            statistics.median(a / b for a, b in zip(ours, theirs)),
            min(ours) / min(theirs),
            (case.goals or {}).get(against),
        )
        for against, theirs in seconds.items()
    ]


def timer(call: Callable[[], object], self_timed: bool) -> Callable[[], float]:
    """A function that gives the seconds of one call, averaged over as many calls as make the clock reliable."""
    if self_timed:
        return lambda: float(call())  # type: ignore[arg-type]
    count = 1
    while (elapsed := time_calls(call, count)) < ROUND_SECONDS:
        count = max(2 * count, int(count * ROUND_SECONDS / max(elapsed, 1e-9)))
    return lambda: time_calls(call, count) / count


def time_calls(call: Callable[[], object], count: int) -> float:
    turns = range(count)
    start = time.perf_counter()
    for _ in turns:
        call()
    return time.perf_counter() - start
