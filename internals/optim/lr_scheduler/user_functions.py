"""Schedules by your own function: `LambdaLR` and `MultiplicativeLR`
(`torch/optim/lr_scheduler.py`).
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from internals.optim.lr_scheduler.base import LRScheduler
from internals.optim.optimizer import Optimizer

Factor = Callable[[int], float]


class LambdaLR(LRScheduler):
    """The initial learning rate times `lr_lambda(epoch)`. `lr_lambda` is a function, or a list with
    one for each group.

    Raises ValueError for a list of another length.
    """

    def __init__(
        self, optimizer: Optimizer, lr_lambda: Factor | list[Factor], last_epoch: int = -1
    ) -> None:
        self.optimizer = optimizer
        groups = len(optimizer.param_groups)
        self.lr_lambdas = (
            list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * groups
        )
        if len(self.lr_lambdas) != groups:
            raise ValueError(f"Expected {groups} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        return [
            lr * factor(self.last_epoch)
            for factor, lr in zip(self.lr_lambdas, self.base_lrs, strict=True)
        ]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer; functions are omitted, but the attributes of callable
        objects are kept.
        """
        state = super().state_dict()
        state["lr_lambdas"] = [
            None if isinstance(f, types.FunctionType) else f.__dict__.copy()
            for f in self.lr_lambdas
        ]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a saved `state_dict()`; functions stay the same, attributes of callable
        objects are loaded.
        """
        super().load_state_dict(
            {name: value for name, value in state_dict.items() if name != "lr_lambdas"}
        )
        for f, attributes in zip(self.lr_lambdas, state_dict["lr_lambdas"]):
            if attributes is not None:
                f.__dict__.update(attributes)


class MultiplicativeLR(LambdaLR):
    """The current learning rate times `lr_lambda(epoch)`.

    Raises ValueError for a list of another length, TypeError for a non-callable.
    """

    def __init__(
        self, optimizer: Optimizer, lr_lambda: Factor | list[Factor], last_epoch: int = -1
    ) -> None:
        for f in lr_lambda if isinstance(lr_lambda, (list, tuple)) else [lr_lambda]:
            if not callable(f):
                raise TypeError(f"lr_lambda should be a function, but got {type(f).__name__}")
        super().__init__(optimizer, lr_lambda, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self._is_initial:
            return self._present()
        groups = self.optimizer.param_groups
        return [
            group["lr"] * f(self.last_epoch)
            for f, group in zip(self.lr_lambdas, groups, strict=True)
        ]
