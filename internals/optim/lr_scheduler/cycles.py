"""Schedules in which the learning rate goes up and down again, while the momentum goes down and up
(`torch/optim/lr_scheduler.py`).

Both are by Leslie Smith: `CyclicLR` from "Cyclical learning rates for training neural networks",
2015, and `OneCycleLR` from "Super-convergence: Very fast training of neural networks using large
learning rates", 2017 (with Topin). Call `step` after every batch, not every epoch.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Sequence
from typing import Any

from internals.optim.lr_scheduler.base import LRScheduler, check_optimizer, per_group, set_option
from internals.optim.optimizer import Optimizer


class _WithMomentum(LRScheduler):
    """A schedule that also sets the momentum, or the first of Adam's betas."""

    def _begin_momentum(
        self, optimizer: Optimizer, base: Sequence[float], highest: Sequence[float], last_epoch: int
    ) -> None:
        """Store the limits of the momentum in the groups, and begin at the highest.

        Raises ValueError for an optimizer without momentum.
        """
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError(
                "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"
            )
        self.use_beta1 = "betas" in optimizer.defaults
        if last_epoch == -1:
            for high, low, group in zip(highest, base, optimizer.param_groups, strict=True):
                self._set_momentum(group, high)
                group["max_momentum"] = high
                group["base_momentum"] = low

    def _set_momentum(self, group: dict[str, Any], value: Any) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


class CyclicLR(_WithMomentum):
    """Cycles from `base_lr` up to `max_lr` in `step_size_up` steps and down in `step_size_down`.

    The height of the peaks depends on `mode`: "triangular" keeps it, "triangular2" halves it in
    each cycle, "exp_range" multiplies it by `gamma` in each step. `scale_fn` replaces these by your
    own function of the cycle or the step (`scale_mode` "cycle" or "iterations"). Raises ValueError
    for an unknown mode, and for an optimizer without momentum unless `cycle_momentum` is False.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups, strict=True):
                set_option(group, "lr", lr)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if mode not in _SCALES and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode, self.gamma = mode, gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums = per_group("base_momentum", optimizer, base_momentum)
            self.max_momentums = per_group("max_momentum", optimizer, max_momentum)
            self._begin_momentum(optimizer, self.base_momentums, self.max_momentums, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """The height of the peaks at `x`, the number of the cycle or of the step."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        return _SCALES[self.mode](self.gamma, x)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)  # 1, 2, ...
        # x: position in the cycle, 0 to 1; height: 0 to 1 until x = step_ratio, then back to 0
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        argument = cycle if self.scale_mode == "cycle" else self.last_epoch
        if self.cycle_momentum:
            limits = zip(
                self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True
            )
            for group, low, high in limits:
                self._set_momentum(group, high - (high - low) * height * self.scale_fn(argument))
        return [
            low + (high - low) * height * self.scale_fn(argument)
            for low, high in zip(self.base_lrs, self.max_lrs, strict=True)
        ]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer; a scale function is omitted, but the attributes of a
        callable object are kept.
        """
        state = super().state_dict()
        f = state["_scale_fn_custom"]
        keep = f is not None and not isinstance(f, types.FunctionType)
        state["_scale_fn_custom"] = f.__dict__.copy() if keep else None
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict(
            {name: value for name, value in state_dict.items() if name != "_scale_fn_custom"}
        )
        attributes = state_dict["_scale_fn_custom"]
        if attributes is not None:
            self._scale_fn_custom.__dict__.update(attributes)


_SCALES: dict[str, Callable[[float, float], float]] = {
    "triangular": lambda gamma, cycle: 1.0,
    "triangular2": lambda gamma, cycle: 1 / 2.0 ** (cycle - 1),
    "exp_range": lambda gamma, step: gamma**step,
}


class OneCycleLR(_WithMomentum):
    """One cycle for the whole training: up to `max_lr` in the first `pct_start` of the steps, then
    down to almost nothing.

    It begins at `max_lr / div_factor` and ends at that divided by `final_div_factor`. With
    `three_phase` it returns to the beginning as fast as it went up, and then falls to the end.
    Raises ValueError for numbers of steps that are not positive integers, for more steps than
    `total_steps`, and for an optimizer without momentum unless `cycle_momentum` is False.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        self._schedule_phases = _phases(pct_start, self.total_steps, three_phase)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in _CURVES:
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._anneal_func_type = anneal_strategy
        highest = per_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for group, high in zip(optimizer.param_groups, highest):
                group["initial_lr"] = high / div_factor
                group["max_lr"] = high
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            high_momentums = per_group("max_momentum", optimizer, max_momentum)
            low_momentums = per_group("base_momentum", optimizer, base_momentum)
            self._begin_momentum(optimizer, low_momentums, high_momentums, last_epoch)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self.last_epoch > self.total_steps:
            raise ValueError(
                f"Tried to step {self.last_epoch} times. The specified number of total steps is "
                f"{self.total_steps}"
            )
        phase, progress = self._phase()
        curve = _CURVES[self._anneal_func_type]
        lrs = []
        for group in self.optimizer.param_groups:
            lrs.append(curve(group[phase["start_lr"]], group[phase["end_lr"]], progress))
            if self.cycle_momentum:
                start, end = group[phase["start_momentum"]], group[phase["end_momentum"]]
                self._set_momentum(group, curve(start, end, progress))
        return lrs

    def _phase(self) -> tuple[dict[str, Any], float]:
        """The current phase, and the progress in it, from 0 to 1."""
        start: float = 0.0
        for phase in self._schedule_phases:
            end = phase["end_step"]
            if self.last_epoch <= end or phase is self._schedule_phases[-1]:
                break
            start = end
        return phase, (self.last_epoch - start) / (end - start)


def _total_steps(total_steps: int | None, epochs: int | None, steps_per_epoch: int | None) -> int:
    """`total_steps`, or the product of the others. Raises ValueError unless they are positive."""
    if total_steps is not None:
        given = {"total_steps": total_steps}
    elif epochs is not None and steps_per_epoch is not None:
        given = {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
    else:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    for name, value in given.items():
        if value <= 0 or not isinstance(value, int):
            raise ValueError(f"Expected positive integer {name}, but got {value}")
    return math.prod(given.values())


def _phases(pct_start: float, total_steps: int, three_phase: bool) -> list[dict[str, Any]]:
    """For each phase its last step, and the options of a group between which it moves."""
    up = _phase(
        float(pct_start * total_steps) - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum"
    )
    if not three_phase:
        return [up, _phase(total_steps - 1, "max_lr", "min_lr", "base_momentum", "max_momentum")]
    down = _phase(
        float(2 * pct_start * total_steps) - 2,
        "max_lr",
        "initial_lr",
        "base_momentum",
        "max_momentum",
    )
    return [
        up,
        down,
        _phase(total_steps - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
    ]


def _phase(
    end_step: float, start_lr: str, end_lr: str, start_momentum: str, end_momentum: str
) -> dict[str, Any]:
    return {
        "end_step": end_step, "start_lr": start_lr, "end_lr": end_lr,
        "start_momentum": start_momentum, "end_momentum": end_momentum,
    }  # fmt: skip


_CURVES: dict[str, Callable[[Any, Any, float], Any]] = {
    "cos": lambda start, end, progress: (
        end + (start - end) / 2.0 * (math.cos(math.pi * progress) + 1)
    ),
    "linear": lambda start, end, progress: (end - start) * progress + start,
}
