"""Cosine annealing (`torch/optim/lr_scheduler.py`).

The learning rate follows half a cosine from its initial value down to `eta_min`, changing slowly at
the beginning and at the end. With warm restarts it then jumps back up and begins again, usually
with a longer period. From Loshchilov and Hutter, "SGDR: Stochastic gradient descent with warm
restarts", 2016.
"""

from __future__ import annotations

import math
from typing import Any

from internals.optim.lr_scheduler.base import LRScheduler, flag
from internals.optim.optimizer import Optimizer


class CosineAnnealingLR(LRScheduler):
    """From the initial learning rate to `eta_min` in `T_max` epochs; in later epochs back up along
    the same curve, and so on.

    `get_lr` multiplies by the ratio of two neighbouring points of the curve, so that the factors of
    other schedulers are kept.
    """

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        epoch, period, lowest = self.last_epoch, self.T_max, self.eta_min
        groups = self.optimizer.param_groups
        if self._is_initial:
            return self._present()
        if self._step_count == 1 and epoch > 0:  # resumed: the curve from the initial value
            return [
                lowest + (lr - lowest) * (1 + math.cos(epoch * math.pi / period)) / 2
                for lr in self.base_lrs
            ]
        if (epoch - 1 - period) % (2 * period) == 0:
            # just after the lowest point, where the previous height is 0 and there is no ratio
            first = 1 - math.cos(math.pi / period)
            return [
                group["lr"] + (lr - lowest) * first / 2
                for lr, group in zip(self.base_lrs, groups, strict=True)
            ]
        height, height_before = (1 + math.cos(math.pi * e / period) for e in (epoch, epoch - 1))
        return [height / height_before * (group["lr"] - lowest) + lowest for group in groups]

    def _get_closed_form_lr(self) -> list[Any]:
        height = 1 + math.cos(math.pi * self.last_epoch / self.T_max)
        return [self.eta_min + (lr - self.eta_min) * height / 2 for lr in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine over `T_0` epochs, then again over `T_0 * T_mult`, and so on.

    `step` also takes a fractional epoch: `scheduler.step(epoch + i / iterations)`. Raises
    ValueError unless `T_0` and `T_mult` are positive integers and `eta_min` is a number, and for a
    negative epoch.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(
                f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}"
            )
        self.T_0, self.T_i, self.T_mult = T_0, T_0, T_mult  # T_i: the current period
        self.eta_min = eta_min
        self.T_cur: float = last_epoch  # epochs since the last restart
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        height = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (lr - self.eta_min) * height / 2 for lr in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go to the next epoch, or to `epoch`, which may be a fraction."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            self._jump(epoch)
        self.last_epoch = math.floor(epoch)
        with flag(self, "_get_lr_called_within_step"):
            self._set(self.get_lr())

    def _jump(self, epoch: float) -> None:
        """Set the period and the position in it for `epoch`.

        Restart n is at epoch T_0 (1 + T_mult + ... + T_mult^(n-1)) = T_0 (T_mult^n - 1) /
        (T_mult - 1), which is solved for n.
        """
        if epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**n
