"""A line search: the distance to go along a direction (`_strong_wolfe` in `torch/optim/lbfgs.py`,
after Nocedal and Wright, "Numerical optimization", 3.5).

A step is good if the loss has fallen by at least a ten-thousandth of the decrease that the slope at
the start predicts, and the slope is at most nine tenths as steep: the strong Wolfe conditions.
First, steps grow until such a point must lie between two of them; then this bracket is narrowed, at
the minimum of the cubic through its ends, until a point is found.

How the real one differs: the two points are four lists, of steps, losses, gradients and slopes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from internals.core.tensor_impl import Tensor


@dataclass
class Trial:
    """A point of the line: its distance from the start, the loss, the gradient, and the derivative
    of the loss along the line.
    """

    t: Any
    loss: float
    grad: Any
    slope: Any


def strong_wolfe(
    evaluate: Callable[[Any], Trial],
    start: Trial,
    t: int | Tensor,
    longest: Tensor,
    tolerance_change: float,
    max_ls: int,
) -> tuple[Trial, int]:
    """A good point of the line, or else the best found, and the number of evaluations: the first is
    at `t`, and at most `max_ls` follow.

    `longest` is the largest change of a parameter per unit of distance; the search ends when no
    parameter differs by `tolerance_change` between the ends of the bracket.
    """

    def is_too_high(trial: Trial) -> bool:
        return bool(trial.loss > start.loss + 1e-4 * trial.t * start.slope)

    def is_flat(trial: Trial) -> bool:
        return bool(abs(trial.slope) <= -0.9 * start.slope)

    # Phase 1: go farther until the loss is too high or rises, which brackets a good point.
    previous, trial, tried = start, evaluate(t), 0
    while tried < max_ls:
        if is_too_high(trial) or (tried > 1 and trial.loss >= previous.loss):
            bracket = [previous, trial]
            break
        if is_flat(trial):
            return trial, tried + 1
        if trial.slope >= 0:
            bracket = [previous, trial]
            break
        bounds = (trial.t + 0.01 * (trial.t - previous.t), trial.t * 10)
        previous, trial = trial, evaluate(_minimum_of_cubic(previous, trial, bounds))
        tried += 1
    else:
        bracket = [start, trial]

    # Phase 2: replace an end of the bracket by a point between them. If the cubic's minimum is near
    # an end twice in a row, step inside by a tenth, or the bracket would hardly shrink.
    stalled = False
    low, high = _order(bracket)
    while tried < max_ls and not abs(bracket[1].t - bracket[0].t) * longest < tolerance_change:
        t = _minimum_of_cubic(bracket[0], bracket[1])
        left, right = min(b.t for b in bracket), max(b.t for b in bracket)
        margin = 0.1 * (right - left)
        at_border = bool(min(right - t, t - left) < margin)
        if at_border and (stalled or t >= right or t <= left):
            t = right - margin if abs(t - right) < abs(t - left) else left + margin
            stalled = False
        else:
            stalled = at_border
        trial = evaluate(t)
        tried += 1
        if is_too_high(trial) or trial.loss >= bracket[low].loss:
            bracket[high] = trial
            low, high = _order(bracket)
            continue
        found = is_flat(trial)
        if not found and trial.slope * (bracket[high].t - bracket[low].t) >= 0:
            bracket[high] = bracket[low]
        bracket[low] = trial
        if found:
            break
    return bracket[low], tried + 1


def _order(bracket: list[Trial]) -> tuple[int, int]:
    """The indices of the end with the lower loss, and of the one with the higher."""
    return (0, 1) if bracket[0].loss <= bracket[-1].loss else (1, 0)


def _minimum_of_cubic(a: Trial, b: Trial, bounds: tuple[Any, Any] | None = None) -> Any:
    """The minimum of the cubic with the losses and slopes of two points, clamped to `bounds`, or to
    the interval between them. Without a minimum, the middle.
    """
    low, high = bounds if bounds is not None else (a.t, b.t) if a.t <= b.t else (b.t, a.t)
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1**2 - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2.0
    d2 = square.sqrt()
    first, last = (a, b) if a.t <= b.t else (b, a)
    t = last.t - (last.t - first.t) * ((last.slope + d2 - d1) / (last.slope - first.slope + 2 * d2))
    return min(max(t, low), high)
