"""ASGD (`torch/optim/asgd.py`): Polyak and Juditsky, "Acceleration of stochastic approximation by averaging", 1992.

Gradient descent with steps that shrink, and beside it the average of the parameters from step `t0` on, `ax` in the state: it lies
nearer the minimum than the last point of a path that noise drives around it.

How the real one differs: see `internals.optim.adam`.
"""

from __future__ import annotations

from typing import Any

from internals import tensor, zeros_like
from internals.optim.optimizer import Optimizer, Params
from internals.optim.options import (
    as_real,
    check_not_differentiable,
    check_not_negative,
    check_rate,
    number,
    step_dtype,
)  # fmt: skip


class ASGD(Optimizer):
    """`p -= eta * (grad + lambd * p)`, where `eta` is `lr / (1 + lambd * lr * step) ** alpha`.

    Raises ValueError for a negative learning rate or weight decay.
    """

    added_later = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}
    counts_steps = True

    def __init__(
        self,
        params: Params,
        lr: Any = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_rate(lr)
        check_not_negative(weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        check_not_differentiable("ASGD", differentiable)
        super().__init__(params, defaults)

    def update(self, group: dict[str, Any]) -> None:
        lr, lambd, weight_decay = number(group["lr"]), group["lambd"], group["weight_decay"]
        for p in group["params"]:
            grad = p.grad
            if grad is None:
                continue
            if group["maximize"]:
                grad = -grad
            state = self.state[p]
            if not state:
                self._begin(state, p, lr)
            count, eta, mu = state["step"].add_(1).item(), state["eta"], state["mu"]
            p, grad, average = as_real(p, grad, state["ax"])
            if weight_decay:
                grad = grad.add(p, alpha=weight_decay)
            rate = eta.item()
            p.mul_(1 - lambd * rate)
            p.add_(grad, alpha=-rate)
            if mu.item() == 1:
                average.copy_(p)
            else:
                average.add_(p.sub(average).mul_(mu))
            eta.copy_(tensor(lr / (1 + lambd * lr * count) ** group["alpha"]))
            mu.copy_(tensor(1 / max(1, count - group["t0"])))

    def _begin(self, state: dict[str, Any], p: Any, lr: float) -> None:
        state["step"] = tensor(0.0, dtype=step_dtype())
        state["eta"] = tensor(lr, dtype=step_dtype())
        state["mu"] = tensor(1.0, dtype=step_dtype())
        state["ax"] = zeros_like(p)
