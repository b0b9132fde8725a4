"""The cost of recording, measured on the machine at hand.

How the real one differs: PyTorch has no such function.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any, NamedTuple

CALLS, ROUNDS = 500, 5


class Overhead(NamedTuple):
    """The shortest measured times of one operator call, in microseconds: without a profile, and
    while one is taken.
    """

    unrecorded: float
    recorded: float

    @property
    def added(self) -> float:
        return self.recorded - self.unrecorded


def overhead(**options: Any) -> Overhead:
    """Measure `relu` of four numbers without and with a profile, whose options are those of
    `profile`.

    Raises RuntimeError while a profile is being taken.
    """
    import internals

    from .profiler import profile

    x = internals.zeros(4)

    def fastest() -> float:
        # the fastest of several rounds: anything slower was disturbed by other programs
        best = float("inf")
        for _ in range(ROUNDS):
            start = perf_counter()
            for _ in range(CALLS):
                internals.relu(x)
            best = min(best, perf_counter() - start)
        return best / CALLS * 1e6

    unrecorded = fastest()
    with profile(**options):
        recorded = fastest()
    return Overhead(unrecorded, recorded)
