"""Learning rate schedules: PyTorch's sequences, state and words; and their closed forms."""

from __future__ import annotations

import math
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import internals as T
from tests.answers import answer
from tests.optim.lr_schedules import (
    EPOCHS,
    OPTIMIZERS,
    SCHEDULES,
    Decay,
    Schedule,
    rates,
    run,
    settings,
)
from tests.support import assert_same_outcome

# Side by side with PyTorch

# Inside a combination a schedule may be stepped when it is made; PyTorch warns of that order, and
# so do we.
early = pytest.mark.filterwarnings("ignore:Detected call of `lr_scheduler.step")


def agree(see: Callable[[Any], Any]) -> None:
    """What is seen is equal in both libraries."""
    assert see(T) == answer(see, family="optim")


@early
@pytest.mark.parametrize("name", SCHEDULES)
def test_every_epoch_agrees_to_the_last_bit(name: str) -> None:
    agree(lambda t: run(t, SCHEDULES[name]))


@early
@pytest.mark.parametrize("name", SCHEDULES)
def test_learning_rates_in_tensors_agree(name: str) -> None:
    real = answer(lambda torch: run(torch, SCHEDULES[name], "Adam"), family="optim")
    for ours, theirs in zip(run(T, SCHEDULES[name], "Adam"), real, strict=True):
        assert ours[1] == pytest.approx(theirs[1], rel=1e-5)
        for (lr, betas), (their_lr, their_betas) in zip(ours[0], theirs[0]):
            assert lr == pytest.approx(their_lr, rel=1e-5) and betas == pytest.approx(their_betas)


def plain(state: Any) -> Any:
    """A state dict for comparison: without what refers to functions of a library's own."""
    if isinstance(state, dict):
        return {k: plain(v) for k, v in state.items() if k != "_scale_fn_ref"}
    return [plain(v) for v in state] if isinstance(state, list) else state


@early
@pytest.mark.parametrize("name", SCHEDULES)
def test_state_dicts_have_the_same_entries(name: str) -> None:
    def state(library: Any) -> Any:
        optimizer = OPTIMIZERS["SGD"](library)
        scheduler = SCHEDULES[name](library.optim.lr_scheduler, optimizer)
        for _ in range(7):
            optimizer.step()
            scheduler.step()
        return plain(scheduler.state_dict())

    agree(state)


@pytest.mark.parametrize(
    "name",
    ["step", "multistep", "constant", "linear", "exponential", "polynomial", "cosine", "lambda"],
)
@pytest.mark.filterwarnings("ignore:The epoch parameter")
def test_jumping_to_an_epoch_agrees(name: str) -> None:
    def seen(library: Any) -> list[Any]:
        optimizer = OPTIMIZERS["SGD"](library)
        scheduler = SCHEDULES[name](library.optim.lr_scheduler, optimizer)
        optimizer.step()
        rows = []
        for epoch in (3, 17, 0, 8):
            scheduler.step(epoch)
            rows.append(settings(optimizer))
        return rows

    agree(seen)


def test_restarts_take_fractions_of_an_epoch() -> None:
    def seen(library: Any) -> list[Any]:
        rows = []
        for factor in (1, 2):
            optimizer = OPTIMIZERS["SGD"](library)
            scheduler = library.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 3, factor)
            for i in range(60):
                scheduler.step(i / 4)
                rows.append((scheduler.last_epoch, settings(optimizer)))
        return rows

    agree(seen)


METRICS = [
    1.0,
    0.9,
    0.8,
    0.8,
    0.8,
    0.8,
    0.79999,
    0.8,
    0.5,
    0.5,
    0.5,
    0.5,
    0.5,
    math.nan,
    0.5,
    0.6,
    0.7,
    0.4,
    0.4,
    0.4,
    0.4,
    9,
]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"patience": 2},
        {"patience": 2, "threshold_mode": "abs", "threshold": 0.05},
        {"patience": 1, "mode": "max", "factor": 0.5},
        {"patience": 1, "mode": "max", "threshold_mode": "abs"},
        {"patience": 0, "cooldown": 2, "min_lr": [1e-3, 1e-2]},
        {"patience": 0, "factor": 0.999, "eps": 1e-2},
    ],
)
def test_plateaus_agree(options: dict[str, Any]) -> None:
    def seen(library: Any) -> str:
        rows = []
        optimizer = OPTIMIZERS["SGD"](library)
        scheduler = library.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **options)
        for metric in METRICS:
            scheduler.step(library.tensor(metric))
            rows.append((settings(optimizer), scheduler.get_last_lr(), scheduler.state_dict()))
        return str(rows)

    agree(seen)


def chained_from_two(s: Any, o: Any, method: str) -> Any:
    other = type(o)(o.param_groups[0]["params"], lr=0.1)
    schedulers = [s.StepLR(o, 2), s.StepLR(other, 2)]
    return (
        s.ChainedScheduler(schedulers)
        if method == "chained"
        else s.SequentialLR(o, schedulers, [3])
    )


BAD: dict[str, Schedule] = {
    "no optimizer": lambda s, o: s.StepLR(3, 2),
    "no optimizer, plateau": lambda s, o: s.ReduceLROnPlateau(3),
    "no optimizer, one cycle": lambda s, o: s.OneCycleLR(3, 0.1, 5),
    "resumed": lambda s, o: s.StepLR(o, 2, last_epoch=3),
    "lambdas": lambda s, o: s.LambdaLR(o, [Decay(0.5)] * 3),
    "multiplicatives": lambda s, o: s.MultiplicativeLR(o, [Decay(0.5)] * 3),
    "multiplicative": lambda s, o: s.MultiplicativeLR(o, 0.5),
    "constant": lambda s, o: s.ConstantLR(o, 1.5),
    "linear": lambda s, o: s.LinearLR(o, 0.0),
    "linear, end": lambda s, o: s.LinearLR(o, 0.5, 2.0),
    "restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 0),
    "restarts, mult": lambda s, o: s.CosineAnnealingWarmRestarts(o, 2, 0),
    "restarts, eta_min": lambda s, o: s.CosineAnnealingWarmRestarts(o, 2, eta_min="low"),
    "restarts, epoch": lambda s, o: s.CosineAnnealingWarmRestarts(o, 2).step(-1),
    "one cycle": lambda s, o: s.OneCycleLR(o, 0.1),
    "one cycle, steps": lambda s, o: s.OneCycleLR(o, 0.1, total_steps=-3),
    "one cycle, epochs": lambda s, o: s.OneCycleLR(o, 0.1, epochs=1.5, steps_per_epoch=2),
    "one cycle, per epoch": lambda s, o: s.OneCycleLR(o, 0.1, epochs=1, steps_per_epoch=0),
    "one cycle, pct": lambda s, o: s.OneCycleLR(o, 0.1, 10, pct_start=2),
    "one cycle, strategy": lambda s, o: s.OneCycleLR(o, 0.1, 10, anneal_strategy="up"),
    "one cycle, rates": lambda s, o: s.OneCycleLR(o, [0.1] * 3, 10),
    "one cycle, over": lambda s, o: [(c := s.OneCycleLR(o, 0.1, 2))] + [c.step() for _ in range(3)],
    "cyclic": lambda s, o: s.CyclicLR(o, 0.1, 0.2, mode="square"),
    "cyclic, rates": lambda s, o: s.CyclicLR(o, [0.1] * 3, 0.2),
    "plateau, factor": lambda s, o: s.ReduceLROnPlateau(o, factor=1.0),
    "plateau, mode": lambda s, o: s.ReduceLROnPlateau(o, "least"),
    "plateau, threshold": lambda s, o: s.ReduceLROnPlateau(o, threshold_mode="total"),
    "plateau, min_lr": lambda s, o: s.ReduceLROnPlateau(o, min_lr=[0.1] * 3),
    "sequential, none": lambda s, o: s.SequentialLR(o, [], []),
    "sequential, milestones": lambda s, o: s.SequentialLR(o, [s.StepLR(o, 2)], [3]),
    "sequential, plateau": lambda s, o: s.SequentialLR(o, [s.ReduceLROnPlateau(o)], []),
    "sequential, two": lambda s, o: chained_from_two(s, o, "sequential"),
    "sequential, other": lambda s, o: s.SequentialLR(o, [3], []),
    "chained, none": lambda s, o: s.ChainedScheduler([]),
    "chained, plateau": lambda s, o: s.ChainedScheduler([s.ReduceLROnPlateau(o)]),
    "chained, two": lambda s, o: chained_from_two(s, o, "chained"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_are_refused_in_the_same_words(name: str) -> None:
    def make(t: Any) -> Any:
        return BAD[name](t.optim.lr_scheduler, OPTIMIZERS["SGD"](t))

    assert_same_outcome(lambda: make(T), make, family="optim")


@pytest.mark.parametrize("kind", ["OneCycleLR", "CyclicLR"])
def test_without_momentum_none_can_cycle(kind: str) -> None:
    def make(t: Any) -> Any:
        return getattr(t.optim.lr_scheduler, kind)(t.optim.Adagrad([t.ones(1)]), 0.1, 10)

    assert_same_outcome(lambda: make(T), make, family="optim")


# What the schedules promise


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        (lambda s, o: s.StepLR(o, 4, 0.5), lambda e: 0.5 ** (e // 4)),
        (lambda s, o: s.MultiStepLR(o, [3, 8], 0.1), lambda e: 0.1 ** ((e >= 3) + (e >= 8))),
        (lambda s, o: s.ExponentialLR(o, 0.9), lambda e: 0.9**e),
        (lambda s, o: s.ConstantLR(o, 0.25, 6), lambda e: 0.25 if e < 6 else 1.0),
        (lambda s, o: s.LinearLR(o, 0.5, 1.0, 10), lambda e: 0.5 + 0.05 * min(e, 10)),
        (lambda s, o: s.PolynomialLR(o, 10, 2.0), lambda e: (1 - min(e, 10) / 10) ** 2),
        (lambda s, o: s.CosineAnnealingLR(o, 10), lambda e: (1 + math.cos(math.pi * e / 10)) / 2),
        (
            lambda s, o: s.CosineAnnealingWarmRestarts(o, 10),
            lambda e: (1 + math.cos(math.pi * (e % 10) / 10)) / 2,
        ),
        (lambda s, o: s.LambdaLR(o, lambda e: 1 / (e + 1)), lambda e: 1 / (e + 1)),
        (lambda s, o: s.MultiplicativeLR(o, lambda e: 0.5), lambda e: 0.5**e),
        (lambda s, o: s.CyclicLR(o, 0.0, 1.0, 5, 5), lambda e: 1 - abs(e % 10 - 5) / 5),
    ],
)
def test_closed_forms(schedule: Schedule, expected: Callable[[int], float]) -> None:
    assert rates(schedule) == pytest.approx(
        [expected(e) for e in range(EPOCHS)], rel=1e-9, abs=1e-12
    )


def test_one_cycle_goes_up_and_down_and_the_momentum_down_and_up() -> None:
    optimizer = T.optim.SGD([T.ones(1)], lr=0.1, momentum=0.9)
    scheduler = T.optim.lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=101)
    lrs, momentums = [], []
    for _ in range(101):
        lrs.append(optimizer.param_groups[0]["lr"])
        momentums.append(optimizer.param_groups[0]["momentum"])
        optimizer.step()
        scheduler.step()
    top = lrs.index(max(lrs))
    assert (
        28 <= top <= 31 and lrs[0] == pytest.approx(1 / 25) and lrs[-1] == pytest.approx(1 / 25e4)
    )
    assert lrs[:top] == sorted(lrs[:top]) and lrs[top:] == sorted(lrs[top:], reverse=True)
    assert momentums.index(min(momentums)) == top and (momentums[0], min(momentums)) == (
        0.95,
        pytest.approx(0.85, abs=1e-3),
    )


def test_a_plateau_halves_the_rate_and_cools_down() -> None:
    optimizer = T.optim.SGD([T.ones(1)], lr=1.0)
    scheduler = T.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer, factor=0.5, patience=1, cooldown=2
    )
    seen = []
    for metric in [3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 1.0, 1.0]:
        scheduler.step(metric)
        seen.append(optimizer.param_groups[0]["lr"])
    assert seen == [1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25]


@early
@pytest.mark.parametrize("name", SCHEDULES)
def test_a_saved_schedule_continues_where_it_was(name: str) -> None:
    make = OPTIMIZERS["SGD"]
    optimizer = make(T)
    scheduler = SCHEDULES[name](T.optim.lr_scheduler, optimizer)
    for _ in range(9):
        optimizer.step()
        scheduler.step()
    saved = pickle.dumps((optimizer.state_dict(), scheduler.state_dict()))
    other = make(T)
    resumed = SCHEDULES[name](T.optim.lr_scheduler, other)
    first, second = pickle.loads(saved)
    resumed.load_state_dict(second)
    other.load_state_dict(first)
    for _ in range(12):
        assert settings(other) == settings(optimizer)
        for o, s in ((optimizer, scheduler), (other, resumed)):
            o.step()
            s.step()


def test_stepping_in_the_wrong_order_warns_once() -> None:
    optimizer = T.optim.SGD([T.ones(1)], lr=1.0)
    scheduler = T.optim.lr_scheduler.StepLR(optimizer, 2)
    with pytest.warns(
        UserWarning, match="`lr_scheduler.step..` before `optimizer.step..`"
    ) as caught:
        scheduler.step()
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scheduler.step()


def test_the_right_order_does_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(rates(SCHEDULES["sequential"])) == EPOCHS


def test_a_replaced_step_warns() -> None:
    optimizer = T.optim.SGD([T.ones(1)], lr=1.0)
    scheduler = T.optim.lr_scheduler.StepLR(optimizer, 2)
    optimizer.step = lambda: None  # type: ignore[method-assign]
    with pytest.warns(
        UserWarning, match="has been overridden after learning rate scheduler initialization"
    ):
        scheduler.step()


def test_get_lr_is_for_the_scheduler_itself() -> None:
    scheduler = T.optim.lr_scheduler.ExponentialLR(T.optim.SGD([T.ones(1)], lr=1.0), 0.5)
    with pytest.warns(UserWarning, match="please use `get_last_lr"):
        scheduler.get_lr()


def test_an_epoch_given_to_step_warns() -> None:
    optimizer = T.optim.SGD([T.ones(1)], lr=1.0)
    scheduler = T.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    optimizer.step()
    with pytest.warns(UserWarning, match="The epoch parameter in `scheduler.step"):
        scheduler.step(3)
    assert scheduler.get_last_lr() == [0.125]


def test_resuming_after_an_epoch() -> None:
    optimizer = T.optim.SGD([{"params": [T.ones(1)], "initial_lr": 1.0}], lr=0.25)
    scheduler = T.optim.lr_scheduler.StepLR(optimizer, 2, 0.5, last_epoch=4)
    assert scheduler.last_epoch == 5 and scheduler.get_last_lr() == [0.25]
    optimizer.step()
    scheduler.step()
    assert scheduler.get_last_lr() == [0.125]


def test_a_users_schedule() -> None:
    class Plus(T.optim.lr_scheduler.LRScheduler):
        def get_lr(self) -> list[Any]:
            return [lr + self.last_epoch for lr in self.base_lrs]

    assert rates(lambda s, o: Plus(o), lr=2.0, epochs=3) == [2.0, 3.0, 4.0]
