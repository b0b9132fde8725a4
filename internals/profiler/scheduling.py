"""When to record in a long run: `schedule` gives a function from the number of a step to what is
done in it (`torch/profiler/profiler.py`).

    schedule(skip_first=10, wait=5, warmup=1, active=3, repeat=2)

skips ten steps, then twice: five steps without the profiler, one in which it runs but what it finds
is thrown away, three that are recorded. With `repeat=0` it goes on for ever.

How the real one differs: in nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from enum import Enum


class ProfilerAction(Enum):
    """What is done in a step. After RECORD_AND_SAVE the trace is handed to `on_trace_ready`."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class ProfilerActivity(Enum):
    """What can be recorded here."""

    CPU = 0
    CUDA = 2

    def __repr__(self) -> str:
        return f"<ProfilerActivity.{self.name}: {self.value}>"


def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Callable[[int], ProfilerAction]:
    """See the module. `skip_first_wait`, if not 0, leaves the `wait` of the first cycle out.

    Raises AssertionError for numbers that make no sense.
    """
    if not (wait >= 0 and warmup >= 0 and active > 0 and repeat >= 0 and skip_first >= 0):
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} "
            f"(need >= 0), active={active} (need > 0), repeat={repeat} (need >= 0), "
            f"skip_first={skip_first} (need >= 0)."
        )
    if warmup == 0:
        warnings.warn(
            "Profiler won't be using warmup, this can skew profiler results", stacklevel=2
        )
    cycle = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        if repeat and step // cycle >= repeat:
            return ProfilerAction.NONE
        place = step % cycle
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def always(step: int) -> ProfilerAction:
    """Without a schedule everything is recorded."""
    return ProfilerAction.RECORD
