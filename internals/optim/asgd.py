"""ASGD (`torch/optim/asgd.py`): Polyak and Juditsky, "Acceleration of stochastic approximation by
averaging", 1992.

Gradient descent with shrinking steps, together with the average of the parameters from step `t0`
on, `ax` in the state. Noise makes the parameters move around the minimum; their average is usually
closer to it than the last point.

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
        lr, lambd = number(group["lr"]), group["lambd"]
        for p, grad, state in self._gradients(group):
            count, eta, mu = state["step"].item(), state["eta"], state["mu"]
            p, grad, average = as_real(p, grad, state["ax"])
            rate = eta.item()
            p.mul_(1 - lambd * rate)
            p.add_(grad, alpha=-rate)
            if mu.item() == 1:  # the average has not begun, or begins here
                average.copy_(p)
            else:
                average.add_(p.sub(average).mul_(mu))
            eta.copy_(tensor(lr / (1 + lambd * lr * count) ** group["alpha"]))
            mu.copy_(tensor(1 / max(1, count - group["t0"])))

    def _first_state(self, p: Any, group: dict[str, Any]) -> dict[str, Any]:
        eta = tensor(number(group["lr"]), dtype=step_dtype())
        return {"eta": eta, "mu": tensor(1.0, dtype=step_dtype()), "ax": zeros_like(p)}
