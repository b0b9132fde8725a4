"""The learning rate schedules that the tests try, and how to run one.

`run` and `settings` see what a schedule does to an optimizer of either library, `rates` the
learning rates of ours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import internals as T

EPOCHS = 30
Schedule = Callable[[Any, Any], Any]  # of the module lr_scheduler and an optimizer


class Decay:
    """A callable with an attribute, which state dicts keep."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __call__(self, epoch: int) -> float:
        return self.factor**epoch


SCHEDULES: dict[str, Schedule] = {
    "lambda": lambda s, o: s.LambdaLR(o, lambda epoch: 0.95**epoch),
    "lambdas": lambda s, o: s.LambdaLR(o, [Decay(0.9), Decay(0.8)]),
    "multiplicative": lambda s, o: s.MultiplicativeLR(o, lambda epoch: 0.95 if epoch % 2 else 1.02),
    "multiplicatives": lambda s, o: s.MultiplicativeLR(o, [Decay(0.99), Decay(0.98)]),
    "step": lambda s, o: s.StepLR(o, 4),
    "step, gamma": lambda s, o: s.StepLR(o, step_size=7, gamma=0.7),
    "multistep": lambda s, o: s.MultiStepLR(o, [3, 8, 8, 20], 0.5),
    "constant": lambda s, o: s.ConstantLR(o),
    "constant, factor": lambda s, o: s.ConstantLR(o, factor=0.7, total_iters=11),
    "linear": lambda s, o: s.LinearLR(o),
    "linear, down": lambda s, o: s.LinearLR(o, 1.0, 0.1, total_iters=17),
    "exponential": lambda s, o: s.ExponentialLR(o, 0.9),
    "polynomial": lambda s, o: s.PolynomialLR(o, 12, 2.0),
    "cosine": lambda s, o: s.CosineAnnealingLR(o, 30),
    "cosine, on and on": lambda s, o: s.CosineAnnealingLR(o, T_max=7, eta_min=1e-3),
    "restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 5),
    "restarts, longer": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, T_mult=2, eta_min=1e-3),
    "one cycle": lambda s, o: s.OneCycleLR(o, max_lr=0.5, total_steps=EPOCHS + 1),
    "one cycle, linear": lambda s, o: s.OneCycleLR(
        o, 0.5, epochs=8, steps_per_epoch=4, anneal_strategy="linear"
    ),
    "one cycle, three phases": lambda s, o: s.OneCycleLR(
        o, [0.5, 0.1], total_steps=40, three_phase=True, pct_start=0.4
    ),
    "one cycle, no momentum": lambda s, o: s.OneCycleLR(
        o, 0.5, total_steps=50, cycle_momentum=False, div_factor=3.0
    ),
    "cyclic": lambda s, o: s.CyclicLR(o, base_lr=0.01, max_lr=0.1, step_size_up=5),
    "cyclic, halving": lambda s, o: s.CyclicLR(o, [0.01, 0.02], 0.1, 4, 3, mode="triangular2"),
    "cyclic, exponential": lambda s, o: s.CyclicLR(
        o, 0.01, 0.1, 5, mode="exp_range", gamma=0.98, cycle_momentum=False
    ),
    "cyclic, own": lambda s, o: s.CyclicLR(
        o, 0.01, 0.1, 5, scale_fn=Decay(0.9), scale_mode="iterations"
    ),
    "sequential": lambda s, o: s.SequentialLR(
        o, [s.ConstantLR(o, 0.1, 5), s.ExponentialLR(o, 0.9), s.StepLR(o, 3)], [5, 20]
    ),
    "sequential, warm-up": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.01, 1.0, 6), s.CosineAnnealingLR(o, 24)], [6]
    ),
    "chained": lambda s, o: s.ChainedScheduler(
        [s.ConstantLR(o, 0.1, 4), s.ExponentialLR(o, 0.9), s.StepLR(o, 7)]
    ),
    "sequential of chained": lambda s, o: s.SequentialLR(
        o,
        [s.ChainedScheduler([s.LinearLR(o, 0.5), s.ExponentialLR(o, 0.9)]), s.PolynomialLR(o, 9)],
        [10],
    ),
}
OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "SGD": lambda t: t.optim.SGD(
        [{"params": [t.ones(1)]}, {"params": [t.ones(2)], "lr": 0.03}], lr=0.1, momentum=0.9
    ),
    "Adam": lambda t: t.optim.Adam(
        [{"params": [t.ones(1)], "lr": t.tensor(0.5)}, {"params": [t.ones(2)]}], lr=0.01
    ),
}


def settings(optimizer: Any) -> list[Any]:
    """What schedules change, as numbers."""
    found = []
    for group in optimizer.param_groups:
        momentum = group["betas"] if "betas" in group else group["momentum"]
        found.append((float(group["lr"]), momentum))
    return found


def run(library: Any, schedule: Schedule, kind: str = "SGD", epochs: int = EPOCHS) -> list[Any]:
    """The settings of every epoch, and what `get_last_lr` says of them."""
    optimizer = OPTIMIZERS[kind](library)
    scheduler = schedule(library.optim.lr_scheduler, optimizer)
    seen = []
    for _ in range(epochs):
        seen.append((settings(optimizer), [float(lr) for lr in scheduler.get_last_lr()]))
        optimizer.step()
        scheduler.step()
    return seen


def rates(schedule: Schedule, lr: float = 1.0, epochs: int = EPOCHS) -> list[float]:
    """Our learning rates, of one group."""
    optimizer = T.optim.SGD([T.ones(1)], lr=lr, momentum=0.9)
    scheduler = schedule(T.optim.lr_scheduler, optimizer)
    seen = []
    for _ in range(epochs):
        seen.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return seen
