"""Adagrad (`torch/optim/adagrad.py`): Duchi, Hazan and Singer, "Adaptive subgradient methods",
2011.

The gradient is divided by the root of the sum of all its squares so far: elements with large
gradients move less and less, elements with rare ones keep moving. As the sum never shrinks, steps
only get smaller; RMSprop avoids that by an average.

How the real one differs: see `internals.optim.adam`. It also takes sparse gradients.
"""

from __future__ import annotations

from typing import Any

from internals import full_like
from internals.core.tensor_impl import Tensor
from internals.optim.optimizer import Optimizer, Params
from internals.optim.options import (
    as_real,
    check_implementation,
    check_not_differentiable,
    check_not_negative,
    check_rate,
    number,
)  # fmt: skip


class Adagrad(Optimizer):
    """`p -= lr * grad / (sqrt(sum of grad ** 2) + eps)`, element by element.

    The learning rate of step n is divided by `1 + (n - 1) * lr_decay`. The state exists before the
    first step. Raises ValueError for negative options.
    """

    added_later = {"foreach": None, "maximize": False, "differentiable": False, "fused": None}
    counts_steps = True

    def __init__(
        self,
        params: Params,
        lr: float = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_rate(lr)
        check_not_negative(
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            epsilon=eps,
        )
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        check_implementation(foreach, differentiable, fused)
        check_not_differentiable("Adagrad", differentiable)
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                self._begin(p, group)

    def update(self, group: dict[str, Any]) -> None:
        lr, lr_decay = number(group["lr"]), group["lr_decay"]
        for p, grad, state in self._gradients(group):
            count = state["step"].item()
            p, grad, total = as_real(p, grad, state["sum"])
            total.addcmul_(grad, grad, value=1)
            p.addcdiv_(
                grad, total.sqrt().add_(group["eps"]), value=-lr / (1 + (count - 1) * lr_decay)
            )

    def _first_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        first = group["initial_accumulator_value"]
        return {"sum": full_like(p, complex(first, first) if p.is_complex() else first)}
