"""Times work on a GPU: sides take turns, and every ratio is one of two times of the same round.

A `Case` moves `nbytes` bytes in each of its sides. In every round each side is timed, and so is a
plain copy of memory on the device (the ceiling: nothing that reads and writes as much can be
faster). Reported are medians over the rounds: the share of the copy's bandwidth that was reached,
and PyTorch's time over ours.

Time on the device is taken between two events on its stream; what only the host does (`on_host`) by
the host's clock. The device is made to sleep before the first event until the host has queued all
calls: it never waits for the host, and a short kernel is not charged for the Python that launches
it.

How the real one differs: PyTorch's own benchmarks (`torch.utils.benchmark`) flush the L2 cache
between calls; here the operands are larger than the cache.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

ROUND_SECONDS = 0.005  # how long one side runs in one round, at least
MOST_CALLS = 200  # in one round: a stream takes about a thousand, then the host has to wait
CYCLES_A_CALL = 200_000  # how long the device sleeps while the host queues a call: about 0.1 ms
TRIES = 4  # with twice the sleep each, where that was too short
OURS, TORCH, CEILING = "internals", "torch", "copy"


@dataclass(frozen=True)
class Goal:
    """A promise about one of the columns: the share of bandwidth or of PyTorch's speed at least,
    the time at most.
    """

    of: str  # "bandwidth", "torch" or "microseconds"
    value: float

    def met(self, result: Result) -> bool | None:
        """Whether it is kept; None if the column is empty."""
        found = {
            "bandwidth": result.bandwidth,
            "torch": result.of_torch,
            "microseconds": result.microseconds,
        }[self.of]
        if found is None:
            return None
        return found <= self.value if self.of == "microseconds" else found >= self.value

    def __str__(self) -> str:
        if self.of == "microseconds":
            return f"under {self.value:g} µs"
        return f"{self.value:.0%} of {'the copy' if self.of == 'bandwidth' else 'PyTorch'}"


@dataclass(frozen=True)
class Case:
    """One comparison. `sides` maps "internals" and, where installed, "torch" to a call that queues
    the work once.

    `nbytes`: what the work has to read and write at least, if that is what limits it.
    """

    name: str
    sides: Mapping[str, Callable[[], object]]
    nbytes: int | None = None
    goal: Goal | None = None
    on_host: bool = False


@dataclass(frozen=True)
class Result:
    """Medians over the rounds. `bandwidth`: share of the copy's; `of_torch`: PyTorch's time over
    ours; empty where unknown.
    """

    case: Case
    bandwidth: float | None
    of_torch: float | None
    microseconds: float


@dataclass(frozen=True)
class Ceiling:
    """A copy on the device: the call, and how many bytes it reads and writes."""

    call: Callable[[], object]
    nbytes: int


class Clock:
    """Times calls of one library, which has the names of `torch.cuda`."""

    def __init__(self, cuda: Any) -> None:
        self.cuda = cuda

    def seconds(self, call: Callable[[], object], count: int, on_host: bool = False) -> float:
        """Of one call, averaged over `count`."""
        if on_host:
            start = time.perf_counter()
            for _ in range(count):
                call()
            return (time.perf_counter() - start) / count
        for attempt in range(TRIES):
            begin, end = self.cuda.Event(enable_timing=True), self.cuda.Event(enable_timing=True)
            self.cuda._sleep(CYCLES_A_CALL * count << attempt)
            begin.record()
            for _ in range(count):
                call()
            end.record()
            ahead = not begin.query()  # the device still sleeps
            self.cuda.synchronize()
            if ahead:
                break
        return float(begin.elapsed_time(end)) / 1000 / count


def run(case: Case, ceiling: Ceiling, clocks: Mapping[str, Clock], rounds: int = 30) -> Result:
    """Measure a case. Raises ValueError when our side is missing."""
    if OURS not in case.sides:
        raise ValueError(
            f"benchmark case '{case.name}' has no side '{OURS}'; it has: {', '.join(case.sides)}"
        )
    calls = {**case.sides, **({CEILING: ceiling.call} if case.nbytes else {})}
    clock_of = {name: clocks[OURS if name == CEILING else name] for name in calls}
    counts = {
        name: enough(clock_of[name], call, case.on_host and name != CEILING)
        for name, call in calls.items()
    }
    times: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(rounds):
        order = list(calls) if number % 2 else list(reversed(calls))  # nobody always goes first
        for name in order:
            on_host = case.on_host and name != CEILING
            times[name].append(clock_of[name].seconds(calls[name], counts[name], on_host))
    return result_of(case, times, ceiling)


def result_of(case: Case, times: Mapping[str, list[float]], ceiling: Ceiling) -> Result:
    """The medians of the ratios of each round."""
    ours = times[OURS]
    bandwidth = of_torch = None
    if case.nbytes:
        factor = case.nbytes / ceiling.nbytes
        bandwidth = statistics.median(
            factor * copy / own for own, copy in zip(ours, times[CEILING])
        )
    if TORCH in times:
        of_torch = statistics.median(theirs / own for own, theirs in zip(ours, times[TORCH]))
    return Result(case, bandwidth, of_torch, statistics.median(ours) * 1e6)


def enough(clock: Clock, call: Callable[[], object], on_host: bool) -> int:
    """How many calls make the clock reliable. The first call compiles, and is not counted."""
    clock.seconds(call, 1, on_host)
    most = 10_000 if on_host else MOST_CALLS
    return max(1, min(most, round(ROUND_SECONDS / max(clock.seconds(call, 1, on_host), 1e-7))))
