"""What being watched costs, measured where it is asked.

How the real one differs: nothing tells there.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any, NamedTuple

CALLS, ROUNDS = 500, 5


class Overhead(NamedTuple):
    """The shortest times found for one call of an operator, in microseconds: as always, and while a
    profile is taken.
    """

    unrecorded: float
    recorded: float

    @property
    def added(self) -> float:
        return self.recorded - self.unrecorded


def overhead(**options: Any) -> Overhead:
    """Measure `relu` of four numbers with and without a profile, which is made with `options` as
    for `profile`.

    Raises RuntimeError while a profile is being taken.
    """
    import internals

    from .profiler import profile

    x = internals.zeros(4)

    def fastest() -> float:
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
