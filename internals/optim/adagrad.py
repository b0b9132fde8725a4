"""Adagrad (`torch/optim/adagrad.py`): Duchi, Hazan and Singer, "Adaptive subgradient methods", 2011.

The gradient is divided by the root of the sum of all its squares so far: elements that saw large gradients move ever less, rare
ones keep moving. The sum never shrinks, so neither do the divisors; RMSprop's average is the answer to that.

How the real one differs: see `internals.optim.adam`. It also takes sparse gradients.
"""

from __future__ import annotations

from typing import Any

from internals import full_like, tensor
from internals.optim.optimizer import Optimizer, Params
from internals.optim.options import (
    as_real,
    check_implementation,
    check_not_differentiable,
    check_not_negative,
    check_rate,
    number,
    step_dtype,
)  # fmt: skip


class Adagrad(Optimizer):
    """`p -= lr * grad / (sqrt(sum of grad ** 2) + eps)`, element by element. Raises ValueError for negative options.

    `lr_decay` divides the learning rate of step n by `1 + (n - 1) * lr_decay`. The state exists from the beginning.
    """

    added_later = {"foreach": None, "maximize": False, "differentiable": False, "fused": None}
    counts_steps = True

    def __init__(
        self,
        params: Params,
        lr: Any = 1e-2,
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
                self._begin(self.state[p], p, group)

    def update(self, group: dict[str, Any]) -> None:
        lr, lr_decay, weight_decay = number(group["lr"]), group["lr_decay"], group["weight_decay"]
        for p in group["params"]:
            grad = p.grad
            if grad is None:
                continue
            state = self.state[p]
            if not state:
                self._begin(state, p, group)
            count = state["step"].add_(1).item()
            if group["maximize"]:
                grad = -grad
            if weight_decay:
                grad = grad.add(p, alpha=weight_decay)
            p, grad, total = as_real(p, grad, state["sum"])
            total.addcmul_(grad, grad, value=1)
            p.addcdiv_(grad, total.sqrt().add_(group["eps"]), value=-lr / (1 + (count - 1) * lr_decay))

    def _begin(self, state: dict[str, Any], p: Any, group: dict[str, Any]) -> None:
        state["step"] = tensor(0.0, dtype=step_dtype())
        first = group["initial_accumulator_value"]
        state["sum"] = full_like(p, complex(first, first) if p.is_complex() else first)
