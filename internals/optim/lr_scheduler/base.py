"""`LRScheduler`: changes an optimizer's learning rates from epoch to epoch
(`torch/optim/lr_scheduler.py`).

A schedule is a function of the epoch. Most compute the next learning rate from the current one
(`get_lr`), so that several can act on one optimizer, each multiplying by its factor. Some also have
a closed form, from the initial learning rate of the group (`initial_lr`), to jump to an epoch.

    for epoch in range(30):
        train()             # calls optimizer.step()
        scheduler.step()

The constructor takes the first step: it sets the learning rate of epoch 0.

How the real one differs: it replaces the optimizer's `step` by a wrapper that records the call.
Here every optimizer records it (`internals.optim.optimizer.with_hooks`).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from internals._tensor import Tensor
from internals.optim.optimizer import Optimizer

_DETAILS = (
    "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
)
_OVERRIDDEN = (
    "Seems like `optimizer.step()` has been overridden after learning rate scheduler "
    "initialization. Please, make sure to call `optimizer.step()` before "
    "`lr_scheduler.step()`. " + _DETAILS
)
_WRONG_ORDER = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 "
    "and later, you should call them in the opposite order: `optimizer.step()` before "
    "`lr_scheduler.step()`.  Failure to do this will result in PyTorch skipping the "
    "first value of the learning rate schedule. " + _DETAILS
)
EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where "
    "possible. Please use `scheduler.step()` to step the scheduler. During the deprecation, if "
    "epoch is different from None, the closed form is used instead of the new chainable form, "
    "where available. Please open an issue if you are unable to replicate your use case: "
    "https://github.com/pytorch/pytorch/issues/new/choose."
)
_NO_INITIAL_LR = (
    "param 'initial_lr' is not specified in param_groups[{}] when resuming scheduler with "
    "last_epoch >= 0.\n"
    "This typically happens when:\n"
    "1. You're trying to resume training from a checkpoint but haven't properly loaded the "
    "optimizer state\n"
    "2. You're using last_epoch >= 0 for a fresh training run (not recommended)"
)


class LRScheduler:
    """Base class; a subclass defines `get_lr`. `last_epoch` is the epoch to resume after; -1 starts
    from the beginning.

    Raises TypeError unless given an `Optimizer`, KeyError when resuming with one that was never
    scheduled.
    """

    _get_lr_called_within_step = False
    _is_initial = False
    _last_lr: list[Any]

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copy_of(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(_NO_INITIAL_LR.format(i))
        self.base_lrs = values_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        self._initial_step()

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch, or to `epoch` (deprecated), and set the learning rates."""
        if self._step_count == 1:
            self._check_order()
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def get_lr(self) -> list[Any]:
        """The learning rates of epoch `last_epoch`, one per group, from the current ones."""
        raise NotImplementedError

    def get_last_lr(self) -> list[Any]:
        """The learning rates that the scheduler set last."""
        return self._last_lr

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a saved `state_dict()`."""
        self.__dict__.update(state_dict)

    def _initial_step(self) -> None:
        self._step_count = 0
        with flag(self, "_is_initial"):
            self.step()

    def _update_lr(self, epoch: int | None = None) -> None:
        """Go to the next epoch by `get_lr`, or to `epoch` by the closed form, if there is one."""
        with flag(self, "_get_lr_called_within_step"):
            self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
            closed_form = getattr(self, "_get_closed_form_lr", self.get_lr)
            self._set(self.get_lr() if epoch is None else closed_form())

    def _set(self, lrs: Sequence[Any]) -> None:
        for group, lr in zip(self.optimizer.param_groups, lrs, strict=True):
            set_option(group, "lr", lr)
        self._last_lr = values_of(self.optimizer, "lr")

    def _check_order(self) -> None:
        """Warn if the optimizer has taken no step yet: the first learning rate would be skipped."""
        if "step" in self.optimizer.__dict__:
            warnings.warn(_OVERRIDDEN, UserWarning, stacklevel=3)
        elif not getattr(self.optimizer, "_opt_called", False):
            warnings.warn(_WRONG_ORDER, UserWarning, stacklevel=3)

    def _warn_outside_step(self) -> None:
        """Warn a user who calls `get_lr`, which multiplies by the factor once more."""
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use "
                "`get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )

    def _present(self) -> list[Any]:
        """The current learning rates, one per group."""
        return values_of(self.optimizer, "lr")

    def _times(self, factor: float) -> list[Any]:
        """The current learning rates, times a factor."""
        return [group["lr"] * factor for group in self.optimizer.param_groups]


def check_optimizer(optimizer: object) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


@contextmanager
def flag(scheduler: LRScheduler, name: str) -> Iterator[None]:
    """A block during which the attribute `name` of the scheduler is True."""
    setattr(scheduler, name, True)
    try:
        yield
    finally:
        setattr(scheduler, name, False)


def copy_of(value: Any) -> Any:
    """A copy of an option, which may be a tensor that is changed in place later."""
    return value.clone() if isinstance(value, Tensor) else value


def values_of(optimizer: Optimizer, option: str) -> list[Any]:
    """An option's value in every group."""
    return [copy_of(group[option]) for group in optimizer.param_groups]


def set_option(group: dict[str, Any], option: str, value: Any) -> None:
    """Set an option; a tensor is changed in place, as a CUDA graph may have captured it."""
    if isinstance(group[option], Tensor):
        group[option].fill_(value)
    else:
        group[option] = value


def per_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """One value for each group: those of a list, or a single one for all.

    Raises ValueError for a list of another length.
    """
    groups = optimizer.param_groups
    if not isinstance(value, (list, tuple)):
        return [copy_of(value) for _ in groups]
    if len(value) != len(groups):
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} "
            f"values, param_groups has {len(groups)}."
        )
    return [copy_of(v) for v in value]
