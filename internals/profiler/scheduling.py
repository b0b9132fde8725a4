"""Schedules for long runs: `schedule` returns a function from the number of a step to the
profiler's action in it (`torch/profiler/profiler.py`).

    schedule(skip_first=10, wait=5, warmup=1, active=3, repeat=2)

skips ten steps, and then twice has five steps without the profiler, one that is recorded but
discarded, and three that are recorded and kept. With `repeat=0` there is no end.

How the real one differs: its `ProfilerActivity` has more kinds of devices.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from enum import Enum


class ProfilerAction(Enum):
    """The profiler's action in a step. After RECORD_AND_SAVE, `on_trace_ready` gets the trace."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class ProfilerActivity(Enum):
    """The kinds of devices that can be recorded."""

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
    """A function from the number of a step to its action: first `skip_first` steps without the
    profiler, then `repeat` cycles of `wait`, `warmup` and `active` steps.

    `skip_first_wait`, if not 0, omits the `wait` of the first cycle. Raises AssertionError for
    negative numbers, and unless `active` is positive.
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
        """The action of a step, counted from 0."""
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first  # counted from the first cycle on
        if skip_first_wait:
            step += wait
        if repeat and step // cycle >= repeat:
            return ProfilerAction.NONE
        position = step % cycle
        if position < wait:
            return ProfilerAction.NONE
        if position < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if position < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def always(step: int) -> ProfilerAction:
    """The schedule that records every step."""
    return ProfilerAction.RECORD
